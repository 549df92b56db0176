"""The most confused pairs, with and without a model."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from manyclass import ConfusionPairs, MulticlassSVC
from manyclass.reports.confusion import ConfusedPair, shown
from tests.helpers.memory import peak_of
from tests.helpers.model_files import X, Y


def test_counts_are_those_of_the_confusion_matrix():
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(0, 9, 500), rng.integers(0, 9, 500)
    matrix = confusion_matrix(true, predicted)
    found = ConfusionPairs.from_predictions(true, predicted)
    assert {(p.true, p.predicted): p.count for p in found.pairs} == {
        (t, p): matrix[t, p] for t, p in np.argwhere(matrix) if t != p
    }
    assert all(p.share == p.count / matrix[p.true].sum() for p in found.pairs)
    keys = [(-p.count, p.true, p.predicted) for p in found.pairs]
    assert keys == sorted(keys)
    assert found.n_errors == 500 - np.trace(matrix)
    assert found.top(3) == found.pairs[:3]
    assert len(found) == len(found.pairs)
    assert len(found.top(10_000)) == len(found)


def test_labels_that_are_no_class_count_as_errors():
    model = MulticlassSVC(C=10, random_state=0).fit(X, Y)
    labels = Y.astype(object)
    labels[:] = [str(label) for label in Y]
    labels[0], labels[-1] = "rose", "2.0"
    found = ConfusionPairs.from_estimator(model, X, labels)
    assert ConfusedPair("rose", 0, 1, 1.0) in found.pairs
    assert found.n_errors == 1 + np.count_nonzero(model.predict(X) != Y)


def test_thousands_of_classes():
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(0, 20_000, (2, 30_000))
    found, peak = peak_of(lambda: ConfusionPairs.from_predictions(true, predicted))
    assert peak < 50e6  # an array of 20,000 x 20,000 counts would take 3.2 GB
    assert sum(p.count for p in found.pairs) == np.count_nonzero(true != predicted)


def test_text():
    found = ConfusionPairs.from_predictions(list("aabbc"), list("bbabc"))
    assert str(found).splitlines() == [
        "3 of 5 rows confused, in 2 pairs",
        "true  predicted  rows  of the true class",
        "a     b             2            100.0 %",
        "b     a             1             50.0 %",
    ]
    assert found.lines(1)[-1] == "and 1 more"
    right = ConfusionPairs.from_predictions([1, 2], [1, 2])
    assert (str(right), right.pairs) == ("0 of 2 rows confused, in 0 pairs", [])


def test_labels_are_told_apart_on_one_line():
    labels = ["", " ", "\n\n", "\u2028", "''", "a b", "a  b", "a\tb", "a\x00b", "a?b", 1, "'1'"]
    assert len({shown(label) for label in labels}) == len(labels)
    assert all(shown(label).isprintable() for label in labels)
    assert [shown(label) for label in ("", "\n", "a b", 1.5)] == ["''", r"'\n'", "a b", "1.5"]
    text = str(ConfusionPairs.from_predictions(["a\nb\t" + "c" * 100, ""], ["x", "x"]))
    assert len(text.splitlines()) == 4
    assert "''" in text


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([1, 2], [1], "inconsistent numbers of samples"),
        ([[1, 2]], [1], "y_true must be a vector of labels"),
        ([1], [1j], "y_pred must be a vector of labels"),
        ([None], [1], "y_true holds None, which is not a label"),
        ([1.0, np.nan], [1, 2], "y_true holds NaN"),
        ([1, 2], np.array(["a", np.nan], object), "y_pred holds nan, which is not a label"),
        (np.array([1, "a"], object), ["1", "a"], "y_true holds both strings and numbers"),
        (np.array([{}], object), [1], "y_true holds {}, which is not a label"),
    ],
)
def test_bad_labels(true, predicted, message):
    with pytest.raises(ValueError, match=message):
        ConfusionPairs.from_predictions(true, predicted)


@pytest.mark.parametrize("n", [0, -1, True, 2.5, "x", None])
def test_numbers_of_pairs_that_are_none(n):
    with pytest.raises(ValueError, match=f"n must be an integer of at least 1, not {n!r}"):
        ConfusionPairs.from_predictions([1], [2]).top(n)
    assert len(ConfusionPairs.from_predictions([1], [2]).top(np.int64(3))) == 1
