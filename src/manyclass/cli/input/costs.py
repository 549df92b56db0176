"""Costs of mistakes on the command line: a table in a file, with labels."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from manyclass.cli.console import CommandParser, UsageError
from manyclass.cli.input.data import label_finder

if TYPE_CHECKING:
    from manyclass.estimators.costs import Costs
    from manyclass.utils.types import Array


class Costly(Protocol):
    """An estimator with costs of mistakes."""

    costs: Costs | None


def costs_option(parser: CommandParser | argparse._ArgumentGroup) -> None:
    """Add the option of costs."""
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="costs of mistakes: CSV with the predicted labels in the first line, and then a line "
        "for each true label: the label, and the cost of each prediction",
    )


def take_costs(model: Costly, args: argparse.Namespace, y: Array) -> None:
    """Set the costs of the command line; the file has the labels of DATA, in any order.

    Raises
    ------
    UsageError
        If a line or a label is not as it should be.
    OSError
        If the file cannot be read.
    """
    if not args.costs:
        return
    import numpy as np

    classes = np.unique(y)
    places = {label: place for place, label in enumerate(classes.tolist())}
    find, table = label_finder(y), np.zeros((len(places), len(places)))

    def place_of(text: str, line: int) -> int:
        label = find(text)
        if label is None:
            raise _wrong(args.costs, line, f"no row of {args.data} has the label {text!r}")
        return places[label]

    lines = _lines(args.costs)
    number, header = next(lines, (1, []))
    columns = [place_of(text, number) for text in header[1:]]
    _check_all(args, number, columns, classes)
    rows: list[int] = []
    for number, (text, *cells) in lines:
        if len(cells) != len(columns):
            raise _wrong(args.costs, number, f"{len(cells)} costs for {len(columns)} labels")
        rows.append(place_of(text, number))
        table[rows[-1], columns] = [_number(args.costs, number, cell) for cell in cells]
    _check_all(args, number, rows, classes)
    model.costs = table


def _lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and the cells of the lines that are not empty."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, [cell.strip() for cell in cells]
        except (csv.Error, UnicodeDecodeError) as error:
            raise _wrong(path, reader.line_num + 1, f"is no CSV: {error}") from None


def _number(path: str, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _wrong(path, line, f"{text!r} is no number") from None


def _check_all(args: argparse.Namespace, line: int, places: list[int], classes: Array) -> None:
    """Refuse labels that are given twice, or not at all."""
    for place, label in enumerate(classes.tolist()):
        times = places.count(place)
        if times != 1:
            what = "is missing" if times == 0 else "is there twice"
            raise _wrong(args.costs, line, f"the label {label} {what}")


def _wrong(path: str | os.PathLike[str], line: int, why: str) -> UsageError:
    return UsageError(f"argument --costs: {path}, line {line}: {why}")
