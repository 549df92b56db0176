"""Warm starts of label sets, while rows and labels come and go."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MultilabelSVC

NAMES = np.array(["acid", "blue", "cold", "dry", "even", "flat"])


def drawn(n=80, d=5, k=6, seed=0):
    """Rows and an indicator matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ np.random.default_rng(9).normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.8) * 1
    return X, Y


def sets(Y, columns):
    return [set(NAMES[columns][row.astype(bool)].tolist()) for row in Y[:, columns]]


FIRST, MORE = drawn(), drawn(6, seed=3)
ALL = np.arange(6)
CHANGES = {
    "added": (np.vstack([FIRST[0], MORE[0]]), np.vstack([FIRST[1], MORE[1]]), ALL),
    "removed": (FIRST[0][4:], FIRST[1][4:], ALL),
    "both": (np.vstack([MORE[0], FIRST[0][4:]]), np.vstack([MORE[1], FIRST[1][4:]]), ALL),
    "doubled": (np.vstack([FIRST[0], FIRST[0][:3]]), np.vstack([FIRST[1], FIRST[1][:3]]), ALL),
    "reordered": (FIRST[0][::-1], FIRST[1][::-1], ALL),
    "label gone": (*FIRST, np.array([0, 1, 3, 4, 5])),
    "columns added": (np.hstack([FIRST[0], np.zeros((80, 2))]), FIRST[1], ALL),
}


def agree(warm, cold, tol):
    assert warm.classes_.tolist() == cold.classes_.tolist()
    assert warm.certificate_.relative_gap <= tol
    for one, other in ((warm, cold), (cold, warm)):
        assert one.certificate_.dual_objective <= other.certificate_.primal_objective * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("change", CHANGES)
def test_optimum_is_that_of_a_cold_start(change, loss):
    given = {"loss": loss, "tol": 1e-6, "random_state": 0}
    X, Y, columns = CHANGES[change]
    warm = MultilabelSVC(warm_start=True, **given).fit(FIRST[0], sets(FIRST[1], ALL))
    warm.fit(X, sets(Y, columns))
    cold = MultilabelSVC(**given).fit(X, sets(Y, columns))
    agree(warm, cold, 1e-6)
    assert len(warm._warm_start.state.prints) == len(X)
    assert warm._warm_start.state.start.duals.shape == (len(X), len(columns))


def test_a_label_that_is_added_and_other_weights():
    given = {"tol": 1e-6, "random_state": 0, "n_jobs": 2}
    some, weights = np.array([0, 2, 5]), np.where(np.arange(80) % 5 == 0, 20.0, 1.0)
    warm = MultilabelSVC(warm_start=True, **given).fit(FIRST[0], sets(FIRST[1], some))
    for columns, weight in ((ALL, None), (ALL, weights), (some, None)):
        labels = sets(FIRST[1], columns)
        warm.fit(FIRST[0], labels, weight)
        agree(warm, MultilabelSVC(**given).fit(FIRST[0], labels, weight), 1e-6)


@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_nothing_changed_takes_no_epoch(weights):
    model = MultilabelSVC(warm_start=True, random_state=0, weights=weights)
    X, Y = sp.csr_array(FIRST[0]), FIRST[1]
    first = model.fit(X, Y).certificate_
    assert model.fit(X, Y).n_iter_ == 0
    assert model.certificate_.primal_objective == pytest.approx(first.primal_objective, rel=1e-9)
    assert pickle.loads(pickle.dumps(model)).fit(X, Y).n_iter_ == 0


def test_features_that_no_row_has_any_more():
    """Rows are trained on the features that they have, and matched by all."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.hstack([np.zeros((80, 40)), FIRST[0]]))
    model = MultilabelSVC(warm_start=True, random_state=0).fit(X, FIRST[1])
    wide = sp.lil_array((1, 45))
    wide[0, :20] = rng.normal(size=20)
    more = sp.csr_array(sp.vstack([X, wide]))
    Y = np.vstack([FIRST[1], FIRST[1][:1]])
    start = model._warm_start
    model.fit(more, Y)
    agree(model, MultilabelSVC(random_state=0).fit(more, Y), 1e-3)
    assert np.array_equal(start.state.prints, model._warm_start.state.prints[:80])
    assert model.fit(X, FIRST[1]).certificate_.relative_gap <= 1e-3


def test_labels_that_all_rows_have_keep_no_duals():
    Y = FIRST[1].copy()
    Y[:, 2] = 1
    model = MultilabelSVC(warm_start=True, random_state=0)
    with pytest.warns(UserWarning, match="labels occur in all rows or in none"):
        model.fit(FIRST[0], Y)
    assert model.fit(*FIRST).certificate_.relative_gap <= 1e-3
    assert not hasattr(model.set_params(warm_start=False).fit(*FIRST), "_warm_start")
