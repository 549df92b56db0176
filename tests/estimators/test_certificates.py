"""Certificates are never better than the truth, computed in NumPy from what is returned."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.problem import objective
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.solution import Certificate, EpochRecord, Progress, Start, Status
from manyclass.training.epoch_loop import is_slowed
from tests.helpers.catalog import PAIRS, make_problem, text_problem
from tests.helpers.iris import IRIS
from tests.helpers.training import train
from tests.trials.judging import judge
from tests.trials.random_problems import RandomProblem, draw


def trained(problem, *, tol=1e-6, max_iter=300):
    return train(problem, tol=tol, max_iter=max_iter)


def true_gap(problem, solution):
    """P of W as returned less D of z, both in float64; of W without its mean where that counts."""
    W = solution.weights.astype(np.float64)
    if problem.formulation.centred:
        W -= W.mean(axis=1, keepdims=True)
    z = solution.duals.astype(np.float64)
    if problem.formulation.aggregation == "sum" and problem.loss == "hinge":
        z.data = np.minimum(z.data, np.repeat(problem.costs, np.diff(z.indptr)))
    return objective.primal(problem, W) - objective.dual(problem, z)


CENTRED_SUMS = [name for name, f in FORMULATIONS.items() if f.centred and f.aggregation == "sum"]


@pytest.mark.parametrize("name", CENTRED_SUMS)
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_no_gap_is_negative_where_weights_sum_to_zero(name, C):
    """In float32, rounding left W off the constraint and P below the optimum."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3)).astype(np.float32)
    problem = make_problem(X, rng.integers(0, 4, 30), n_classes=4, formulation=name, C=C, bias=1.0)
    solution = trained(problem, max_iter=100)
    claimed, primal = solution.certificate.gap, solution.certificate.primal_objective
    assert claimed >= 0
    assert true_gap(problem, solution) <= claimed + 1e-12 * primal
    sums = np.abs(solution.weights.sum(axis=1, dtype=np.float64))
    assert (sums <= 1e-6 * np.abs(solution.weights).max(axis=1)).all()


def test_extreme_weights_prove_nothing_and_warn():
    X = np.array([[1.0, 0.5], [0.5, 1.0], [-1.0, 0.3], [0.2, -1.0]])
    model = MulticlassSVC(formulation="weston_watkins", C=10, intercept_scaling=1e-6, max_iter=50)
    weights = [1e-5, 1e30, 2, 1e5]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, [0, 1, 2, 0], sample_weight=weights)
    assert any("range from 0.0001 to 1e+31" in str(warning.message) for warning in caught)
    assert model.certificate_.relative_gap > 1e-3


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
def test_float32_reaches_its_digits_with_an_intercept(name):
    problem = text_problem(name, dtype=np.float32, n=400, d=100, k=70)
    problem = replace(problem, dataset=replace(problem.dataset, bias=1.0))
    solution = trained(problem, tol=3e-7)
    assert solution.status is Status.CONVERGED
    assert solution.weights.dtype == np.float32
    assert true_gap(problem, solution) <= solution.certificate.gap * (1 + 1e-6)


def logistic_objective(model, X, y):
    """P of ``coef_`` and ``intercept_`` in long double, intercepts not regularized."""
    W, b = model.coef_.astype(np.longdouble), model.intercept_.astype(np.longdouble)
    scores = X.astype(np.longdouble) @ W.T + b
    if len(W) == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    scores -= scores[np.arange(len(y)), y][:, None]
    return np.sum(W**2) / 2 + model.C * np.sum(np.log(np.sum(np.exp(scores), axis=1)))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept_scaling", [1.0, 3.3, 3268.97])
def test_logistic_objective_is_that_of_the_returned_weights(n_classes, dtype, intercept_scaling):
    """Their intercepts have mean 0; of two classes, the difference is rounded."""
    rng = np.random.default_rng(2)
    X, y = (rng.normal(size=(40, 3)) + 5).astype(dtype), np.arange(40) % n_classes
    for max_iter in (3, 5, 500):
        model = MultinomialLogisticRegression(
            C=100.0, max_iter=max_iter, tol=1e-9, intercept_scaling=intercept_scaling
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        claimed = model.certificate_.primal_objective
        assert abs(claimed / logistic_objective(model, X, y) - 1) <= 1e-14


def test_logistic_objective_of_many_rows_keeps_its_digits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200_000, 1)) + 3, rng.integers(0, 2, 200_000)
    with pytest.warns(ConvergenceWarning):
        model = MultinomialLogisticRegression(max_iter=1, random_state=0).fit(X, y)
    proof, P = model.certificate_, logistic_objective(model, X, y)
    assert abs(proof.primal_objective / P - 1) <= 4e-16
    assert P <= np.longdouble(proof.penalty) + proof.loss <= P * (1 + 1e-13)


def test_the_epoch_line_shows_what_was_proven_where_it_lags():
    record = EpochRecord(3, 0.1, 10.0, 1e-5, 0.1, 0.5, 2, 100, 10, 10, 50.0)
    start = Start.at_zero(2, 3, np.dtype(np.float32))
    progress = Progress(record, lambda: np.zeros((2, 3)), lambda: start)
    assert str(progress) == str(record)
    assert str(replace(progress, proven_gap=1.5e-4)) == f"{record}  (proven 1.50e-04)"
    assert str(replace(progress, is_proving=True)) == f"{record}  proving"


