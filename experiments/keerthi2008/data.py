"""The data sets of the experiments, in float64, as the paper's code had them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import LabelEncoder

from experiments import Split, load_named
from manyclass.datasets.synthetic import corpus_shape, make_text_corpus

# A tenth of the rows of RCV1 with 53 classes, made up.
RCV1, RCV1_SCALE, RCV1_TEST = "rcv1-53", 0.1, 10_000
# Rows, test rows, features, classes and non-zeros of both parts, of the paper's table 1.1.
PAPER = {
    "news20": (15_935, 3_993, 62_061, 20, 1_593_692),
    "sector": (6_412, 3_207, 55_197, 105, 1_569_904),
    "mnist": (60_000, 10_000, 779, 10, 10_505_375),
    "rcv1": (531_742, 15_913, 47_236, 103, 36_734_621),
    "cover": (522_911, 58_101, 54, 7, 6_972_144),
}
OURS = {"covtype100k": "cover", "rcv1-shape": "rcv1"}


def dataset(name: str) -> Split:
    """Return a data set with classes 0 to k - 1; "tiny" is made up in a moment.

    Raises
    ------
    MissingDataError
        If its files are not there.
    """
    if name == "tiny":
        split = _made_up(400, 100, 40, 5)
    elif name == "rcv1-shape":
        split = _rcv1_shape()
    else:
        split = load_named(name)
    codes = LabelEncoder().fit(np.concatenate([split.y, split.y_test]))
    return Split(
        split.X.astype(np.float64),
        codes.transform(split.y),
        split.X_test.astype(np.float64),
        codes.transform(split.y_test),
    )


def _rcv1_shape() -> Split:
    shape = corpus_shape(RCV1, 1.0)
    shape["n_examples"] = int(RCV1_SCALE * shape["n_examples"])
    X, y = make_text_corpus(**shape, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[:RCV1_TEST], order[RCV1_TEST:]
    return Split(X[train], y[train], X[test], y[test])


def _made_up(n: int, n_test: int, d: int, k: int) -> Split:
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n + n_test)
    X = sp.csr_array(rng.normal(size=(n + n_test, d)) + 2 * np.eye(k, d)[y])
    return Split(X[:n], y[:n], X[n:], y[n:])
