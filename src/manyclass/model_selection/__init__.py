"""Choice of C: certified paths, cross-validation, leave-one-out bounds.

May import estimators and the layers below. Begin with path.py and search.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.model_selection.influence import LeftOut as LeftOut
    from manyclass.model_selection.influence import Support as Support
    from manyclass.model_selection.leave_one_out import LeaveOneOutBounds as LeaveOneOutBounds

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LeaveOneOutBounds": "manyclass.model_selection.leave_one_out",
        "LeftOut": "manyclass.model_selection.influence",
        "Support": "manyclass.model_selection.influence",
    },
)
