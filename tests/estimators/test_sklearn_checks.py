"""The checks of scikit-learn: all of them for each class, those that train for its variants."""

import functools

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
)
from manyclass.solvers.sgd import STOCHASTIC_LOSSES
from manyclass.training.train import COMPARISON
from tests.helpers.catalog import PAIRS

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The least populated class"),
    # Some checks train on 10 rows of noise.
    pytest.mark.filterwarnings("ignore:all . values of C have the same score .0.4., not better"),
]

CLASSES = [
    MulticlassSVC(),
    MulticlassSVC(weights="sparse"),
    MultinomialLogisticRegression(),
    StochasticClassifier(),
    MulticlassSVCCV(Cs=[0.1, 1], cv=2, tol=1e-2),
    MultinomialLogisticRegressionCV(Cs=[0.01, 0.1], cv=2, tol=1e-2),
]
# Others differ in what they train, not in tags, parameters, refusals and kinds of input.
VARIANTS = [
    *(MulticlassSVC(formulation=name, loss=loss) for name, loss in PAIRS),
    *(MulticlassSVC(solver=solver, C=0.1) for solver in COMPARISON),
    MultinomialLogisticRegression(regularize_intercept=True),
    MultinomialLogisticRegression(fit_intercept=False),
    *(StochasticClassifier(loss=loss, average=a) for loss in STOCHASTIC_LOSSES for a in (0, True)),
    StochasticClassifier(weights="sparse", batch_size=3),
    MulticlassSVCCV(Cs="path", cv=2, epsilon=0.3, C_range=(0.1, 1.0)),
]
NAMES = """
class_weight_classifiers classifiers_classes classifiers_one_label
classifiers_one_label_sample_weights classifiers_train decision_proba_consistency dict_unchanged
estimator_sparse_array estimators_dtypes estimators_nan_inf estimators_overwrite_params
estimators_partial_fit_n_features estimators_pickle fit2d_1feature fit2d_1sample fit_idempotent
methods_sample_order_invariance methods_subset_invariance non_transformer_estimators_n_iter
sample_weight_equivalence_on_dense_data sample_weight_equivalence_on_sparse_data
sparsify_coefficients
"""
TRAINING = {f"check_{name}" for name in NAMES.split()}


def name_of(check):
    return check.func.__name__ if isinstance(check, functools.partial) else check.__name__


def exempted(estimator, name):
    """Say why a check asks of an estimator what it does not promise, or None."""
    if "sample_weight_equivalence" in name:
        if isinstance(estimator, MulticlassSVCCV | MultinomialLogisticRegressionCV):
            return "weights of 0 and copies of rows move the rows between the folds"
        if getattr(estimator, "solver", None) in COMPARISON:
            return "tested to the gap in test_solvers.py"
    if "class_weight_classifiers" in name:
        if getattr(estimator, "solver", None) == "exponentiated_gradient":
            return "C ||x||^2 of 80,000: its steps are as short as the inverse"
        if getattr(estimator, "average", False):
            return "averages of some 20 epochs: 70 to 100 % are of class 0, by the order of rows"
        if isinstance(estimator, MultinomialLogisticRegression) and not estimator.fit_intercept:
            return "without an intercept, LogisticRegression does not meet it either"
    return None


def run(check, estimator):
    """Run a check; two optima that it compares to seven digits are computed to more."""
    if "sample_weight_equivalence" in name_of(check):
        precise = {"tol": 1e-11}
        if isinstance(estimator, MulticlassSVC):
            precise["stopping"] = "kkt"
        elif isinstance(estimator, MultinomialLogisticRegression):
            precise["tol"] = 1e-16  # as near as rounding lets it
        else:  # steps on all rows at once do not depend on how these are drawn
            precise = {"batch_size": 10**6, "max_iter": 20, "tol": None}
        estimator = clone(estimator).set_params(**precise)
    check(estimator)


@parametrize_with_checks(CLASSES)
def test_estimator_check(estimator, check):
    if reason := exempted(estimator, name_of(check)):
        pytest.skip(reason)
    run(check, estimator)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_variants_train_as_the_checks_ask(variant):
    left = set(TRAINING)
    for estimator, check in estimator_checks_generator(variant):
        name = name_of(check)
        left.discard(name)
        if name in TRAINING and not exempted(estimator, name):
            try:
                run(check, estimator)
            except BaseException as error:
                error.add_note(f"in {name}")
                raise
    assert not left
