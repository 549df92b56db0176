"""What ranks agree on before they train; and the estimator on several of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC
from manyclass.cli import train_ranks
from manyclass.cli.console import FAILED, CommandParser, UsageError
from manyclass.cli.train_options import train_options
from manyclass.distributed import consensus
from manyclass.distributed import storage_choice as choice_of_ranks
from manyclass.distributed.communicator import MPICommunicator, Serial
from manyclass.distributed.consensus import (
    OtherRankError,
    agreed,
    any_of,
    check_same,
    of_first,
    world,
)
from manyclass.distributed.mpiexec import SIZES
from manyclass.persistence.model_file import load_model, save_model
from manyclass.solvers.weights import storage
from manyclass.version import __version__
from tests.helpers.catalog import text_problem
from tests.helpers.ranks import caught, on_ranks

PROBLEM = text_problem("weston_watkins", n=80, d=60, k=7)
X, Y = PROBLEM.dataset.matrix(), PROBLEM.dataset.labels


def test_a_step_fails_on_all_ranks_or_on_none():
    def step(rank):
        def fail():
            if rank.rank in (1, 2):
                raise ValueError(f"rank {rank.rank}")
            return "done"

        return agreed(rank, fail)

    first, second, third = on_ranks(3, caught(step))
    assert isinstance(first, OtherRankError)
    assert (str(second), str(third)) == ("rank 1", "rank 2")
    assert [error.reported_by for error in (first, second, third)] == [1, 1, 1]
    assert on_ranks(2, lambda rank: agreed(rank, lambda: rank.rank)) == [0, 1]
    assert agreed(Serial(), lambda: 5) == 5


def test_small_agreements():
    assert on_ranks(3, lambda rank: any_of(rank, rank.rank == 2)) == [True] * 3
    assert on_ranks(3, lambda rank: any_of(rank, False)) == [False] * 3
    assert on_ranks(3, lambda rank: of_first(rank, 7 + rank.rank)) == [7] * 3


def test_other_facts_are_refused_on_every_rank_in_the_same_words():
    def call(rank):
        odd = rank.rank == 2
        check_same(rank, {"C": str(1 + odd), "loss": "hinge", **({"seed": "0"} if odd else {})})

    for error in on_ranks(3, caught(call)):
        assert isinstance(error, ValueError)
        assert str(error).startswith(
            "rank 2 has different data or parameters than rank 0 "
            "(C: 1 on rank 0, 2 on rank 2; seed: nothing on rank 0, 0 on rank 2)"
        )
    assert on_ranks(3, lambda rank: check_same(rank, {"C": "1"})) == [None] * 3


def test_outside_mpiexec_a_process_is_alone(monkeypatch):
    for name in SIZES:
        monkeypatch.delenv(name, raising=False)
    assert world().size == 1
    monkeypatch.setenv(SIZES[0], "1")
    assert world().size == 1


def test_mpiexec_without_a_usable_mpi4py(monkeypatch):
    monkeypatch.setenv(SIZES[0], "3")
    monkeypatch.setitem(__import__("sys").modules, "mpi4py", None)
    with pytest.raises(ValueError, match=r"mpiexec started 3 processes, .*pip install"):
        world()


def fit(rank, X=X, y=Y, **params):
    options = {"formulation": "weston_watkins", "random_state": 0, **params}
    return MulticlassSVC(communicator=rank, **options).fit(X, y)


@pytest.mark.parametrize("formulation", ["weston_watkins", "one_vs_rest", "lee_lin_wahba"])
def test_every_rank_has_the_model_of_one_process(formulation, capsys):
    alone = MulticlassSVC(formulation=formulation, tol=1e-4).fit(X, Y)
    models = on_ranks(2, lambda rank: fit(rank, formulation=formulation, tol=1e-4, verbose=1))
    epochs = [line for line in capsys.readouterr().out.splitlines() if line.startswith("epoch")]
    assert len(epochs) == models[0].n_iter_
    for model in models:
        assert model.certificate_.relative_gap <= 1e-4
        theirs = alone.certificate_.primal_objective
        assert model.certificate_.primal_objective == pytest.approx(theirs, rel=3e-4)
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert (model.predict(X) == alone.predict(X)).mean() > 0.95


def test_sparse_coefficients_and_a_file(tmp_path):
    models = on_ranks(2, lambda rank: fit(rank, weights="sparse"))
    assert all(sp.issparse(model.coef_) for model in models)
    path = tmp_path / "model"
    save_model(path, models[0])
    loaded = load_model(path)
    assert loaded.communicator is None
    np.testing.assert_array_equal(loaded.predict(X), models[0].predict(X))


def test_warm_start_on_ranks():
    def call(rank):
        model = fit(rank, warm_start=True, tol=1e-4)
        return model.n_iter_, model.set_params(tol=1e-3).fit(X, Y).n_iter_

    assert all(again == 1 < first for first, again in on_ranks(2, call))


def test_no_seed_is_still_one_for_all():
    models = on_ranks(3, lambda rank: fit(rank, random_state=None))
    np.testing.assert_array_equal(models[0].coef_, models[2].coef_)


def test_ranks_with_other_numbers_of_threads_choose_alike(monkeypatch):
    for module in (storage, choice_of_ranks):
        monkeypatch.setattr(module, "available_memory", lambda sharing=1: (60 << 20) // sharing)
    rng = np.random.default_rng(0)
    rows = sp.random_array(
        (300, 50_000), density=1e-4, random_state=rng, dtype=np.float32, format="csr"
    )

    def fitted(rank):
        model = MulticlassSVC(
            formulation="one_vs_rest", communicator=rank, n_jobs=1 + rank.rank, tol=0.1
        )
        return model.fit(rows, np.arange(300) % 64).coef_

    one, other = on_ranks(2, fitted)
    assert sp.issparse(one)
    assert (one != other).nnz == 0


def test_what_ranks_refuse():
    for error in on_ranks(2, caught(lambda rank: fit(rank, formulation="adm"))):
        assert "cannot be trained with classes partitioned" in str(error)
    for error in on_ranks(2, caught(lambda rank: fit(rank, formulation="ats", weights="sparse"))):
        assert "are always dense" in str(error)
    bad = X.copy()
    bad.data[0] = np.nan
    first, second = on_ranks(2, caught(lambda rank: fit(rank, X=bad if rank.rank else X)))
    assert isinstance(first, OtherRankError)
    assert "NaN" in str(second)
    bad = {"C": -1.0, "formulation": "nothing", "tol": "small", "n_jobs": 0.5}
    for name, value in bad.items():  # on one rank only
        params = [{}, {name: value}]
        first, second = on_ranks(2, caught(lambda rank, p=params: fit(rank, **p[rank.rank])))
        assert isinstance(first, OtherRankError)
        assert f"The '{name}' parameter of MulticlassSVC must be" in str(second)
    for nonsense in (3, type("Sized", (), {"size": 2})(), "world"):
        with pytest.raises(ValueError, match="'communicator' parameter"):
            MulticlassSVC(communicator=nonsense).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--solver", "stochastic"], "argument --solver: stochastic trains in one process"),
        (["--solver", "stochastic", "-C", "1"], "argument -C: requires --solver dual"),
        (["--alpha", "0.1"], "argument --alpha: requires --solver stochastic"),
    ],
)
def test_rank_0_alone_tells_which_options_do_not_go_together(
    tmp_path, monkeypatch, options, message
):
    parser = CommandParser()
    train_options(parser)
    args = parser.parse_args(["data", str(tmp_path / "model"), *options])
    here = threading.local()
    monkeypatch.setattr(consensus, "world", lambda: here.rank)

    def call(rank):
        here.rank = rank
        with pytest.raises((UsageError, SystemExit)) as raised:
            train_ranks.train_on_ranks(copy(args))
        return raised.value

    first, *others = on_ranks(3, call)
    assert isinstance(first, UsageError)
    assert message in str(first)
    assert [error.code for error in others] == [FAILED, FAILED]
    assert not any(tmp_path.iterdir())


def with_one_more(rank, array):
    """An array whose first number is larger on rank 1."""
    changed = array.copy()
    changed[0] += rank.rank
    return changed


@pytest.mark.parametrize(
    ("differ", "message"),
    [
        (lambda rank: {"C": 1.0 + rank.rank}, "(C: 1.0 on rank 0, 2.0 on rank 1)"),
        (lambda rank: {"tol": 0.1 + rank.rank}, "(tol: 0.1 on rank 0, 1.1 on rank 1)"),
        (
            lambda rank: {"class_weight": dict.fromkeys(range(40), 1.0 + rank.rank)},
            "(class_weight: {0: 1.0, 1: 1.0",
        ),
        (lambda rank: {"X": X[:, : 60 - rank.rank]}, "(features: 60 on rank 0, 59 on rank 1; X: f"),
        (lambda rank: {"X": X[: 80 - rank.rank], "y": Y[: 80 - rank.rank]}, "(rows: 80 on rank 0"),
        (lambda rank: {"X": X.astype([np.float32, np.float64][rank.rank])}, "(type of X: float32"),
        (lambda rank: {"X": X * (1 + rank.rank)}, "(X: fingerprint"),
        (lambda rank: {"y": np.roll(Y, rank.rank)}, "(y: fingerprint"),
        (lambda rank: {"y": Y + rank.rank}, "(y: fingerprint"),  # the same numbers, other names
        (
            lambda rank: {"sample_weight": with_one_more(rank, np.ones(80))},
            "(weights of rows and classes: fingerprint",
        ),
    ],
)
def test_ranks_that_differ_say_in_what(differ, message):
    def call(rank):
        given = {"X": X, "y": Y, "sample_weight": None, **differ(rank)}
        data = [given.pop(name) for name in ("X", "y", "sample_weight")]
        options = {"formulation": "weston_watkins", "random_state": 0, **given}
        MulticlassSVC(communicator=rank, **options).fit(*data)

    first, second = on_ranks(2, caught(call))
    assert isinstance(first, ValueError)
    assert str(first) == str(second)
    assert f"rank 1 has different data or parameters than rank 0 {message}" in str(first)


def test_ranks_of_two_versions_do_not_train_together(monkeypatch):
    facts = [consensus.facts_of_rank({}, {})]
    monkeypatch.setattr(consensus, "__version__", "9.0")
    facts.append(consensus.facts_of_rank({}, {}))
    for error in on_ranks(2, caught(lambda rank: check_same(rank, facts[rank.rank]))):
        assert f"(version of manyclass: {__version__} on rank 0, 9.0 on rank 1)" in str(error)


def test_a_second_ctrl_c_does_not_keep_a_rank_from_ending_all(monkeypatch):
    class EndedError(Exception):
        pass

    class Comm:
        def Abort(self, code):
            raise EndedError(code)

    ranks = object.__new__(MPICommunicator)
    ranks.rank, ranks.size, ranks._comm = 1, 2, Comm()
    monkeypatch.setattr(time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(EndedError):
            ranks.abort(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)
