"""Taxonomies: classes as nodes of a tree, distances between them, and hierarchical scores.

With a(c) the ancestors of a node c, including itself but not the root, |a(c)| = depth(c), and

    edges(c, e) = depth(c) + depth(e) - 2 |a(c) & a(e)|

and |a(c) & a(e)| is the depth of their lowest common ancestor.
Sources: Cai, Hofmann, Hierarchical document categorization with support vector machines, CIKM 2004;
Kiritchenko et al., Learning and evaluation in the presence of class hierarchies, 2006 (F1);
Ramaswamy et al., Convex calibrated surrogates for hierarchical classification, ICML 2015
(the deepest node with a probability above 1/2).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.problem.tree_parents import (
    NONE,
    Below,
    Places,
    ancestors,
    in_order,
    meeting_points,
    parents_of_nested,
    parents_of_paths,
)
from manyclass.problem.tree_scores import ClassRanges, TreeScores
from manyclass.utils.suggestions import meant_label
from manyclass.utils.types import Array, Label, Numbers, Settings

Range = tuple[float, float]
ROWS_AT_A_TIME = 1 << 16
MAX_DEPTH = 1000  # computing distances takes a step for each level


class WithProbabilities(Protocol):
    """A fitted model with probabilities."""

    classes_: Array

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes."""
        ...


