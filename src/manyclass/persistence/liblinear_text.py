"""Read the text of LIBLINEAR models, checked line by line; liblinear.py describes the format."""

from __future__ import annotations

import contextlib
import math
import os
import re
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

import numpy as np

from manyclass.io.atomic import open_regular
from manyclass.io.tensors import one_line
from manyclass.utils.types import Array, Settings

JOINT = "MCSVM_CS"  # the solver that trains all classes together
LOGISTIC_SOLVERS = {"L2R_LR", "L2R_LR_DUAL", "L1R_LR"}
SEPARATE = {"hinge": "L2R_L1LOSS_SVC_DUAL", "squared_hinge": "L2R_L2LOSS_SVC_DUAL"}
SOLVERS = {JOINT, *LOGISTIC_SOLVERS, *SEPARATE.values(), "L2R_L2LOSS_SVC", "L1R_L2LOSS_SVC"}
OTHERS = {"L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL", "ONECLASS_SVM"}
INTEGER = re.compile(rb"[+-]?[0-9]{1,10}")
OF_NUMBERS = b"0123456789+-.eE"  # no underscores, infinities or NaN
NAMES = ("solver_type", "nr_class", "label", "nr_feature", "bias")
LONGEST_FIELD = 400  # characters of a number, spaces included


class Stored(NamedTuple):
    """Contents of a file; ``weights`` of shape (n_features (+ 1), n_scores), float64."""

    solver: str
    labels: list[int]
    n_features: int
    bias: float
    weights: Array


def read_text(path: Path) -> Stored:
    """Read a file; errors name the line."""
    with open_regular(path) as file:
        lines = _Lines(path, file)
        head = _head_of(lines)
        solver, labels = head["solver_type"], head["label"]
        n_rows = head["nr_feature"] + (head["bias"] >= 0)
        n_scores = 1 if len(labels) == 2 and solver != "MCSVM_CS" else len(labels)
        # A weight takes at least two bytes, so that memory is proportional to the size of the file.
        if 2 * n_rows * n_scores > os.fstat(file.fileno()).st_size:
            lines.fail(f"the file is too short for {n_rows} x {n_scores} weights")
        weights = np.empty((n_rows, n_scores))
        for row in range(n_rows):
            weights[row] = lines.weights(n_scores)
        lines.end()
    return Stored(solver, labels, head["nr_feature"], head["bias"], weights)


class _Lines:
    """Reader of lines, with errors that name the line."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file, self._number = path, file, 0

    def fail(self, why: str) -> NoReturn:
        """Raise an error for the last line that was read."""
        raise ValueError(f"{os.fspath(self._path)}:{max(1, self._number)}: {one_line(why)}")

    def fields(self, most: int) -> list[bytes]:
        """Return the words of the next line, at most ``most``."""
        limit = LONGEST_FIELD * most
        line = self._file.readline(limit + 1)
        self._number += 1
        if not line:
            self.fail("the file ends here, within a LIBLINEAR model; it is truncated")
        if len(line) > limit:
            self.fail("the line is too long for a LIBLINEAR model")
        if not line.endswith(b"\n"):  # a number may have been cut
            self.fail("the file ends within this line; it is truncated")
        return line.split()

    def weights(self, n: int) -> Array:
        """Return the weights of the next line."""
        fields = self.fields(n + 1)
        if len(fields) != n:
            self.fail(f"holds {len(fields)} weights, not {n}")
        with contextlib.suppress(ValueError):
            row = np.array(list(map(float, fields)))
            if np.isfinite(row).all() and b"_" not in b"".join(fields):
                return row
        return np.array([self.number(field) for field in fields])  # raises for the invalid number

    def number(self, field: bytes) -> float:
        """Return a finite number."""
        value = math.nan
        if not field.translate(None, OF_NUMBERS):
            with contextlib.suppress(ValueError):
                value = float(field)
        if not math.isfinite(value):
            self.fail(f"{_text(field)!r} is not a finite number")
        return value

    def integer(self, fields: list[bytes], what: str, least: int = -(1 << 31)) -> int:
        """Return the only field, a 32-bit integer."""
        is_integer = len(fields) == 1 and INTEGER.fullmatch(fields[0])
        value = int(fields[0]) if is_integer else least - 1
        if not least <= value < 1 << 31:
            wanted = "a 32-bit integer" if least < 0 else f"an integer of at least {least}"
            self.fail(f"{what} must be {wanted}, not {_text(b' '.join(fields))!r}")
        return value

    def end(self) -> None:
        """Check that the file ends."""
        if self._file.read(1 << 16).strip():
            self._number += 1
            self.fail("more weights follow than nr_class, nr_feature and bias say")


def _head_of(lines: _Lines) -> Settings:
    """Read the lines before the weights."""
    head: Settings = {}
    while True:
        fields = lines.fields(head.get("nr_class", 1) + 2)
        name = _text(fields[0]) if fields else ""
        if name == "w" and len(fields) == 1:
            break
        if name not in NAMES:
            if not head:
                lines.fail("is not a LIBLINEAR model: these begin with solver_type")
            lines.fail(f"{name!r} is not a line of a LIBLINEAR classifier")
        if name in head:
            lines.fail(f"{name} is given twice")
        head[name] = _value(lines, name, fields[1:], head.get("nr_class"))
    for name in NAMES:
        if name not in head:
            lines.fail(f"the line {name} is missing before the weights")
    return head


def _value(lines: _Lines, name: str, fields: list[bytes], n_classes: int | None) -> object:
    """Return the value of a line of the head."""
    match name:
        case "solver_type":
            return _solver(lines, _text(b" ".join(fields)))
        case "label":
            return _labels_of(lines, fields, n_classes)
        case "bias":
            if len(fields) != 1:
                lines.fail("bias must be one number")
            return lines.number(fields[0])
        case _:
            return lines.integer(fields, name, least=2 if name == "nr_class" else 1)


def _solver(lines: _Lines, name: str) -> str:
    if name in OTHERS:
        lines.fail(f"{name} is not a classifier; only models of classifiers can be read")
    if name not in SOLVERS:
        lines.fail(f"the solver {name!r} is not a classifier of LIBLINEAR")
    return name


def _labels_of(lines: _Lines, fields: list[bytes], n_classes: int | None) -> list[int]:
    if n_classes is None:
        lines.fail("the line nr_class must come before label")
    if len(fields) != n_classes:
        lines.fail(f"holds {len(fields)} labels for {n_classes} classes")
    labels = [lines.integer([field], "a label") for field in fields]
    if len(set(labels)) < len(labels):
        lines.fail("a label is given twice")
    return labels


def _text(field: bytes) -> str:
    return one_line(field.decode("ascii", "replace"), 40)
