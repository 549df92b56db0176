"""What save_model refuses."""

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, save_model


class Named(MulticlassSVC):
    """Not what a file would bring back."""


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (LinearSVC(), "LinearSVC"),
        (Named(), "Named"),
        (MulticlassSVC, "MulticlassSVC, fitted, not the class"),
        ({"a": 1}, "dict"),
    ],
)
def test_only_our_estimators_can_be_saved(what, told, tmp_path):
    if hasattr(what, "fit") and not isinstance(what, type):
        what.fit(*load_iris(return_X_y=True))
    kinds = "MulticlassSVC or a MultinomialLogisticRegression or a StochasticClassifier"
    kinds += " or a MultilabelSVC"
    searches = "MulticlassSVCCV or a MultinomialLogisticRegressionCV or a MultilabelSVCCV"
    around = "scikit-learn's own Pipeline, GridSearchCV or the like with one of them"
    wanted = f"save_model takes a {kinds} or a {searches}, or {around}, not {told}"
    with pytest.raises(TypeError, match=wanted):
        save_model(tmp_path / "model", what)
    assert not list(tmp_path.iterdir())
