"""Training on several processes, with the classes or the rows partitioned.

A layer above the estimators: may import everything but cli and reports; lower layers do not import
it. Begin with model.py (``fit`` with a communicator) and solvers/base.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.distributed.data import load_partition as load_partition
    from manyclass.distributed.data import load_shared as load_shared

__getattr__, __dir__ = lazy_names(
    __name__, dict.fromkeys(("load_shared", "load_partition"), "manyclass.distributed.data")
)
