"""One-vs-rest, some classes after the other: the same optimum, W sparse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC
from manyclass.distributed.ranks_backend import Ranks
from manyclass.distributed.sharded_weights import ShardedWeights
from manyclass.problem import objective
from manyclass.problem.solution import Start, Status
from manyclass.solvers.weights import storage
from manyclass.training import class_chunks
from manyclass.training.epoch_loop import Interrupted, Options
from tests.helpers.catalog import make_problem, text_problem
from tests.helpers.ranks import on_ranks
from tests.helpers.training import train

losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of one group for each thread: 40 classes are then two parts or three."""
    monkeypatch.setattr(storage, "CHUNK_BYTES_OF_W", 1)


def solve(problem, weights="sparse", *, tol=1e-8, n_jobs=1, stopping="gap", **options):
    return train(problem, weights, tol=tol, n_jobs=n_jobs, stopping=stopping, **options)


@losses
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_equals_all_at_once(loss, n_jobs):
    problem = text_problem("one_vs_rest", loss, np.float64)
    whole, parts = solve(problem, "dense"), solve(problem, n_jobs=n_jobs)
    assert sp.issparse(parts.weights)
    assert parts.status is Status.CONVERGED
    np.testing.assert_allclose(parts.weights.toarray(), whole.weights, atol=1e-3)
    theirs = objective.certificate(problem, parts.weights.toarray(), parts.duals)
    ours = parts.certificate
    size = theirs.primal_objective
    assert ours.primal_objective == pytest.approx(size, rel=1e-10)
    assert ours.gap == pytest.approx(theirs.gap, abs=1e-10 * size)
    assert ours.max_violation == pytest.approx(theirs.max_violation, abs=1e-9)


def gathered(solution):
    """The same solution with its W in one place."""
    W = solution.weights
    return replace(solution, weights=W.gather() if isinstance(W, ShardedWeights) else W)


@losses
@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize("size", [2, 3])
def test_ranks_share_out_every_part(loss, size, gathers):
    problem = text_problem("one_vs_rest", loss, np.float64, k=70)
    whole = solve(problem, "dense")

    def on_rank(rank):
        found = solve(problem, communicator=rank, gathers=gathers)
        held = found.weights
        if not gathers:
            assert max(len(block.classes) for block in held.blocks) <= 16  # a group of float64
            assert all(b.weights is None or sp.issparse(b.weights) for b in held.blocks)
        return gathered(found)

    found = on_ranks(size, on_rank)
    for parts in found:
        assert sp.issparse(parts.weights)
        assert parts.status is Status.CONVERGED
        np.testing.assert_allclose(parts.weights.toarray(), whole.weights, atol=1e-3)
        theirs = objective.certificate(problem, parts.weights.toarray(), parts.duals)
        assert parts.certificate.gap == pytest.approx(
            theirs.gap, abs=1e-10 * theirs.primal_objective
        )
        assert parts.certificate == found[0].certificate
        assert parts.weights.nnz <= parts.history[-1].n_weights < 401 * 70


@pytest.mark.parametrize("at", [1, 4])
def test_a_callback_on_one_rank_stops_all(at):
    problem = text_problem("one_vs_rest", dtype=np.float64, k=70)

    def on_rank(rank):
        seen = []

        def on_epoch(progress):
            seen.append(progress.weights())
            return rank.rank == 1 and len(seen) == at

        found = solve(problem, communicator=rank, gathers=False, on_epoch=on_epoch)
        return seen[-1], gathered(found)

    for seen, solution in on_ranks(2, on_rank):
        assert solution.status is Status.STOPPED
        assert len(solution.history) == at
        np.testing.assert_allclose(seen.toarray(), solution.weights.toarray(), atol=1e-12)
        theirs = objective.certificate(problem, solution.weights.toarray(), solution.duals)
        assert solution.certificate.gap == pytest.approx(theirs.gap, rel=1e-9)


