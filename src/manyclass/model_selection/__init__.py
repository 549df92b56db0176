"""The choice of C: the certified path, cross-validation."""

from manyclass.utils.lazy import lazy_names

__all__ = [
    "LeaveOneOutBounds",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LeaveOneOutBounds": "manyclass.model_selection.leave_one_out",
    },
)
