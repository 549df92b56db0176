"""Made-up documents whose classes are the leaves of a tree."""

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
    """Draw documents whose classes are the leaves of a tree; near ones share words.

    Every node but the root has 20 words of its own. A word of a document is one of its class's, of
    a node above it, all alike, with the chance `topic_share`; else any word, rank r with a chance
    of about 1 / (r + 1).

    Parameters
    ----------
    n_samples : int, default=1000
    n_features : int, default=2000
        Words.
    children : sequence of int, default=(4, 3, 3)
        Children of the root, of each of these, and so on; the last ones are the classes, 36 here.
    words_per_sample : float, default=30.0
        Mean of a Poisson distribution; a document has one word at least.
    topic_share : float, default=0.4
        From 0 to 1.
    random_state : int, RandomState instance, default=None

    Returns
    -------
    X : CSR array of shape (n_samples, n_features), float32
        Words counted, rows of length 1.
    y : ndarray of shape (n_samples,)
        Paths, such as "2/0/1": of each class as many rows as of others, or one more.
    parents : dict
        What ``Taxonomy`` takes: the path of each node, and of its parent; None of the top ones.

    Raises
    ------
    ValueError
        If a size is not positive, or a share not between 0 and 1.

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
