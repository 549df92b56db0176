"""Training on several processes, which share out classes or rows, in a layer above the estimators.

May import everything but cli and reports; nothing below imports it. Begin with model.py (``fit``
with a communicator) and solvers/base.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.distributed.data import load_partition as load_partition
    from manyclass.distributed.data import load_shared as load_shared

__getattr__, __dir__ = lazy_names(
    __name__, dict.fromkeys(("load_shared", "load_partition"), "manyclass.distributed.data")
)
