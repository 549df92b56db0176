"""``manyclass plan``: what it prints, what it refuses, how it compares numbers of ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from manyclass.planning.plan import Question, best, options, thriftiest
from manyclass.planning.rates import FILE, Measured, Usual
from manyclass.planning.work import LOCAL, Network, Shape

SIZES = ("--rows", "9000", "--features", "5000", "--classes", "300", "--nonzeros", "700000")
SHAPE = Shape(10_000, 5_000, 1_000, 500_000, 100)
NAMES = ("weston_watkins dense serial", "weston_watkins dense class_blocks")


def rows_of(lines):
    """The cells of the table, by number of ranks."""
    first = next(i for i, line in enumerate(lines) if line.split()[:1] == ["ranks"])
    table = lines[first + 1 : lines.index("", first)]
    return {int(line.split()[0].replace(",", "")): line for line in table}


def test_a_published_corpus(run):
    lines = run.works("plan", "--corpus", "lshtc-2011", "--ranks", "8,1,64,1024")
    assert lines[0].startswith("lshtc-2011: 394,754 rows, 594,158 features, 27,875 classes, ")
    assert list(rows_of(lines)) == [1, 8, 64, 1024]
    words = [line.split()[0] for line in lines if line]
    assert [words.count(word) for word in ("assumed", "rates", "left", "fastest")] == [1] * 4


def test_data_are_counted(run, tiny):
    lines = run.works("plan", "tiny", "--ranks", "1,2", "--formulation", "ovr")
    assert lines[0] == (
        "tiny: 6 rows, 3 features, 3 classes, 6 non-zeros; 2 rows in the largest class"
    )
    assert list(rows_of(lines)) == [1, 2]


def test_json_says_the_same(run):
    found = json.loads(run.works("plan", *SIZES, "--json", "--ranks", "2,4", "--epochs", "7")[0])
    assert [entry["ranks"] for entry in found] == [2, 4]
    for entry in found:
        trained = (entry["epochs"] + entry["epochs_beside"]) * entry["seconds_of_epoch"]
        trained -= entry["epochs_beside"] * entry["seconds_talking"]
        assert entry["seconds"] == pytest.approx(trained, rel=0.1)  # W for rank 0 comes on top
        assert entry["fits"]
    assert found[0]["epochs"] == 7


def test_what_does_not_fit_is_said(run):
    lines = run.works("plan", *SIZES, "--memory", "0.001", "--ranks", "1,2")
    assert all("does not fit" in line for line in rows_of(lines).values())
    assert lines[-1] == "does not fit: no number of ranks with 1 MB each"


@pytest.mark.parametrize("name", ["cs", "ww", "llw", "rm", "ats", "mmr", "ovr"])
@pytest.mark.parametrize("weights", ["auto", "dense"])
def test_every_formulation_of_ranks(run, name, weights):
    rows = rows_of(run.works("plan", *SIZES, "--formulation", name, "--weights", weights))
    assert len(rows) == 11


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "give either DATA, or --corpus, or all of --rows, --features, --classes and"),
        ("tiny --corpus odp", "give either DATA, or --corpus"),
        ("--rows 3 --features 3", "give either DATA, or --corpus"),
        (
            "--rows 9 --features 3 --classes 2 --nonzeros 28",
            "argument --nonzeros: 9 rows of 3 features have no 28",
        ),
        ("--corpus x", "argument --corpus: name must be one of lshtc-small, "),
        ("--corpus odp --ranks 0", "argument --ranks: must be numbers from 1 to 65536 with"),
        ("--corpus odp --ranks 1,x", "argument --ranks: must be numbers from 1"),
        ("--corpus odp --latency 0", "argument --latency: must be a positive number"),
        ("--corpus odp --density 1.5", "argument --density: must be above 0 and at most 1"),
        ("--corpus odp --largest-class 5", "argument --largest-class: 11 classes of 5 are less"),
        ("--rows 3 --features 3 --classes 9 --nonzeros 9", "argument --classes: must be from 2 to"),
        ("--corpus odp --formulation adm", "adm is trained by one process"),
        ("--corpus odp --rates nix", "nix: no such file or directory; check the name"),
        ("--corpus odp --rates tiny", "tiny: is no file of rates; python -m benchmarks"),
        ("nix", "nix: no such file or directory; check the name"),
        ("one", "one: has one class only; there is nothing to plan"),
        ("bad", "bad:1: "),
    ],
)
def test_errors_are_one_line(run, tiny, arguments, message):
    Path("one").write_text("a 1:1\na 2:1\n")
    Path("bad").write_text("a 1:x\n")
    assert message in run.fails("plan", *arguments.split())


# Comparing numbers of ranks


def measured(**rates):
    """Measurements by hand."""
    full = dict.fromkeys(LOCAL, 0.0) | rates
    usual = Usual(scores=1.0, epochs=10, growth=0.0, duals=10.0)
    return Measured(
        "hand", "today", Network(0, 1), dict.fromkeys(NAMES, full), dict.fromkeys(NAMES, usual)
    )


def question(memory=1e12, bandwidth=1e15, weights="dense"):
    return Question("weston_watkins", SHAPE, Network(0.0, bandwidth), memory, weights, {})


def test_scores_alone_spread_evenly():
    found = options(question(), [1, 2, 4, 8], measured(dense=1e-9, lists=1e-9))
    assert [option.efficiency for option in found] == pytest.approx([1, 1, 1, 1], rel=0.1)
    assert best(found) is found[-1]
    assert thriftiest(found) is found[-1]


def test_what_ranks_do_alike_makes_more_of_them_a_waste():
    found = options(question(), [1, 2, 4, 8], measured(dense=1e-9, rows=1e-6))
    assert found[-1].efficiency < 0.5
    assert thriftiest(found).forecast.n_ranks < 8


def test_a_slow_network_makes_one_process_the_fastest():
    found = options(question(bandwidth=1e3), [1, 2, 4], measured(dense=1e-9))
    assert best(found) is found[0]


def test_only_what_fits_is_best():
    found = options(question(), [1, 2, 64], measured(dense=1e-9))
    limit = found[-1].forecast.memory
    few = options(question(memory=limit), [1, 2, 64], measured(dense=1e-9))
    assert [option.fits for option in few] == [False, False, True]
    assert best(options(question(memory=1.0), [1, 2], measured(dense=1e-9))) is None


def test_the_rates_that_come_along_can_be_given(run):
    assert run.works("plan", *SIZES) == run.works("plan", *SIZES, "--rates", FILE)
