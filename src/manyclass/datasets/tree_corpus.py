"""Synthetic documents with the leaves of a tree as classes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from manyclass.utils.types import CsrArray

WORDS_OF_NODE = 20


def make_tree_corpus(
    n_samples: int = 1000,
    n_features: int = 2000,
    children: Sequence[int] = (4, 3, 3),
    *,
    words_per_sample: float = 30.0,
    topic_share: float = 0.4,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[CsrArray, NDArray[np.str_], dict[str, str | None]]:
    """Generate a synthetic corpus with the leaves of a tree as classes; close classes share words.

    Every node except the root has 20 words of its own. With probability `topic_share`, a word of a
    document is drawn uniformly from the words of its class and the nodes above it; otherwise it is
    any word, rank r with a probability proportional to about 1 / (r + 1).

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=2000
        Size of the vocabulary.
    children : sequence of int, default=(4, 3, 3)
        Numbers of children: of the root, of each of its children, and so on. The nodes of the last
        level are the classes; the default has 36.
    words_per_sample : float, default=30.0
        Mean length of a document, from a Poisson distribution; a document has at least one word.
    topic_share : float, default=0.4
        Probability of a word on topic, from 0 to 1.
    random_state : int, RandomState instance, default=None
        An int gives the same corpus every time.

    Returns
    -------
    X : CSR array of shape (n_samples, n_features), float32
        Word counts, with rows scaled to length 1.
    y : ndarray of shape (n_samples,)
        Paths of the classes, such as "2/0/1". Class sizes differ by at most one.
    parents : dict
        Argument of ``Taxonomy``: the path of the parent, or None, by the path of each node.

    Raises
    ------
    ValueError
        If a size is not positive, or `topic_share` is not from 0 to 1.

    Examples
    --------
    >>> from manyclass import Taxonomy
    >>> from manyclass.datasets import make_tree_corpus
    >>> X, y, parents = make_tree_corpus(100, children=(2, 3), random_state=0)
    >>> X.shape, len(set(y.tolist()))
    ((100, 2000), 6)
    >>> Taxonomy(parents).distances(["0/0", "0/0"], ["0/2", "1/0"]).tolist()
    [2.0, 4.0]
    """
    sizes = [n_samples, n_features, *children]
    if not all(isinstance(size, Integral) and size > 0 for size in sizes) or not len(children):
        raise ValueError("n_samples, n_features and children must be positive integers")
    if not (0 <= topic_share <= 1 and 0 < words_per_sample < np.inf):
        raise ValueError("topic_share must be from 0 to 1, words_per_sample positive and finite")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    paths, parents, lines = _tree(children)
    words = rng.integers(0, n_features, (len(parents), WORDS_OF_NODE))
    y = rng.permutation(np.arange(n_samples) % len(paths))
    lengths = np.maximum(1, rng.poisson(words_per_sample, n_samples))
    about = np.repeat(y, lengths)
    common = rng.permutation(n_features)
    drawn = common[((n_features + 1) ** rng.random(len(about)) - 1).astype(np.int64)]
    topical = np.flatnonzero(rng.random(len(about)) < topic_share)
    nodes = lines[about[topical], rng.integers(0, len(children), len(topical))]
    drawn[topical] = words[nodes, rng.integers(0, WORDS_OF_NODE, len(topical))]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    X = csr_array((np.ones(len(drawn), np.float32), drawn, indptr), shape=(n_samples, n_features))
    X.sum_duplicates()
    rows = np.repeat(np.arange(n_samples), np.diff(X.indptr))
    X.data /= np.sqrt(np.bincount(rows, X.data**2, n_samples))[rows].astype(np.float32)
    return X, np.array(paths)[y], parents


def _tree(children: Sequence[int]) -> tuple[list[str], dict[str, str | None], NDArray[np.int64]]:
    """Return the leaves' paths, all parents, and the nodes above each leaf, itself last."""
    above: list[tuple[str | None, list[int]]] = [(None, [])]
    parents: dict[str, str | None] = {}
    for n in children:
        below: list[tuple[str | None, list[int]]] = []
        for path, line in above:
            for child in range(n):
                node = str(child) if path is None else f"{path}/{child}"
                below.append((node, [*line, len(parents)]))
                parents[node] = path
        above = below
    return [str(path) for path, _ in above], parents, np.array([line for _, line in above])
