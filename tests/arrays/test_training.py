"""Training on arrays on a device against the core: optimum, certificate, warm starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from manyclass.arrays.choice import falls_slowly
from manyclass.problem import objective
from manyclass.problem.base_scores import BaseScores
from manyclass.training.epoch_loop import Options
from manyclass.training.train import train
from tests.arrays.problems import KINDS, asarray, primal, problems, strict
from tests.helpers.cases import each

__all__ = ["asarray", "strict"]
TOL = 3e-3


def trained(problem, tol=TOL, **options):
    return train(problem, Options(tol=tol, regularize_intercept=True, **options))


@each(("name", "loss"), KINDS)
@each("offsets", [False, True])
def test_certificate_holds_and_optimum_is_that_of_the_core(asarray, name, loss, offsets):
    there, here = problems(asarray, name, loss, offsets=offsets)
    found, best = trained(there), trained(here, 1e-7).certificate
    claim, P = found.certificate, primal(here, found.weights)
    assert claim.relative_gap <= TOL
    assert claim.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert claim.primal_objective >= best.dual_objective * (1 - 1e-12)
    assert abs(P - claim.primal_objective) <= 1e-12 * P
    assert claim.zero_objective == pytest.approx(best.zero_objective)
    assert found.weights.shape == (here.dataset.n_features + 1, here.dataset.n_classes)


@each("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_told_dual_objective_is_that_of_feasible_duals(asarray, name):
    there, here = problems(asarray, name, "hinge")
    found = trained(there)
    z = found.duals.toarray()
    sums = z.sum(axis=1) if name == "crammer_singer" else z.max(axis=1)
    assert (z >= 0).all()
    assert (sums <= here.costs * (1 + 1e-6)).all()
    D = objective.dual(here, found.duals)
    assert found.certificate.dual_objective <= D + 1e-9 * abs(D)
    assert found.certificate.dual_objective == pytest.approx(D, rel=1e-5)


@each(("name", "loss"), KINDS)
def test_training_continues_from_where_another_ended(asarray, name, loss):
    there, _ = problems(asarray, name, loss)
    found = trained(there)
    start = replace(found.start, history=(), epochs=None)
    again = train(there, Options(tol=TOL, regularize_intercept=True), start=start)
    assert again.certificate.relative_gap <= TOL
    assert len(again.history) <= max(2, len(found.history) // 2)


@each(("name", "loss"), [*KINDS[:2], KINDS[3], KINDS[5]])
def test_float32_trains_in_float32(asarray, name, loss):
    there, here = problems(asarray, name, loss, dtype=np.float32)
    found = trained(there)
    assert found.weights.dtype == np.float32
    assert found.certificate.relative_gap <= TOL
    P = primal(here, found.weights)
    assert abs(P - found.certificate.primal_objective) <= 1e-6 * P


def test_free_intercepts_are_those_of_the_core(asarray):
    there, here = problems(asarray, "logistic", "log_loss")
    options = Options(tol=1e-6, regularize_intercept=False)
    one, other = train(there, options), train(here, options)
    assert one.certificate.primal_objective == pytest.approx(
        other.certificate.primal_objective, rel=2e-6
    )
    np.testing.assert_allclose(one.weights, other.weights, atol=0.02)


@each("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_rows_without_features_cost_what_they_cost(asarray, name):
    there, here = problems(asarray, name, "hinge", bias=0.0)
    zeroed = there.dataset.X
    zeroed[5, :] = zeroed[5, :] * 0
    here.dataset.matrix()[5] = 0
    found, best = trained(there), trained(here, 1e-7).certificate
    assert found.certificate.relative_gap <= TOL
    assert found.certificate.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert found.certificate.primal_objective >= best.dual_objective * (1 - 1e-12)


def test_two_classes(asarray):
    for name, loss in KINDS:
        there, here = problems(asarray, name, loss, k=2)
        found, best = trained(there), trained(here, 1e-7).certificate
        assert found.certificate.relative_gap <= TOL
        assert found.certificate.dual_objective <= best.primal_objective * (1 + 1e-12), name
        assert found.certificate.primal_objective >= best.dual_objective * (1 - 1e-12), name


def test_epochs_end_at_max_iter(asarray):
    there, _ = problems(asarray, "crammer_singer", "hinge", C=10.0)
    found = trained(there, 1e-9, max_iter=2)
    assert len(found.history) == 2
    assert found.certificate.relative_gap > 1e-9


@each("scaling", [0.3, 10.0])
def test_certificates_are_of_intercepts_as_they_are_returned(asarray, scaling):
    for name, loss in KINDS[:-1]:
        there, here = problems(asarray, name, loss, bias=scaling, dtype=np.float32)
        found = trained(there, 1e-2)
        W = found.weights.astype(np.float64)
        bias = np.float32(scaling)
        W[-1] = (found.weights[-1] * bias).astype(np.float64) / scaling
        P = primal(here, W)
        assert abs(P - found.certificate.primal_objective) <= 1e-9 * P, name


def test_costs_of_one_vs_rest(asarray):
    there, here = problems(asarray, "one_vs_rest", "hinge")
    costs = 2.0 * (1 - np.eye(here.dataset.n_classes))
    base = BaseScores.from_costs(costs, here.dataset.labels)
    found, best = trained(there.with_base(base)), trained(here.with_base(base), 1e-7).certificate
    assert found.certificate.relative_gap <= TOL
    assert found.certificate.dual_objective <= best.primal_objective
    assert best.dual_objective <= found.certificate.primal_objective


@each("scale", [0.1, 10.0])
def test_features_of_other_scales(asarray, scale):
    for name, loss in (KINDS[0], KINDS[3]):
        there, _ = problems(asarray, name, loss, scale=scale)
        assert trained(there, 1e-2).certificate.relative_gap <= 1e-2, name


@each(("name", "loss"), KINDS)
def test_functions_of_the_standard_are_enough(strict, name, loss):
    size = {"n": 24, "d": 8, "k": 3}
    there, here = problems(strict, name, loss, C=0.02, offsets=True, **size)
    found, best = trained(there, 0.02), trained(here, 1e-7).certificate
    assert found.certificate.relative_gap <= 0.02
    assert found.certificate.dual_objective <= best.primal_objective * (1 + 1e-12)
    P = primal(here, found.weights)
    assert abs(P - found.certificate.primal_objective) <= 1e-12 * P


@each("name", ["crammer_singer", "weston_watkins"])
def test_the_core_continues_where_rounds_are_slow(asarray, name):
    there, here = problems(asarray, name, "hinge", C=100.0, n=60, d=2, k=3)
    found, best = trained(there, 1e-3), trained(here, 1e-7).certificate
    assert found.certificate.relative_gap <= 1e-3
    assert found.certificate.dual_objective <= best.primal_objective
    assert found.history[-1].epoch == len(found.history)
    assert not falls_slowly(there, np.geomspace(1, 1e-3, 20).tolist())
    assert falls_slowly(there, np.geomspace(1, 0.5, 20).tolist())


@each("name", ["one_vs_rest", "logistic"])
def test_the_core_continues_where_float32_stalls(asarray, name):
    loss = "log_loss" if name == "logistic" else "hinge"
    there, _ = problems(asarray, name, loss, dtype=np.float32)
    found = train(there, Options(tol=2e-7, max_iter=400, regularize_intercept=True))
    assert found.certificate.relative_gap <= 2e-7
    assert found.weights.dtype == np.float32


@each("C", [1e-3, 1e-5])
def test_small_costs_in_float32(asarray, C):
    """Steps of z are far smaller than the margin, whose digits they must not lose."""
    there, here = problems(asarray, "crammer_singer", "hinge", C=C, n=60, k=4, dtype=np.float32)
    found, best = trained(there, 1e-3), trained(here, 1e-6).certificate
    assert found.certificate.relative_gap <= 1e-3
    assert len(found.history) <= 20
    assert found.certificate.dual_objective <= best.primal_objective
