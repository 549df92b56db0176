"""Storage of W on ranks: by the number of classes and by the memory of their machines."""

from __future__ import annotations

import pytest

from manyclass.distributed import storage_choice
from manyclass.distributed.storage_choice import choose_for_ranks
from manyclass.utils.machine import available_memory
from tests.helpers.catalog import GB, problem_of_size


def set_memory(monkeypatch, n_bytes):
    monkeypatch.setattr(storage_choice, "available_memory", lambda *_: n_bytes)


@pytest.mark.parametrize("name", ["weston_watkins", "one_vs_rest", "lee_lin_wahba"])
def test_weights_that_stay_with_the_ranks_need_no_room_in_one_place(monkeypatch, name):
    problem = problem_of_size(name, d=100_000, k=2000)  # 0.8 GB dense
    set_memory(monkeypatch, GB // 2)
    with pytest.raises(MemoryError):
        choose_for_ranks(problem, "dense", 8)
    assert choose_for_ranks(problem, "dense", 8, gathers=False).kind == "dense"
    set_memory(monkeypatch, 10 * GB)
    kinds = [choose_for_ranks(problem, "auto", 8, gathers=g).kind for g in (True, False)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    ("name", "k", "kind"),
    [("weston_watkins", 100, "dense"), ("weston_watkins", 2001, "sparse"), ("ats", 2001, "dense")],
)
def test_ranks_have_sparse_weights_for_many_classes(monkeypatch, name, k, kind):
    set_memory(monkeypatch, GB)
    chosen = choose_for_ranks(problem_of_size(name, k=k), "auto", 2)
    assert chosen.kind == kind


def test_duals_that_are_not_gathered_need_no_memory(monkeypatch):
    set_memory(monkeypatch, 3 * GB)
    problem = problem_of_size("lee_lin_wahba", d=20, k=10**4, n=10**4)
    some, none = (choose_for_ranks(problem, "auto", 4, keeps_duals=k).needed for k in (True, False))
    assert some - none == 10**8 * (8 + 12 + 28 // 4)  # every rank is told all


@pytest.mark.parametrize("wanted", ["dense", "sparse"])
def test_more_ranks_need_less_each(monkeypatch, wanted):
    set_memory(monkeypatch, GB)
    problem = problem_of_size("weston_watkins", d=10**4, k=3000, n=1000)
    two, eight = (choose_for_ranks(problem, wanted, ranks).needed for ranks in (2, 8))
    whole = 10**4 * 3000 * 4
    saved = (1 / 2 - 1 / 8) * whole
    assert two - eight == pytest.approx(saved, rel=0.01) if wanted == "dense" else two > eight
    set_memory(monkeypatch, two - 1)
    with pytest.raises(MemoryError, match="with z"):
        choose_for_ranks(problem, wanted, 2)


def test_ranks_of_a_machine_share_its_memory(monkeypatch):
    assert available_memory(4) <= available_memory()
    monkeypatch.setattr(storage_choice, "available_memory", lambda sharing=1: GB // sharing)
    problem = problem_of_size("weston_watkins", d=10**5, k=4000)  # 1.6 GB
    assert choose_for_ranks(problem, "dense", 4, gathers=False).kind == "dense"
    with pytest.raises(MemoryError, match="with z"):
        choose_for_ranks(problem, "dense", 4, gathers=False, sharing=4)
