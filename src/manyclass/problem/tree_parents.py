"""Trees as dicts of nodes and their parents: from paths, from nested dicts, and in an order.

Nodes are labels. Roots have the parent None, or are parents without one of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from manyclass.utils.types import Label

NONE = -1  # no node
Below: TypeAlias = "Mapping[Label, Below] | Collection[Label] | None"  # what is below a node


def parents_of_paths(paths: Iterable[str], separator: str) -> dict[Label, Label]:
    """Return the parents of paths and of their beginnings, by label: a node's label is its path.

    Raises
    ------
    ValueError
        If a path has an empty part, or there is no list or no separator.
    """
    if isinstance(paths, str) or not separator:
        raise ValueError("from_paths takes a list of paths, and a separator that is not empty")
    parents: dict[Label, Label] = {}
    for path in paths:
        parts = path.split(separator)
        if not all(parts):
            raise ValueError(f"the path {path!r} has an empty part")
        for depth in range(1, len(parts) + 1):
            above = separator.join(parts[: depth - 1]) or None
            parents[separator.join(parts[:depth])] = above
    return parents


def parents_of_nested(tree: Mapping[Label, Below]) -> dict[Label, Label]:
    """Return the parents of the nodes of a dict of dicts, by label.

    Raises
    ------
    ValueError
        If a node is there twice, or what is below it is neither a dict nor a list.
    """
    parents: dict[Label, Label] = {}
    todo: list[tuple[Label, Below]] = [(None, tree)]
    for above, below in todo:  # grows
        if below is not None and not isinstance(below, Mapping | list | tuple | set):
            raise ValueError(f"below {above!r} there must be a dict or a list, not {below!r}")
        for node in below or ():
            if node in parents:
                raise ValueError(f"{node!r} is in the taxonomy twice")
            parents[node] = above
            if isinstance(below, Mapping):
                todo.append((node, below[node]))
    return parents


def in_order(parents: Mapping[Label, Label]) -> tuple[list[Label], Sequence[int]]:
    """Return nodes, by depth, and the place of each one's parent; the root is the first.

    Raises
    ------
    ValueError
        If parents lead in a circle.
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
    for place, node in enumerate(nodes):  # grows
        below = children.get(node, [])
        nodes.extend(below)
        above.extend([place] * len(below))
    known = set(nodes)
    missing = [node for node in parents if node is not None and node not in known]
    if missing:
        raise ValueError(f"the parents of {missing[0]!r} lead in a circle")
    return nodes, above
