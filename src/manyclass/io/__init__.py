"""Files: svmlight text, safetensors, converted data files, data shared by ranks.

May import parallel, utils and datasets. Begin with atomic.py and the package of the format.
"""

from manyclass.utils.lazy import lazy_names

__all__ = [
    "SvmlightBlocks",
    "load_common",
    "load_data",
    "load_svmlight",
    "save_blocks",
    "save_data",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "SvmlightBlocks": "manyclass.io.svmlight.stream",
        "load_common": "manyclass.io.shared.dataset",
        "load_data": "manyclass.io.dataset_file.format",
        "load_svmlight": "manyclass.io.svmlight.reader",
        "save_blocks": "manyclass.io.dataset_file.format",
        "save_data": "manyclass.io.dataset_file.format",
    },
)
