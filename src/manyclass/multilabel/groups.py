"""Groups of labels, each trained as one one-vs-rest problem.

The labels of a multi-label problem are independent binary problems,

    min_w  1/2 ||w_c||^2 + sum_i C_i loss(1 - s_ic w_c . x_i),    s_ic = +1 for c in Y_i, else -1

The kernels visit all labels of a group at once: an example of such a problem has a set of classes
(``Dataset.sets``). Labels of similar frequency share a group, so that they share active rows.

Dense rows with many features are visited in batches, by kernels that support one class per example.
For these, only labels that never occur together share a group: the groups are the colors of a
greedy coloring of the graph of labels that occur together, frequent labels first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import ELSEWHERE
from manyclass.utils.types import CsrArray

Labels = NDArray[np.int64]  # columns of the indicator matrix


def groups_of(indicator: CsrArray, labels: Labels, size: int, *, apart: bool) -> list[Labels]:
    """Partition labels into groups.

    Parameters
    ----------
    indicator : CSR array of shape (n, k)
    labels : ndarray
        The columns to partition.
    size : int
        Maximum number of labels in a group.
    apart : bool
        Whether no example may have two labels of a group.

    Returns
    -------
    list of ndarray
        The labels of each group, ascending.
    """
    counts = np.bincount(indicator.indices, minlength=indicator.shape[1])
    ordered = labels[np.argsort(-counts[labels], kind="stable")]
    if not apart:
        parts = range(0, len(ordered), size)
        return [np.sort(ordered[begin : begin + size]) for begin in parts]
    by_label = indicator.tocsc()
    colour = np.full(indicator.shape[1], -1, np.int64)
    groups: list[list[int]] = []
    open_groups: list[int] = []
    for c in ordered.tolist():
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


def dataset_of(rows: Dataset, indicator: CsrArray, group: Labels, *, apart: bool) -> Dataset:
    """Return the examples with the labels of a group as classes.

    Parameters
    ----------
    rows : Dataset
        The examples; their labels are ignored.
    indicator : CSR array of shape (n, k)
    group : ndarray
        Columns of the group; with `apart`, no row has two of them.
    """
    n = indicator.shape[0]
    places = np.full(indicator.shape[1], ELSEWHERE, np.int32)
    places[group] = np.arange(len(group))
    found = places[indicator.indices]
    inside = np.flatnonzero(found != ELSEWHERE)
    owners, own = np.searchsorted(indicator.indptr, inside, side="right") - 1, found[inside]
    labels, sets = np.full(n, ELSEWHERE, np.int32), None
    if apart:
        labels[owners] = own
    else:
        sets = np.zeros(n, np.uint64)
        np.bitwise_or.at(sets, owners, np.uint64(1) << own.astype(np.uint64))
    return replace(rows, labels=labels, n_classes=len(group), sets=sets)
