"""Files: svmlight text, safetensors, converted data files.

May import datasets and utils. Begin with svmlight.py and dataset_file.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.io.dataset_file import load_data as load_data
    from manyclass.io.dataset_writer import save_blocks as save_blocks
    from manyclass.io.dataset_writer import save_data as save_data
    from manyclass.io.svmlight import load_svmlight as load_svmlight
    from manyclass.io.svmlight_stream import SvmlightBlocks as SvmlightBlocks

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "SvmlightBlocks": "manyclass.io.svmlight_stream",
        "load_data": "manyclass.io.dataset_file",
        "load_svmlight": "manyclass.io.svmlight",
        "save_blocks": "manyclass.io.dataset_writer",
        "save_data": "manyclass.io.dataset_writer",
    },
)
