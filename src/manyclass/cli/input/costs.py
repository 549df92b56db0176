"""Class weights, offsets, and costs in a table or a tree, by the labels that the user writes."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import CommandParser, UsageError, finite

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from manyclass.problem.taxonomy import Taxonomy
    from manyclass.utils.types import Array, Label

BALANCED = "balanced"  # as a class weight
LOGIT_ADJUSTMENT = "logit_adjustment"


class Separator(str):
    """Separator of the nodes in labels that are paths, used instead of a file name."""

    flag = "--taxonomy-paths"

    def __new__(cls, text: str) -> Separator:
        """Refuse an empty separator."""
        if not text:
            raise argparse.ArgumentTypeError("must not be empty")
        return super().__new__(cls, text)


def taxonomy_option(parser: CommandParser | argparse._ArgumentGroup, use: str) -> None:
    """Add the options of a tree of the classes."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "--taxonomy",
        metavar="FILE",
        help=f"tree of the classes, {use}: CSV with a line for each node: its label and the label "
        "of its parent, which is empty for a root",
    )
    one.add_argument(
        "--taxonomy-paths",
        metavar="SEPARATOR",
        dest="taxonomy",
        type=Separator,
        help="instead of --taxonomy FILE: labels are paths in the tree, such as Home/Kitchen with "
        "the separator /",
    )


def class_offset(text: str) -> str | tuple[str, float]:
    """Return "logit_adjustment", or a label and its offset."""
    label, found, offset = text.rpartition("=")
    if text == LOGIT_ADJUSTMENT:
        return text
    if not found or not label:
        raise argparse.ArgumentTypeError(f"must be {LOGIT_ADJUSTMENT} or LABEL=O; not {text!r}")
    return label, finite(offset)


def take_by_label(model: BaseEstimator, args: argparse.Namespace, y: Array) -> None:
    """Set what the command line gives by the labels of DATA, which are checked."""
    check_labels(args.data, y)
    weights = [entry for entry in args.class_weight or [] if entry != BALANCED]
    if weights:
        model.class_weight = _by_label(args, "--class-weight", weights, y)
    if args.costs or args.taxonomy:
        model.costs = _costs_of(args, y)
    if LOGIT_ADJUSTMENT in (args.class_offset or ()):
        if len(args.class_offset) > 1:
            raise UsageError(
                f"argument --class-offset: {LOGIT_ADJUSTMENT} cannot be combined with LABEL=O"
            )
        model.class_offset = LOGIT_ADJUSTMENT
    elif args.class_offset:
        model.class_offset = _by_label(args, "--class-offset", args.class_offset, y)


def check_labels(path: str, labels: Array) -> None:
    """Refuse labels of a file that name fewer than two classes, or numbers that are not whole."""
    import numpy as np

    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            f"{path}: every row has the label {classes[0]}; training needs at least two classes"
        )
    if labels.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise ValueError(
            f"{path}: the label {classes[classes != np.rint(classes)][0]} is not a whole number, "
            "as in a regression; name classes by whole numbers or words"
        )


def _by_label(
    args: argparse.Namespace, flag: str, given: list[tuple[str, float]], y: Array
) -> dict[Label, float]:
    """Return numbers by the labels of DATA that their texts name."""
    find, found = label_finder(y), {}
    for text, number in given:
        label = find(text)
        if label is None:
            raise UsageError(f"argument {flag}: no row of {args.data} has the label {text!r}")
        if label in found:
            raise UsageError(f"argument {flag}: the label {label} is given twice")
        found[label] = number
    return found


def label_finder(y: Array) -> Callable[[str], Label | None]:
    """Return a function from a text to the label that it names, or None."""
    import numpy as np

    from manyclass.utils.labels import number_of

    classes = np.unique(y).tolist()
    by_text = {str(label): label for label in classes}
    numbers = {} if y.dtype.kind in "UO" else dict(zip(classes, classes, strict=True))
    return lambda text: by_text.get(text, numbers.get(number_of(text)))


