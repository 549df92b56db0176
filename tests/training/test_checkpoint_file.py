"""Checkpoint files: what goes in comes out, and nothing that comes in does harm."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyclass.io.tensors import write_tensors
from manyclass.problem.solution import Start
from manyclass.training.checkpoint_file import (
    FORMAT,
    DamagedError,
    facts_of_problem,
    read_checkpoint,
    save_checkpoint,
    seed_of_tensors,
    start_of_tensors,
)
from tests.helpers.cases import each
from tests.helpers.catalog import ROWS, random_problem, text_problem, train

PROBLEM = text_problem(n=40, d=30, k=7, dtype=np.float64)
FACTS = facts_of_problem(PROBLEM, np.arange(7))
START = train(PROBLEM, tol=1e-3).start
SQUARED = text_problem("mmr", "squared_hinge", n=40, d=30, k=7, dtype=np.float64)


def written(path, start=START, facts=FACTS):
    save_checkpoint(path, start, 7, facts)
    return path


@pytest.fixture(name="path")
def path_fixture(tmp_path):
    return written(tmp_path / "checkpoint-000001")


def check_equal(ours, theirs):
    assert (ours.duals != theirs.duals).nnz == 0
    assert ours.duals.dtype == theirs.duals.dtype
    assert ours.history == theirs.history
    np.testing.assert_array_equal(ours.epochs, theirs.epochs_of_classes())
    assert (ours.weights is None) == (theirs.weights is None)
    if ours.weights is not None:
        np.testing.assert_array_equal(ours.weights, theirs.weights)


def test_round_trip(path):
    tensors, facts = read_checkpoint(path)
    assert facts == FACTS
    assert seed_of_tensors(path, tensors) == 7
    loaded = start_of_tensors(path, tensors, PROBLEM)
    assert len(loaded.history) > 1
    check_equal(loaded, START)
    W = np.arange(31 * 7.0).reshape(31, 7)
    start = replace(START, weights=W.T.copy().T, epochs=np.arange(7))
    check_equal(start_of_tensors(path, read_checkpoint(written(path, start))[0], PROBLEM), start)
    zero = Start.at_zero(40, 7, np.dtype(np.float64))
    check_equal(start_of_tensors(path, read_checkpoint(written(path, zero))[0], PROBLEM), zero)
    assert [other.name for other in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(("name", "loss", "solver"), ROWS)
@each("dtype", [np.float32, np.float64])
def test_whatever_training_reaches_is_feasible(name, loss, solver, dtype, tmp_path):
    for seed in (1, 5):
        problem = random_problem(seed, name, loss, dtype)
        start = train(problem, solver, max_iter=3).start
        path = written(tmp_path / "checkpoint-000001", start)
        check_equal(start_of_tensors(path, read_checkpoint(path)[0], problem), start)


def test_every_truncation_is_one_clear_error(path):
    content = path.read_bytes()
    for size in [*range(0, 64), *range(64, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(DamagedError, match="is damaged, truncated or not a checkpoint"):
            read_checkpoint(path)


def check_harmless(path):
    """One clear error, or what was written; returns whether it is the latter."""
    with contextlib.suppress(ValueError):
        tensors, facts = read_checkpoint(path)
        check_equal(start_of_tensors(path, tensors, PROBLEM), START)
        assert facts == FACTS
        return True
    return False


def test_every_flipped_bit_is_one_clear_error(path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    end = 8 + int.from_bytes(content[:8], "little")
    for at in [*range(end), *rng.integers(end, len(content), 100)]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(DamagedError):
            read_checkpoint(path)


def test_offsets_that_become_one_number(path):
    content = path.read_bytes()
    at = content.index(b",", content.index(b"data_offsets"))
    path.write_bytes(content[:at] + b"." + content[at + 1 :])
    with pytest.raises(DamagedError):
        read_checkpoint(path)


@given(st.binary(max_size=200), st.integers(0, 4000))
def test_bytes_of_any_kind_do_no_harm(tmp_path_factory, junk, at):
    path = written(tmp_path_factory.getbasetemp() / "checkpoint-000001")
    content = path.read_bytes()
    path.write_bytes(content[:at] + junk + content[at + len(junk) :])
    check_harmless(path)


METADATA = FORMAT.metadata(problem=json.dumps(FACTS))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "manyclass"}, "it holds a model"),
        (
            {"format_version": "2", "version": "7.0\n"},
            r"written by manyclass 7\.0; this version reads up to 1: upgrade",
        ),
        ({"problem": "["}, "is damaged"),
        ({"problem": "[" * 100_000}, "is damaged"),
        ({"problem": "[]"}, "problem metadata must be strings"),
        ({"problem": '{"C": 1}'}, "problem metadata must be strings"),
    ],
)
def test_foreign_newer_and_hostile_headers(changes, message, path):
    tensors, _ = read_checkpoint(path)
    write_tensors(path, tensors, {**METADATA, **changes})
    with pytest.raises(ValueError, match=message) as caught:
        read_checkpoint(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def change(name, at=0, value=0):
    """An array with another number in one place."""

    def changed(tensors):
        array = tensors[name].copy()
        array[at] = value
        return {name: array}

    return changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (change("duals.indptr", 0, 1), "no rows"),
        (change("duals.indptr", -1, 10**9), "an array of int32"),
        (change("duals.indptr", -1, -1), "an array of int32"),
        (change("duals.indptr", 20, 10**9), "no rows"),
        (change("duals.classes", 0, 7), "do not exist"),
        (change("duals.classes", 0, -1), "do not exist"),
        (change("duals.classes", slice(None), 2), "a class twice"),
        (change("duals.values", 0, -1e-3), "negative"),
        (change("duals.values", 0, np.nan), "not finite"),
        (change("duals.values", 0, 1.01), "exceeds"),
        (change("duals.values", slice(None), 0.9), "exceeds"),
        (
            lambda t: {"duals.values": t["duals.values"].astype("f4")},
            "in the place of float64",
        ),
        (lambda t: {"duals.classes": t["duals.classes"].astype(np.int64)}, "in the place of int32"),
        (lambda t: {"duals.indptr": t["duals.indptr"][:-1]}, "in the place of int64"),
        (lambda t: {"duals.indptr": np.zeros((), np.int64)}, "damaged"),
        (lambda t: {"weights": np.zeros((7, 31))}, "in the place of float64 (31, 7)"),
        (lambda t: {"weights": np.full((31, 7), np.inf)}, "weights are not finite"),
        (lambda t: {"history": t["history"][:, 1:].copy()}, "in the place"),
        (lambda t: {"history": np.full((2, 10), np.nan)}, "damaged"),
        (lambda t: {"history": np.full((2, 10), np.inf)}, "damaged"),
        (lambda t: {"history": np.zeros(())}, "damaged"),
        (change("epochs", 3, -1), "epochs are negative"),
        (lambda t: {"epochs": np.zeros(6, np.int64)}, "in the place"),
    ],
)
def test_hostile_tensors_with_a_right_checksum(changed, message, path):
    tensors, _ = read_checkpoint(path)
    tensors.update(changed(tensors))
    write_tensors(path, tensors, METADATA)
    tensors, _ = read_checkpoint(path)
    with pytest.raises(DamagedError) as caught:
        start_of_tensors(path, tensors, PROBLEM)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["duals.indptr", "duals.classes", "duals.values", "history"])
def test_a_tensor_that_is_missing(name, path):
    tensors, _ = read_checkpoint(path)
    del tensors[name]
    with pytest.raises(DamagedError, match=name):
        start_of_tensors(path, tensors, PROBLEM)


@pytest.mark.parametrize(
    "seed", [np.array([-1]), np.array([2**31]), np.array([1.0]), np.zeros(2, np.int64), None]
)
def test_hostile_seeds(seed, path):
    tensors, _ = read_checkpoint(path)
    del tensors["seed"]
    if seed is not None:
        tensors["seed"] = seed
    with pytest.raises(DamagedError, match=r"seed|in the place"):
        seed_of_tensors(path, tensors)


def test_classes_that_are_no_targets(path):
    """z of Crammer-Singer is 0 for the own class, that of mmr for all others."""
    tensors = read_checkpoint(path)[0]
    own = START.duals.copy()
    own.indices[: own.indptr[1]] = PROBLEM.dataset.labels[0]
    tensors["duals.classes"] = own.indices.astype(np.int32)
    with pytest.raises(DamagedError, match=r"not a target|a class twice"):
        start_of_tensors(path, tensors, PROBLEM)
    with pytest.raises(DamagedError, match="not a target"):
        start_of_tensors(path, read_checkpoint(path)[0], SQUARED)
