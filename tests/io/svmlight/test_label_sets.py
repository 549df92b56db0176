"""Files whose rows have several labels, or none."""

import io

import pytest
from sklearn.datasets import load_svmlight_file

from manyclass import MultilabelSVC
from tests.helpers.cases import each

TEXT = "3,7,12 5:0.5 9:1\n 2:1\n1:2 # no label\n7 qid:4 1:1\nqid:3 1:1\n"


@each("n_jobs", [1, 2])
def test_rows_have_sets_of_labels(load, n_jobs):
    X, y = load(TEXT, n_jobs=n_jobs, multilabel=True)
    assert y == [{3, 7, 12}, set(), set(), {7}, set()]
    rows = [[0, 0, 0.5, 1], [0, 1, 0, 0], [2, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert X.toarray()[:, [0, 1, 4, 8]].tolist() == rows


@each(
    ("text", "expected"),
    [
        ("1:1\n1 1:1\n", [set(), {1}]),
        ("2,1.5 1:1\n", [{2.0, 1.5}]),
        ("1,b 1:1\n2 1:1\n", [{"1", "b"}, {"2"}]),
        ("1;b 1:1\n", [{"1;b"}]),
        (",".join(map(str, range(500))) + " 1:1\n", [set(range(500))]),
    ],
)
def test_kinds_of_labels(load, text, expected):
    assert load(text, multilabel=True)[1] == expected


def test_labels_are_those_of_scikit_learn_and_train(load):
    X, y = load(TEXT, multilabel=True)
    _, expected = load_svmlight_file(io.BytesIO(TEXT.encode()), multilabel=True)
    assert y == [set(map(int, labels)) for labels in expected]
    assert MultilabelSVC(C=100).fit(X, y).classes_.tolist() == [3, 7, 12]


@each(
    ("text", "multilabel", "message"),
    [
        ("1 1:1\n3,,7 1:1\n", True, "txt:2: one of several labels is empty .*'3,,7'"),
        ("1 1:1\n3,7 1:1\n", False, "txt:2: several labels in one row.*multilabel=True"),
        ("1 1:1\n2,3;7 1:1\n", True, "txt:2: .* not separated by commas .*'3;7'.*3,7"),
        ("1:1\n", False, "txt:1: the label is missing"),
    ],
)
def test_refuses(load, text, multilabel, message):
    with pytest.raises(ValueError, match=message):
        load(text, multilabel=multilabel)
