"""F1, precision at k, propensities."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

from manyclass.multilabel import f1_scores, precision_at_k, propensities

TRUTH = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
SCORES = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 3.0, 0.0], [4.0, 3.0, 2.0, 1.0]])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["array", "csr"])
def test_f1_is_that_of_scikit_learn(kind):
    rng = np.random.default_rng(0)
    Y, predicted = (rng.random((2, 50, 6)) < 0.2).astype(int)
    Y[:, 0] = predicted[:, 0] = 0
    found = f1_scores(kind(Y), kind(predicted))
    for average in ("micro", "macro"):
        expected = f1_score(Y, predicted, average=average, zero_division=0)
        assert getattr(found, average) == pytest.approx(expected)


def test_f1_of_sets():
    classes = np.array(["a", "b"])
    assert f1_scores([{"a"}, {"b"}], [{"a"}, set()], classes) == (pytest.approx(2 / 3), 0.5)


@pytest.mark.parametrize(("k", "expected"), [(1, 1 / 3), (2, 2 / 6), (4, 3 / 12)])
def test_precision_at_k(k, expected):
    assert precision_at_k(TRUTH, SCORES, k) == pytest.approx(expected)


def test_precision_with_propensities():
    # Hits: label 0 of row 0, label 1 of row 1; the best: labels 0 and 1, and label 1.
    found = precision_at_k(TRUTH, SCORES, 2, propensity=[0.5, 0.25, 1.0, 1.0])
    assert found == pytest.approx((2 + 4) / (2 + 4 + 4))


def test_propensities_of_the_source():
    factor = (math.log(3) - 1) * 2.5**0.55
    expected = [1 / (1 + factor * math.exp(-0.55 * math.log(n + 1.5))) for n in (1, 2, 0, 0)]
    np.testing.assert_allclose(propensities(TRUTH), expected)


@pytest.mark.parametrize(
    ("scores", "k", "propensity", "message"),
    [
        (SCORES[:2], 1, None, "the scores of"),
        (SCORES, 5, None, "k must be from 1 to 4"),
        (SCORES, 1, [0.5], "4 labels and 1 propensities"),
    ],
)
def test_refuses(scores, k, propensity, message):
    with pytest.raises(ValueError, match=message):
        precision_at_k(TRUTH, scores, k, propensity)


def test_sets_of_other_labels_are_wrong():
    assert f1_scores([{"a"}, {"b"}], [{"c"}, {"d"}]).micro == 0
    assert f1_scores([{1}, {2}], [{1}, {3}]).micro == 0.5
    with pytest.raises(ValueError, match="classes is required"):
        f1_scores([{"a"}, {"b"}], np.eye(2))


def test_scores_of_label_sets_need_the_labels_of_their_columns():
    sets, scores = [{"b"}, {"c"}, set()], np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match="classes is required if Y holds label sets"):
        precision_at_k(sets, scores, 1)
    classes = np.array(["a", "b", "c"])
    assert precision_at_k(sets, scores, 1, classes=classes) == pytest.approx(2 / 3)
