"""The scikit-learn estimators: parameters, validation, fit, fitted attributes.

May import solvers and all below, and no estimator is known below. Begin with svc.py.
"""

from manyclass.utils.lazy import lazy_names

__all__ = [
    "SparsityReport",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "SparsityReport": "manyclass.estimators.sparsify",
    },
)
