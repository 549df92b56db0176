"""Taxonomies of more classes than a table has: the same model, files, folds, checkpoints."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    Taxonomy,
    load_model,
    save_model,
)
from manyclass.estimators import costs as of_costs
from manyclass.persistence import model_schema
from manyclass.reports.evaluation import evaluate
from tests.helpers.cases import each
from tests.helpers.model_files import rewritten, stored

K = 80
RNG = np.random.default_rng(0)
PARENTS = {f"c{c:02}": f"c{RNG.integers(c):02}" if c else None for c in range(K)}
TREE = Taxonomy(PARENTS)
NAMES = np.array(sorted(PARENTS))
Y = np.concatenate([NAMES, NAMES[RNG.integers(0, K, 220)]])
X = sp.random_array((300, 200), density=0.04, random_state=RNG, format="csr")
SETTINGS = {"tol": 1e-6, "random_state": 0}


@pytest.fixture
def many(monkeypatch):
    """Make these classes too many for a table."""
    for module in (of_costs, model_schema):
        monkeypatch.setattr(module, "LARGEST_TABLE", K - 1)


def fitted(**settings):
    return MulticlassSVC(**{**SETTINGS, **settings}).fit(X, Y)


@each("weights", ["dense", "sparse"])
@each("offset", [None, "logit_adjustment"])
def test_the_model_is_that_of_the_table(weights, offset, monkeypatch):
    table = fitted(costs=TREE, weights=weights, class_offset=offset)
    monkeypatch.setattr(of_costs, "LARGEST_TABLE", K - 1)
    tree = fitted(costs=TREE, weights=weights, class_offset=offset)
    primal = table.certificate_.primal_objective
    assert tree.certificate_.primal_objective == pytest.approx(primal, rel=2e-6)
    with pytest.raises(ValueError, match="up to 79 classes"):
        fitted(costs=np.ones((K, K)) - np.eye(K))


@pytest.mark.parametrize("distance", ["edges", lambda depth: 1 / (1 + depth)])
def test_files_hold_the_tree(many, distance):
    model = fitted(costs=Taxonomy(PARENTS, distance=distance))
    loaded = stored(model)
    assert loaded.costs.nodes == model.costs.nodes
    again = loaded.set_params(**SETTINGS).fit(X, Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert evaluate(loaded, X, Y).mean_cost == evaluate(model, X, Y).mean_cost


def test_small_trees_are_in_files_too_or_their_costs():
    assert stored(fitted(costs=TREE)).costs.nodes == TREE.nodes
    pairs = {node: (parent, 0) for node, parent in PARENTS.items() if node in NAMES}
    model = fitted(costs=Taxonomy(pairs))  # nodes that are neither numbers nor text
    np.testing.assert_array_equal(stored(model).costs, model.costs.costs_of(NAMES))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": ["other", *TREE.nodes[1:]]}, "class 'c00' is not a node of the taxonomy"),
        ({"nodes": [*TREE.nodes[:-1], "other"]}, "is not a node of the taxonomy"),
        (
            {"nodes": [*range(1002)], "above": [*range(-1, 1001)], "distances": None},
            "depth 1,001 is too deep",
        ),
    ],
)
def test_trees_of_files_hold_all_classes_and_are_not_deep(many, tmp_path, change, message):
    save_model(tmp_path / "model", fitted(costs=TREE))
    rewritten(tmp_path / "model", lambda _, model: model["taxonomy"].update(change))
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "model")


def test_folds_without_some_classes_keep_the_scale(many):
    halves = np.arange(0, 300, 2), np.arange(1, 300, 2)
    search = MulticlassSVCCV(
        costs=TREE, scoring="cost", Cs=[0.1, 1.0], cv=[halves, halves[::-1]], random_state=0
    ).fit(X, Y)
    largest = TREE.distances(*map(np.ravel, np.meshgrid(NAMES, NAMES))).max()
    fold = MulticlassSVC(costs=TREE.scaled_for(NAMES), C=search.Cs_[0], **SETTINGS)
    fold.fit(X[halves[0]], Y[halves[0]])
    cost = TREE.distances(Y[halves[1]], fold.predict(X[halves[1]])) / largest
    assert -search.scores_[0, 0] == pytest.approx(cost.mean(), abs=0.02)
    assert stored(search).score(X, Y) == search.score(X, Y)


def test_checkpoints_are_of_their_tree(many, tmp_path):
    fitted(costs=TREE, checkpoint=tmp_path / "run")
    again = fitted(costs=TREE, checkpoint=tmp_path / "run", resume=True)
    assert again.certificate_.relative_gap <= 1e-6
    other = Taxonomy(PARENTS, distance=lambda depth: 1 / (1 + depth))
    with pytest.raises(ValueError, match="costs and offsets"):
        fitted(costs=other, checkpoint=tmp_path / "run", resume=True)


def test_scores_of_another_model_go_with_a_tree(many):
    scores = RNG.normal(size=(300, K))
    tree = MulticlassSVC(costs=TREE, **SETTINGS).fit(X, Y, base_scores=scores).certificate_
    table = MulticlassSVC(costs=TREE.costs_of(NAMES)[:, :], **SETTINGS)
    assert tree.relative_gap <= 1e-6
    with pytest.raises(ValueError, match="Taxonomy"):
        table.fit(X, Y, base_scores=scores)


def test_decisions_by_cost_need_a_table(many):
    model = MultinomialLogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="up to 79 classes"):
        model.predict(X[:2], costs=TREE)


@each(
    "change",
    [
        *({"above": above} for above in ([0] * K, [-1] * K)),
        *({"nodes": nodes} for nodes in (["a"] * K, [None] * K, [["a"]] * K, ["a"])),
        *({"distances": found} for found in ([1.0], "edges", [[1.0] * 90])),
        *({"scale": scale} for scale in (-1.0, "x")),
    ],
)
def test_trees_of_hostile_files_are_refused(change):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Taxonomy.from_dict({**TREE.as_dict(), **change})._ranges_of(NAMES)
