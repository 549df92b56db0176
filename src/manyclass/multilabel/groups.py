"""Groups of labels that no example has two of: each is a one-vs-rest problem of multi-class kind.

The labels of a multi-label problem are independent binary problems,

    min_w  1/2 ||w_c||^2 + sum_i C_i loss(1 - s_ic w_c . x_i),    s_ic = +1 for c in Y_i, else -1

An example of a one-vs-rest problem has one class, or none of its classes. So labels that never
occur together may share such a problem, whose kernels visit all of its classes at once. The groups
are colours of the graph of labels that occur together, found greedily, frequent labels first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import ELSEWHERE
from manyclass.utils.types import CsrArray

Labels = NDArray[np.int64]  # columns of the indicator matrix


def groups_of(indicator: CsrArray, labels: Labels, size: int) -> list[Labels]:
    """Partition labels into groups that no example has two of.

    Parameters
    ----------
    indicator : CSR array of shape (n, k)
    labels : ndarray
        The columns to partition.
    size : int
        Labels of a group, at most.

    Returns
    -------
    list of ndarray
        Each ascending.
    """
    by_label = indicator.tocsc()
    counts = np.diff(by_label.indptr)
    colour = np.full(indicator.shape[1], -1, np.int64)
    groups: list[list[int]] = []
    open_groups: list[int] = []
    for c in labels[np.argsort(-counts[labels], kind="stable")].tolist():
        rows = by_label.indices[by_label.indptr[c] : by_label.indptr[c + 1]]
        taken = set(np.unique(colour[indicator[rows].indices]).tolist())
        place = next((g for g in open_groups if g not in taken), None)
        if place is None:
            place = len(groups)
            groups.append([])
            open_groups.append(place)
        groups[place].append(c)
        colour[c] = place
        if len(groups[place]) == size:
            open_groups.remove(place)
    return [np.sort(np.asarray(group)) for group in groups]


def dataset_of(rows: Dataset, indicator: CsrArray, group: Labels) -> Dataset:
    """Return the examples with the labels of a group as their classes.

    Parameters
    ----------
    rows : Dataset
        Whose labels do not matter.
    indicator : CSR array of shape (n, k)
    group : ndarray
        Columns that no row has two of.
    """
    places = np.full(indicator.shape[1], ELSEWHERE, np.int32)
    places[group] = np.arange(len(group))
    found = places[indicator.indices]
    owners = np.repeat(np.arange(indicator.shape[0]), np.diff(indicator.indptr))
    labels = np.full(indicator.shape[0], ELSEWHERE, np.int32)
    inside = found != ELSEWHERE
    labels[owners[inside]] = found[inside]
    return replace(rows, labels=labels, n_classes=len(group))
