"""Costs of mistakes and offsets on the command line: a table or a tree in a file, with labels."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from manyclass.cli.console import CommandParser, UsageError, finite
from manyclass.cli.input.data import label_finder
from manyclass.cli.parameter_options import add_parameter, add_parameters

if TYPE_CHECKING:
    from manyclass.estimators.costs import Costs
    from manyclass.estimators.offsets import Offsets
    from manyclass.problem.taxonomy import Taxonomy
    from manyclass.utils.types import Array, Label

LOGIT_ADJUSTMENT = "logit_adjustment"
COST_SCALINGS = ("margin", "slack")  # what costs do


class HasCosts(Protocol):
    """An estimator with costs of mistakes."""

    costs: Costs | None
    cost_scaling: str


class HasClassOffset(Protocol):
    """An estimator with offsets of classes."""

    class_offset: Offsets | None


def costs_option(parser: CommandParser | argparse._ArgumentGroup) -> None:
    """Add the option of costs."""
    add_parameters(parser, "costs", "cost_scaling")


def taxonomy_option(parser: CommandParser | argparse._ArgumentGroup, use: str) -> None:
    """Add the option of a tree of the classes."""
    parser.add_argument(
        "--taxonomy",
        metavar="FILE",
        help=f"tree of the classes, {use}: CSV with a line for each node: its label, and that of "
        "its parent, which a root lacks",
    )


def offset_option(parser: CommandParser | argparse._ArgumentGroup) -> None:
    """Add the option of offsets of classes."""
    add_parameter(parser, "class_offset", type=class_offset, action="append")


def class_offset(text: str) -> str | tuple[str, float]:
    """Return "logit_adjustment", or a label and its offset."""
    label, found, offset = text.rpartition("=")
    if text == LOGIT_ADJUSTMENT:
        return text
    if not found or not label:
        raise argparse.ArgumentTypeError(f"must be {LOGIT_ADJUSTMENT} or LABEL=O; not {text!r}")
    return label, finite(offset)


def take_offsets(model: HasClassOffset, args: argparse.Namespace, y: Array) -> None:
    """Set the offsets of the command line."""
    given = args.class_offset
    if not given:
        return
    if LOGIT_ADJUSTMENT in given:
        if len(given) > 1:
            raise UsageError(
                f"argument --class-offset: {LOGIT_ADJUSTMENT} cannot be combined with LABEL=O"
            )
        model.class_offset = LOGIT_ADJUSTMENT
        return
    find, offsets = label_finder(y), {}
    for text, offset in given:
        label = find(text)
        if label is None:
            raise UsageError(
                f"argument --class-offset: no row of {args.data} has the label {text!r}"
            )
        if label in offsets:
            raise UsageError(f"argument --class-offset: {text} is given twice")
        offsets[label] = offset
    model.class_offset = offsets


def read_taxonomy(path: str, labels: Array) -> Taxonomy:
    """Read a tree; its nodes are labels where they name one, else text."""
    from manyclass.problem.taxonomy import Taxonomy

    find, parents = label_finder(labels), {}

    def node_of(text: str) -> Label:
        label = find(text)
        return text if label is None else label

    for number, cells in _lines(path, "--taxonomy"):
        if len(cells) not in (1, 2) or not cells[0]:
            raise _wrong(path, number, "must hold a node and its parent", "--taxonomy")
        node, above = node_of(cells[0]), cells[1] if len(cells) > 1 else ""
        if node in parents:
            raise _wrong(path, number, f"the node {cells[0]} is there twice", "--taxonomy")
        parents[node] = node_of(above) if above else None
    try:
        return Taxonomy(parents)
    except ValueError as error:
        raise UsageError(f"argument --taxonomy: {path}: {error}") from None


def take_costs(model: HasCosts, args: argparse.Namespace, y: Array) -> None:
    """Set the costs of the command line; the file has the labels of DATA, in any order."""
    import numpy as np

    if args.costs and args.taxonomy:
        raise UsageError("argument --taxonomy: takes the place of --costs; give one of them")
    classes = np.unique(y)
    if args.taxonomy:
        model.costs = read_taxonomy(args.taxonomy, classes)
        check_nodes(args, model.costs, classes)
    if args.costs:
        model.costs = _table_of(args, y, classes)


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
        raise UsageError(f"argument --costs: {args.costs}: no mistake costs anything")
    return table


def check_cost_scaling(args: argparse.Namespace) -> None:
    """Refuse --cost-scaling where it does not go with other options."""
    if args.cost_scaling is None:
        return
    if not (args.costs or args.taxonomy):
        raise UsageError("argument --cost-scaling: goes with --costs or --taxonomy")
    if args.cost_scaling == "slack" and args.formulation != "weston_watkins":
        raise UsageError("argument --cost-scaling: slack goes with --formulation weston_watkins")


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
            raise _wrong(path, reader.line_num + 1, f"is no CSV: {error}", flag) from None


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
            what = "is missing" if times == 0 else "is there twice"
            raise _wrong(args.costs, line, f"the label {label} {what}")


def _wrong(path: str | os.PathLike[str], line: int, why: str, flag: str = "--costs") -> UsageError:
    return UsageError(f"argument {flag}: {path}, line {line}: {why}")