def test_float32_is_left_when_a_small_gap_falls_no_more():
    falling = [10.0**-n for n in range(12)]
    assert not is_slowed(falling, 1e-4)
    assert is_slowed([*falling[:6], *[1e-5] * 7], 1e-4)
    assert not is_slowed([*falling[:2], *[1e-1] * 20], 1e-4)  # slow, but not by rounding
    assert not is_slowed([*falling[:6], *[-1e-9] * 6], 1e-4)
    assert is_slowed([*falling[:6], *[-1e-9] * 7], 1e-4)  # negative by rounding


def test_float32_ends_where_violations_are_rounding():
    """Separable rows at a large C: the gap stays near a thousandth of P in float32."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(138, 256)).astype(np.float32), rng.random(138) < 0.3
    model = MulticlassSVC(formulation="one_vs_rest", C=88.0, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.n_iter_ < 50  # 70 to 180 before


def parameters(name, loss="hinge", **others):
    """Arguments of an estimator, as the trials draw them."""
    return {
        "formulation": name,
        "loss": loss,
        "C": 1.0,
        "tol": 1e-12,
        "stopping": "gap",
        "fit_intercept": True,
        "intercept_scaling": 1.0,
        "class_weight": None,
        "max_iter": 200,
        "weights": "dense",
        "n_jobs": 1,
        "random_state": 0,
        **others,
    }


def check_exactly(X, y, params):
    """Judge a certificate without rounding: D is below that of z, P - D below the gap."""
    params["k"] = int(y.max()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = judge(RandomProblem(0, X, y, None, params, params["weights"] == "sparse", None))
    assert not verdict.is_false, verdict.cause
    return verdict.claim


@pytest.mark.filterwarnings("ignore:nearly all training rows")
@pytest.mark.parametrize(
    ("name", "loss", "weights"),
    [
        *((name, f.losses[-1], "dense") for name, f in FORMULATIONS.items()),
        ("crammer_singer", "hinge", "sparse"),
        ("weston_watkins", "hinge", "sparse"),
    ],
)
def test_sums_over_many_rows_without_features(name, loss, weights):
    """Every row loses the same; naive sums of 10,000 C = 0.1 are off by 1e-13 of P."""
    X, y = np.zeros((10_000, 1)), np.arange(10_000) % 3
    rows = sp.csr_array(X) if weights == "sparse" else X
    params = parameters(name, loss, C=0.1, fit_intercept=False, weights=weights)
    claim = MulticlassSVC(**params).fit(rows, y).certificate_
    losses = objective.losses(
        make_problem(X[:1], y[:1], n_classes=3, formulation=name, loss=loss), np.zeros((2, 3))
    )
    optimum = len(y) * Fraction(0.1) * Fraction(losses[0])
    assert Fraction(claim.dual_objective) <= optimum
    assert optimum <= Fraction(claim.primal_objective) + Fraction(claim.gap)
    assert claim.relative_gap < 2e-14


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_sums_over_many_rows(name):
    rng = np.random.default_rng(0)
    y = np.arange(6000) % 3
    X = rng.normal(size=(6000, 2)) + 0.3 * rng.normal(size=(3, 2))[y]
    claim = check_exactly(X, y, parameters(name, C=0.1, tol=1e-13, max_iter=60))
    assert claim.relative_gap < 2e-13


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
@pytest.mark.parametrize("scaling", [0.0137, 3.7, 71.0])
def test_sparse_weights_in_float32_with_scaled_intercepts(name, scaling):
    """Users' intercepts are bias * w, rounded to float32: another W than the one that is held."""
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.6)).astype(np.float32)
    y = np.append(np.arange(3), rng.integers(0, 3, 9))
    params = parameters(name, C=10.0, tol=1e-9, weights="sparse", intercept_scaling=scaling)
    check_exactly(X, y, params)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_data_far_from_the_origin(name, loss, offset):
    """Scores lose the digits of the offset, and z . xi with them."""
    rng = np.random.default_rng(3)
    y = np.arange(20) % 4
    check_exactly(offset + rng.normal(size=(20, 3)), y, parameters(name, loss))


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_a_gap_of_1e_12_is_proven_of_small_problems(name, loss):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 4))
    assert check_exactly(X, y, parameters(name, loss, max_iter=1000)).relative_gap <= 1e-12


def test_a_sum_of_certificates_is_rounded_once():
    parts = [Certificate.from_gap(0.1, 1e-3, 0.5, zero=0.5, penalty=0.04, loss=0.06)] * 100_000
    whole = Certificate.sum_of(parts)
    primal = 100_000 * Fraction(parts[0].primal_objective)
    dual = 100_000 * Fraction(parts[0].dual_objective)
    assert abs(Fraction(whole.primal_objective) - primal) <= primal / 2**53
    assert Fraction(whole.dual_objective) <= dual
    assert whole.relative_gap == pytest.approx(1e-2, rel=1e-12)
    assert whole.max_violation == 0.5


@pytest.mark.parametrize("kind", [MulticlassSVC, MultinomialLogisticRegression])
def test_a_certificate_has_plain_numbers(kind):
    certificate = kind(C=1.0).fit(*IRIS).certificate_
    assert {type(number) for number in certificate.as_dict().values()} == {float}
    assert "np.float64" not in repr(certificate)


@pytest.mark.parametrize(
    ("seed", "number"),
    [
        pytest.param(7, 69, id="two classes whose weights are no exact negatives"),
        pytest.param(11, 7819, id="a cut whose weights overflow"),
        pytest.param(7, 9275, id="float64 stalls where float32 has proven more"),
    ],
)
def test_problems_that_trials_found(seed, number):
    """In rational arithmetic (tests/trials/certificates.py)."""
    verdict = judge(draw(seed, number))
    assert not verdict.is_false
    assert np.isfinite(verdict.claim.primal_objective)
