"""The checks of scikit-learn. Where they give a column of classes, it is turned into 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyclass import MultilabelSVC, MultilabelSVCCV

ONE_CLASS_EACH = {
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_classifier_not_supporting_multiclass",
}
WHY = "gives one class of several for each row; the label of a column is 0 or 1"
OF_WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
WHY_OF_WEIGHTS = "weights of 0 and copies of rows move the rows between the folds"


class LargestOfColumns:
    """Mixin that takes the largest of a column's classes as its label."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        column = None if y is None else np.asarray(y)
        if column is not None and column.ndim and column.dtype.kind == "i" and column.max() > 1:
            y = (column == column.max()).astype(int).reshape(len(column), -1)
        return super().fit(X, y, sample_weight)  # type: ignore[misc]


class OfColumns(LargestOfColumns, MultilabelSVC):
    """MultilabelSVC of columns of classes."""


class SearchOfColumns(LargestOfColumns, MultilabelSVCCV):
    """MultilabelSVCCV of columns of classes."""


def known_to_fail(estimator: Any) -> dict[str, str]:
    """Return the checks that do not fit, with the reason."""
    weights = OF_WEIGHTS if isinstance(estimator, MultilabelSVCCV) else ()
    return {**dict.fromkeys(ONE_CLASS_EACH, WHY), **dict.fromkeys(weights, WHY_OF_WEIGHTS)}


@parametrize_with_checks(
    [OfColumns(), SearchOfColumns(Cs=[0.1, 1.0], cv=2)], expected_failed_checks=known_to_fail
)
@pytest.mark.filterwarnings("ignore:1 of 1 labels")
def test_estimator_check(estimator, check):
    if "sample_weight_equivalence" in str(check) and isinstance(estimator, OfColumns):
        estimator = clone(estimator).set_params(tol=1e-12)  # other checks share it
    check(estimator)


@pytest.mark.parametrize("classes", [[0, 1, 2], ["a", "b", "c"]])
def test_a_column_of_classes_is_refused(classes):
    column = np.array(classes)[:, None]
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        MultilabelSVC().fit(np.eye(3), column)
