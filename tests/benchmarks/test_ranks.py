"""What the cost model is measured with: runs on ranks, fits, tables, the figure."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import rank_epochs, rank_fit, rank_network, rank_predictions, rank_run
from benchmarks.rank_costs import middle, write_data
from benchmarks.rank_counts import Counting
from benchmarks.rank_settings import CHECKED, FITTED, runs
from benchmarks.shaped_text import ShapedText
from benchmarks.training import read
from experiments.alber2017 import speedup
from manyclass.parallel.communicator import Serial
from manyclass.planning.rates import Measured
from tests.helpers.ranks import on_ranks

SHAPE = {"n_examples": 80, "n_features": 60, "n_classes": 12, "words_per_example": 10.0}
SETTINGS = {"formulation": "weston_watkins", "weights": "dense", "tol": 1e-3, "max_iter": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks") / "tiny"
    write_data(ShapedText("tiny", SHAPE, n_test=12), folder)
    return folder


@pytest.fixture(scope="module")
def entries(folder):
    """The same training by 1 process and by 2 ranks, fitted to and checked on."""
    sizes = json.loads((folder / "sizes.json").read_text())
    found = [rank_run.measure(folder, SETTINGS, Serial())]
    found.append(on_ranks(2, lambda rank: rank_run.measure(folder, SETTINGS, rank))[0])
    return [
        {"data": "tiny", **sizes, "fitted": fitted, **entry}
        for fitted in (True, False)
        for entry in found
    ]


def test_a_run_says_what_it_took(entries):
    for entry in entries:
        assert len(entry["epochs"]) == entry["n_epochs"] <= 4
        assert all(epoch["busiest"] >= epoch["at_work"] >= 0 for epoch in entry["epochs"])
        assert 0 < entry["density"] <= entry["packed"] <= 1
    alone, ranks = entries[:2]
    assert rank_fit.mean_of(alone, "bytes") == 0
    assert rank_fit.mean_of(ranks, "bytes") > 0
    assert ranks["objective"] == pytest.approx(alone["objective"], rel=0.1)


def test_tables_have_a_line_for_each_run(entries):
    rates = rank_fit.fitted_rates([entry for entry in entries if entry["fitted"]])
    assert set(rates) == {"weston_watkins dense serial", "weston_watkins dense class_blocks"}
    for off in rank_fit.errors(entries, rates):
        assert off == pytest.approx(0, abs=0.05)  # one run each: it is met
    usual = rank_fit.usual(entries, [])
    assert len(rank_fit.checked_table(entries, rates, usual).splitlines()) == 2 + 2
    for off in rank_fit.errors_in_all(entries, rates, usual):
        assert off == pytest.approx(0, abs=0.05)
    assert len(rank_fit.runs_table(entries, rates).splitlines()) == 2 + 2


def test_the_median_of_repeated_runs():
    runs = [{"epochs": [{"at_work": 9.0}, {"at_work": t}], "run": t} for t in (3.0, 1.0, 2.0)]
    assert middle(runs)["run"] == 2.0
    assert middle(runs[:2])["run"] == 1.0
    assert middle(runs[:1])["run"] == 3.0


def test_growth_of_epochs_by_hand():
    counted = [
        {"data": "d", "formulation": "f", "ranks": p, "epochs": e, "gap": 1e-4}
        for p, e in ((1, 12), (2, 10), (8, 20), (32, 40))
    ]
    found = rank_fit.usual_epochs(counted, "f", "class_blocks")
    assert found == {"epochs": 10, "growth": pytest.approx(0.5)}
    assert rank_fit.usual_epochs(counted, "f", "serial") == {"epochs": 12, "growth": 0}
    counted[0]["gap"] = 1e-2
    assert (
        rank_fit.epochs_table(counted).splitlines()[-1] == "| d | f | more than 12 | 10 | 20 | 40 |"
    )


def test_epochs_are_counted(folder):
    data = read(folder, json.loads((folder / "sizes.json").read_text()))
    found = rank_epochs.count(data, "one_vs_rest", 2)
    assert found["gap"] <= rank_epochs.TOL
    assert found["epochs"] >= 1


def test_calls_are_counted_and_passed_on():
    def call(rank):
        counting = Counting(rank)
        other = 1 - rank.rank
        came = np.empty(3)
        counting.send_receive(np.full(3, float(rank.rank)), other, came, other)
        assert came[0] == other
        assert counting.all_sum(np.ones(2)).tolist() == [2.0, 2.0]
        assert len(counting.all_gather(np.ones(rank.rank + 1))) == 2
        counting.broadcast(came, 0)
        assert counting.size == 2
        return counting.counts

    first, second = on_ranks(2, call)
    assert first.messages == second.messages == 1 + 2 + 2 + 1
    assert (first.bytes, second.bytes) == (24 + 16 + 16 + 24, 24 + 16 + 8 + 24)
    assert first.since(first).bytes == 0


def test_fitted_and_checked_data_differ():
    assert not set(FITTED) & set(CHECKED)
    assert {run.n_ranks for run in runs() if not run.fitted} >= {1, 2, 3, 4}


def test_a_slower_cable_takes_longer(entries):
    seconds = [
        rank_network.predicted(entries[1] | {"rate": rate, "latency": 1e-4})
        for rate in ("10gbit", "1gbit", "100mbit")
    ]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def test_predictions_for_corpora_larger_than_any_here():
    measured = Measured.read()
    for title, shape in rank_predictions.shapes().items():
        lines = rank_predictions.table(title, shape, measured).splitlines()
        assert len(lines) == 4 + len(rank_predictions.RANKS)


@pytest.mark.slow
def test_the_figure_of_speed_ups(tmp_path):
    pytest.importorskip("matplotlib")
    times = {"1": [2.0, 2.2, 1.8], "2": [1.0], "4": [1.0]}
    worked = {"1": [2.0], "2": [0.8], "4": [0.5]}
    found = {
        "machine": {"cpu": "some", "cores": 2},
        "date": "today",
        "sizes": {"n": 1000, "d": 500, "k": 100, "nnz": 9000, "largest": 30},
        "seconds": dict.fromkeys(speedup.MACHINES, times),
        "at_work": dict.fromkeys(speedup.MACHINES, worked),
    }
    assert speedup.measured_speedups(found, "WW", "seconds") == {1: 1.0, 2: 2.0, 4: 2.0}
    speedup.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    assert speedup.table(found).splitlines()[2].startswith("| WW | 2.00 s | 1.00 s | 2.00 | 2.50 |")
