"""Published results reproduced, one folder per paper, and comparisons of our own.

Data are svmlight files, looked for in the folder that MANYCLASS_DATA names, by default
``../shared/data`` beside the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from manyclass import load_svmlight
from measuring.datasets.real import folder_of_data

Rows = TypeVar("Rows")


class MissingDataError(Exception):
    """A data set is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A data set: CSR rows and classes, for training and for testing."""

    X: sp.csr_array[Any]
    y: NDArray[Any]
    X_test: sp.csr_array[Any]
    y_test: NDArray[Any]


def load(train: str, test: str) -> Split:
    """Read two svmlight files.

    Parameters
    ----------
    train, test : str
        File names without ``.bz2``.

    Returns
    -------
    Split
        With float32 rows.

    Raises
    ------
    MissingDataError
        If a file is not there.
    """
    folder = folder_of_data()
    paths = [folder / f"{name}.bz2" for name in (train, test)]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        raise MissingDataError(
            f"no {', '.join(missing)}; set MANYCLASS_DATA to the folder that holds the data"
        )
    (X, y), (X_test, y_test) = map(load_svmlight, paths)
    width = max(X.shape[1], X_test.shape[1])  # the last features may be in one file alone
    return Split(_widened(X, width), y, _widened(X_test, width), y_test)


def _widened(X: sp.csr_array[Any], width: int) -> sp.csr_array[Any]:
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def load_named(name: str) -> Split:
    """Read a data set by its name; all but usps have ``.scale`` in the names of their files.

    Raises
    ------
    MissingDataError
        If a file is not there.
    """
    if name == "usps":
        return load("usps", "usps.t")
    return load(f"{name}.scale", f"{name}.t.scale")


def available(names: Iterable[str], read: Callable[[str], Rows]) -> Iterator[tuple[str, Rows]]:
    """Read data sets one at a time; yield names and rows, and print which are skipped, and why."""
    for name in names:
        try:
            rows = read(name)
        except MissingDataError as error:
            print(f"{name}: skipped: {error}")
        else:
            yield name, rows


def irises() -> Split:
    """Return scikit-learn's irises, every third one for the test: data of quick forms."""
    X, y = load_iris(return_X_y=True)
    rows, test = sp.csr_array(X.astype(np.float32)), np.arange(len(y)) % 3 == 0
    return Split(rows[~test], y[~test], rows[test], y[test])


def density(values: NDArray[Any]) -> float:
    """Share of the entries above 1e-8 in absolute value."""
    return float(np.mean(np.abs(values) > 1e-8))
