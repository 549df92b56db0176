"""Interface of data sets, and their discovery by name."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True)
class Data:
    """Rows and labels in memory, as ``benchmarks.peers.objective`` describes them.

    Attributes
    ----------
    X, X_test : sparse array of shape (n, d), (n_test, d)
        CSR, float32, int32 indices.
    labels, labels_test : ndarray of shape (n,), (n_test,)
        0..k-1; -1 in the test part for a class that the training part doesn't have. Of rows with
        label sets: bool, of shape (n, k), (n_test, k).
    n_classes : int
        k.
    """

    X: sp.csr_array
    labels: NDArray[Any]
    X_test: sp.csr_array
    labels_test: NDArray[Any]
    n_classes: int

    @classmethod
    def from_parts(cls, train: tuple[Any, NDArray[Any]], test: tuple[Any, NDArray[Any]]) -> Self:
        """Bring two pairs (X, y) to a common number of features and to labels 0..k-1."""
        n_features = max(train[0].shape[1], test[0].shape[1])
        X, X_test = (_rows(part[0], n_features) for part in (train, test))
        classes, labels = np.unique(train[1], return_inverse=True)
        place = np.minimum(np.searchsorted(classes, test[1]), len(classes) - 1)
        labels_test = np.where(classes[place] == test[1], place, -1)
        return cls(X, labels.astype(np.int32), X_test, labels_test.astype(np.int32), len(classes))

    @classmethod
    def from_label_sets(
        cls, train: tuple[Any, Sequence[Set[Any]]], test: tuple[Any, Sequence[Set[Any]]]
    ) -> Self:
        """Bring two pairs (X, sets) to a common number of features; labels are of the first."""
        n_features = max(train[0].shape[1], test[0].shape[1])
        X, X_test = (_rows(part[0], n_features) for part in (train, test))
        classes = sorted(set().union(*train[1]))
        labels, labels_test = (
            np.array([[label in found for label in classes] for found in part[1]], dtype=bool)
            for part in (train, test)
        )
        return cls(X, labels, X_test, labels_test, len(classes))

    @property
    def multilabel(self) -> bool:
        """Whether rows have label sets."""
        return self.labels.ndim == 2

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the numbers, to which stored optima belong."""
        code = 0
        for array in (self.X.data, self.X.indices, self.X.indptr, self.labels):
            code = zlib.crc32(np.ascontiguousarray(array), code)
        return f"{self.X.shape[0]}x{self.X.shape[1]}x{self.n_classes}-{code:08x}"

    def describe(self) -> dict[str, int]:
        """Return the sizes, by name."""
        return {
            "n": self.X.shape[0],
            "d": self.X.shape[1],
            "k": self.n_classes,
            "nnz": int(self.X.nnz),
            "n_test": self.X_test.shape[0],
        }


class BaseDataset(ABC):
    """A source of ``Data``.

    Attributes
    ----------
    name : str
        What the command line calls it.
    default : bool
        Whether it is part of a run that names no data sets.
    multilabel : bool
        Whether rows have label sets.
    """

    name: str
    default: bool = True
    multilabel: bool = False

    def skip(self) -> tuple[bool, str]:
        """Say whether it can't be used here, and why."""
        return False, ""

    @abstractmethod
    def load(self) -> Data:
        """Read or make it; called only if ``skip`` said no."""


def find_datasets(*, multilabel: bool = False) -> dict[str, BaseDataset]:
    """Collect ``DATASETS`` of every file in this folder, by name; "tiny" is for quick forms.

    Data sets with label sets are left out, or with ``multilabel`` at the end.
    """
    package = importlib.import_module(__package__)
    modules = [
        importlib.import_module(f"{__package__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]
    found = [dataset for module in modules for dataset in getattr(module, "DATASETS", [])]
    found.sort(key=lambda dataset: dataset.multilabel)
    return {dataset.name: dataset for dataset in found if multilabel or not dataset.multilabel}


def sklearn_rows(
    X: sp.csr_array, dtype: DTypeLike = np.float64
) -> sp.csr_matrix | NDArray[np.floating]:
    """Return float64 rows, to which most peers would convert in each fit; or others.

    An array where no number is missing, else CSR with 32-bit indices.
    """
    rows = X.astype(dtype)
    if X.nnz == X.shape[0] * X.shape[1]:
        return rows.toarray()
    return sp.csr_matrix(rows)


def _rows(X: Any, n_features: int) -> sp.csr_array:
    X = sp.csr_array(X, dtype=np.float32)
    return sp.csr_array(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)),
        shape=(X.shape[0], n_features),
    )
