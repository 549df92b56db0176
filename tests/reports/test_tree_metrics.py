"""Scores by a taxonomy in evaluate and the report: those of the tree's own methods."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from manyclass import MulticlassSVC, Taxonomy, write_report
from manyclass.reports.evaluation import evaluate

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]
TREE = Taxonomy.from_nested({"iris": {"smooth": ["setosa"], "other": ["versicolor", "virginica"]}})


def test_scores_are_those_of_the_tree():
    model = MulticlassSVC(C=1e-3, random_state=0).fit(X, NAMES)
    found = evaluate(model, X, NAMES, confidence=False, taxonomy=TREE)
    predicted = model.predict(X)
    assert found.tree.mean_distance == TREE.mean_distance(NAMES, predicted)
    assert found.tree.f1 == TREE.f1_score(NAMES, predicted)
    scores = found.scores()
    np.testing.assert_array_equal(
        scores["accuracy_by_level"], TREE.accuracy_by_level(NAMES, predicted)
    )
    assert json.loads(json.dumps(scores)) == scores
    assert evaluate(model, X, NAMES, confidence=False).tree is None


def test_a_model_knows_its_tree_until_it_is_saved():
    model = MulticlassSVC(costs=TREE, random_state=0).fit(X, NAMES)
    found = evaluate(model, X, NAMES)
    assert found.tree.mean_distance == pytest.approx(TREE.mean_distance(NAMES, model.predict(X)))
    assert found.mean_cost == pytest.approx(found.tree.mean_distance / 4)
    y = NAMES.copy()
    y[0] = "rose"  # no node: left out, as no tree was asked for
    assert evaluate(model, X, y).tree.mean_distance >= found.tree.mean_distance
    with pytest.raises(ValueError, match="'rose' is not a node"):
        evaluate(model, X, y, taxonomy=TREE)


def test_the_report_has_levels(tmp_path):
    model = MulticlassSVC(random_state=0).fit(X, NAMES)
    write_report(tmp_path / "page.html", model, X, NAMES, taxonomy=TREE)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Levels of the taxonomy" in page
    assert "tree distance" in page
    write_report(tmp_path / "page.html", model, X, NAMES)
    assert "Levels of the taxonomy" not in (tmp_path / "page.html").read_text("utf-8")
