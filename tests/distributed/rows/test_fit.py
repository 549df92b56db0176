"""Rows on ranks: the optimum of one process, certificates confirmed in NumPy, hostile parts."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    load_model,
    save_data,
    save_model,
)
from manyclass.distributed import load_partition
from manyclass.distributed.communicator import Serial
from manyclass.distributed.consensus import OtherRankError
from tests.helpers.parts import DATA, WEIGHTS, WIDE, D, N, X, Y, check_certificate, ends
from tests.helpers.ranks import caught, on_ranks


def fit(rank, X, y, weights=None, **params):
    cuts = ends(rank.size)
    mine = slice(*cuts[rank.rank : rank.rank + 2])
    options = {"communicator": rank, "split": "rows", "tol": 1e-5, **params}
    own = None if weights is None else weights[mine]
    return MultinomialLogisticRegression(**options).fit(X[mine], y[mine], own)


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("rows", DATA)
def test_parts_reach_the_optimum_of_one_process(size, rows):
    models = on_ranks(size, lambda rank: fit(rank, DATA[rows], Y))
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.certificate_ == models[0].certificate_
        assert model.certificate_.relative_gap <= 1e-5
        assert model.n_features_in_ == DATA[rows].shape[1]
        assert model.coef_.dtype == DATA[rows].dtype
    check_certificate(models[0], DATA[rows], Y)


@pytest.mark.parametrize(
    "params",
    [
        {"regularize_intercept": True},
        {"fit_intercept": False},
        {"C": 100.0},
        {"C": 1e-3},
        {"intercept_scaling": 2.0, "n_jobs": 2},
        {"class_offset": [0.5, -1.0, 2.0, 0.0, -3.0]},
        {"class_offset": {1: 2.0}, "regularize_intercept": True},
    ],
)
def test_intercepts_and_costs(params):
    alone = MultinomialLogisticRegression(tol=1e-7, **params).fit(X, Y).certificate_
    model = on_ranks(3, lambda rank: fit(rank, X, Y, **params))[0]
    assert model.certificate_.relative_gap <= 1e-5
    assert model.certificate_.primal_objective == pytest.approx(alone.primal_objective, rel=2e-5)
    assert model.certificate_.dual_objective <= alone.primal_objective


def test_no_part_knows_the_shares_of_the_classes():
    errors = on_ranks(2, caught(lambda rank: fit(rank, X, Y, class_offset="logit_adjustment")))
    assert all("shares of the classes" in str(error) for error in errors)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.0, 2: 0.5, 3: 1, 4: 1}])
def test_weights_are_those_of_one_process(class_weight):
    params = {"class_weight": class_weight, "tol": 1e-7}
    alone = MultinomialLogisticRegression(**params).fit(X, Y, WEIGHTS)
    for model in on_ranks(3, lambda rank: fit(rank, X, Y, WEIGHTS, **params)):
        np.testing.assert_array_equal(model.classes_, alone.classes_)
        P = alone.certificate_.primal_objective
        assert model.certificate_.primal_objective == pytest.approx(P, rel=2e-7)


def test_classes_are_those_of_all_parts():
    order = np.argsort(Y, kind="stable")  # most parts lack most classes
    names = np.array(["a", "bb", "ccc", "dddd", "e"])[Y]
    rows, y = X[order], names[order]
    models = on_ranks(7, lambda rank: fit(rank, rows, y))
    assert all(list(model.classes_) == ["a", "bb", "ccc", "dddd", "e"] for model in models)
    check_certificate(models[0], rows, y)


def test_two_classes_and_a_file(tmp_path):
    y = np.minimum(Y, 1)
    alone = MultinomialLogisticRegression(tol=1e-7).fit(X, y)
    model = on_ranks(3, lambda rank: fit(rank, X, y, tol=1e-7))[1]
    assert model.coef_.shape == (1, D)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-3)
    save_model(tmp_path / "model", model)
    loaded = load_model(tmp_path / "model")
    assert (loaded.communicator, loaded.split) == (None, None)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_results_repeat_and_one_process_is_as_without():
    first, second = (on_ranks(3, lambda rank: fit(rank, X, Y))[0].coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    params = {"tol": 1e-5, "random_state": 0}
    alone = MultinomialLogisticRegression(communicator=Serial(), split="rows", **params).fit(X, Y)
    np.testing.assert_array_equal(
        alone.coef_, MultinomialLogisticRegression(**params).fit(X, Y).coef_
    )


def test_a_warm_start_and_a_checkpoint_continue(tmp_path):
    def call(rank):
        model = fit(rank, X, Y, C=3.0, warm_start=True)
        again = model.n_iter_, model.fit(X[rank.rank :: 2], Y[rank.rank :: 2]).n_iter_
        stored = {"checkpoint": tmp_path / "kept", "C": 3.0}
        fit(rank, X, Y, max_iter=2, **stored)
        return *again, fit(rank, X, Y, resume=True, **stored).n_iter_

    # Filters belong to the process: a thread that changes them loses warnings of the others.
    with pytest.warns(match="training stopped after 2 epoch"):
        found = on_ranks(2, call)
    for first, again, resumed in found:
        assert again <= 2 < first
        assert 2 < resumed <= first + 2


@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.parametrize("how", ["rows", "weights", "class"])
def test_a_part_without_rows(empty, how):
    def call(rank):
        X_mine, y_mine = (X[:80], Y[:80]) if rank.rank == 0 else (X[80:], Y[80:])
        params, weights = {}, np.ones(80)
        if how == "class":
            y_mine = np.where(y_mine == 3, 2, y_mine)
            y_mine = np.full(80, 3) if rank.rank == empty else y_mine
            params["class_weight"] = {3: 0.0}
        elif rank.rank == empty:
            X_mine, y_mine = (X_mine[:0], y_mine[:0]) if how == "rows" else (X_mine, y_mine)
            weights = np.zeros(len(y_mine))
        model = MultinomialLogisticRegression(communicator=rank, split="rows", tol=1e-5, **params)
        return model.fit(X_mine, y_mine, None if how == "class" else weights)

    first, second = on_ranks(2, call)
    kept = slice(80, None) if empty == 0 else slice(80)
    y = np.where(Y == 3, 2, Y) if how == "class" else Y
    alone = MultinomialLogisticRegression(tol=1e-9).fit(X[kept], y[kept])
    np.testing.assert_allclose(first.decision_function(X), alone.decision_function(X), atol=0.02)
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_ranks_that_begin_at_other_weights_are_refused():
    def call(rank):
        mine = X[rank.rank :: 2], Y[rank.rank :: 2]
        model = MultinomialLogisticRegression(warm_start=True).fit(*mine)
        return model.set_params(communicator=rank, split="rows").fit(*mine)

    for error in on_ranks(2, caught(call)):
        assert re.search("the weights to begin with.*pass the same parameters on", str(error))


class Skewed:
    """A communicator whose sums have other last digits on every rank, as on other processors."""

    def __init__(self, rank):
        self._rank = rank
        self._random = np.random.default_rng(rank.rank)

    def __getattr__(self, name):
        return getattr(self._rank, name)

    def all_sum(self, values):
        total = self._rank.all_sum(values)
        if total.dtype.kind != "f":
            return total
        eps = np.finfo(total.dtype).eps
        noise = self._random.integers(-4, 5, total.shape) * eps
        return (total * (1 + noise)).astype(total.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranks_whose_rounding_differs_take_the_same_steps(dtype):
    rows = X.astype(dtype)
    models = on_ranks(3, lambda rank: fit(Skewed(rank), rows, Y, C=100.0, tol=1e-6))
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.n_iter_ == models[0].n_iter_


def odd(change, at=1):
    """A fit on three ranks, of which one has other rows; the errors."""

    def call(rank):
        cuts = ends(3)
        mine = slice(*cuts[rank.rank : rank.rank + 2])
        given = X[mine], Y[mine]
        params = {"communicator": rank, "split": "rows"}
        if rank.rank == at:
            *given, more = change(*given)
            params.update(more)
        return MultinomialLogisticRegression(**params).fit(*given)

    return on_ranks(3, caught(call))


HOSTILE = {
    "features": (
        lambda X, y: (X[:, 1:], y, {}),
        "X of part 1 has 6 features, but X of part 0 has 7",
    ),
    "dtype": (lambda X, y: (X.astype(np.float32), y, {}), "X of part 1 is float32, .* float64"),
    "classes": (lambda X, y: (X, y.astype(str), {}), "y of part 1 holds text, .* whole numbers"),
    "parameters": (lambda X, y: (X, y, {"C": 2.0}), "rank 1 has different .*C: 1.0 .*2.0"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_parts_that_do_not_fit_are_one_error_on_every_rank(case):
    change, words = HOSTILE[case]
    errors = odd(change)
    assert {type(error) for error in errors} == {ValueError}
    assert len({str(error) for error in errors}) == 1
    assert re.search(words, str(errors[0]))


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 3, np.nan, X), y, {}),
        lambda X, y: (X, y[:-1], {}),
        lambda X, y: (X, y, {"tol": -1.0}),
        lambda X, y: (X, y, {"split": None}),
        lambda X, y: (X * 1e200, y, {}),
    ],
)
def test_bad_rows_of_one_rank_end_all(change):
    errors = odd(change)
    assert isinstance(errors[1], (ValueError, FloatingPointError))
    assert {type(errors[0]), type(errors[2])} == {OtherRankError}


def test_rows_without_enough_classes_are_refused():
    for y in (np.zeros(N, int), np.zeros(0, int)):
        errors = on_ranks(2, caught(lambda rank, y=y: fit(rank, X[: len(y)], y)))
        assert {type(error) for error in errors} == {ValueError}
        assert "positive weight" in str(errors[0])


@pytest.mark.parametrize("converted", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_shares_of_a_file_are_all_of_its_rows(size, converted, tmp_path):
    rows = sp.csr_array(WIDE[:40], dtype=np.float32)
    names = np.array(["a", "bb", "c", "d", "e"])[Y[:40]]
    if converted:
        save_data(tmp_path / "data", rows, names)
    else:
        parts = (rows.indices[rows.indptr[i] : rows.indptr[i + 1]] for i in range(40))
        lines = (
            " ".join([name, *(f"{j + 1}:{rows[i, j]}" for j in sorted(part))]) + "\n"
            for i, (name, part) in enumerate(zip(names, parts, strict=True))
        )
        (tmp_path / "data").write_text("".join(lines))
    shares = on_ranks(size, lambda rank: load_partition(rank, tmp_path / "data", 900))
    assert all(list(classes) == list(np.unique(names)) for _, _, classes in shares)
    np.testing.assert_array_equal(np.concatenate([y for _, y, _ in shares]), names)
    whole = sp.vstack([X for X, _, _ in shares]).toarray()
    np.testing.assert_array_equal(whole, rows.toarray())


def test_a_communicator_needs_a_split():
    with pytest.raises(ValueError, match="needs split='rows'"):
        MultinomialLogisticRegression(communicator=Serial()).fit(X, Y)
    with pytest.raises(ValueError, match="'split' parameter"):
        MultinomialLogisticRegression(split="classes").fit(X, Y)


def test_devices_are_for_one_process_and_for_workers():
    for kind in (MultinomialLogisticRegression, MulticlassSVC):
        model = kind(communicator=Serial(), split="rows", device="cuda")
        with pytest.raises(ValueError, match="leave out communicator= or device="):
            model.fit(X, Y)
