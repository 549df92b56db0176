"""The scikit-learn estimators: parameters, validation, fit, fitted attributes.

May import training and the layers below, which import no estimator. Begin with svc.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.estimators.sparsify import SparsityReport as SparsityReport

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "SparsityReport": "manyclass.estimators.sparsify",
    },
)
