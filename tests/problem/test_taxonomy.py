"""Taxonomies: trees in three forms, distances and scores beside a walk from node to node."""

import numpy as np
import pytest
from sklearn.base import clone

from manyclass import MulticlassSVC, MultinomialLogisticRegression, Taxonomy
from tests.helpers.cases import each
from tests.helpers.memory import peak_of
from tests.helpers.model_files import stored

ANIMALS = {"cat": "mammal", "dog": "mammal", "owl": "bird", "mammal": "animal", "bird": "animal"}
ANIMALS |= {"oak": "plant", "plant": "thing", "animal": "thing"}


def random_parents(seed, n):
    """A tree of the nodes 0 to n - 1, and a root, n."""
    rng = np.random.default_rng(seed)
    return {c: int(rng.integers(c)) if c else n for c in range(n)}


def line(parents, node):
    """A node and its ancestors, up to the root."""
    found = [node]
    while found[-1] in parents:
        found.append(parents[found[-1]])
    return found


def edges(parents, first, second):
    one, other = line(parents, first), line(parents, second)
    common = len(set(one) & set(other))
    return len(one) + len(other) - 2 * common


@each("seed", range(5))
def test_distances_are_edges_of_the_path(seed):
    n = 30
    parents = random_parents(seed, n)
    tree = Taxonomy(parents)
    rng = np.random.default_rng(seed)
    y, predicted = rng.integers(0, n, (2, 200))
    expected = [edges(parents, a, b) for a, b in zip(y.tolist(), predicted.tolist(), strict=True)]
    np.testing.assert_array_equal(tree.distances(y, predicted), expected)
    assert tree.mean_distance(y, predicted) == pytest.approx(np.mean(expected))
    classes = rng.permutation(n)[:20]
    costs = tree.costs_of(classes)
    table = [[edges(parents, int(a), int(b)) for b in classes] for a in classes]
    np.testing.assert_allclose(costs, np.array(table) / np.max(table))


@each("seed", range(5))
def test_scores_count_ancestors(seed):
    n = 30
    parents = random_parents(seed, n)
    tree = Taxonomy(parents)
    rng = np.random.default_rng(seed)
    y, predicted = rng.integers(0, n, (2, 200))
    # Ancestors from the node up to depth 1; the root is left out.
    true, found = ([set(line(parents, int(c))[:-1]) for c in labels] for labels in (y, predicted))
    common = [len(a & b) for a, b in zip(true, found, strict=True)]
    total = sum(map(len, true)) + sum(map(len, found))
    assert tree.f1_score(y, predicted) == pytest.approx(2 * sum(common) / total)
    levels = tree.accuracy_by_level(y, predicted)
    for depth, share in enumerate(levels, 1):
        deep = [c >= depth for a, c in zip(true, common, strict=True) if len(a) >= depth]
        assert share == pytest.approx(np.mean(deep)) if deep else np.isnan(share)


def test_functions_of_the_depth_and_a_root_of_several_roots():
    tree = Taxonomy(ANIMALS, distance=lambda depth: 2.0**-depth)
    costs = tree.costs_of(["cat", "dog", "owl", "oak", "mammal"])
    np.testing.assert_array_equal(costs[0], [0, 0.25, 0.5, 1, 0.25])
    np.testing.assert_array_equal(costs, costs.T)
    tree = Taxonomy({"a": None, "b": None})
    X = [[-1.0], [1.0], [0.0]]
    model = MultinomialLogisticRegression().fit(X[:2], ["a", "b"])
    found = tree.predict_node(model, X, 0.6)
    assert found.tolist()[2] is None
    assert tree.distances(["a", "b", "a"], found).tolist()[2] == 1


def test_three_forms_of_one_tree():
    nested = {"animal": {"mammal": ["cat", "dog"], "bird": {"owl": {}}}, "plant": ["oak"]}
    parents = {c: p if p != "thing" else None for c, p in ANIMALS.items()}
    paths = ["animal/mammal/cat", "animal/mammal/dog", "animal/bird/owl", "plant/oak"]
    names = ["cat", "dog", "owl", "oak"]
    costs = Taxonomy(ANIMALS).costs_of(names)
    np.testing.assert_array_equal(Taxonomy(parents).costs_of(names), costs)
    np.testing.assert_array_equal(Taxonomy.from_nested(nested).costs_of(names), costs)
    np.testing.assert_array_equal(Taxonomy.from_paths(paths).costs_of(paths), costs)
    dotted = [path.replace("/", " > ") for path in paths]
    by_arrow = Taxonomy.from_paths(dotted, separator=" > ")
    np.testing.assert_array_equal(by_arrow.costs_of(dotted), costs)


def samples(n, seed):
    """Four classes in pairs: cat is near dog, owl and oak are far."""
    rng = np.random.default_rng(seed)
    names = np.array(["cat", "dog", "owl", "oak"])
    centres = np.array([[0, 0], [0.6, 0.3], [1, -1], [-1, 1.0]])
    labels = rng.integers(0, 4, n)
    return centres[labels] + 0.5 * rng.standard_normal((n, 2)), names[labels]


