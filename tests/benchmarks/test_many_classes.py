"""The benchmark of many classes: its data, its trainings, its tables."""

import argparse
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.many_classes import growth as many_classes_growth
from benchmarks.many_classes import run as many_classes
from benchmarks.many_classes.tables import (
    all_tables,
    costs_table,
    data_table,
    in_order,
    runs_table,
    short_table,
)
from benchmarks.runs import growth as growth_of_epochs
from manyclass import MulticlassSVC
from manyclass.datasets.synthetic import corpus_shape
from measuring import results, training
from measuring.datasets.shaped_text import SHAPES, ShapedText
from measuring.processes import FailedError, in_fresh_process

SMALL = ShapedText("small", corpus_shape("lshtc-small", 0.05))
SETTING = {"formulation": "crammer_singer", "weights": "dense", "n_jobs": 1, "tol": 1e-2, "C": 1.0}


def entry(**changes):
    sizes = {"n": 1000, "d": 50_000, "k": 2000, "nnz": 80_000, "n_test": 10}
    found = {"date": "2026-01-02", "seconds": 1.25, "megabytes": 2000.0, "epochs": 7}
    found |= {"training_megabytes": 1500.0, "objective": 10.0, "gap": 0.005, "accuracy": 0.385}
    found |= {"weights_density": 0.02, "duals_per_example": 3.2}
    return {"data": "text", **sizes, **SETTING, **found, **changes}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return folder, training.save(SMALL, folder)


def set_call(monkeypatch, call):
    for module in (many_classes, many_classes_growth):
        monkeypatch.setattr(module, "in_fresh_process", call)


def test_the_training_part_has_the_shape_and_all_classes():
    data = SMALL.load()
    assert data.X.shape == (223, 2552)
    assert data.n_classes == 57
    assert data.X_test.shape == (55, 2552)
    assert data.labels_test.min() >= 0
    assert np.unique(data.labels).tolist() == list(range(57))
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)


def test_what_is_saved_is_read_again(saved):
    data, again = SMALL.load(), training.read(*saved)
    assert again.fingerprint == data.fingerprint
    assert (again.X_test != data.X_test).nnz == 0
    np.testing.assert_array_equal(again.labels_test, data.labels_test)
    assert saved[1] == data.describe()


def test_a_training_records_what_the_model_says(saved):
    found = training.train(*saved, SETTING)
    data = SMALL.load()
    model = MulticlassSVC(**SETTING, fit_intercept=False, random_state=0).fit(data.X, data.labels)
    assert found["objective"] == model.certificate_.primal_objective
    assert found["gap"] == model.certificate_.relative_gap <= 1e-2
    assert found["epochs"] == model.n_iter_
    assert found["accuracy"] == model.score(data.X_test, data.labels_test)
    assert found["weights_density"] == np.mean(np.abs(model.coef_) > training.NEGLIGIBLE)
    assert 0.5 < found["duals_per_example"] < 57
    assert found["megabytes"] > 20
    assert found["training_megabytes"] >= 0
    assert found["seconds"] > 0


def test_dense_and_sparse_weights_are_counted_alike(monkeypatch):
    monkeypatch.setattr(training, "_WEIGHTS_AT_A_TIME", 10)
    rng = np.random.default_rng(0)
    coef = rng.standard_normal((7, 9)) * (rng.random((7, 9)) < 0.3)
    coef[0, :2] = 1e-12, 1.0
    expected = np.count_nonzero(np.abs(coef) > 1e-8)
    assert training.count_weights(coef) == training.count_weights(sp.csr_array(coef)) == expected


@pytest.mark.slow
def test_a_fresh_process_answers_or_says_why_not_and_has_a_time_limit():
    assert in_fresh_process(os.path.join, "a", "b") == str(Path("a") / "b")
    with pytest.raises(FailedError, match="ValueError: invalid literal"):
        in_fresh_process(int, "x")
    with pytest.raises(FailedError, match="ended with exit code 3"):
        in_fresh_process(os._exit, 3)
    with pytest.raises(FailedError, match="more than 0 s"):
        in_fresh_process(os.path.join, "a", limit=0)


def test_a_refused_training_is_noted_down(saved, monkeypatch):
    def refuse(*_, limit):
        raise FailedError(f"more than {limit:g} s")

    set_call(monkeypatch, refuse)
    found = many_classes.attempt(*saved, SETTING, 5.0)
    assert found["failed"] == "more than 5 s"


def test_a_run_measures_what_it_is_asked_for(tmp_path, monkeypatch, capsys):
    def call(function, *arguments, limit=None):
        return function(*arguments)

    words = ["--data", "small", "--formulations", "crammer_singer", "--weights", "dense"]
    words += ["--jobs", "1", "--tol", "1e-1", "1e-2", "--output", str(tmp_path)]
    set_call(monkeypatch, call)
    monkeypatch.setattr(many_classes, "DATASETS", {"small": SMALL})
    monkeypatch.setattr("sys.argv", ["many_classes", *words])
    many_classes.main()
    many_classes.main()  # takes the place of the first
    entries = many_classes.read_results(tmp_path / "many_classes.json")["entries"]
    assert [entry["tol"] for entry in entries] == [1e-1, 1e-2]
    assert capsys.readouterr().out.count("| small | Crammer-Singer | dense | 1 |") == 4


