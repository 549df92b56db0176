"""Thresholds of labels, tuned for F1 out of fold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from manyclass import MultilabelSVC
from manyclass.multilabel.thresholds import best_threshold


@pytest.fixture(scope="module", name="rare")
def rare_fixture():
    """Labels so rare that few scores are positive."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 6))
    Y = (X @ rng.normal(size=(6, 5)) + 2 * rng.normal(size=(200, 5)) > 4).astype(int)
    Y = np.hstack([Y, np.eye(200, 1, dtype=int)])
    return X, Y


@pytest.mark.parametrize("seed", range(5))
def test_best_threshold_has_the_largest_f1(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 4, 30).astype(float)
    positive = rng.random(30) < 0.3
    positive[0] = True
    reached = f1_score(positive, scores > best_threshold(scores, positive))
    assert reached == max(f1_score(positive, scores > t) for t in np.arange(-5.5, 4))


def test_tuned_thresholds_are_those_of_scores_out_of_fold(rare):
    X, Y = rare
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    folds = PredefinedSplit(np.random.default_rng(seed).permutation(len(X)) % 4)
    plain = MultilabelSVC(tol=1e-9, random_state=0)
    scores = cross_val_predict(plain, X, Y[:, :5], cv=folds, method="decision_function")
    expected = [best_threshold(scores[:, c], Y[:, c] == 1) for c in range(5)]
    tuned = MultilabelSVC(tol=1e-9, random_state=0, threshold="tuned", n_folds=4).fit(X, Y)
    np.testing.assert_allclose(tuned.thresholds_[:5], expected, atol=1e-3)
    assert tuned.thresholds_[5] == 0  # of one row


def test_threads_tune_the_same(rare):
    X, Y = rare[0], np.hstack([rare[1]] * 7)  # of several groups, one for each thread
    one, two = (
        MultilabelSVC(threshold="tuned", n_jobs=n, random_state=0).fit(X, Y) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.thresholds_, two.thresholds_)


def test_number_is_the_threshold_of_all_labels(rare):
    X, Y = rare
    model = MultilabelSVC(threshold=-0.5, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > -0.5)


def test_refuses_more_folds_than_rows():
    with pytest.raises(ValueError, match="fewer than n_folds=5"):
        MultilabelSVC(threshold="tuned").fit([[0.0], [1.0]], [[0], [1]])
