"""Evaluation of label sets, against scikit-learn, and the report of a model of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import MultilabelSVC, MultilabelSVCCV, write_report
from manyclass.multilabel import f1_scores, precision_at_k
from manyclass.reports import label_sets
from manyclass.reports.label_sets import score_label_sets

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 8))
Y = (X @ RNG.normal(size=(8, 7)) + RNG.normal(size=(120, 7)) > 1.5).astype(int)
NAMES = np.array(["zebra", "ape", "cat", "<b>", "dog", "eel", "fox"])
SETS = [set(NAMES[row.astype(bool)].tolist()) for row in Y]
KINDS = [Y, sp.csr_array(Y), SETS, pd.DataFrame(Y, columns=NAMES)]


@pytest.mark.parametrize("y", KINDS, ids=["array", "sparse", "sets", "frame"])
@pytest.mark.parametrize("at_once", [1, 50, 1000])
def test_scores_are_those_of_scikit_learn(y, at_once, monkeypatch):
    monkeypatch.setattr(label_sets, "ROWS_AT_A_TIME", at_once)
    model = MultilabelSVC(random_state=0, C=0.1).fit(X, y)
    found = score_label_sets(model, X, y)
    columns = [NAMES.tolist().index(name) for name in model.classes_] if y is SETS else range(7)
    truth, predicted = Y[:, columns], model.predict(X)
    predicted = predicted.toarray() if sp.issparse(predicted) else predicted
    expected = precision_recall_fscore_support(truth, predicted, zero_division=0)
    for ours, theirs in zip(
        (found.precision, found.recall, found.f1, found.support), expected, strict=True
    ):
        np.testing.assert_allclose(ours, theirs)
    scores = found.scores()
    assert (scores["f1_micro"], scores["f1_macro"]) == pytest.approx(f1_scores(truth, predicted))
    assert scores["accuracy"] == pytest.approx(model.score(X, y))
    for k in (1, 3, 5):
        expected_at = precision_at_k(truth, model.decision_function(X), k)
        assert scores[f"precision_at_{k}"] == pytest.approx(expected_at)
    assert found.as_dict()["labels"][0]["label"] == model.classes_[0]


def test_lines_show_the_most_frequent_labels_and_one_label(monkeypatch, tmp_path):
    monkeypatch.setattr(label_sets, "LISTED", 2)
    lines = score_label_sets(MultilabelSVC(random_state=0).fit(X, SETS), X, SETS).lines()
    order = [NAMES[c] for c in np.argsort(-Y.sum(axis=0), kind="stable")[:2]]
    assert [line.split()[0] for line in lines[2:4]] == order
    assert lines[4] == "and 5 labels of fewer rows"
    model = MultilabelSVC(random_state=0).fit(X, Y[:, :1])
    assert list(score_label_sets(model, X, Y[:, :1]).best) == [1]
    write_report(tmp_path / "page", model, X, Y[:, :1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: MultilabelSVC(threshold="tuned", random_state=0).fit(X, SETS),
        lambda: MultilabelSVCCV(Cs=[0.1, 1.0], random_state=0).fit(X, SETS),
        lambda: make_pipeline(StandardScaler(), MultilabelSVC(random_state=0)).fit(X, SETS),
        lambda: MultilabelSVC(prune=0.01, random_state=0).fit(X, SETS),
    ],
    ids=["tuned", "search", "pipeline", "pruned"],
)
def test_report(make, tmp_path):
    model = make()
    write_report(tmp_path / "page", model, X, SETS)
    page = (tmp_path / "page").read_text("utf-8")
    assert "Labels, the most frequent first" in page
    assert "micro F1" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    write_report(tmp_path / "page", model, top_features=2)
    assert "predictions are not evaluated" in (tmp_path / "page").read_text("utf-8")
    with pytest.raises(ValueError, match="is not a label of fit"):
        write_report(tmp_path / "page", model, X[:1], [{"unknown"}])
