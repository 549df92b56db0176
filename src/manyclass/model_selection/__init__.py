"""The choice of C: the certified path, cross-validation."""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.model_selection.leave_one_out import LeaveOneOutBounds as LeaveOneOutBounds

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LeaveOneOutBounds": "manyclass.model_selection.leave_one_out",
    },
)
