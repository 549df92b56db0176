"""The kernels of bundles that meet: what they compute, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import _core, objective
from manyclass.solvers.core import trainer_arguments
from manyclass.solvers.weights import allocate_weights
from tests.catalog import make_problem, random_problem

CORES = {np.float32: _core.PairTrainer32, np.float64: _core.PairTrainer64}
LISTS = {np.float32: _core.Duals32, np.float64: _core.Duals64}


def setting(dtype, loss="hinge", seed=3):
    """A problem whose classes 0 to 2 are in the first slot and the rest in the second."""
    problem = random_problem(seed, "weston_watkins", loss, dtype)
    data = problem.dataset
    trainer = CORES[dtype](**trainer_arguments(problem))
    width = 64 // np.dtype(dtype).itemsize
    columns = np.array([0, 1, 2, width, width + 1], np.int32)[: data.n_classes]
    meeting = _core.Meeting(
        width, min(3, data.n_classes), max(0, data.n_classes - 3), columns[data.labels]
    )
    _, W = allocate_weights(data.n_features + 1, 2 * width, data.dtype)
    z = LISTS[dtype](data.n_examples, 2 * width)
    rows = np.flatnonzero(trainer.squared_norms() > 0).astype(np.int32)
    return problem, trainer, meeting, W, z, rows, columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("shrunk", [False, True])
def test_a_loop_gains_what_it_says(dtype, loss, shrunk, instruction_set):
    problem, trainer, meeting, W, z, rows, columns = setting(dtype, loss)
    active = np.empty_like(rows)
    gain = trainer.loop(meeting, W, z, rows, active, False, -np.inf, 1).dual_gain
    if shrunk:
        gain += trainer.loop(meeting, W, z, rows, active, True, -np.inf, 2).dual_gain
    indptr, labels, values = z.to_csr()
    duals = np.zeros((problem.dataset.n_examples, 2 * meeting_width(dtype)))
    for i in range(len(duals)):
        duals[i, labels[indptr[i] : indptr[i + 1]]] = values[indptr[i] : indptr[i + 1]]
    sparse = objective.sp.csr_array(duals[:, columns])
    start = objective.dual(problem, objective.sp.csr_array(sparse.shape))
    digits = 1e-4 if dtype is np.float32 else 1e-9
    assert objective.dual(problem, sparse) - start == pytest.approx(gain, rel=digits)
    np.testing.assert_allclose(
        W[:, columns], objective.weights_of(problem, sparse), atol=digits * abs(W).max()
    )
    others = np.setdiff1d(np.arange(W.shape[1]), columns)
    assert not W[:, others].any()


def meeting_width(dtype):
    return 64 // np.dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inspect_finds_the_certificate(dtype):
    problem, trainer, meeting, W, z, rows, columns = setting(dtype)
    trainer.loop(meeting, W, z, rows, np.empty_like(rows), False, -np.inf, 1)
    own = np.zeros(problem.dataset.n_examples, dtype)
    trainer.own_scores(meeting, W, np.arange(len(own), dtype=np.int32), own)
    scores = objective.scores(problem, W[:, columns])
    labels = problem.dataset.labels
    np.testing.assert_allclose(own, scores[np.arange(len(own)), labels], rtol=1e-4, atol=1e-4)
    loss = trainer.inspect(meeting, W, z, own).loss
    expected = problem.costs @ objective.losses(problem, W[:, columns])
    assert loss == pytest.approx(expected, rel=1e-4)


def test_what_the_core_refuses():
    _, trainer, meeting, W, z, rows, _ = setting(np.float64)
    active, n = np.empty_like(rows), z.to_csr()[0].size - 1
    good = [meeting, W, z, rows, active, False, 0.0, 1]
    trainer.loop(*good)
    elsewhere = _core.Meeting(8, 3, 1, np.full(n, -1, np.int32))
    cases = [
        (0, elsewhere, "another bundle"),
        (1, W[:-1], "n_features"),
        (1, np.zeros((len(W), 24)), "two slots"),
        (2, _core.Duals64(n + 1, 16), "one list per example"),
        (2, _core.Duals64(n, 8), "columns of the weights"),
        (3, np.array([n], np.int32), "rows out of range"),
        (4, active[:0], "as long as rows"),
    ]
    for place, bad, message in cases:
        arguments = [*good[:place], bad, *good[place + 1 :]]
        with pytest.raises(ValueError, match=message):
            trainer.loop(*arguments)
    for width, first, labels, message in [
        (0, 0, [0], "must have a column"),
        (8, 9, [0], "too few columns"),
        (8, 3, [16], "label out of range"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.Meeting(width, first, 0, np.array(labels, np.int32))
    problem = make_problem(np.eye(3), [0, 1, 2], n_classes=3, formulation="ats")
    with pytest.raises(ValueError, match="relative margins"):
        _core.PairTrainer64(**trainer_arguments(problem))
