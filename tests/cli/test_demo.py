"""The demo, at a tiny size: it runs, it is tidy, and what it says is true."""

import itertools
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from manyclass import MulticlassSVC
from manyclass.cli import demo

TINY = {"n_examples": 150, "n_features": 300, "n_classes": 5}
X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def lines():
    written = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "REPEATS", 2)
        demo.run_demo(written.append, **TINY)
    return written


def test_is_tidy_and_tells_accuracy_certificate_and_times_of_both_data_sets(lines):
    assert 15 < len(lines) < 45
    assert lines[-len(demo.NEXT) :] == list(demo.NEXT)
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() and "\n" not in line for line in lines)
    text = "\n".join(lines)
    assert text.count("Certificate: the objective is") == 2
    assert text.count("manyclass MulticlassSVC, float32") == 2
    assert text.count("scikit-learn LinearSVC, float64") == 2
    assert text.count("LinearSVC / manyclass") == 2
    accuracies = re.findall(r"Test accuracy: ([0-9.]+) %", text)
    assert len(accuracies) == 2
    assert all(50 < float(a) <= 100 for a in accuracies)


def test_prints_by_default(capsys, monkeypatch):
    monkeypatch.setattr(demo, "_show", lambda data, write: write(f"   {data.X.shape}"))
    demo.run_demo(**TINY)
    assert "(1437, 64)" in capsys.readouterr().out


def test_objective_is_the_certificate_s():
    y = np.array([3, 5, 9])[Y]
    data = demo.Split(X, y, X, y)
    model = MulticlassSVC(tol=1e-3, fit_intercept=False, random_state=0).fit(X, y)
    assert demo.objective(model.coef_, data) == pytest.approx(model.certificate_.primal_objective)


def test_each_solver_gets_the_type_that_it_trains_in(monkeypatch):
    found = {}

    def timing(fit, data, optimum):
        found[fit] = data.X.dtype, float(data.X.sum()), optimum

    monkeypatch.setattr(demo, "_timing", timing)
    data = demo.Split(X.astype(np.float32), Y, X.astype(np.float32), Y)
    demo._compare(data, lambda _: None)
    ours, theirs = found[demo._manyclass], found[demo._linear_svc]
    assert (ours[0], theirs[0]) == (np.float32, np.float64)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-5)
    assert ours[2] == theirs[2]


def test_objective_is_computed_in_float64():
    single = X.astype(np.float32)
    coef = np.ones((3, 4), np.float32) * np.arange(3, dtype=np.float32)[:, None] / 7
    values = [
        demo.objective(coef.astype(t), demo.Split(single.astype(t), Y, single, Y))
        for t in (np.float32, np.float64)
    ]
    assert values[0] == values[1]


def test_timing_takes_the_loosest_tolerance_that_is_close(monkeypatch):
    values = {1.0: 2.0, 0.3: 1.01, 0.1: 1.0005, 0.03: 1.0}
    fits = []

    class Model:
        def __init__(self, tol):
            self.coef_ = tol

    def fit(_, tol):
        fits.append(tol)
        return Model(tol)

    monkeypatch.setattr(demo, "objective", lambda tol, _: values[tol])
    timing = demo._timing(fit, demo.Split(X, Y, X, Y), 1.0)
    assert timing.tol == 0.1
    assert fits == [1.0, 0.3] + [0.1] * demo.REPEATS


def test_a_solver_that_never_comes_close_is_told_so(monkeypatch):
    objectives = itertools.chain([1.0], itertools.repeat(2.0))  # the optimum, then each fit
    monkeypatch.setattr(demo, "objective", lambda *_: next(objectives))
    lines = []
    demo._compare(demo.Split(X, Y, X, Y), lines.append)
    assert any("did not come that close" in line for line in lines)
    assert not any("times" in line for line in lines)


def test_classes_too_many_for_a_stratified_split():
    y = np.arange(20) % 10
    split = demo.Split.from_rows(np.eye(20), y)
    assert len(split.y) == 16
    assert len(split.y_test) == 4
