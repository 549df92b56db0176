"""The experiments of Chen et al. 2011: what is trained, and what is read from the curves."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from experiments.chen2011 import exact, measured, page, run, training
from experiments.chen2011.settings import METHODS, SETTINGS, Setting, checkpoints, row_order
from manyclass import MulticlassSVC
from manyclass.datasets.synthetic import make_text_corpus
from measuring.datasets.base import Data


@pytest.fixture(scope="module")
def data():
    X, y = make_text_corpus(900, 500, 4, random_state=0)
    return Data.from_parts((X[:600], y[:600]), (X[600:], y[600:]))


def curve(seconds, accuracies, n=10, method="SVM"):
    steps = list(range(1000, 1000 + len(seconds)))
    return {"method": method, "n": n, "steps": steps, "seconds": seconds, "accuracies": accuracies}


def test_checkpoints_orders_and_pieces_of_rows():
    for setting in SETTINGS.values():
        marks = checkpoints(setting.steps)
        assert marks[-1] == setting.steps
        assert marks == sorted(set(marks))
    order = row_order(np.random.default_rng(0), 7, 17)
    assert len(order) == 17
    assert sorted(order[:7]) == sorted(order[7:14]) == list(range(7))
    assert len(set(order[14:])) == 3
    X, labels = sp.csr_array(np.eye(6)), np.arange(6)
    found = list(training.pieces(X, labels, [1, 3, 6]))
    assert [rows.shape[0] for rows, _ in found] == [1, 2, 3]
    assert np.concatenate([own for _, own in found]).tolist() == list(range(6))


def test_a_curve_ends_where_one_fit_does(data):
    rows = row_order(np.random.default_rng(0), 600, 600)
    X, labels = data.X[rows], data.labels[rows]
    test = training.rows_for_test(data)
    model = training.model_of("SVM", 1e-3)
    seconds, accuracies = training.learning_curve(model, X, labels, [100, 250, 600], test, 4)
    whole = training.model_of("SVM", 1e-3).set_params(max_iter=1, tol=None).fit(X, labels)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert accuracies[-1] == whole.score(*test)
    assert 0 < seconds[0] < seconds[1] < seconds[2]


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_a_binary_model_makes_the_steps_of_pegasos(loss):
    """Steps 1/(alpha t) on alpha/2 ||u||^2 + the mean of the loss of u, in float64."""
    rng = np.random.default_rng(0)
    X, signs, alpha = rng.standard_normal((50, 4)), rng.choice([-1.0, 1.0], 50), 0.02
    u = np.zeros(4)
    for t, (x, sign) in enumerate(zip(X, signs, strict=True), start=1):
        margin = sign * (u @ x)
        slope = float(margin < 1) if loss == "hinge" else 1 / (1 + np.exp(margin))
        u = (1 - 1 / t) * u + slope * sign * x / (alpha * t)
    method = "SVM" if loss == "hinge" else "LR"
    model = training.model_of(method, training.binary_alpha(alpha))
    model.partial_fit(X, signs > 0, classes=[False, True])
    np.testing.assert_allclose(model.coef_[0], u, rtol=1e-6)


def test_binary_machines_learn_all_classes(data):
    rows = row_order(np.random.default_rng(0), 600, 3000)
    given = data.X[rows], data.labels[rows], [300, 3000], training.rows_for_test(data), 4
    first, last = training.one_vs_rest_curve("K-Pegasos", 1e-3, *given)
    assert 0.4 < first < last <= 1


def test_the_exact_problem_is_the_same():
    """C = 1/(n alpha): at the optimum, both objectives agree up to the factor n C."""
    X, y = make_text_corpus(200, 100, 3, random_state=0, dtype=np.float64)
    alpha = 1e-2
    model = MulticlassSVC(C=exact.cost(alpha, 200), tol=1e-8, fit_intercept=False).fit(X, y)
    scores = X @ model.coef_.T
    own = scores[np.arange(200), y].copy()
    scores[np.arange(200), y] = -np.inf
    hinge = np.maximum(0, 1 + scores.max(axis=1) - own).mean()
    f = alpha / 2 * np.sum(model.coef_**2) + hinge
    assert f == pytest.approx(alpha * model.certificate_.primal_objective, rel=1e-6)


def test_the_best_alpha_seconds_and_levels_of_curves():
    assert training.best_alpha({"1e-05": 0.8, "0.0001": 0.9, "0.001": 0.9, "0.01": 0.7}) == 1e-3
    found = measured.reached(0.75, curve([1.0, 2.0, 4.0], [[0.5, 1.0, 0.6], [0.8, 0.1, 0.1]]))
    np.testing.assert_allclose(found, [1.5, 1.0])
    assert measured.reached(0.9, curve([1.0, 2.0], [[0.5, 0.8]])) == np.inf
    assert measured.reached(0.75, curve([1.0, 2.0], [[0.5, 1.0]]), "steps") == 1000.5
    curves = [curve([1.0, 2.0], [[peak, 0.5]]) for peak in (0.6129, 0.71, 0.71, 0.9)]
    assert measured.levels(curves) == [0.612, 0.71]


def test_flat_from_the_first_size_with_as_few_steps_as_all_rows():
    peaks = [(5, 0.9), (10, 0.99), (20, 1.0), (40, 1.0)]
    curves = [curve([0.0, 1.0, 2.0], [[0.0, peak, 1.0]], n=n) for n, peak in peaks]
    for one in curves:
        one["steps"] = [10, 20, 40]
    assert measured.flat_from(curves, 1.0, slack=1.15) == 20
    assert measured.flat_from(curves, 0.95, slack=1.15) == 10
    assert measured.flat_from([*curves, curve([1.0], [[0.5]], n=80)], 1.0) is None


def test_a_sweep_ends_when_it_takes_long():
    asked = []

    def fit(tol):
        asked.append(tol)
        return {"tol": tol, "seconds": 4.0 * len(asked), "accuracy": 0.5}

    assert len(exact._sweep(fit, (1.0, 0.1, 0.01, 1e-3))) == 2  # the third would take 16 s
    assert asked == [1.0, 0.1]


def test_a_small_run_makes_a_whole_page(data, tmp_path, monkeypatch):
    class Small:
        name = "news20"

    monkeypatch.setattr(run, "N_SEEDS_OWN", 2)
    setting = Setting(
        Small(), (100, 300), 1200, 1100, n_seeds=2, alphas=(1e-3, 1e-2), cutting_seconds=1
    )
    found = run.measure(setting, data)
    path = tmp_path / "results" / "news20.json"
    measured.save(path, found)
    again = json.loads(path.read_text())
    assert [c["method"] for c in again["by_size"]] == list(METHODS) * 3
    assert [c["n"] for c in measured.curves_of(again, "LR")] == [100, 300, 600]
    assert np.shape(again["by_size"][0]["accuracies"]) == (2, 2)
    assert again["exact"]["MulticlassSVC"][-1]["relative_gap"] <= 1e-3
    results = measured.read_all(path.parent)
    assert again["cutting_planes"]["cutting plane"][-1]["seconds"] > 0
    for table in (
        page.data_table,
        page.dependency_table,
        page.one_vs_rest_table,
        page.exact_table,
        page.cutting_plane_table,
    ):
        lines = table(results).splitlines()
        assert len(lines) > 2
        assert len({line.count("|") for line in lines}) == 1
