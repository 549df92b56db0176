"""The experiments of Keerthi et al. 2008, on made-up data."""

import itertools

import numpy as np
import pytest

from experiments.__main__ import EXPERIMENTS
from experiments.keerthi2008 import classes_apart, page, tables, underflow, updates
from experiments.keerthi2008.data import dataset
from experiments.keerthi2008.methods import (
    LIBLINEAR,
    METHODS,
    make_problem,
    optimum,
    record,
    record_liblinear,
)

SECONDS = 600.0  # for what takes less than one


@pytest.mark.parametrize("method", METHODS)
def test_a_curve_rises_to_the_optimum(method):
    split = dataset("tiny")
    problem = make_problem(split, "crammer_singer", 0.01)
    best = optimum(problem, 1e-7, SECONDS)
    curve = record(method, split, problem, best, SECONDS)
    assert curve.seconds == sorted(curve.seconds)
    assert max(curve.dual) <= best * (1 + 1e-5)
    assert max(curve.dual) >= 0.9 * best
    assert len(curve.dual) == len(curve.accuracy) == len(curve.steps)
    assert 0 <= min(curve.accuracy) <= max(curve.accuracy) <= 1


def test_seconds_to_a_level():
    curve = {"seconds": [1.0, 2.0, 3.0], "dual": [80.0, 99.0, 99.95]}
    assert page.seconds_to(curve, 100.0, 1e-1) == "2"
    assert page.seconds_to(curve, 100.0, 1e-3) == "3"
    assert page.seconds_to(curve, 100.0, 1e-4) == "-"


def test_p_of_ten_splits_that_agree_are_equal_or_zero():
    splits = [{"OVR": {"accuracy": 90.0}, "CS": {"accuracy": 91.0 + i / 7}} for i in range(10)]
    assert tables.p_value(splits, "CS") == pytest.approx(2 / 2**10)
    splits = [{"OVR": {"accuracy": 90.0}, "CS": {"accuracy": 90.0 + d}} for d in (0, 1, 1, 1, -1)]
    assert tables.p_value(splits, "CS") == pytest.approx(10 / 2**4)


def test_both_orders_rise_to_the_optimum():
    split = updates.first_rows(dataset("tiny"), 60)
    best = optimum(make_problem(split, "crammer_singer", 0.1), 1e-9, SECONDS)
    for order in updates.ORDERS.values():
        ascent = updates.Ascent(split.X, split.y, 0.1)
        duals = [0.0, *itertools.islice(order(ascent, np.random.default_rng(0)), 600)]
        assert np.all(np.diff(duals) > -1e-12)
        p, rows = ascent.p, np.arange(60)
        dual = 0.1 * 60 - p[rows, split.y].sum() - 0.5 * (ascent.W**2).sum()
        assert duals[-1] == pytest.approx(dual)
        assert 0.99 * best <= dual <= best * (1 + 1e-8)


def test_steady_from_the_last_point_that_is_far():
    curve = {"seconds": [1.0, 2.0, 3.0, 4.0], "accuracy": [0.5, 0.902, 0.89, 0.9]}
    assert page.steady(curve) == 4.0
    assert page.steady({"seconds": [1.0, 2.0], "accuracy": [0.9, 0.9]}) == 1.0


def test_seconds_to_an_accuracy_that_is_kept():
    curve = {"seconds": [1.0, 2.0, 3.0, 4.0], "accuracy": [0.9, 0.89, 0.91, 0.92]}
    assert page.seconds_to_accuracy(curve, 0.9) == "3"
    assert page.seconds_to_accuracy(curve, 0.89) == "1"
    assert page.seconds_to_accuracy(curve, 0.93) == "-"


def test_the_exponent_of_linear_and_quadratic_seconds():
    rows = [100, 200, 400, 800]
    seconds = {"OVR": [n / 100 for n in rows], "CS": [(n / 100) ** 2 for n in rows]}
    lines = classes_apart.table({"synthetic": {"rows": rows, "seconds": seconds}}).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].endswith("| 1.00 | 1.00 |")
    assert lines[3].endswith("| 2.00 | 8.00 |")


def test_splits_are_stratified():
    counts = np.bincount(tables._classes(np.repeat([0, 1], [30, 4])) + 1)
    assert counts.tolist() == [4, 30]


def test_every_experiment_is_a_module(capsys):
    for module in EXPERIMENTS:
        __import__(module)


def test_the_curve_of_liblinear_falls_to_the_optimum():
    split = dataset("tiny")
    problem = make_problem(split, "crammer_singer", 0.01)
    best = optimum(problem, 1e-7, SECONDS)
    curve = record_liblinear(split, problem, best, SECONDS)
    assert curve.method == LIBLINEAR
    assert best * (1 - 1e-6) <= min(curve.primal) <= best * (1 + 1e-4)
    assert page.seconds_to(curve.as_dict(), best, 1e-3) != "-"


def test_underflow_only_where_u_itself_is_kept():
    found = underflow.compare(dataset("tiny"), 60, 1)
    assert found["log u, float64"]["excess"] == pytest.approx(found["u, float64"]["excess"])
