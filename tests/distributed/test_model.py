"""Models that are written by ranks of which none has all weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.distributed import model as sharded_model
from manyclass.distributed import sharded_weights as sharded
from manyclass.distributed.consensus import OtherRankError
from manyclass.distributed.model import ShardedTraining
from manyclass.io.tensors import TensorWriter
from tests.helpers.catalog import text_problem
from tests.helpers.ranks import AbortedError, caught, on_ranks

DATA = text_problem("weston_watkins", n=80, d=60, k=7).dataset
X, Y = DATA.matrix(), DATA.labels


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(sharded, "MESSAGE_ELEMENTS", 50)
    monkeypatch.setattr(sharded, "LOOK", 100)


def trained(rank, X=X, y=Y, **params):
    options = {"formulation": "weston_watkins", "random_state": 0, "tol": 1e-2, **params}
    training = ShardedTraining(MulticlassSVC(communicator=rank, **options))
    training.fit(X, y)
    return training


NAMES = np.array([f"class {c}" for c in "gfedcba"])
CASES = {
    "dense": {},
    "sparse": {"weights": "sparse"},
    "one_vs_rest": {"formulation": "one_vs_rest"},
    "sparse one_vs_rest": {"formulation": "one_vs_rest", "weights": "sparse"},
    "sum to zero": {"formulation": "lee_lin_wahba"},
    "no intercept": {"fit_intercept": False},
    "scaled intercept": {"intercept_scaling": 2.0, "weights": "sparse"},
    "names": {"y": NAMES[Y]},
    "float64": {"X": X.astype(np.float64)},
    "two classes": {"y": Y % 2},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("size", [1, 3])
def test_the_file_is_that_of_the_gathered_model(tmp_path, case, size):
    paths = tmp_path / "spread", tmp_path / "gathered"
    params = {"formulation": "weston_watkins", "random_state": 0, "tol": 1e-2, **case}
    rows, y = params.pop("X", X), params.pop("y", Y)

    def call(rank):
        training = trained(rank, **case)
        training.save(paths[0])
        model = MulticlassSVC(communicator=rank, **params).fit(rows, y)
        if rank.rank == 0:
            save_model(paths[1], model)
        return training.model

    models = on_ranks(size, call)
    first, second = map(load_model, paths)
    assert first.get_params() == second.get_params()
    assert type(first._coefficients) is type(second._coefficients)
    for name in ("coef_", "intercept_", "classes_"):
        one, two = getattr(first, name), getattr(second, name)
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(*(a.toarray() if sp.issparse(a) else a for a in (one, two)))
    assert (first.certificate_, first.n_iter_) == (second.certificate_, second.n_iter_)
    assert paths[0].stat().st_size == pytest.approx(paths[1].stat().st_size, abs=8)
    np.testing.assert_array_equal(first.predict(rows), second.predict(rows))
    assert {len(model.history_) for model in models} == {first.n_iter_}
    assert len(list(tmp_path.iterdir())) == 2


def test_no_rank_has_the_weights_of_a_spread_model():
    for training in on_ranks(2, trained):
        assert not hasattr(training.model, "coef_")
        assert list(training.model.classes_) == list(range(7))


def saved(path):
    def call(rank):
        training = trained(rank)
        training.save(path)

    return caught(call)


def test_what_can_be_known_before_is_told_once(tmp_path, monkeypatch):
    first, second = on_ranks(2, saved(tmp_path / "no" / "model"))
    assert isinstance(first, FileNotFoundError)
    assert isinstance(second, OtherRankError)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("manyclass.io.tensors.reserve", full)
    path = tmp_path / "model"
    path.write_text("before")
    first, second = on_ranks(2, saved(path))
    assert (first.errno, first.filename) == (28, str(path))
    assert isinstance(second, OtherRankError)
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("broken", [0, 1])
def test_an_error_while_weights_come_ends_all_and_leaves_nothing(tmp_path, monkeypatch, broken):
    parts = sharded_model._parts

    def breaking(W, counts, bias):
        for at, part in enumerate(parts(W, counts, bias)):
            if at == 2 and W.communicator.rank == broken:
                raise OSError(5, "the disk is gone")
            yield part

    monkeypatch.setattr(sharded_model, "_parts", breaking)
    errors = on_ranks(2, saved(tmp_path / "model"))
    assert isinstance(errors[broken], OSError)
    assert isinstance(errors[1 - broken], AbortedError)
    assert not any(tmp_path.iterdir())


def test_an_unfinished_file_is_no_model(tmp_path):
    path = tmp_path / "model"
    kind = np.dtype(np.float32)
    with path.open("w+b") as new:
        file = TensorWriter(new, {"weights": (kind, (3, 2))}, {"format": "manyclass"})
        file.append("weights", np.ones((2, 2)))
        with pytest.raises(ValueError, match="does not match its shape"):
            file.finish()
    with pytest.raises(ValueError, match="cannot be read as a manyclass model"):
        load_model(path)


@pytest.mark.parametrize("dtype", [np.complex128, np.longdouble, np.dtype(">f8"), np.dtype("U3")])
def test_tensors_of_no_kind_that_files_have(tmp_path, dtype):
    path = Path(tmp_path / "file")
    with path.open("w+b") as file, pytest.raises(ValueError, match="cannot be stored"):
        TensorWriter(file, {"a": (np.dtype(dtype), (1,))}, {})
