"""scikit-learn's own checks of an estimator, all of them."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
)
from manyclass.problem.formulations import FORMULATIONS
from manyclass.solvers.solver_choice import COMPARISON
from manyclass.solvers.stochastic.plan import LOSSES


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        MulticlassSVC(formulation=name, loss=loss)
        for name, formulation in FORMULATIONS.items()
        for loss in formulation.losses()
    ]
    + [MulticlassSVC(solver=solver, C=0.1) for solver in COMPARISON]
)
def test_estimator_check(estimator, check):
    if estimator.solver == "exponentiated_gradient" and "class_weight" in str(check):
        pytest.skip("C ||x||^2 of 80,000: its steps are as short as the inverse")
    if "sample_weight_equivalence" in str(check):
        # It compares two optima to seven digits, so both must be computed to more.
        if estimator.solver == "auto":
            estimator = clone(estimator).set_params(stopping="kkt", tol=1e-11)
        else:
            pytest.skip("tested to the gap in test_solvers.py")
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        *(StochasticClassifier(loss=loss, average=a) for loss in LOSSES for a in (False, True)),
        StochasticClassifier(weights="sparse", batch_size=3),
    ]
)
def test_stochastic_estimator_check(estimator, check):
    if "class_weight_classifiers" in str(check) and estimator.average:
        pytest.skip("averages of some 20 epochs: 70 to 100 % are of class 0, by the order of rows")
    if "sample_weight_equivalence" in str(check):
        # Steps on all rows at once do not depend on how these are drawn.
        estimator = clone(estimator).set_params(batch_size=10**6, max_iter=20, tol=None)
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        MultinomialLogisticRegression(),
        MultinomialLogisticRegression(regularize_intercept=True),
        MultinomialLogisticRegression(fit_intercept=False),
    ]
)
def test_logistic_estimator_check(estimator, check):
    if "sample_weight_equivalence" in str(check):
        estimator = clone(estimator).set_params(tol=1e-16)  # as near as rounding lets it
    if "class_weight_classifiers" in str(check) and not estimator.fit_intercept:
        pytest.skip("without an intercept, LogisticRegression does not meet it either")
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class")
@parametrize_with_checks(
    [
        MulticlassSVCCV(Cs=3, cv=2),
        MulticlassSVCCV(Cs="path", cv=2, epsilon=0.1, C_range=(0.1, 1.0)),
        MultinomialLogisticRegressionCV(Cs=3, cv=2),
    ]
)
def test_cross_validated_estimator_check(estimator, check):
    if "sample_weight_equivalence" in str(check):
        pytest.skip("weights of 0 and copies of rows move the rows between the folds")
    check(estimator)
