"""Documents in a tree: sizes, the tree, what neighbors share, hostile sizes."""

import numpy as np
import pytest

from manyclass import MulticlassSVC, Taxonomy
from manyclass.datasets import make_tree_corpus
from tests.helpers.cases import each


def test_classes_are_the_leaves():
    X, y, parents = make_tree_corpus(200, 500, (3, 2), random_state=0)
    names, counts = np.unique(y, return_counts=True)
    assert names.tolist() == [f"{a}/{b}" for a in range(3) for b in range(2)]
    assert counts.max() - counts.min() <= 1
    assert X.dtype == np.float32
    assert X.has_canonical_format
    np.testing.assert_allclose(X.power(2).sum(axis=1), 1, rtol=1e-5)
    assert set(Taxonomy(parents).nodes) == {None, *"012", *names.tolist()}
    again = make_tree_corpus(200, 500, (3, 2), random_state=0)
    assert (again[0] != X).nnz == 0
    np.testing.assert_array_equal(again[1], y)


def test_mistakes_are_near():
    X, y, parents = make_tree_corpus(1000, 2000, (4, 3, 3), random_state=0)
    tree = Taxonomy(parents)
    model = MulticlassSVC(random_state=0).fit(X[:500], y[:500])
    predicted = model.predict(X[500:])
    wrong = predicted != y[500:]
    by_chance = tree.mean_distance(y[500:], np.random.default_rng(0).permutation(y[500:]))
    assert tree.mean_distance(y[500:][wrong], predicted[wrong]) < 0.9 * by_chance


@each(
    "settings",
    [
        {"n_samples": 0},
        {"n_features": 1.5},
        {"children": ()},
        {"children": (2, 0)},
        {"topic_share": 1.5},
        {"words_per_sample": np.inf},
    ],
)
def test_sizes_that_are_none(settings):
    with pytest.raises(ValueError, match="must be"):
        make_tree_corpus(**settings)
