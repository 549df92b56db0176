"""Checkpoints of estimators: when they are written, and what goes on from them."""

import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.distributed.ranks_backend import RanksCheckpoints
from manyclass.solvers import newton_phase
from manyclass.solvers.newton_phase import Pace
from manyclass.training import checkpoints as manager
from manyclass.training.checkpoints import found_in
from tests.helpers.checkpointed import X, Y, begun, model, names, objective, undisturbed
from tests.helpers.ranks import on_ranks


def check_history(fitted, before):
    assert fitted.history_[: len(before)] == before
    assert [record.epoch for record in fitted.history_] == list(range(1, fitted.n_iter_ + 1))
    seconds = [record.seconds for record in fitted.history_]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize(
    "formulation", ["crammer_singer", "weston_watkins", "lee_lin_wahba", "one_vs_rest", "mmr"]
)
def test_training_goes_on(formulation, folder):
    first = begun(folder, formulation=formulation)
    again = model(folder, formulation, resume=True).fit(X, Y)
    assert objective(again) == pytest.approx(undisturbed(formulation), rel=2e-6)
    check_history(again, first.history_)
    assert again.n_iter_ > 2
    assert len(names(folder)) == 2


@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins", "one_vs_rest"])
@pytest.mark.parametrize(("before", "after"), [("dense", "sparse"), ("sparse", "dense")])
def test_it_goes_on_with_other_weights_threads_and_tolerance(formulation, before, after, folder):
    first = begun(folder, formulation=formulation, weights=before, tol=1e-2)
    options = {"weights": after, "n_jobs": 2, "stopping": "gap", "random_state": 7}
    again = model(folder, formulation, resume=True, **options).fit(X, Y)
    assert objective(again) == pytest.approx(undisturbed(formulation), rel=2e-6)
    check_history(again, first.history_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation", ["crammer_singer", "weston_watkins", "one_vs_rest", "lee_lin_wahba"]
)
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 4)])
def test_it_goes_on_with_another_number_of_ranks(formulation, before, after, folder):
    def fit(rank, **params):
        fitted = model(folder, formulation, communicator=rank, tol=1e-5, **params).fit(X, Y)
        return fitted.history_, fitted.coef_, objective(fitted) if "resume" in params else None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = on_ranks(before, lambda rank: fit(rank, max_iter=2))[0][0]
        ended = on_ranks(after, lambda rank: fit(rank, resume=True))
    assert all(other[0][:2] == history for other in ended)
    for other in ended:
        np.testing.assert_array_equal(other[1], ended[0][1])
    assert ended[0][2] == pytest.approx(undisturbed(formulation, tol=1e-5), rel=2e-5)
    assert len(names(folder)) == 2


@pytest.mark.parametrize("late", [0, 1])
def test_the_clock_of_rank_0_decides(late, folder):
    def call(rank):
        ours = RanksCheckpoints(folder, 10.0, {}, 0, rank)
        ours._last -= 1000 * (rank.rank == late)
        written = []
        ours.write = written.append
        ours.epoch(SimpleNamespace(start=lambda: rank.all_sum(np.ones(1))))
        return len(written)

    assert on_ranks(3, call) == [1 - late] * 3


@pytest.mark.parametrize("random_state", [None, 5])
def test_the_seed_goes_on_unless_another_is_given(random_state, folder, tmp_path):
    begun(folder, random_state=None)
    shutil.copytree(folder, tmp_path / "copy")
    ours = begun(folder, 4, random_state=random_state, resume=True)
    again = begun(tmp_path / "copy", 4, random_state=None, resume=True)
    assert (ours.coef_ == again.coef_).all() == (random_state is None)


def test_epochs_before_count(folder):
    first = begun(folder, 3)
    again = begun(folder, 3, resume=True)
    assert again.history_ == first.history_
    assert again.certificate_.primal_objective == pytest.approx(first.certificate_.primal_objective)
    assert begun(folder, 4, resume=True).n_iter_ == 4


def test_how_often(folder):
    begun(folder, 3, checkpoint_minutes=10)
    assert names(folder) == ["checkpoint-000001", "checkpoint-000002"]  # the first and the last
    shutil.rmtree(folder)
    begun(folder, 3)
    assert names(folder) == ["checkpoint-000004", "checkpoint-000005"]


