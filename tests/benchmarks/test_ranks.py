"""Measurements of training on ranks: runs, tables, the figure of speed-ups."""

import numpy as np
import pytest

from benchmarks.runs import ranks
from experiments.alber2017 import speedup
from manyclass.distributed.communicator import Serial
from measuring import rank_runs
from measuring.datasets.shaped_text import ShapedText
from tests.helpers.ranks import on_ranks

SHAPE = {"n_examples": 80, "n_features": 60, "n_classes": 12, "words_per_example": 10.0}
SETTINGS = {"formulation": "weston_watkins", "weights": "dense", "tol": 1e-3, "max_iter": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks") / "tiny"
    rank_runs.save(ShapedText("tiny", SHAPE, n_test=12), folder)
    return folder


@pytest.fixture(scope="module")
def entries(folder):
    """The same training by 1 process and by 2 ranks."""
    found = [rank_runs.measure(folder, SETTINGS, Serial())]
    found.append(on_ranks(2, lambda rank: rank_runs.measure(folder, SETTINGS, rank))[0])
    return [{"data": "tiny", "k": 12, **entry} for entry in found]


def test_a_run_reports_its_epochs(entries):
    alone, both = entries
    assert [entry["ranks"] for entry in entries] == [1, 2]
    for entry in entries:
        assert 1 <= entry["n_epochs"] <= 4
        assert entry["all_epochs"]["seconds"] > 0
    assert alone["epoch"]["bytes"] == 0
    assert both["epoch"]["bytes"] > 0


def test_mpiexec_runs_the_same_measurement(folder, entries):
    pytest.importorskip("mpi4py")
    found = rank_runs.by_mpiexec(2, folder, SETTINGS)
    assert found["n_epochs"] == entries[1]["n_epochs"]
    assert found["gap"] == pytest.approx(entries[1]["gap"])


def test_tables_have_a_line_for_each_run(entries):
    lines = ranks.costs_table({"runs": entries}).splitlines()
    assert [line.split(" | ")[3] for line in lines[2:]] == ["1", "2"]
    assert lines[2].endswith("| 1.00 |")
    run = {"data": "d", "formulation": "f"}
    runs = [
        run | {"ranks": 1, "n_epochs": 12, "gap": 1e-2},
        run | {"ranks": 8, "n_epochs": 20, "gap": 1e-4},
    ]
    assert ranks.epochs_table({"runs": runs}).splitlines()[-1] == "| d | f | more than 12 | 20 |"


def test_the_median_of_repeated_runs():
    runs = [{"epoch": {"at_work": t}} for t in (3.0, 1.0, 2.0)]
    assert ranks.middle(runs)["epoch"]["at_work"] == 2.0
    assert ranks.middle(runs[:2])["epoch"]["at_work"] == 1.0


def test_calls_are_counted_and_forwarded():
    def call(rank):
        counting = rank_runs.Counting(rank)
        other = 1 - rank.rank
        came = np.empty(3)
        counting.send_receive(np.full(3, float(rank.rank)), other, came, other)
        assert came[0] == other
        assert counting.all_sum(np.ones(2)).tolist() == [2.0, 2.0]
        assert len(counting.all_gather(np.ones(rank.rank + 1))) == 2
        counting.broadcast(came, 0)
        assert counting.size == 2
        return counting.counts[0]

    assert on_ranks(2, call) == [24 + 16 + 16 + 24, 24 + 16 + 8 + 24]


@pytest.mark.slow
def test_the_figure_of_speed_ups(tmp_path):
    pytest.importorskip("matplotlib")
    times = {"1": [2.0, 2.2, 1.8], "2": [1.0], "4": [1.0]}
    worked = {"1": [2.0], "2": [0.8], "4": [0.5]}
    found = {
        "machine": {"cpu": "some", "cores": 2},
        "date": "today",
        "seconds": dict.fromkeys(speedup.MACHINES, times),
        "at_work": dict.fromkeys(speedup.MACHINES, worked),
    }
    assert speedup.measured_speedups(found, "WW", "seconds") == {1: 1.0, 2: 2.0, 4: 2.0}
    speedup.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    assert speedup.table(found).splitlines()[2].startswith("| WW | 2.00 s | 1.00 s | 2.00 | 2.50 |")
