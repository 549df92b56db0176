"""The benchmark of stochastic training: its curves, its fits, its tables."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from benchmarks.stochastic import costs as stochastic_costs
from benchmarks.stochastic import run as stochastic
from benchmarks.stochastic import tables as stochastic_tables
from benchmarks.stochastic.curves import Lengths, best_alphas, curves, final, first_epoch
from benchmarks.stochastic.seconds import Limits, Run, Timed, levels_of, race, read_curves
from benchmarks.stochastic.solvers import (
    SOLVERS_OF_EPOCHS,
    Rows,
    accuracy,
    epoch_by_epoch,
    fit,
    keep_intercepts_apart,
)
from measuring import results
from measuring.datasets.base import Data
from measuring.results import read_results

LIMITS = Limits(repeats=2, budget=600.0)
BY_NAME = {solver.name: solver for solver in SOLVERS_OF_EPOCHS}


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    rows = sp.csr_array(X - X.mean(axis=0))
    return Data.from_parts((rows[::2], y[::2]), (rows[1::2], y[1::2]))


def rows_of(data, solver):
    return Rows.from_data(data, float64=solver.float64)


@pytest.mark.parametrize("solver", SOLVERS_OF_EPOCHS, ids=lambda solver: solver.name)
def test_every_solver_learns(data, solver):
    rows = rows_of(data, solver)
    model = fit(solver.make(len(rows.labels), 1e-2, 20, 0), rows)
    assert accuracy(model, rows) > 0.8


@pytest.mark.parametrize("family", ["hinge", "log_loss"])
def test_one_run_of_sgd_tells_both_accuracies(data, family):
    solver, plain = BY_NAME[f"sklearn_sgd_average_{family}"], BY_NAME[f"sklearn_sgd_{family}"]
    rows = rows_of(data, solver)
    followed = epoch_by_epoch(solver, rows, 1e-3)
    alone = epoch_by_epoch(plain, rows, 1e-3)
    for (epoch, scores), (same, expected) in itertools.islice(zip(followed, alone, strict=True), 5):
        assert epoch == same
        assert scores[plain.name] == expected[plain.name]


def test_the_average_is_that_of_a_single_fit(data):
    solver = BY_NAME["sklearn_sgd_average_hinge"]
    rows = rows_of(data, solver)
    whole = solver.make(len(rows.labels), 1e-3, 4, 0)
    pieces = solver.make(len(rows.labels), 1e-3, 1, 0)
    for model in (whole, pieces):
        model.set_params(shuffle=False)
    fit(whole, rows)
    for _ in range(4):
        keep_intercepts_apart(pieces)
        pieces.partial_fit(rows.X, rows.labels, classes=[0, 1, 2])
    np.testing.assert_allclose(pieces.coef_, whole.coef_)
    np.testing.assert_allclose(pieces.intercept_, whole.intercept_)


def test_all_alphas_begin_and_the_best_go_on(data):
    solver = BY_NAME["manyclass_average_hinge"]
    found = curves(solver, rows_of(data, solver), Lengths(2, 4))[solver.name]
    lengths = [curve[-1][0] for curve in found.values()]
    assert sorted(lengths) == [2, 2, 2, 4, 4]
    assert all(
        [epoch for epoch, _ in curve] == [1, 2, 3, 4][: len(curve)] for curve in found.values()
    )
    assert found[best_alphas(found)[0]][-1][0] == 4


def test_refits_are_not_tried_beyond_the_last(data):
    solver = BY_NAME["sklearn_saga"]
    found = curves(solver, rows_of(data, solver), Lengths(2, 5))[solver.name]
    epochs = {tuple(epoch for epoch, _ in curve) for curve in found.values()}
    assert epochs == {(1, 2), (1, 2, 3, 5)}


def test_ends_alphas_and_first_epochs_of_curves():
    assert final([(1, 0.9), (2, 0.5), (3, 0.7), (4, 0.6)]) == 0.6
    assert final([(1, 0.9)]) == 0.9
    found = {1.0: [(1, 0.9)], 0.1: [(1, 0.2), (2, 0.5)], 0.01: [(1, 0.2), (2, 0.5)]}
    assert best_alphas(found) == [0.1, 0.01]
    assert first_epoch([(1, 0.5), (3, 0.7)], 0.6) == 3
    assert first_epoch([(1, 0.5), (3, 0.7)], 0.8) is None


def test_levels_are_of_the_same_loss_and_of_all():
    found = {
        "sklearn_sgd_hinge": {1.0: [(1, 0.5)]},
        "sklearn_sgd_average_hinge": {1.0: [(1, 0.6)]},
        "sklearn_sgd_log_loss": {1.0: [(1, 0.7)]},
        "manyclass_svc": {1.0: [(1, 0.8)]},
    }
    assert levels_of(found, "hinge") == {"sgd": 0.99 * 0.6, "best": 0.99 * 0.8}
    assert levels_of(found, "log_loss") == {"sgd": 0.99 * 0.7, "best": 0.99 * 0.8}


def test_fits_that_fall_short_of_their_curve_get_more_epochs():
    timed = Timed(None, 1.0, [(1, 0.5), (2, 0.7), (3, 0.8)], {"sgd": 0.6})
    assert timed.pending(LIMITS) == [2]
    timed.runs[2] = Run([1.0, 1.0], [1.0, 1.0], [0.5, 0.55])
    assert timed.pending(LIMITS) == [3]
    timed.runs[3] = Run([1.0, 1.0], [1.0, 1.0], [0.5, 0.55])
    assert timed.deciding(0.6, LIMITS) is None
    assert timed.pending(LIMITS) == [1]  # so that the seconds of an epoch are known


def test_long_fits_are_repeated_less():
    limits = Limits(repeats=5, budget=10.0)
    assert not Run().is_over(limits)
    assert not Run([9.0, 9.0], [3.0, 3.0]).is_over(limits)
    assert Run([9.0, 9.0, 9.0], [3.0, 3.0, 3.0]).is_over(limits)
    assert Run([90.0], [60.0]).is_over(limits)


@pytest.fixture(scope="module")
def measured(data):
    names = [
        f"{name}_hinge" for name in ("manyclass_average", "sklearn_sgd_average", "sklearn_sgd")
    ]
    solvers = [BY_NAME[name] for name in names]
    found = {}
    for solver in solvers:
        if not solver.follows:
            found |= curves(solver, rows_of(data, solver), Lengths(2, 3))
    written = {
        name: {f"{alpha:g}": curve for alpha, curve in each.items()} for name, each in found.items()
    }
    assert {name: read_curves(each) for name, each in written.items()} == found
    versions = {"python": "3", "versions": {"scikit-learn": "1", "numpy": "2"}}
    seconds = race(solvers, data, written, LIMITS)
    results = {"date": "2026-01-02", "sizes": data.describe(), "curves": written}
    return {
        "machine": {"cpu": "CPU", "cores": 2, **versions},
        "data": {"iris": {**results, "seconds": seconds}},
    }


def test_a_race_repeats_what_decides(measured):
    for found in measured["data"]["iris"]["seconds"].values():
        for level in found["levels"].values():
            if level["epochs"]:
                run = found["runs"][level["epochs"]]
                assert len(run["seconds"]) == 2
                assert np.median(run["accuracies"]) >= level["accuracy"]
        assert found["runs"]


def as_json(result):
    """Keys are text in a file."""
    for found in result["data"]["iris"]["seconds"].values():
        found["runs"] = {str(epochs): run for epochs, run in found["runs"].items()}
    return result


def test_tables_also_of_levels_that_are_not_reached(measured):
    result = as_json(measured)
    assert "| iris | 75 | 4 | 3 | 4 |" in stochastic_tables.levels_table(result)
    text = stochastic_tables.seconds_tables(result)
    assert text.count("| iris |") == 3
    assert "Python 3, scikit-learn 1, NumPy 2" in text
    own = {"levels": {"sgd": {"accuracy": 0.9, "epochs": None}}, "runs": {"1": {"seconds": [1.0]}}}
    assert stochastic_tables.seconds_to(own, "sgd") == []
    assert stochastic_tables.seconds_to(own, "best") == []


def test_results_are_written_beside_those_in_the_file(measured, tmp_path):
    stochastic.update(tmp_path, "a", "curves", {"x": {"0.1": [[1, 0.5]]}})
    stochastic.update(tmp_path, "a", "curves", {"y": {}})
    stochastic.update(tmp_path, "b", "seconds", measured["data"]["iris"]["seconds"])
    result = read_results(tmp_path / "stochastic.json")
    assert result["data"]["a"]["curves"] == {"x": {"0.1": [[1, 0.5]]}, "y": {}}
    runs = result["data"]["b"]["seconds"]["sklearn_sgd_hinge"]["runs"]
    assert all(len(run["seconds"]) >= 1 for run in runs.values())


def test_costs_and_memory_make_tables(data):
    costs = stochastic_costs.epochs(data, 1)
    assert set(costs) == {setting.key() for setting in stochastic_costs.settings()}
    for cost in costs.values():
        cost["seconds"] = [max(s, 1e-6) for s in cost["seconds"]]  # a clock may see no difference
    memory = {"manyclass_plain_hinge": {"megabytes": 1234.0, "training_megabytes": 56.0}}
    result = {"data": {"iris": {"costs": costs, "memory": memory}}}
    assert stochastic_tables.epochs_table(result).count("| iris |") == 6
    expected = "| iris | StochasticClassifier(intercept_scaling=1), hinge | 1,234 | 56 |"
    assert stochastic_tables.memory_table(result).splitlines()[-1] == expected


@pytest.mark.slow
def test_a_picture_is_drawn(measured, monkeypatch):
    plots = pytest.importorskip("benchmarks.stochastic.plots", reason="needs matplotlib")
    monkeypatch.setattr(results, "_scratch", None)
    results.write_to_scratch()
    assert plots.picture(as_json(measured)).endswith(f"(../figures/{plots.FIGURE})")
    assert results.place(results.FIGURES / plots.FIGURE).stat().st_size > 1000