def test_a_finished_training_goes_on_to_a_smaller_gap(folder):
    first = model(folder, tol=1e-2).fit(X, Y)
    again = model(folder, tol=1e-6, resume=True).fit(X, Y)
    check_history(again, first.history_)
    assert objective(again) == pytest.approx(undisturbed(), rel=2e-6)
    assert model(folder, tol=1e-6, resume=True).fit(X, Y).n_iter_ == again.n_iter_ + 1


def test_a_checkpoint_of_the_beginning_is_a_beginning(folder):
    """Written before the first epoch: it changes nothing."""
    begun(folder, 1, checkpoint_minutes=10)
    found_in(folder)[0].unlink()
    again = model(folder, resume=True).fit(X, Y)
    alone = model().fit(X, Y)
    np.testing.assert_array_equal(again.coef_, alone.coef_)
    assert again.n_iter_ == alone.n_iter_


def test_the_weights_of_the_newton_phase_survive(folder, monkeypatch):
    """They are not W(z); also where each rank has those of some classes."""
    monkeypatch.setattr(newton_phase, "START", 10.0)
    monkeypatch.setattr(Pace, "is_slow", lambda self, passes=0: True)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    rows = 0.5 * rng.normal(size=(4, 6))[y] + rng.normal(size=(400, 6))
    for formulation, size in [("crammer_singer", 1), ("one_vs_rest", 1), ("one_vs_rest", 2)]:
        place = folder.with_name(f"{formulation}{size}")

        def fit(rank, place=place, formulation=formulation, **params):
            options = {"formulation": formulation, "checkpoint_minutes": 0, "tol": 1e-5, **params}
            options.update(checkpoint=place, random_state=0, communicator=rank)
            return MulticlassSVC(**options).fit(rows, y)

        first = on_ranks(size, fit)[0]
        again = on_ranks(size, lambda rank: fit(rank, resume=True))[0]
        assert again.certificate_.relative_gap <= 1e-5
        assert again.n_iter_ - first.n_iter_ <= 2 < first.n_iter_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 2.0}, "C: 1.0 there, 2.0 here"),
        ({"formulation": "reinforced"}, "formulation: weston_watkins there, reinforced here"),
        ({"loss": "squared_hinge"}, "loss: hinge there, squared_hinge here"),
        ({"fit_intercept": False}, "constant feature: 1.0 there, 0.0 here"),
        ({"intercept_scaling": 3.0}, "constant feature: 1.0 there, 3.0 here"),
        ({"class_weight": "balanced"}, "weights of rows and classes: fingerprint"),
        ({"X": X * 2}, "X: fingerprint"),
        ({"X": X[:, ::-1]}, "X: fingerprint"),
        ({"X": X.astype(np.float32)}, "type of X: float64 there, float32 here"),
        ({"X": X[:79], "y": Y[:79]}, "rows: 80 there, 79 here"),
        ({"X": X[:, :59]}, "features: 60 there, 59 here"),
        ({"y": np.minimum(Y, 5)}, "classes: 7 there, 6 here"),
        ({"y": np.roll(Y, 1)}, "y: fingerprint"),
        ({"y": Y.astype(str)}, "y: fingerprint"),
        ({"sample_weight": np.arange(1.0, 81)}, "weights of rows and classes: fingerprint"),
    ],
)
def test_another_problem_is_refused(change, message, folder):
    begun(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    given = {"X": X, "y": Y, "sample_weight": None, **change}
    data = [given.pop(name) for name in ("X", "y", "sample_weight")]
    with pytest.raises(ValueError, match="is a checkpoint of a different problem") as caught_error:
        model(folder, resume=True, **given).fit(*data)
    assert message in str(caught_error.value)
    assert "\n" not in str(caught_error.value)
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_ctrl_c_writes_one(folder, monkeypatch):
    def interrupt(self, progress):
        if progress.record.epoch == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(manager.Checkpoints, "epoch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model(folder).fit(X, Y)
    again = model(folder, resume=True).fit(X, Y)
    assert [record.epoch for record in again.history_[:4]] == [1, 2, 3, 4]
    assert objective(again) == pytest.approx(undisturbed(), rel=2e-6)


def test_parameters_of_a_run_are_not_saved(folder, tmp_path):
    fitted = begun(Path(folder))
    save_model(tmp_path / "model", fitted)
    loaded = load_model(tmp_path / "model")
    assert (loaded.checkpoint, loaded.resume) == (None, False)


def test_a_resumed_fit_says_so(folder, capsys):
    begun(folder, 2)
    capsys.readouterr()
    model(folder, resume=True, verbose=1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"continuing after epoch 2, from {folder}/checkpoint-000004"
    assert lines[1].startswith("epoch    3 ")
