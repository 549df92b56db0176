"""Trees as dicts of nodes and parents: from paths, from nested dicts, and sorted by depth.

Nodes are labels. Roots have the parent None, or are parents that have no parent. In a sorted tree,
nodes are given by their positions, and ancestors of many nodes are found level by level.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyclass.utils.types import Label

NONE = -1  # no node
Places = NDArray[np.int64]
# Usual separators of paths, the longest first.
SEPARATORS = (" > ", " / ", " | ", " >> ", "::", "/", ">", "|", "\\", ".")
Below: TypeAlias = "Mapping[Label, Below] | Collection[Label] | None"  # children of a node


def parents_of_paths(paths: Iterable[str], separator: str) -> dict[Label, Label]:
    """Return the parents of paths and their prefixes, by label; the label of a node is its path.

    Raises
    ------
    ValueError
        If a path is not text or has an empty part, or paths are not a list, or the separator is
        empty, or no path contains it and they seem to have another one.
    """
    if isinstance(paths, str) or not isinstance(paths, Iterable) or not separator:
        raise ValueError("from_paths takes a list of paths, and a separator that is not empty")
    parents: dict[Label, Label] = {}
    for path in paths:
        if not isinstance(path, str):
            raise ValueError(
                f"a path must be text such as {separator.join('abc')!r}, not {path!r}; join parts "
                f"by {separator!r}.join(path)"
            )
        parts = path.split(separator)
        if not all(parts):
            raise ValueError(f"the path {path!r} has an empty part")
        for depth in range(1, len(parts) + 1):
            above = separator.join(parts[: depth - 1]) or None
            parents[separator.join(parts[:depth])] = above
    if parents and not any(parents.values()):
        _check_flat([str(path) for path in parents], separator)
    return parents


def _check_flat(paths: Collection[str], separator: str) -> None:
    """Refuse a flat tree if its nodes are paths with another separator."""
    for other in SEPARATORS:
        parts = [path.split(other) for path in paths if other in path]
        are_names = all(name and name == name.strip() for path in parts for name in path)
        shared = len({path[0] for path in parts}) < len(parts)  # some have a common ancestor
        if are_names and shared and 2 * len(parts) >= len(paths):
            raise ValueError(
                f"no path contains the separator {separator!r}, but {len(parts)} of {len(paths)} "
                f"contain {other!r}, such as {other.join(parts[0])!r}; give separator={other!r}, "
                "or Taxonomy(dict.fromkeys(paths)) for a tree without inner nodes"
            )


def parents_of_nested(tree: Mapping[Label, Below]) -> dict[Label, Label]:
    """Return the parents of the nodes of a dict of dicts, by label.

    Raises
    ------
    ValueError
        If a node occurs twice, or the children of a node are neither a dict nor a list.
    """
    parents: dict[Label, Label] = {}
    todo: list[tuple[Label, Below]] = [(None, tree)]
    for above, below in todo:  # grows in the loop
        if below is not None and not isinstance(below, Mapping | list | tuple | set):
            raise ValueError(f"below {above!r} there must be a dict or a list, not {below!r}")
        for node in below or ():
            if not isinstance(node, Hashable):
                raise ValueError(f"a node below {above!r} must be a label, not {node!r}")
            if node in parents:
                raise ValueError(f"{node!r} is in the taxonomy twice")
            parents[node] = above
            if isinstance(below, Mapping):
                todo.append((node, below[node]))
    return parents


def in_order(parents: Mapping[Label, Label]) -> tuple[list[Label], Sequence[int]]:
    """Return nodes sorted by depth, and the position of each parent; the root is the first.

    Raises
    ------
    ValueError
        If the parents have a cycle.
    """
    children: dict[Label, list[Label]] = {}
    for node, parent in parents.items():
        if node is not None:
            children.setdefault(parent, []).append(node)
    roots = [parent for parent in children if parent is not None and parent not in parents]
    roots += children.pop(None, [])
    if len(roots) == 1:
        nodes, above = list(roots), [NONE]
    else:
        nodes, above = [None], [NONE]
        children[None] = roots
    for place, node in enumerate(nodes):  # grows in the loop
        below = children.get(node, [])
        nodes.extend(below)
        above.extend([place] * len(below))
    known = set(nodes)
    missing = [node for node in parents if node is not None and node not in known]
    if missing:
        raise ValueError(f"the parents of {missing[0]!r} form a cycle")
    return nodes, above


def ancestors(places: Places, above: Places, depths: Places) -> Iterator[tuple[int, Places]]:
    """Yield depths from the largest to 1, and the ancestors of some nodes at each depth.

    A node of a smaller depth is its own ancestor.

    Parameters
    ----------
    places : ndarray
        Positions of the nodes.
    above, depths : ndarray of shape (n_nodes,)
        Position of the parent, and depth, of all nodes.
    """
    for depth in range(int(depths[places].max(initial=0)), 0, -1):
        places = np.where(depths[places] > depth, above[places], places)
        yield depth, places


def meeting_points(first: Places, second: Places, above: Places, depths: Places) -> Places:
    """Return the lowest common ancestor of each pair of nodes, shape (n,); see ``ancestors``."""
    deepest = int(max(depths[first].max(initial=0), depths[second].max(initial=0)))
    for depth in range(deepest - 1, -1, -1):
        apart = first != second
        if not apart.any():
            break
        first = np.where(apart & (depths[first] > depth), above[first], first)
        second = np.where(apart & (depths[second] > depth), above[second], second)
    return first
