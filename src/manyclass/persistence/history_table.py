"""Training history as a tensor of a model file, with a row for each record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.solution import EpochRecord
from manyclass.solvers.sgd import StochasticRecord
from manyclass.utils.types import Array, Settings

LARGEST_INT = 2.0**53  # largest integer up to which float64 represents all
MAX_RECORDS = 400  # enough for a plot, 32 kB
Record: TypeAlias = EpochRecord | StochasticRecord
R = TypeVar("R", EpochRecord, StochasticRecord)


def history_tensor(history: Sequence[Record]) -> NDArray[np.float64]:
    """Return the records as rows of numbers; of more than ``MAX_RECORDS``, some, evenly spread.

    The first and the last are always there. NaN stands for a score that is None.
    """
    kept = np.unique(np.linspace(0, len(history) - 1, MAX_RECORDS).round().astype(int))
    rows = [astuple(history[i]) for i in kept]
    return np.array([[math.nan if v is None else v for v in row] for row in rows], np.float64)


def history_of(table: Array, record: type[R]) -> list[R]:
    """Return the records of a tensor that may come from a hostile file."""
    columns = fields(record)
    fits = table.ndim == 2 and table.shape[1] == len(columns) and len(table) <= MAX_RECORDS
    if not fits or table.dtype != np.float64:
        raise ValueError(f"a history of type {table.dtype}, shape {table.shape}")
    return [_record(row, record) for row in table.tolist()]


def _record(row: list[float], record: type[R]) -> R:
    values: Settings = {}
    for field, value in zip(fields(record), row, strict=True):
        kind = str(field.type)
        if kind == "int":
            if not (0 <= value <= LARGEST_INT and value == int(value)):
                raise ValueError(f"{field.name} of the history must be integers of 0 and more")
            values[field.name] = int(value)
        else:
            values[field.name] = None if "None" in kind and math.isnan(value) else value
    if not 0 <= values["seconds"] < math.inf:
        raise ValueError("seconds of the history must be finite and not negative")
    return record(**values)