def test_every_rank_has_parts_of_one_size(monkeypatch):
    problem = text_problem("one_vs_rest", k=70)
    group = 2 * 64 // 4
    monkeypatch.setattr(storage, "CHUNK_BYTES_OF_W", 1 << 40)
    monkeypatch.setattr(storage, "available_memory", lambda sharing=1: (1 << 30) // sharing)
    n_jobs = [1, 2, 3]
    sizes = on_ranks(
        3,
        lambda rank: Ranks(rank).part_size(problem, Options(0.1, n_jobs=n_jobs[rank.rank])),
        machines=[0, 0, 2],
    )
    alone = class_chunks.classes_in_chunk(problem, 1)
    assert sizes[0] == sizes[1] == sizes[2]
    assert sizes[0] % (3 * group) == 0
    assert sizes[0] / 3 == pytest.approx(alone / 2, rel=0.1)  # two share a machine


def test_duals_that_nobody_wants_are_not_kept():
    solution = solve(text_problem("one_vs_rest"), keeps_duals=False, tol=1e-2)
    assert solution.duals.shape == (300, 40)
    assert solution.duals.nnz == 0


def test_the_history_is_of_all_classes():
    shown = []
    problem = text_problem("one_vs_rest")
    solution = solve(problem, tol=1e-3, on_epoch=lambda p: shown.append(p.record))
    assert shown == solution.history
    assert [record.epoch for record in shown] == list(range(1, len(shown) + 1))
    seconds = [record.seconds for record in shown]
    assert seconds == sorted(seconds)
    waiting = 8 * problem.costs.sum()  # of the second part, which loses every margin
    assert shown[0].primal_estimate > shown[0].gap_estimate > waiting
    last = shown[-1]
    assert last.primal_estimate == pytest.approx(solution.certificate.primal_objective, rel=1e-2)
    assert last.gap_estimate <= 2e-3 * last.primal_estimate


@pytest.mark.parametrize("at", [1, 4])
def test_a_callback_stops(at):
    """The classes that have not begun are judged at W = 0 and z = 0."""
    seen = []

    def on_epoch(progress):
        seen.append(progress.weights())
        return len(seen) == at

    problem = text_problem("one_vs_rest", dtype=np.float64)
    solution = solve(problem, on_epoch=on_epoch)
    assert solution.status is Status.STOPPED
    assert len(solution.history) == at
    np.testing.assert_allclose(seen[-1].toarray(), solution.weights.toarray(), atol=1e-12)
    theirs = objective.certificate(problem, solution.weights.toarray(), solution.duals)
    assert solution.certificate.gap == pytest.approx(theirs.gap, rel=1e-9)
    assert solution.certificate.max_violation == pytest.approx(theirs.max_violation)


def test_a_callback_stops_in_the_last_epoch_of_a_part_too():
    problem = text_problem("one_vs_rest")
    n_epochs = len(solve(problem, tol=1e-2).history)
    for at in range(1, n_epochs):
        solution = solve(problem, tol=1e-2, on_epoch=lambda p, at=at: p.record.epoch == at)
        assert len(solution.history) == at
        met = solution.certificate.relative_gap <= 1e-2
        assert solution.status is (Status.CONVERGED if met else Status.STOPPED)


def test_what_waits_is_judged_without_rows_that_are_empty():
    X = np.random.default_rng(0).normal(size=(40, 10))
    X[:20] = 0
    problem = make_problem(X, np.arange(40), n_classes=40, formulation="one_vs_rest")
    stopped = solve(problem, on_epoch=lambda _: True)
    theirs = objective.certificate(problem, stopped.weights.toarray(), stopped.duals)
    assert stopped.certificate.gap == pytest.approx(theirs.gap, rel=1e-9)
    assert stopped.history[-1].gap_estimate > 20 * 20 / 2


@pytest.mark.parametrize("at", [2, 4])
def test_an_interrupted_run_goes_on(at):
    def interrupt(progress):
        if progress.record.epoch == at:
            raise KeyboardInterrupt

    problem = text_problem("one_vs_rest", dtype=np.float64)
    with pytest.raises(Interrupted) as interrupted:
        solve(problem, on_epoch=interrupt)
    duals = interrupted.value.start.duals
    assert duals.shape == (300, 40)
    assert duals.nnz > 0
    again = solve(problem, start=Start(duals))
    assert again.status is Status.CONVERGED
    fresh = solve(problem)
    assert again.certificate.primal_objective == pytest.approx(
        fresh.certificate.primal_objective, rel=1e-7
    )


@pytest.mark.parametrize("size", [1, 2, 4])
def test_max_iter_counts_the_epochs_of_every_class_on_any_number_of_ranks(size):
    """Where more ranks have larger parts, classes that are done do not use up others' epochs."""

    def interrupt(progress):
        if progress.record.epoch == 13:  # the first part has had its 12
            raise KeyboardInterrupt

    problem = text_problem("one_vs_rest", dtype=np.float64, k=64)
    with pytest.raises(Interrupted) as interrupted:
        solve(problem, tol=1e-6, max_iter=12, on_epoch=interrupt)
    start = interrupted.value.start
    going_on = on_ranks(
        size,
        lambda rank: solve(problem, tol=1e-6, max_iter=12, start=start, communicator=rank),
    )
    alone = solve(problem, tol=1e-6, max_iter=12)
    assert going_on[0].start.epochs.tolist() == alone.start.epochs.tolist()
    assert going_on[0].certificate.relative_gap < 3 * alone.certificate.relative_gap


def test_too_few_epochs_are_told():
    solution = solve(text_problem("one_vs_rest"), max_iter=1)
    assert solution.status is Status.MAX_ITER
    assert len(solution.history) == 2


def test_the_estimator_has_sparse_coefficients():
    problem = text_problem("one_vs_rest")
    X, y = problem.dataset.matrix(), problem.dataset.labels
    sparse, dense = (
        MulticlassSVC(formulation="one_vs_rest", weights=w, tol=1e-5, random_state=0).fit(X, y)
        for w in ("sparse", "dense")
    )
    assert sparse.coef_.format == "csr"
    assert sparse.coef_.dtype == np.float32
    np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=5e-3)
    assert (sparse.predict(X) == dense.predict(X)).mean() > 0.99


