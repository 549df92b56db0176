"""The experiments of Keerthi et al. 2008, on made-up data."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from experiments.__main__ import EXPERIMENTS
from experiments.keerthi2008 import curves, page, seeding, tables, underflow
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


@pytest.mark.parametrize("module", [curves, seeding, tables, underflow])
def test_quick_form(monkeypatch, capsys, module):
    monkeypatch.setattr(sys, "argv", ["experiment", "--quick"])
    module.main()
    assert capsys.readouterr().out


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


def test_p_of_ten_splits_that_agree():
    splits = [{"OVR": {"accuracy": 90.0}, "CS": {"accuracy": 91.0 + i / 7}} for i in range(10)]
    assert tables.p_value(splits, "CS") == pytest.approx(2 / 2**10)


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
