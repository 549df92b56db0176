"""Checkpoints of one-vs-rest with sparse weights, which trains some classes after the other."""

import warnings

import numpy as np
import pytest

from manyclass.solvers.weights import storage
from manyclass.training import checkpoints as manager
from tests.helpers.catalog import text_problem
from tests.helpers.checkpointed import model, objective


@pytest.fixture(name="parts")
def parts_fixture(monkeypatch):
    monkeypatch.setattr(storage, "CHUNK_BYTES_OF_W", 1)
    problem = text_problem("one_vs_rest", dtype=np.float64)
    return problem.dataset.matrix(), problem.dataset.labels


def in_parts_model(folder=None, **params):
    options = {"weights": "sparse", "tol": 1e-5, **params}
    return model(folder, "one_vs_rest", **options)


@pytest.mark.parametrize("at", [2, 20, 40])
@pytest.mark.parametrize("after", [{}, {"n_jobs": 2}, {"weights": "dense"}])
def test_finished_parts_and_the_running_one_survive(at, after, parts, folder, monkeypatch):
    alone = in_parts_model().fit(*parts)
    assert alone.n_iter_ > 40

    def interrupt(self, progress):
        write(self, progress)
        if progress.record.epoch == at:
            raise RuntimeError("killed")

    write = manager.Checkpoints.epoch
    with monkeypatch.context() as patch:
        patch.setattr(manager.Checkpoints, "epoch", interrupt)
        with pytest.raises(RuntimeError, match="killed"):
            in_parts_model(folder).fit(*parts)
    again = in_parts_model(folder, resume=True, **after).fit(*parts)
    assert objective(again) == pytest.approx(objective(alone), rel=2e-5)
    assert [record.epoch for record in again.history_] == list(range(1, again.n_iter_ + 1))
    if not after:
        # A finished part needs one more epoch, to be judged.
        assert again.n_iter_ <= alone.n_iter_ + 10


def test_while_parts_are_looked_through_again_nothing_is_lost(parts, folder, monkeypatch):
    """Killed again in the first part of a training whose other parts are done."""
    first = in_parts_model(folder).fit(*parts)

    def interrupt(self, progress):
        write(self, progress)
        raise RuntimeError("killed")

    write = manager.Checkpoints.epoch
    with monkeypatch.context() as patch:
        patch.setattr(manager.Checkpoints, "epoch", interrupt)
        with pytest.raises(RuntimeError, match="killed"):
            in_parts_model(folder, resume=True).fit(*parts)
    again = in_parts_model(folder, resume=True).fit(*parts)
    assert again.n_iter_ <= first.n_iter_ + 5
    assert objective(again) == pytest.approx(objective(first), rel=2e-5)


def test_max_iter_counts_the_epochs_of_every_part(parts, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = in_parts_model(folder, max_iter=2).fit(*parts)
        again = in_parts_model(folder, max_iter=2, resume=True).fit(*parts)
        more = in_parts_model(folder, max_iter=3, resume=True).fit(*parts)
    assert again.history_ == first.history_
    assert again.certificate_.primal_objective == pytest.approx(
        first.certificate_.primal_objective, rel=1e-9
    )
    assert more.n_iter_ == first.n_iter_ * 3 // 2
