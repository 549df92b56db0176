"""Parse the lines of a LIBLINEAR model file, which is not trusted."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from manyclass.io.atomic import is_special
from manyclass.io.tensors import one_line
from manyclass.utils.types import Array, Settings

SOLVERS = {
    "L2R_LR",
    "L2R_L2LOSS_SVC_DUAL",
    "L2R_L2LOSS_SVC",
    "L2R_L1LOSS_SVC_DUAL",
    "MCSVM_CS",
    "L1R_L2LOSS_SVC",
    "L1R_LR",
    "L2R_LR_DUAL",
}
OTHERS = {"L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL", "ONECLASS_SVM"}
INTEGER = re.compile(rb"[+-]?[0-9]{1,10}")
OF_NUMBERS = b"0123456789+-.eE"  # no underscores, infinities or NaN
LONGEST_FIELD = 400  # characters of a number, spaces included


class Stored(NamedTuple):
    """Contents of a file.

    Attributes
    ----------
    weights : ndarray of shape (n_features (+ 1), n_scores), float64
        One score with two classes, unless the solver is MCSVM_CS.
    """

    solver: str
    labels: list[int]
    n_features: int
    bias: float
    weights: Array


def read_stored(path: Path) -> Stored:
    """Read a LIBLINEAR model file.

    Raises
    ------
    ValueError
        With the line that is wrong.
    OSError
    """
    if is_special(path):  # reading may never end
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    with path.open("rb") as file:
        lines = _Lines(path, file)
        head = _head(lines)
        solver, labels = head["solver_type"], head["label"]
        n_rows = head["nr_feature"] + (head["bias"] >= 0)
        n_scores = 1 if len(labels) == 2 and solver != "MCSVM_CS" else len(labels)
        # A weight takes two bytes: what follows allocates in proportion to the file.
        if 2 * n_rows * n_scores > os.fstat(file.fileno()).st_size:
            raise lines.wrong(f"the file is too short for {n_rows} x {n_scores} weights")
        weights = np.empty((n_rows, n_scores))
        for row in range(n_rows):
            weights[row] = lines.weights(n_scores)
        lines.end()
    return Stored(solver, labels, head["nr_feature"], head["bias"], weights)


class _Lines:
    """Reader of lines whose errors name the line."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file, self._number = path, file, 0

    def wrong(self, why: str) -> ValueError:
        """Return the error for the line that was read last."""
        return ValueError(f"{os.fspath(self._path)}:{max(1, self._number)}: {one_line(why)}")

    def fields(self, most: int) -> list[bytes]:
        """Return the words of the next line, at most ``most``."""
        limit = LONGEST_FIELD * most
        line = self._file.readline(limit + 1)
        self._number += 1
        if not line:
            raise self.wrong("the file ends here, within a LIBLINEAR model; it is truncated")
        if len(line) > limit:
            raise self.wrong("the line is too long for a LIBLINEAR model")
        if not line.endswith(b"\n"):  # a number may have been cut
            raise self.wrong("the file ends within this line; it is truncated")
        return line.split()

    def weights(self, n: int) -> Array:
        """Return the weights of the next line."""
        fields = self.fields(n + 1)
        if len(fields) != n:
            raise self.wrong(f"holds {len(fields)} weights, not {n}")
        with contextlib.suppress(ValueError):
            row = np.array(list(map(float, fields)))
            if np.isfinite(row).all() and b"_" not in b"".join(fields):
                return row
        return np.array([_number(self, field) for field in fields])  # raises for the wrong one

    def end(self) -> None:
        """Check that the file ends."""
        if self._file.read(1 << 16).strip():
            self._number += 1
            raise self.wrong("more weights follow than nr_class, nr_feature and bias say")


def _head(lines: _Lines) -> Settings:
    """Read the lines before the weights."""
    head: Settings = {}
    while True:
        fields = lines.fields(head.get("nr_class", 1) + 2)
        name = _text(fields[0]) if fields else ""
        if name == "w" and len(fields) == 1:
            break
        if name not in READERS:
            if not head:
                raise lines.wrong("is no LIBLINEAR model: these begin with solver_type")
            raise lines.wrong(f"{name!r} is no line of a LIBLINEAR classifier")
        if name in head:
            raise lines.wrong(f"{name} is there twice")
        head[name] = READERS[name](lines, head, fields[1:])
    missing = [name for name in READERS if name not in head]
    if missing:
        raise lines.wrong(f"the line {missing[0]} is missing before the weights")
    return head


def _solver(lines: _Lines, _: Settings, fields: list[bytes]) -> str:
    name = _text(b" ".join(fields))
    if name in OTHERS:
        raise lines.wrong(f"{name} is no classifier; models of classifiers alone can be read")
    if name not in SOLVERS:
        raise lines.wrong(f"the solver {name!r} is none of LIBLINEAR's classifiers")
    return name


def _n_classes(lines: _Lines, _: Settings, fields: list[bytes]) -> int:
    return _integer(lines, fields, "nr_class", least=2)


def _n_features(lines: _Lines, _: Settings, fields: list[bytes]) -> int:
    return _integer(lines, fields, "nr_feature", least=1)


def _labels(lines: _Lines, head: Settings, fields: list[bytes]) -> list[int]:
    if "nr_class" not in head:
        raise lines.wrong("the line nr_class must come before label")
    if len(fields) != head["nr_class"]:
        raise lines.wrong(f"holds {len(fields)} labels for {head['nr_class']} classes")
    labels = [_integer(lines, [field], "a label") for field in fields]
    if len(set(labels)) < len(labels):
        raise lines.wrong("a label is there twice")
    return labels


def _bias(lines: _Lines, _: Settings, fields: list[bytes]) -> float:
    if len(fields) != 1:
        raise lines.wrong("bias must be one number")
    return _number(lines, fields[0])


def _integer(lines: _Lines, fields: list[bytes], what: str, least: int = -(1 << 31)) -> int:
    if len(fields) == 1 and INTEGER.fullmatch(fields[0]):
        value = int(fields[0])
        if least <= value < 1 << 31:
            return value
    wanted = "an integer of 32 bits" if least < 0 else f"an integer of at least {least}"
    raise lines.wrong(f"{what} must be {wanted}, not {_text(b' '.join(fields))!r}")


def _number(lines: _Lines, field: bytes) -> float:
    value = math.nan
    if not field.translate(None, OF_NUMBERS):
        with contextlib.suppress(ValueError):
            value = float(field)
    if not math.isfinite(value):
        raise lines.wrong(f"{_text(field)!r} is no finite number")
    return value


def _text(field: bytes) -> str:
    return one_line(field.decode("ascii", "replace"), 40)


READERS: dict[str, Callable[[_Lines, Settings, list[bytes]], object]] = {
    "solver_type": _solver,
    "nr_class": _n_classes,
    "label": _labels,
    "nr_feature": _n_features,
    "bias": _bias,
}