def test_w_too_large_to_be_dense_is_not_tried(monkeypatch):
    set_call(monkeypatch, lambda *_, **__: SMALL.load().describe())
    monkeypatch.setattr(many_classes, "attempt", lambda *_: {})
    settings = [SETTING, {**SETTING, "weights": "sparse"}]
    arguments = many_classes._parser().parse_args(["--dense-limit", "1e-6"])
    entries = list(many_classes.measure(SMALL, settings, arguments))
    assert [entry["weights"] for entry in entries] == ["sparse"]


def test_tables():
    failed = entry(data="more", failed="more than 9 s")
    entries = [entry(), entry(tol=1e-3, C=10.0), entry(tol=1e-3), failed]
    data = data_table(entries).splitlines()
    assert data[2:] == [
        "| text | 1,000 | 50,000 | 2,000 | 80 | 0.4 |",
        "| more | 1,000 | 50,000 | 2,000 | 80 | 0.4 |",
    ]
    runs = runs_table([*entries, entry(n_jobs=2, seconds=0.7)]).splitlines()
    assert len(runs) == 6
    assert len({line.count("|") for line in runs}) == 1
    begin = "| text | Crammer-Singer | dense | 1 | 0.01 | 1.25 | 0.7 | 7 | 5.0e-03"
    assert runs[2].startswith(begin)
    assert runs[2].endswith("| 38.5 % | 2,000 | 1,500 | 2 % | 3.2 |")
    assert "more than 9 s" in runs[5]
    costs = costs_table({"entries": entries}).splitlines()
    assert costs[2:] == ["| text | Crammer-Singer | 38.5 % | 38.5 % |"]
    # One C each: nothing to compare.
    assert len(costs_table({"entries": entries[:2]}).splitlines()) == 2
    page = all_tables({"entries": entries})
    assert page == f"{data_table(entries)}\n\n{runs_table([entries[0], *entries[2:]])}"


def test_rows_stand_in_order_whenever_they_were_measured():
    fine, coarse = entry(data="b", tol=1e-3), entry(data="b", tol=1e-2)
    other, last = entry(data="b", formulation="one_vs_rest"), entry(data="a")
    assert in_order([fine, last, other, coarse]) == [coarse, fine, other, last]


@pytest.fixture
def grown():
    def series(what):
        return [
            {
                **entry(**{what: size}),
                "found": {"crammer_singer": entry(seconds=size / 1000, training_megabytes=5.0)},
            }
            for size in (1000, 10_000)
        ]

    series_of = {what: series(what) for what in ("k", "n")}
    series_of["n"].append({**entry(n=10**5), "found": {}})  # failed there
    settings = {"tol": 0.01, "weights": "auto", "time_limit": 60.0}
    return {"date": "today", "machine": {"cpu": "CPU"}, **settings, "series": series_of}


def test_growth_makes_a_table(grown):
    rows = many_classes_growth.growth_table(grown).splitlines()
    expected = "| classes | `crammer_singer` | 1,000 | 10,000 | 1 to 10 | 1.00 | 5 to 5 | 0.00 |"
    assert rows[2] == expected


def test_the_table_for_users_has_some_of_the_trainings():
    entries = [entry(data="lshtc1"), entry(data="lshtc1", tol=1e-3), entry(data="other")]
    (row,) = short_table({"entries": entries}).splitlines()[2:]
    expected = (
        "| lshtc1 (1,000 x 50,000 x 2,000) | Crammer-Singer | dense | 1.25 | 38.5 % | 1,500 MB |"
    )
    assert row == expected


@pytest.mark.slow
def test_growth_makes_a_picture(grown, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(results, "_scratch", None)
    results.write_to_scratch()
    link = many_classes_growth.picture(grown)
    assert link.endswith(f"(../figures/{many_classes_growth.FIGURE})")
    assert results.place(results.FIGURES / many_classes_growth.FIGURE).stat().st_size > 1000


def test_growth_gives_a_formulation_up_after_it_failed(monkeypatch):
    tried = []

    def call(function, *arguments, limit=None):
        if function is training.save:
            return {"n": 1, "d": 2, "k": 3}
        tried.append(arguments[-1]["formulation"])
        if arguments[-1]["formulation"] == "slow":
            raise FailedError("more than 1 s")
        return {"seconds": 1.0}

    set_call(monkeypatch, call)
    given = {"tol": 1.0, "weights": "auto", "time_limit": 1.0, "quick": False}
    arguments = argparse.Namespace(formulations=["slow", "fast"], **given)
    points = many_classes_growth.measure("k", arguments)
    n_sizes = len(many_classes_growth.GROWING["k"])
    assert tried.count("slow") == 1
    assert tried.count("fast") == n_sizes == len(points)
    assert [list(point["found"]) for point in points] == [["fast"]] * n_sizes


@pytest.mark.slow
def test_the_memory_of_a_fit_has_w():
    """320 numbers of float32 for each of 40,000 features: 51 MB, and what training needs beside."""
    size = growth_of_epochs.Size(n=600, k=320, words=10)
    found = growth_of_epochs.peaks(size, ["crammer_singer"])
    assert 40 < found["crammer_singer"] < 200