def read_taxonomy(path: str, labels: Array) -> Taxonomy:
    """Read a tree; its nodes are labels if they name one, else text."""
    from manyclass.problem.taxonomy import Taxonomy

    if isinstance(path, Separator):
        if labels.dtype.kind not in "UO":
            raise UsageError("argument --taxonomy-paths: labels are numbers; use --taxonomy FILE")
        if not any(path in label for label in labels.tolist()):
            raise UsageError(f"argument --taxonomy-paths: no label contains {str(path)!r}")
        try:
            return Taxonomy.from_paths(labels.tolist(), separator=str(path))
        except ValueError as error:
            raise UsageError(f"argument --taxonomy-paths: {error}") from None
    find, parents = label_finder(labels), {}

    def node_of(text: str) -> Label:
        label = find(text)
        return text if label is None else label

    for number, cells in _lines(path, "--taxonomy"):
        if len(cells) not in (1, 2) or not cells[0]:
            raise _wrong(path, number, "must hold a node and its parent", "--taxonomy")
        node, above = node_of(cells[0]), cells[1] if len(cells) > 1 else ""
        if node in parents:
            raise _wrong(path, number, f"the node {cells[0]} is given twice", "--taxonomy")
        parents[node] = node_of(above) if above else None
    try:
        return Taxonomy(parents)
    except ValueError as error:
        raise UsageError(f"argument --taxonomy: {path}: {error}") from None


def _costs_of(args: argparse.Namespace, y: Array) -> Taxonomy | Array:
    """Return the costs of the command line; their file has the labels of DATA, in any order."""
    import numpy as np

    if args.costs and args.taxonomy:
        raise UsageError("argument --taxonomy: cannot be combined with --costs; give one of them")
    classes = np.unique(y)
    if args.costs:
        return _table_of(args, y, classes)
    tree = read_taxonomy(args.taxonomy, classes)
    check_nodes(args, tree, classes)
    return tree


def _table_of(args: argparse.Namespace, y: Array, classes: Array) -> Array:
    """Return the costs of --costs, in the order of the classes."""
    import numpy as np

    places = {label: place for place, label in enumerate(classes.tolist())}
    find, table = label_finder(y), np.zeros((len(places), len(places)))

    def place_of(text: str, line: int) -> int:
        label = find(text)
        if label is None:
            raise _wrong(args.costs, line, f"no row of {args.data} has the label {text!r}")
        return places[label]

    lines = _lines(args.costs)
    number, header = next(lines, (1, []))
    if not header:
        raise _wrong(args.costs, 1, "the file is empty; the first line names the predicted labels")
    columns = [place_of(text, number) for text in header[1:]]
    _check_all(args, number, columns, classes)
    rows: list[int] = []
    for number, (text, *cells) in lines:
        if len(cells) != len(columns):
            raise _wrong(args.costs, number, f"{len(cells)} costs for {len(columns)} labels")
        rows.append(place_of(text, number))
        table[rows[-1], columns] = [_cost(args.costs, number, cell) for cell in cells]
        if table[rows[-1], rows[-1]] != 0:
            raise _wrong(args.costs, number, f"predicting {text} where it is true must cost 0")
    _check_all(args, number, rows, classes)
    if not table.any():
        raise UsageError(
            f"argument --costs: {args.costs}: at least one mistake must have a positive cost"
        )
    return table


def check_cost_scaling(args: argparse.Namespace) -> None:
    """Refuse --cost-scaling if it cannot be combined with other options."""
    if args.cost_scaling is None:
        return
    if not (args.costs or args.taxonomy):
        raise UsageError("argument --cost-scaling: requires --costs or --taxonomy")
    if args.cost_scaling == "slack" and args.formulation != "weston_watkins":
        raise UsageError("argument --cost-scaling: slack requires --formulation weston_watkins")


def check_nodes(args: argparse.Namespace, tree: Taxonomy, labels: Array) -> None:
    """Refuse a tree of the command line that lacks labels."""
    nodes = set(tree.nodes)
    missing = [label for label in labels.tolist() if label not in nodes]
    if missing:
        raise UsageError(f"argument --taxonomy: {args.taxonomy} has no line of {missing[0]!r}")


def _lines(path: str, flag: str = "--costs") -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and the cells of the lines that are not empty."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, [cell.strip() for cell in cells]
        except (csv.Error, UnicodeDecodeError) as error:
            raise _wrong(path, reader.line_num + 1, f"is not CSV: {error}", flag) from None


def _cost(path: str, line: int, text: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        raise _wrong(path, line, f"{text!r} is not a number") from None
    if not 0 <= cost < float("inf"):
        raise _wrong(path, line, f"costs are finite and at least 0, not {text}")
    return cost


def _check_all(args: argparse.Namespace, line: int, places: list[int], classes: Array) -> None:
    """Refuse labels that are given twice, or not at all."""
    for place, label in enumerate(classes.tolist()):
        times = places.count(place)
        if times != 1:
            what = "is missing" if times == 0 else "is given twice"
            raise _wrong(args.costs, line, f"the label {label} {what}")


def _wrong(path: str | os.PathLike[str], line: int, why: str, flag: str = "--costs") -> UsageError:
    return UsageError(f"argument {flag}: {path}, line {line}: {why}")