class ByDepth:
    """A distance stored as its values at all depths."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = np.array(values, np.float64, ndmin=1)

    def __call__(self, depths: Numbers) -> Numbers:
        """Return the distances at depths."""
        if self.values.ndim != 1 or int(depths.max(initial=0)) >= len(self.values):
            raise ValueError("a taxonomy needs a distance for each depth")
        return np.asarray(self.values[depths.astype(np.int64)])


class Taxonomy:
    """A tree of classes, and of groups of classes.

    Parameters
    ----------
    parents : dict
        Parent of each node, by label: ``{"cat": "mammal", "mammal": "animal"}``. Nodes without a
        parent, or with the parent None, are roots; several roots get the common parent None.
    distance : "edges" or callable, default="edges"
        Distance of two different nodes. "edges": the number of edges on the path between them. A
        callable takes an array of depths of lowest common ancestors, and returns distances of at
        least 0. As costs of mistakes, distances are divided by the largest one.

    Attributes
    ----------
    nodes : list
        Labels, with each parent before its children; the first is the root.
    depths : ndarray of shape (n_nodes,)
        Depths of the nodes; the root has depth 0.
    scale : float or None
        The distance with cost 1; None: the largest distance of the given classes.

    Examples
    --------
    >>> from manyclass import Taxonomy
    >>> tree = Taxonomy({"cat": "mammal", "dog": "mammal", "mammal": None, "owl": "bird"})
    >>> tree.costs_of(["cat", "dog", "owl"]).tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        parents: Mapping[Label, Label],
        *,
        distance: Literal["edges"] | Callable[[Numbers], ArrayLike] = "edges",
    ) -> None:
        if not (distance == "edges" or callable(distance)):
            raise ValueError(f"distance must be 'edges' or a function, not {distance!r}")
        if not isinstance(parents, Mapping) or not parents:
            raise ValueError("a taxonomy needs a dict of nodes and their parents, one at least")
        self.parents, self.distance = dict(parents), distance
        for node, parent in self.parents.items():
            if not isinstance(parent, Hashable):
                raise ValueError(f"the parent of {node!r} must be one label, not {parent!r}")
        if any(label != label for pair in self.parents.items() for label in pair):
            raise ValueError(
                "a node or its parent is NaN; roots of a taxonomy have the parent None"
            )
        self.nodes, above = in_order(self.parents)
        self._above = np.array(above, np.int64)
        self.scale: float | None = None  # scale of costs
        self._places = {node: place for place, node in enumerate(self.nodes)}
        self.depths = np.zeros(len(above), np.int64)
        for place, parent in enumerate(above[1:], 1):
            self.depths[place] = self.depths[parent] + 1
        if int(self.depths.max()) > MAX_DEPTH:
            raise ValueError(
                f"a taxonomy of depth {int(self.depths.max()):,} is too deep: it may be "
                f"{MAX_DEPTH:,}"
            )

    def __repr__(self) -> str:
        """Return the sizes, as the dict may be long."""
        return f"Taxonomy({len(self.nodes)} nodes, depth {int(self.depths.max())})"

    @classmethod
    def from_paths(
        cls,
        paths: Iterable[str],
        *,
        separator: str = "/",
        distance: Literal["edges"] | Callable[[Numbers], ArrayLike] = "edges",
    ) -> Taxonomy:
        """Return the tree of paths such as "Computers/Hardware"; the label of a node is its path.

        Raises
        ------
        ValueError
            If a path is not text, or has an empty part, or paths seem to have another separator.

        Examples
        --------
        >>> from manyclass import Taxonomy
        >>> Taxonomy.from_paths(["a/b", "a/c", "d"]).nodes
        [None, 'a', 'd', 'a/b', 'a/c']
        """
        return cls(parents_of_paths(paths, separator), distance=distance)

    @classmethod
    def from_nested(
        cls,
        tree: Mapping[Label, Below],
        *,
        distance: Literal["edges"] | Callable[[Numbers], ArrayLike] = "edges",
    ) -> Taxonomy:
        """Return the tree of a dict of dicts, with leaves as empty dicts, None, or items of a list.

        Examples
        --------
        >>> from manyclass import Taxonomy
        >>> Taxonomy.from_nested({"mammal": ["cat", "dog"], "bird": {"owl": None}}).nodes
        [None, 'mammal', 'bird', 'cat', 'dog', 'owl']
        """
        return cls(parents_of_nested(tree), distance=distance)

    def as_dict(self) -> Settings:
        """Return the tree as JSON values; a function is stored as its value at each depth."""
        depths = np.arange(int(self.depths.max()) + 1)
        by_depth = self._of_depths(depths).tolist() if callable(self.distance) else None
        nodes = [node.item() if isinstance(node, np.generic) else node for node in self.nodes]
        if not all(isinstance(node, str | int | float | None) for node in nodes):
            raise ValueError("nodes of a taxonomy must be numbers or text to be saved")
        facts = {"nodes": nodes, "above": self._above.tolist()}
        return {**facts, "distances": by_depth, "scale": self.scale}

    @classmethod
    def from_dict(cls, stored: Settings) -> Taxonomy:
        """Return a tree from the dict of ``as_dict``, which may come from a hostile file.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is not a valid tree.
        """
        nodes, above, distances = stored["nodes"], stored["above"], stored["distances"]
        kinds = all(type(node) in (str, int, float, type(None)) for node in nodes)
        places = [type(p) is int and p < place for place, p in enumerate(above)]
        if not kinds or not all(places) or len(nodes) != len(above) or len(nodes) < 2:
            raise ValueError("a taxonomy needs its nodes, each after its parent")
        if (
            None in nodes[1:]
            or len(set(nodes)) < len(nodes)
            or above[0] != NONE
            or min(above[1:]) < 0
        ):
            raise ValueError("a taxonomy has one root, and every node once")
        parents = {node: nodes[p] for node, p in zip(nodes[1:], above[1:], strict=True)}
        tree = cls(parents, distance="edges" if distances is None else ByDepth(distances))
        scale = stored["scale"]
        if scale is not None and not (type(scale) is float and 0 < scale < np.inf):
            raise ValueError("the scale of a taxonomy must be positive")
        tree.scale = scale
        return tree

    def costs_of(self, classes: ArrayLike) -> Numbers:
        """Return the distances of classes, scaled to a largest value of 1, shape (k, k).

        Raises
        ------
        ValueError
            If a class is not a node, or a distance is negative, infinite or NaN.
        """
        places = self._places_of(np.asarray(classes))
        common = np.zeros((len(places), len(places)), np.int64)
        for depth, nodes in ancestors(places, self._above, self.depths):
            deep = self.depths[nodes] == depth
            common += (nodes[:, None] == nodes) & deep[:, None]
        found = self._distances(places[:, None], places[None, :], common)
        largest = self.scale or float(found.max(initial=0.0))
        return found / largest if largest else found

    def scores_of(self, classes: ArrayLike, labels: NDArray[np.int32]) -> TreeScores | None:
        """Return the base scores of the costs of these classes; None if all costs are 1.

        The same as the base scores of the table ``costs_of``, with memory proportional to the tree.

        Parameters
        ----------
        classes : array-like of shape (k,)
        labels : ndarray of shape (n,), int32
            y_i, the class index of each row.

        Raises
        ------
        ValueError
            If a class is not a node, a distance is negative, infinite or NaN, or all are 0.
        """
        tree, of_node, of_class, (least, largest) = self._ranges_of(np.asarray(classes))
        scale = self.scale or largest
        if least == largest == scale:
            return None
        if largest == 0:
            raise ValueError("costs: at least one mistake must have a positive cost")
        of_class, of_node = of_class / scale, of_node / scale
        own = np.zeros(len(of_class))
        return TreeScores(tree, of_node, of_class, of_class - 1.0, own, labels)

    def scaled_for(self, classes: ArrayLike) -> Taxonomy:
        """Return this tree with the scale of these classes, for costs of a subset of them."""
        found = copy.copy(self)
        found.scale = self.scale or self._ranges_of(np.asarray(classes))[-1][1]
        return found

    def mean_cost(
        self, y: ArrayLike, predicted: ArrayLike, sample_weight: Array | None = None
    ) -> float:
        """Return the mean cost of predictions, for a tree with a scale."""
        found = self.distances(y, predicted) / (self.scale or 1.0)
        return float(np.average(found, weights=sample_weight))

    def _ranges_of(self, classes: Array) -> tuple[ClassRanges, Numbers, Numbers, Range]:
        """Return the ranges of the classes, their numbers, and the least and largest distance."""
        places = self._places_of(classes)
        tree = ClassRanges.from_parents(self._above, places)
        depths = self.depths[tree.kept]
        if callable(self.distance):
            of_node: Numbers = self._of_depths(depths)
            of_class: Numbers = np.zeros(len(places))
        else:
            of_node = np.asarray(-2.0 * depths)
            of_class = self.depths[places].astype(np.float64)
        return tree, of_node, of_class, tree.extremes(of_class, of_node)

    def __contains__(self, label: Label) -> bool:
        """Whether a label is a node."""
        return label in self._places

    def distances(self, y: ArrayLike, predicted: ArrayLike) -> Numbers:
        """Return the unscaled distance of each prediction from the true label, shape (n,).

        Raises
        ------
        ValueError
            If a label is not a node, or the lengths differ.
        """
        true, found = self._pairs(y, predicted)
        return self._distances(true, found, self._common(true, found))

    def mean_distance(self, y: ArrayLike, predicted: ArrayLike) -> float:
        """Return the mean of ``distances``, by default in edges of the tree."""
        return float(self.distances(y, predicted).mean())

    def f1_score(self, y: ArrayLike, predicted: ArrayLike) -> float:
        """Return hierarchical F1, 2 sum depth(lca) / (sum depth(y) + sum depth(predicted)).

        lca is the lowest common ancestor of the true and the predicted label.
        """
        true, found = self._pairs(y, predicted)
        both = float(self.depths[true].sum() + self.depths[found].sum())
        return 2 * float(self._common(true, found).sum()) / both if both else 1.0

    def accuracy_by_level(self, y: ArrayLike, predicted: ArrayLike) -> Numbers:
        """Return the share of predictions below the true label's ancestor of depth 1, 2, ...

        For each depth, only rows with a true label of at least this depth count; NaN without such
        rows.
        """
        true, found = self._pairs(y, predicted)
        common, shares = self._common(true, found), np.full(int(self.depths.max()), np.nan)
        for depth in range(1, len(shares) + 1):
            deep = self.depths[true] >= depth
            if deep.any():
                shares[depth - 1] = (common[deep] >= depth).mean()
        return shares

    def predict_node(self, model: WithProbabilities, X: ArrayLike, threshold: float = 0.5) -> Array:
        """Predict the deepest node with a probability above `threshold` for every row.

        The probability of a node is the sum of the probabilities of the classes in its subtree,
        including the node itself; the probability of the root is 1.

        Parameters
        ----------
        model : fitted classifier with ``predict_proba``
            A classifier whose classes are nodes.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        threshold : float, default=0.5
            From 0.5 to less than 1, so that there is at most one such node at each depth.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of nodes, with dtype object.
        """
        if not 0.5 <= threshold < 1:
            raise ValueError(f"threshold must be from 0.5 to less than 1, got {threshold}")
        p = np.asarray(model.predict_proba(X), np.float64)
        best = np.zeros(len(p), np.int64)
        places = self._places_of(model.classes_)
        for depth, above in ancestors(places, self._above, self.depths):
            deep = np.flatnonzero(self.depths[above] == depth)
            nodes, columns = np.unique(above[deep], return_inverse=True)
            order = np.argsort(columns, kind="stable")
            first = np.searchsorted(columns[order], np.arange(len(nodes)))
            of_nodes = np.add.reduceat(p[:, deep[order]], first, axis=1)
            likely = (of_nodes.max(axis=1) > threshold) & (best == 0)
            best[likely] = nodes[of_nodes[likely].argmax(axis=1)]
        labels = np.empty(len(self.nodes), object)
        labels[:] = self.nodes
        return np.asarray(labels[best])

    def _pairs(self, y: ArrayLike, predicted: ArrayLike) -> tuple[Places, Places]:
        true, found = (self._places_of(np.asarray(labels)) for labels in (y, predicted))
        if len(true) != len(found) or not len(true):
            raise ValueError(f"there are {len(true)} labels and {len(found)} predictions")
        return true, found

    def _places_of(self, labels: Array) -> Places:
        if labels.ndim != 1:
            raise ValueError(f"labels must be a vector; the shape is {labels.shape}")
        if labels.dtype.kind == "O":  # None, the root, cannot be sorted with text
            names, positions = labels, np.arange(len(labels))
        else:
            names, positions = np.unique(labels, return_inverse=True)
        places = [self._places.get(name, NONE) for name in names.tolist()]
        if NONE in places:
            unknown = names.tolist()[places.index(NONE)]
            hint = meant_label(unknown, self.nodes)
            raise ValueError(f"{unknown!r} is not a node of the taxonomy{hint}")
        return np.array(places, np.int64)[positions]

    def _common(self, first: Places, second: Places) -> Places:
        """Return depths of lowest common ancestors, computed for some rows at a time."""
        found = np.zeros(len(first), np.int64)
        for begin in range(0, len(first), ROWS_AT_A_TIME):
            part = slice(begin, begin + ROWS_AT_A_TIME)
            nodes = meeting_points(first[part], second[part], self._above, self.depths)
            found[part] = self.depths[nodes]
        return found

    def _of_depths(self, depths: Places) -> Numbers:
        """Return distances of nodes from the depths of their lowest common ancestors."""
        assert callable(self.distance)
        found = np.array(self.distance(depths.astype(np.float64)), np.float64)
        if found.shape != depths.shape or not (found >= 0).all() or np.isinf(found).any():
            raise ValueError("distance must return a finite number of at least 0 for each depth")
        return found

    def _distances(self, first: Places, second: Places, common: Places) -> Numbers:
        """Return distances of nodes, given the depths of their lowest common ancestors."""
        if callable(self.distance):
            found = self._of_depths(common.ravel()).reshape(common.shape)
            found[first == second] = 0
            return found
        return (self.depths[first] + self.depths[second] - 2 * common).astype(np.float64)
