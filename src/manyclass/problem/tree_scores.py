"""Base scores of a taxonomy with many classes, without a table of k x k numbers.

With lca(y, c) the lowest common ancestor of two classes, for all classes c != y,

    b_yc = of_class_c + (of_true_y + of_node_{lca(y, c)}),   b_yy = own_y

where the largest distance is scaled to gamma = 1, as for costs (base_scores.py). With distances in
edges, depths d and the largest distance L, of_class_c = d_c / L, of_true_y = d_y / L - gamma and
of_node_m = -2 d_m / L. Classes have positions in depth-first order, so that the classes of a
subtree are a range of positions. Source: Cai, Hofmann, Hierarchical document categorization with
support vector machines, CIKM 2004 (costs by trees).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.base_scores import BaseScores
from manyclass.utils.types import Array, IntArray, Numbers, Settings

Places = NDArray[np.int32]
ROWS_AT_A_TIME = 256  # rows of a virtual table


@dataclass(frozen=True, slots=True, eq=False)
class ClassRanges:
    """The classes of a tree in depth-first order, and the nodes where their paths branch.

    Attributes
    ----------
    parents, begins, ends : ndarray of shape (n_nodes,), int32
        Parent of each node, which precedes it (-1 for the root, which is first), and the range of
        the positions of its classes.
    nodes : ndarray of shape (k,), int32
        The lowest of these nodes above each class.
    classes : ndarray of shape (k,), int32
        The class at each position.
    kept : ndarray of shape (n_nodes,), int64
        Numbers of these nodes in the original tree.
    """

    parents: Places
    begins: Places
    ends: Places
    nodes: Places
    classes: Places
    kept: NDArray[np.int64]

    @classmethod
    def from_parents(cls, above: NDArray[np.int64], places: NDArray[np.int64]) -> ClassRanges:
        """Return the class ranges of a tree.

        Parameters
        ----------
        above : ndarray of shape (n,)
            Parent of each node, which precedes it; -1 for the root, which is first.
        places : ndarray of shape (k,)
            Node of each class, k at least 2.
        """
        n = len(above)
        is_class = np.zeros(n, np.int64)
        is_class[places] = 1
        counts, groups = is_class.copy(), is_class.copy()
        for node in range(n - 1, 0, -1):
            if counts[node]:
                counts[above[node]] += counts[node]
                groups[above[node]] += 1
        begins, free = np.zeros(n, np.int64), np.zeros(n, np.int64)
        lowest, kept = np.full(n, -1), np.flatnonzero(groups >= 2)
        numbers = np.full(n, -1)
        numbers[kept] = np.arange(len(kept))
        parents = np.full(n, -1)
        for node in range(n):
            parent = above[node]
            if parent >= 0:
                begins[node] = free[parent]
                free[parent] += counts[node]
                parents[node] = lowest[parent]
            free[node] = begins[node] + is_class[node]
            lowest[node] = numbers[node] if numbers[node] >= 0 else parents[node]
        classes = np.empty(len(places), np.int32)
        classes[begins[places]] = np.arange(len(places))
        ends = begins + counts
        begin, end, up = (part[kept].astype(np.int32) for part in (begins, ends, parents))
        return cls(up, begin, end, lowest[places].astype(np.int32), classes, kept)

    def extremes(self, of_class: Numbers, of_node: Numbers) -> tuple[float, float]:
        """Return the least and the largest of_class_c + of_class_e + of_node over pairs."""
        least, largest = np.inf, -np.inf
        low = [[np.inf, np.inf] for _ in self.parents]  # the two least values of a node's groups
        high = [[-np.inf, -np.inf] for _ in self.parents]
        for node, number in zip(self.nodes.tolist(), of_class.tolist(), strict=True):
            low[node] = sorted([*low[node], number])[:2]
            high[node] = sorted([*high[node], number])[-2:]
        for node in range(len(self.parents) - 1, -1, -1):
            least = min(least, sum(low[node]) + of_node[node])
            largest = max(largest, sum(high[node]) + of_node[node])
            above = int(self.parents[node])
            if above >= 0:
                low[above] = sorted([*low[above], low[node][0]])[:2]
                high[above] = sorted([*high[above], high[node][1]])[-2:]
        return float(least), float(largest)

    def spread(self, label: int, of_node: Numbers) -> Numbers:
        """Return of_node of the lowest common ancestor of a class with every other class."""
        found = np.empty(len(self.classes))
        place = int(np.flatnonzero(self.classes == label)[0])
        begin, end, node = place, place + 1, int(self.nodes[label])
        found[self.classes[place]] = 0.0
        while node >= 0:
            first, last = int(self.begins[node]), int(self.ends[node])
            found[self.classes[first:begin]] = found[self.classes[end:last]] = of_node[node]
            begin, end, node = first, last, int(self.parents[node])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class TreeScores:
    """Base scores of a tree, with the interface of ``BaseScores``.

    Attributes
    ----------
    ranges : ClassRanges
    of_node : ndarray of shape (n_nodes,)
    of_class, of_true, own : ndarray of shape (k,)
    labels : ndarray of shape (n,), int32
        y_i, among all classes of the tree.
    gamma : float
        Required margin of the classes c != y.
    columns : ndarray or None, default=None
        The classes of a problem with a subset of the classes.
    """

    ranges: ClassRanges
    of_node: Numbers
    of_class: Numbers
    of_true: Numbers
    own: Numbers
    labels: NDArray[np.int32]
    gamma: float = 1.0
    columns: NDArray[np.int64] | None = None

    def plus(self, numbers: Numbers) -> TreeScores | BaseScores:
        """Return base scores with numbers added: per class, shape (k,), or all, shape (n, k)."""
        if numbers.ndim == 1:
            return replace(self, of_class=self.of_class + numbers, own=self.own + numbers)
        return replace(BaseScores.from_scores(self.of(slice(None)) + numbers), gamma=self.gamma)

    def of(self, part: slice | NDArray[np.intp]) -> Numbers:
        """Return the base scores of some examples, shape (rows, k)."""
        labels, places = np.unique(self.labels[part], return_inverse=True)
        return np.asarray(self._rows(labels)[places])

    def of_classes(self, classes: NDArray[np.int64]) -> TreeScores:
        """Return the base scores of some classes."""
        columns = classes if self.columns is None else self.columns[classes]
        return replace(self, columns=columns)

    def at(self, rows: NDArray[np.intp], classes: NDArray[np.int32]) -> Numbers:
        """Return the base score of one class for each of some examples."""
        found = np.empty(len(rows))
        for c in np.unique(classes).tolist():
            some = classes == c
            of = int(c if self.columns is None else self.columns[c])
            found[some] = self._column(of)[self.labels[rows[some]]]
        return found

    def parts(self) -> Iterator[tuple[slice, Numbers]]:
        """Yield the rows of the virtual table in blocks; ``rows`` has the row of each example."""
        k = len(self.of_class)
        for begin in range(0, k, ROWS_AT_A_TIME):
            part = slice(begin, min(begin + ROWS_AT_A_TIME, k))
            yield part, self._rows(np.arange(part.start, part.stop))

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of each example in the virtual table."""
        return self.labels

    def arrays(self) -> list[Array]:
        """Return the arrays that identify the base scores."""
        own = self.of_node, self.of_class, self.of_true, self.own, self.labels
        tree = self.ranges
        return [tree.parents, tree.begins, tree.ends, tree.nodes, tree.classes, *own]

    def core_arguments(self) -> Settings:
        """Return the arguments for the core: the tree, or a table if it has only some classes."""
        if self.columns is not None:
            return self._few_rows().core_arguments()
        tree = self.ranges
        arrays = tree.parents, tree.begins, tree.ends, self.of_node, tree.nodes, tree.classes
        held = _core.ClassTree(*arrays, self.of_class, self.of_true, self.own)
        return {"base_table": None, "base_rows": None, "base_tree": held}

    def _few_rows(self) -> BaseScores:
        """Return a table of some classes; true classes with equal common ancestors share a row."""
        assert self.columns is not None
        wanted = np.zeros(len(self.of_class), bool)
        wanted[self.columns] = True
        tree, above = self.ranges, np.append(0, np.cumsum(wanted[self.ranges.classes]))
        has_some = above[tree.ends] > above[tree.begins]
        meets = np.arange(len(tree.parents))
        for node, parent in enumerate(tree.parents.tolist()):
            if parent >= 0 and not has_some[node]:
                meets[node] = meets[parent]
        keys = np.column_stack([meets[tree.nodes], np.unique(self.of_true, return_inverse=True)[1]])
        mine = np.where(wanted, np.arange(len(wanted)), -1)
        _, first, rows = np.unique(
            np.column_stack([keys, mine]), axis=0, return_index=True, return_inverse=True
        )
        table = np.stack([self._column(int(c))[first] for c in self.columns], axis=1)
        return BaseScores(table, rows.ravel().astype(np.int32)[self.labels], self.gamma)

    def _rows(self, labels: IntArray) -> Numbers:
        """Return the rows of some true classes."""
        found = np.empty((len(labels), len(self.of_class)))
        for row, y in zip(found, labels.tolist(), strict=True):
            row[:] = self.of_class + (self.of_true[y] + self.ranges.spread(y, self.of_node))
            row[y] = self.own[y]
        return found if self.columns is None else found[:, self.columns]

    def _column(self, c: int) -> Numbers:
        """Return the base scores of one class, for each true class."""
        column = self.of_class[c] + (self.of_true + self.ranges.spread(c, self.of_node))
        column[c] = self.own[c]
        return np.asarray(column)
