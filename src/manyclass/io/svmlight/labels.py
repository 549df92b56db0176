"""The labels of a file in svmlight format."""

from __future__ import annotations

import math
import re
from enum import IntEnum
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from manyclass.io.svmlight.parser import fail
from manyclass.utils.types import Array

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class _Kind(IntEnum):
    """What a label is, and so what all labels are: the largest of their kinds."""

    INTEGER = 0
    NUMBER = 1
    TEXT = 2


class Labels:
    """The distinct labels of the file `name`, with the line where each stands first."""

    def __init__(self, name: str) -> None:
        self._codes: dict[bytes, int] = {}
        self._lines: list[int] = []
        self._kind = _Kind.INTEGER
        self._name = name

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def lines(self) -> npt.NDArray[np.int64]:
        """The line where each stands first, by their codes."""
        return np.array(self._lines, np.int64)

    def merge(self, labels: list[bytes], lines: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the codes of distinct labels, from 0 in the order of appearance."""
        known, n_known = self._codes, len(self._codes)
        codes = np.array([known.setdefault(label, len(known)) for label in labels], np.int32)
        for i in np.flatnonzero(codes >= n_known).tolist():
            label, line = labels[i], int(lines[i])
            self._lines.append(line)
            if not label.isdigit() or len(label) > 300:  # else it's an integer, and finite
                self._kind = max(self._kind, self._kind_of(label, line))
        return codes

    def as_written(self) -> list[bytes]:
        """Return the labels, by their codes."""
        return list(self._codes)

    def decode(self) -> Array:
        """Return the labels, by their codes: int64, else float64, else text."""
        if self._kind is _Kind.TEXT:
            return np.array([label.decode() for label in self._codes])
        if self._kind is _Kind.NUMBER:
            return np.array([float(label) for label in self._codes])
        try:
            return np.array([int(label) for label in self._codes], np.int64)
        except OverflowError:
            for label, line in zip(self._codes, self._lines, strict=True):
                if not -(2**63) <= int(label) < 2**63:
                    problem = "the label does not fit in 64 bits"
                    self._fail(line, problem, label, "renumber the classes")
            raise

    def _kind_of(self, label: bytes, line: int) -> _Kind:
        try:
            text = label.decode()
        except UnicodeDecodeError:
            self._fail(line, "the label is not UTF-8", label, "convert the file to UTF-8")
        try:
            is_finite = math.isfinite(float(text))
        except ValueError:
            parts = text.split(",")
            if len(parts) > 1 and all(map(_NUMBER.fullmatch, parts)):
                advice = "multi-label files are not supported: give every row one label"
                self._fail(line, "several labels in one row", label, advice)
            return _Kind.TEXT
        if not is_finite:
            self._fail(line, "the label is not finite", label, "correct it or drop the row")
        if _INTEGER.fullmatch(text):
            return _Kind.INTEGER
        return _Kind.NUMBER if _NUMBER.fullmatch(text) else _Kind.TEXT

    def _fail(self, line: int, problem: str, label: bytes, advice: str) -> NoReturn:
        fail(self._name, line, problem, label, advice)
