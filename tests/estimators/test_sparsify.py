"""What leaving out small weights costs; sparse models as estimators."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from manyclass import MulticlassSVC
from manyclass.estimators import exact_fit
from manyclass.prediction import scoring
from manyclass.problem import objective
from manyclass.problem.formulations import FORMULATIONS
from tests.helpers.catalog import PAIRS, make_problem

X, Y = load_iris(return_X_y=True)


def fitted(y=Y, **params):
    rows = X[: len(y)]
    return MulticlassSVC(random_state=0, tol=1e-6, **params).fit(rows, y)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_the_report_agrees_with_the_objective_written_out(name, loss, monkeypatch):
    monkeypatch.setattr(scoring, "SCORES_AT_A_TIME", 100)
    weights = np.random.default_rng(0).integers(1, 4, 150)
    model = MulticlassSVC(formulation=name, loss=loss, C=0.1, intercept_scaling=2.0, random_state=0)
    proof = model.fit(X, Y, weights).certificate_
    report = model.sparsify(0.1, X, Y, weights).sparsity_report_
    W = np.vstack([model.coef_.toarray().T, model.intercept_ / 2.0])
    problem = make_problem(
        X, Y, n_classes=3, formulation=name, loss=loss, C=0.1, weights=weights, bias=2.0
    )
    assert report.objective_before == pytest.approx(proof.primal_objective, rel=1e-9)
    assert report.objective_after == pytest.approx(objective.primal(problem, W), rel=1e-9)
    gap, gain = (P - proof.dual_objective for P in (report.objective_after, proof.zero_objective))
    if gap >= 0:
        proven = gap / min(report.objective_after, gain)
        assert report.relative_gap == pytest.approx(proven, rel=1e-6, abs=1e-9)
    else:  # the weights do not sum to zero any more, so there are lower objectives
        assert FORMULATIONS[name].sum_to_zero == "enforced"
        assert report.relative_gap is None
    assert report.accuracy_after == model.score(X, Y, weights)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_binary_models_have_an_objective_too(name, loss):
    model = fitted(Y[:100], formulation=name, loss=loss)
    report = model.sparsify(0.0, X[:100], Y[:100]).sparsity_report_
    expected = model.certificate_.primal_objective
    assert report.objective_before == report.objective_after == pytest.approx(expected, rel=1e-5)


def test_a_threshold_of_zero_keeps_the_certificate_and_others_do_not():
    model = fitted()
    dense, proof = model.coef_.copy(), model.certificate_
    report = model.sparsify().sparsity_report_
    assert (report.density_before, report.density_after) == (1.0, 1.0)
    assert report.objective_before is report.accuracy_after is report.relative_gap is None
    assert model.certificate_ is proof
    np.testing.assert_array_equal(model.coef_.toarray(), dense)
    model = fitted()
    small = np.abs(model.coef_) <= 0.3
    report = model.sparsify(0.3).sparsity_report_
    assert model.certificate_ is None
    assert report.density_after == 1 - small.mean() < report.density_before
    again = model.sparsify(0.3, X, Y).sparsity_report_
    assert again.relative_gap is None
    assert model.fit(X, Y).certificate_ is not None
    assert not hasattr(model, "sparsity_report_")


def test_data_with_some_of_the_classes():
    model = fitted(C=0.1)
    report = model.sparsify(0.1, X[:100], Y[:100]).sparsity_report_
    assert report.accuracy_after == model.score(X[:100], Y[:100])
    assert report.objective_after > 0
    assert report.relative_gap is None  # no proof from other data


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0,), "threshold must be"),
        ((np.nan,), "threshold must be"),
        (("a",), "threshold must be"),
        ((None,), "threshold must be"),
        ((0.1, X), "both X and y"),
        ((0.1, None, Y), "both X and y"),
        ((0.1, X, Y[:10]), "inconsistent"),
        ((0.1, X, Y + 1), "which is not a class of the model"),
        ((0.1, X, Y.astype(str)), "which is not a class of the model"),
        ((0.1, X[:, :2], Y), "features"),
        ((0.1, X, Y, -np.ones(150)), "[Nn]egative"),
    ],
)
def test_a_refusal_leaves_the_model_as_it_was(arguments, message):
    model = fitted()
    before, proof = model.coef_, model.certificate_
    with pytest.raises(ValueError, match=message):
        model.sparsify(*arguments)
    assert model.coef_ is before
    assert model.certificate_ is proof
    assert not hasattr(model, "sparsity_report_")


def test_an_unfitted_model_is_refused():
    for method in (MulticlassSVC().sparsify, MulticlassSVC().densify):
        with pytest.raises(NotFittedError):
            method()


@pytest.mark.parametrize("y", [Y, Y[:100]], ids=["three classes", "binary"])
@pytest.mark.parametrize("name", ["crammer_singer", "one_vs_rest"])
def test_sparse_weights_of_a_solver(y, name, monkeypatch):
    """Also as callbacks see them, in the middle of training."""
    expected, train, seen = fitted(y, formulation=name), exact_fit.train, []

    class Sparse:
        """Hook that shows another one sparse weights."""

        def __init__(self, hook):
            self.hook, self.end = hook, hook.end

        def epoch(self, progress):
            whole = progress.weights
            return self.hook.epoch(replace(progress, weights=lambda: sp.csr_array(whole())))

    def turned(problem, options, *, hooks, **others):
        solution = train(problem, options, hooks=[Sparse(hook) for hook in hooks], **others)
        return replace(solution, weights=sp.csr_array(solution.weights))

    class Task:
        """Callbacks that look at the coefficients after each epoch."""

        def __init__(self, *_):
            self.end = lambda: None

        def epoch(self, attributes):
            model = MulticlassSVC()
            for attribute, value in attributes().items():
                setattr(model, attribute, value)
            seen.append(model.coef_.shape)

    monkeypatch.setattr(exact_fit, "train", turned)
    monkeypatch.setattr(exact_fit, "FitTask", Task)
    monkeypatch.setattr(MulticlassSVC, "_skl_callbacks", ["one"], raising=False)
    model = fitted(y, formulation=name)
    assert sp.issparse(model.coef_)
    np.testing.assert_array_equal(model.coef_.toarray(), expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    assert (model.predict(X) == expected.predict(X)).all()
    assert seen == [expected.coef_.shape] * model.n_iter_


def test_sparse_models_are_copied_and_pickled():
    model = fitted().sparsify(0.3)
    expected = model.decision_function(X)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(twin.decision_function(X), expected)
        assert isinstance(twin.densify().coef_, np.ndarray)
    assert sp.issparse(model.coef_)