def test_training_with_a_taxonomy_is_that_of_its_table():
    X, y = samples(200, 0)
    tree = Taxonomy(ANIMALS)
    model = MulticlassSVC(costs=tree, random_state=0).fit(X, y)
    same = MulticlassSVC(costs=tree.costs_of(model.classes_), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert stored(model).costs.as_dict() == tree.as_dict()
    logistic = MultinomialLogisticRegression().fit(X, y)
    table = tree.costs_of(logistic.classes_)
    np.testing.assert_array_equal(logistic.predict(X, costs=tree), logistic.predict(X, costs=table))


@each("threshold", [0.5, 0.8])
def test_the_deepest_node_that_is_likely(threshold):
    X, y = samples(300, 1)
    tree = Taxonomy(ANIMALS)
    model = MultinomialLogisticRegression().fit(X, y)
    found = tree.predict_node(model, X, threshold)
    for p, node in zip(model.predict_proba(X), found, strict=True):
        sums = dict.fromkeys(tree.nodes, 0.0)
        for c, share in zip(model.classes_.tolist(), p, strict=True):
            for above in line(ANIMALS, c):
                sums[above] += share
        likely = [n for n in tree.nodes if sums[n] > threshold or n == "thing"]
        assert node == max(likely, key=lambda n: len(line(ANIMALS, n)))
    assert tree.distances(y, found).shape == (300,)


def test_branches_may_be_deeper_than_all_classes():
    deeper = {**ANIMALS, "barn owl": "owl", "chick": "barn owl"}
    X, y = samples(300, 1)
    model = MultinomialLogisticRegression().fit(X, y)
    found = Taxonomy(deeper).predict_node(model, X)
    assert found.tolist() == Taxonomy(ANIMALS).predict_node(model, X).tolist()
    shares = Taxonomy(deeper).accuracy_by_level(y, found)
    assert np.isnan(shares).tolist() == [False, False, False, True, True]


def test_deep_trees_take_little_memory():
    chain = Taxonomy({i: i - 1 for i in range(1, 1001)})
    assert chain.distances([1000, 3, 0], [0, 1000, 0]).tolist() == [1000, 997, 0]
    parents = {i: i - 1 if i % 1000 else None for i in range(50_000)}
    many, peak = peak_of(lambda: Taxonomy(parents))
    assert len(many.nodes) == 50_001
    assert peak < 50e6


@each(
    ("parents", "settings", "message"),
    [
        ({}, {}, "one at least"),
        ([("a", "b")], {}, "needs a dict"),
        ({"a": "b", "b": "a"}, {}, "form a cycle"),
        ({"a": "a", "c": "d"}, {}, "form a cycle"),
        ({"a": "b", np.nan: "b"}, {}, "is NaN; roots of a taxonomy"),
        ({"a": float("nan")}, {}, "is NaN; roots of a taxonomy"),
        ({"a": "b"}, {"distance": "leaves"}, "'edges' or a function"),
        ({i: i - 1 for i in range(1, 20_000)}, {}, "depth 19,999 is too deep"),
        ({"a": ["b"]}, {}, "the parent of 'a' must be one label"),
    ],
)
def test_trees_that_are_none(parents, settings, message):
    with pytest.raises(ValueError, match=message):
        Taxonomy(parents, **settings)


@each(
    ("call", "message"),
    [
        (lambda: Taxonomy.from_paths(["a//b"]), "empty part"),
        (lambda: Taxonomy.from_paths("a/b"), "list of paths"),
        (lambda: Taxonomy.from_paths(5), "list of paths"),
        (lambda: Taxonomy.from_nested({"a": [["b"]]}), "a node below 'a' must be a label"),
        (lambda: Taxonomy.from_nested({"a": ["c"], "b": ["c"]}), "twice"),
        (lambda: Taxonomy.from_nested({"a": "cde"}), "dict or a list"),
        (lambda: Taxonomy(ANIMALS).distances(["cat"], ["ash"]), "'ash' is not a node"),
        (lambda: Taxonomy(ANIMALS).distances(["cat"], ["dgo"]), "node .*; did you mean 'dog'?"),
        (lambda: Taxonomy({1: 0, 2: 0}).distances([1], ["2"]), "'2' is not a .*; did you mean 2?"),
        (lambda: Taxonomy(ANIMALS).f1_score(["cat", "dog"], ["cat"]), "2 labels and 1 predictions"),
        (lambda: Taxonomy(ANIMALS, distance=lambda d: -d - 1).costs_of(["cat", "dog"]), "must ret"),
        (lambda: Taxonomy(ANIMALS).predict_node(None, [], 0.4), "threshold"),
    ],
)
def test_hostile_forms_and_labels(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@each(
    ("paths", "separator", "other"),
    [
        (["a.b", "a.c", "d.e"], "/", "."),
        (["a > b", "a > c", "d > e"], "/", " > "),
        (["a>b", "a>c"], "/", ">"),
        (["a | b c", "a | d"], ">", " | "),
        (["a/b.c", "a/d.e"], ".x", "/"),
    ],
)
def test_paths_with_another_separator(paths, separator, other):
    with pytest.raises(ValueError) as raised:
        Taxonomy.from_paths(paths, separator=separator)
    message = str(raised.value)
    assert message.startswith(f"no path contains the separator {separator!r}, but {len(paths)} of ")
    assert f"such as {paths[0]!r}; give separator={other!r}, or Taxonomy(dict" in message
    assert paths[0].split(other)[0] in Taxonomy.from_paths(paths, separator=other)


@each(
    "labels",
    [["a", "b"], ["St. Louis", "St. Paul"], ["1.5", "2.5"], ["a.b", "c", "d", "a.c", "e"]],
)
def test_flat_trees_are_allowed(labels):
    assert Taxonomy.from_paths(labels).nodes == [None, *labels]


def test_hostile_paths_and_classes_that_are_no_nodes():
    for path in (("r", "a"), 5, None, b"a/b"):
        with pytest.raises(ValueError, match=r"must be text such as 'a/b/c', not .*join\(path\)"):
            Taxonomy.from_paths([path, "q/c"])
    with pytest.raises(ValueError, match="'ash' is not a node"):
        MulticlassSVC(costs=Taxonomy(ANIMALS)).fit([[0.0], [1.0]], ["ash", "cat"])