def test_an_interrupt_between_two_parts_loses_nothing(monkeypatch):
    problem = text_problem("one_vs_rest", dtype=np.float64)
    solve_one, n_solved = class_chunks.solve, 0

    def interrupted(*arguments, **options):
        nonlocal n_solved
        n_solved += 1
        if n_solved == 2:
            raise KeyboardInterrupt
        return solve_one(*arguments, **options)

    monkeypatch.setattr(class_chunks, "solve", interrupted)
    with pytest.raises(Interrupted) as error:
        solve(problem)
    duals = error.value.start.duals
    assert duals.shape == (300, 40)
    assert 0 < duals[:, :16].nnz == duals.nnz


def test_callbacks_see_more_epochs_than_max_iter():
    """They are those of all parts; max_iter bounds each."""
    callback = pytest.importorskip("sklearn.callback")
    problem = text_problem("one_vs_rest")
    model = MulticlassSVC(formulation="one_vs_rest", weights="sparse", max_iter=3, tol=0.5)
    model.set_callbacks(callback.ProgressBar())
    model.fit(problem.dataset.matrix(), problem.dataset.labels)
    assert model.n_iter_ > 3


def test_parts_that_cannot_be_joined_are_refused(monkeypatch):
    problem = text_problem("one_vs_rest", "hinge", np.float64)
    monkeypatch.setattr(class_chunks, "available_memory", lambda: 100)
    with pytest.raises(MemoryError, match=r"the weights of \d+ classes take"):
        solve(problem)
