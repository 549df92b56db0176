"""Multi-label classification: label sets, their training in groups, thresholds, metrics.

May import estimators and the layers below. Begin with svc.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.multilabel.metrics import f1_scores as f1_scores
    from manyclass.multilabel.metrics import precision_at_k as precision_at_k
    from manyclass.multilabel.metrics import propensities as propensities
    from manyclass.multilabel.svc import MultilabelSVC as MultilabelSVC

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "MultilabelSVC": "manyclass.multilabel.svc",
        "f1_scores": "manyclass.multilabel.metrics",
        "precision_at_k": "manyclass.multilabel.metrics",
        "propensities": "manyclass.multilabel.metrics",
    },
)
