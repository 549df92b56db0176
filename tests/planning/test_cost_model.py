"""The cost model: counts by hand, and beside what solvers on ranks really do."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import rank_fit, rank_settings
from benchmarks.rank_counts import Counting
from benchmarks.rank_run import shares_of
from manyclass.planning.cost_model import CACHE, memory, steps, unevenness, work
from manyclass.planning.forecast import forecast
from manyclass.planning.rates import Measured, Usual
from manyclass.planning.weight_density import filling, share_of_uses
from manyclass.planning.work import LOCAL, Habits, Network, Shape
from manyclass.problem.formulations import FORMULATIONS
from manyclass.solvers.engine import select_engine
from manyclass.solvers.stopping import RULES
from manyclass.solvers.train import train
from tests.helpers.catalog import text_problem
from tests.helpers.ranks import on_ranks

SHAPE = Shape(n_examples=1000, n_features=499, n_classes=64, n_nonzero=20_000, largest_class=15)
HABITS = Habits(scores=2.0, duals=5.0, density=0.1, fill=0.5, packed=0.2, epochs=10, growth=0.5)
ranks = st.integers(1, 2000)


def test_two_ranks_by_hand():
    """Four class blocks of 16 classes meet in three rounds; of 250 examples each."""
    found = work("class_blocks", "dense", SHAPE, HABITS, 2)
    assert found.visits == 3 * 500
    assert found.entries == 3 * 10_000
    assert found.dense + found.lists == pytest.approx(2.0 * 64 * 20_000 / 2)
    # W is (500, 64); in three rounds a rank passes over a quarter of it.
    assert found.swept == 3 * 500 * 16
    # A tenth of a class block's 500 x 16 numbers goes twice with their classes, 500 counts and a
    # sixteenth of all 5000 z, of 12 bytes; and half of these in the end.
    assert found.bytes == pytest.approx(2 * (0.1 * 8000 * 8 + 500 * 4 + 5000 * 12 / 16) + 2500 * 12)


def test_a_large_class_holds_up_its_rank():
    assert unevenness(SHAPE, 64) == pytest.approx(1.0, abs=0.1)
    large = replace(SHAPE, largest_class=250)
    assert unevenness(large, 4) == 1.0
    assert unevenness(large, 40) == (250 + 25) / 50
    todo = work("class_blocks", "dense", large, HABITS, 20)
    assert todo.seconds({"visits": 1e-6}) == pytest.approx(1e-6 * 39 * 50)
    assert todo.seconds({"visits": 1e-6}, waiting=True) == pytest.approx(1e-6 * 39 * 275)
    between = {"swept": 1e-6}
    assert todo.seconds(between, waiting=True) == todo.seconds(between)


@given(
    st.integers(1, 9),
    st.sampled_from(["class_blocks", "class_blocks_simplex", "one_vs_rest", "sum_to_zero"]),
)
def test_twice_as_many_ranks_have_less_to_score_each(log_p, engine):
    many = Shape(100_000, 500, 2**16, 10**6, 2)
    fewer, more = (work(engine, "dense", many, HABITS, 2**q) for q in (log_p, log_p + 1))
    assert more.dense < 0.6 * fewer.dense
    assert all(getattr(more, name) >= 0 for name in (*LOCAL, "messages", "bytes"))


@given(ranks)
def test_more_class_blocks_than_classes_change_nothing(p):
    few = replace(SHAPE, n_classes=4, largest_class=250)
    most = work("class_blocks", "dense", few, HABITS, 2)
    assert work("class_blocks", "dense", few, HABITS, p + 1).visits == pytest.approx(most.visits)


@pytest.mark.parametrize("engine", ["serial_centred", "sum_to_zero"])
def test_rows_of_weights_beyond_the_caches(engine):
    rows = CACHE // (4 * 2**16)  # that have room
    few, many = (Shape(100_000, d, 2**16, 10**6, 2) for d in (rows, 4 * rows))
    found = work(engine, "dense", few, HABITS, 4)
    assert found.far == pytest.approx(0, abs=1e-9 * found.dense)
    near = share_of_uses(100_000, 4 * rows, 10**6, rows)
    assert 0.25 < near < 1  # the most frequent features'
    found = work(engine, "dense", many, HABITS, 4)
    assert found.far == pytest.approx((1 - near) * found.dense)


def test_one_process_looks_through_all_duals():
    for engine in ("serial", "serial_centred"):
        assert work(engine, "dense", SHAPE, HABITS, 1).duals == 2.0 * 5.0 * 1000


def test_a_forecast_adds_up():
    rates = dict.fromkeys(LOCAL, 0.0) | {"visits": 1e-3}
    habits = replace(HABITS, beside=1.5)
    found = forecast("class_blocks", "dense", SHAPE, habits, 8, rates, Network(1e-3, 1e6))
    todo = work("class_blocks", "dense", SHAPE, HABITS, 8)
    assert found.working == pytest.approx(1e-3 * todo.visits * todo.uneven)
    assert found.talking == pytest.approx(1e-3 * todo.messages + todo.bytes / 1e6)
    assert found.epochs == pytest.approx(10 * 2)
    gathered = 500 * 64 * 4 * 7 / 8
    trained = 20 * (found.working + found.talking) + 1.5 * found.working
    assert found.seconds == pytest.approx(trained + gathered / 1e6)
    assert found.moved == pytest.approx(20 * todo.bytes + gathered)


@given(st.integers(2, 30))
def test_memory_falls_with_ranks_to_what_each_must_hold(p):
    fewer, more = (memory("class_blocks", "dense", SHAPE, HABITS, q) for q in (p, p + 1))
    assert more <= fewer
    assert more > SHAPE.n_nonzero * 8


@pytest.mark.parametrize(("n_ranks", "expected"), [(1, 0), (2, 1), (3, 2), (4, 2), (1024, 10)])
def test_steps(n_ranks, expected):
    assert steps(n_ranks) == expected


# Beside the solvers


def counted(name, n_ranks):
    """What ranks in threads send in an epoch; the shape and the habits of the run."""
    problem = text_problem(name, n=120, d=150, k=24)
    counts = [[] for _ in range(n_ranks)]

    def call(rank):
        counting = Counting(rank)

        def on_epoch(progress):
            counts[rank.rank].append(counting.counts.copy())
            return False

        return train(
            problem,
            "dense",
            lambda: RULES["gap"](1e-9),
            rng=np.random.default_rng(0),
            n_jobs=1,
            max_iter=4,
            on_epoch=on_epoch,
            communicator=counting,
        )

    solution = on_ranks(n_ranks, call)[0]
    data = problem.dataset
    largest = int(np.bincount(data.labels).max())
    shape = Shape(120, 150, 24, len(data.values), largest)
    record = solution.history[-1]
    habits = Habits(
        scores=record.evaluations / (120 * 24),
        duals=record.n_duals / 120,
        epochs=4,
        **shares_of(problem, solution.weights),
    )
    # The last epoch: class blocks differ from epoch to epoch, so the mean over the ranks.
    came = [of_rank[-1].since(of_rank[-2]) for of_rank in counts]
    return shape, habits, came


@pytest.mark.parametrize("n_ranks", [2, 3, 4])
@pytest.mark.parametrize("name", rank_settings.TITLES)
def test_messages_and_bytes_are_those_of_the_solvers(name, n_ranks):
    shape, habits, came = counted(name, n_ranks)
    engine = select_engine(FORMULATIONS[name], n_ranks)
    expected = work(engine, "dense", shape, habits, n_ranks)
    assert np.mean([c.messages for c in came]) == pytest.approx(expected.messages, rel=0.25)
    assert np.mean([c.bytes for c in came]) == pytest.approx(expected.bytes, rel=0.25, abs=2000)


# Filling


@settings(deadline=None, max_examples=30)
@given(st.integers(10, 10**7), st.integers(10, 10**7), st.floats(1, 300), st.floats(1e-5, 1))
def test_filling_is_a_share(n, d, row, classes):
    found = filling(n, d, max(d, round(n * row)), classes)
    assert 0 <= found.density <= found.fill * (1 + 1e-6) <= 1 + 2e-6


@settings(deadline=None, max_examples=30)
@given(st.integers(10, 10**6), st.integers(10, 10**6), st.floats(1, 300), st.integers(0, 10**6))
def test_frequent_features_come_first(n, d, row, first):
    share = share_of_uses(n, d, max(d, round(n * row)), first)
    assert 0.99 * min(1.0, first / d) <= share <= 1


def test_filling_of_measured_corpora():
    """Made-up corpora; the shares are those of trained weights (benchmarks/results)."""
    found = filling(4463, 51_033, 341_774, 52 / 1139)
    assert found.density == pytest.approx(0.127, rel=0.1)
    assert found.fill == pytest.approx(0.685, rel=0.1)
    found = filling(128_710, 381_581, 9_910_000, 50.3 / 12_294)
    assert found.density == pytest.approx(0.0497, rel=0.15)


# Rates


def test_rates_are_found_again():
    """Runs whose seconds follow from known rates: the fit finds them."""
    true = {"visits": 2e-6, "entries": 0.0, "dense": 2e-10, "lists": 1e-10, "swept": 1e-9}
    rng = np.random.default_rng(0)
    entries = []
    for n_ranks in (2, 3, 4, 8):
        for _ in range(6):
            n, d, k, row = (int(v) for v in 10 ** rng.uniform([3, 3, 2, 1], [5, 5, 3.5, 2]))
            entry = {"formulation": "weston_watkins", "weights": "dense", "ranks": n_ranks}
            entry |= {"n": n, "d": d, "k": k, "nnz": n * row, "largest": n // k + 1}
            entry |= {"density": 0.1, "fill": 0.7, "packed": 0.2, "n_epochs": 2}
            epoch = {"evaluations": rng.uniform(1, 5) * n * k, "n_duals": 20 * n}
            entry["epochs"] = [epoch]
            epoch["at_work"] = rank_fit.work_of(entry).seconds(true)
            entries.append(entry)
    rates = rank_fit.fitted_rates(entries)["weston_watkins dense class_blocks"]
    assert {name: rates[name] for name in true} == pytest.approx(true, rel=1e-4, abs=1e-12)


def test_the_measured_rates_are_whole():
    measured = Measured.read()
    for name in rank_settings.TITLES:
        for n_ranks in (1, 4):
            like = measured.like(name, "dense", select_engine(FORMULATIONS[name], n_ranks))
            assert sum(measured.rates[like].values()) > 0
    assert measured.local.bandwidth > 0
    with pytest.raises(ValueError, match="was not measured"):
        measured.like("adm", "dense", "class_blocks")


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"machine": 3})])
def test_a_file_that_holds_no_rates(tmp_path, text):
    (tmp_path / "rates").write_text(text)
    with pytest.raises(ValueError, match="is no file of rates; "):
        Measured.read(tmp_path / "rates")


def test_what_is_known_better_counts():
    usual = Usual(scores=2.0, epochs=10, growth=0.3, dual_share=0.5)
    habits = usual.habits(SHAPE, {"epochs": 7.0, "density": 0.25})
    assert (habits.epochs, habits.density, habits.duals) == (7.0, 0.25, 32.0)
    assert habits.epochs_on(8) == pytest.approx(7 * 4**0.3)
    assert math.isfinite(habits.fill)
