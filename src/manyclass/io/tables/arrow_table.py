"""Rows and labels of Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from manyclass.io.tables.base import (
    DOUBLE,
    SINGLE,
    NoColumnError,
    checked_labels,
    is_number,
    listed,
    pyarrow_for,
    readable,
)
from manyclass.io.tables.coded_labels import CodedLabels
from manyclass.io.tables.csv_file import CsvFile
from manyclass.io.tables.label_sets import CodedSets, SetCells
from manyclass.utils.bad_cells import text_among_numbers
from manyclass.utils.suggestions import first_of
from manyclass.utils.types import Array, DType

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Takes feature columns and the label column; returns batches with at least these columns.
Batches: TypeAlias = "Callable[[list[str], str | None], Iterator[pa.RecordBatch]]"


def is_vector(arrow: ModuleType, kind: pa.DataType) -> bool:
    """Whether values of this Arrow type are lists of numbers."""
    types = arrow.types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and is_number(arrow, kind.value_type))


def index_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that were the index of a pandas data frame."""
    try:
        about = json.loads((schema.metadata or {})[b"pandas"])
        return [name for name in about["index_columns"] if isinstance(name, str)]
    except (KeyError, TypeError, ValueError):
        return []


def _told(features: list[str], index: list[str]) -> str:
    """Describe the feature columns, and the index columns that are left out."""
    left = [name for name in index if name not in features]
    without = f"; left out, the index of a data frame: {first_of(left)}" if left else ""
    return f"features are the columns {first_of(features)}{without}"


TEXT = ("string", "large_string", "string_view")


class TextColumnError(ValueError):
    """A column of text in the place of numbers."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class ArrowTable:
    """A table whose batches are Arrow's; messages call it ``where``.

    ``batches`` has the columns of some names at least. With ``any_kind``, features may be no
    numbers, for ``frame``. ``text`` is the file of text that it is. With ``cells``, the label of
    each row is a label set.
    """

    def __init__(
        self,
        where: str,
        schema: pa.Schema,
        batches: Batches,
        label: str | None,
        features: Sequence[str] | None,
        dtype: DType | None,
        *,
        any_kind: bool = False,
        text: CsvFile | None = None,
        cells: SetCells | None = None,
    ) -> None:
        import pyarrow.compute

        self._arrow, self._compute = pyarrow_for("a table"), pyarrow.compute
        self._where, self._read, self._text = where, batches, text
        known, index = schema.names, index_columns(schema)
        twice = sorted({name for name in known if known.count(name) > 1})
        if twice:
            raise ValueError(f"{where}: has the column {twice[0]!r} twice; rename one")
        self._label, self._cells = label, cells
        wanted = listed(features)
        others = [name for name in known if name not in (label, *index)]
        self._features = others if wanted is None else wanted
        read = [*([] if label is None else [label]), *self._features]
        missing = [name for name in read if name not in known]
        if missing:
            raise NoColumnError(where, missing, wanted or [], known)
        if label in self._features:
            raise ValueError(f"{where}: the column {label!r} is both the label and a feature")
        if not self._features:
            raise ValueError(f"{where}: has no columns except the label")
        if cells is not None and label is not None:
            self._cells = cells.for_type(schema.field(label).type, where, label)
        kinds = [schema.field(name).type for name in self._features]
        if not any_kind:
            self._check_kinds(kinds)
        vectors = [is_vector(self._arrow, kind) for kind in kinds]
        self.features, self.taken = self._features, _told(self._features, index)
        self.names: list[str] | None = None if any(vectors) else self._features
        self._vectors = vectors
        plain = [k.value_type if v else k for k, v in zip(kinds, vectors, strict=True)]
        short = (self._arrow.float16(), self._arrow.float32())
        natural = SINGLE if all(kind in short for kind in plain) else DOUBLE
        self._dtype = dtype or natural

    def _check_kinds(self, kinds: list[pa.DataType]) -> None:
        for name, kind in zip(self._features, kinds, strict=True):
            if not (is_number(self._arrow, kind) or is_vector(self._arrow, kind)):
                what = "text" if str(kind) in TEXT else kind
                if self._text is not None:
                    self._text.check_beginning()
                if what == "text":
                    self._refuse_stray(name)
                message = (
                    f"{self._where}: the column {name!r} holds {what}, and features are numbers or "
                    "lists of them; choose the columns with features="
                )
                raise TextColumnError(message, name) if what == "text" else ValueError(message)

    def _refuse_stray(self, name: str) -> None:
        """Refuse text in a column of numbers, if the first batch shows it."""
        with readable(self._where):
            batch = next(iter(self._read([name], None)), None)
            stray = None if batch is None else text_among_numbers(batch.column(name).to_pylist())
        if stray is None:
            return
        row, text = stray
        what = f"row {row} of the column {name!r} holds {text!r}, and most other rows hold numbers"
        if row < 0:
            what = f"the column {name!r} holds numbers as text ({text!r}); convert it to numbers"
        raise ValueError(f"{self._where}: {what}; correct it, or choose the columns with features=")

    def batches(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield rows and labels."""
        first = 0
        with readable(self._where):
            for batch in self._read(self._features, self._label):
                X = self._rows(batch, first)
                yield X, None if self._label is None else self._labels(batch, first)
                first += len(X)

    def frame(self) -> tuple[pd.DataFrame, Array | None]:
        """Return the features as a pandas DataFrame with their own types, and the labels."""
        parts, labels, first = [], self.coded_labels(), 0
        with readable(self._where):
            for batch in self._read(self._features, self._label):
                parts.append(self._arrow.Table.from_batches([batch]).select(self._features))
                if self._label is not None:
                    labels.add(self._labels(batch, first))
                first += batch.num_rows
        if not first:
            raise ValueError(f"{self._where}: has no rows")
        frame = self._arrow.concat_tables(parts).to_pandas()
        return frame, None if self._label is None else labels.vector()

    def _rows(self, batch: pa.RecordBatch, first: int) -> Array:
        parts = [self._column(batch.column(name), name, first) for name in self._features]
        self._name([part.shape[1] for part in parts])
        with np.errstate(over="ignore"):
            X = np.concatenate(parts, axis=1, dtype=self._dtype, casting="unsafe")
        bad = np.argwhere(~np.isfinite(X))
        if len(bad):
            row, place = bad[0].tolist()
            ends = np.cumsum([part.shape[1] for part in parts])
            at = int(np.searchsorted(ends, place, side="right"))
            raise ValueError(
                f"{self._where}: row {first + row} of the column {self._features[at]!r} holds "
                f"{X[row, place]}, in {self._dtype}; training needs finite numbers"
            )
        return np.ascontiguousarray(X)

    def _name(self, widths: list[int]) -> None:
        """Set the names of the columns of X; elements of a vector are numbered."""
        if self.names is None:
            self.names = [
                f"{name}[{i}]" if is_vector else name
                for name, is_vector, width in zip(
                    self._features, self._vectors, widths, strict=True
                )
                for i in range(width)
            ]

    def _column(self, column: pa.Array, name: str, first: int) -> Array:
        """Return a column as numbers of shape (rows, width)."""
        self._refuse_gaps(column, name, first)
        if not is_vector(self._arrow, column.type):
            return self._numbers(column)[:, None]
        lengths = self._compute.list_value_length(column).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != lengths[:1])
        if len(wrong):
            raise ValueError(
                f"{self._where}: row {first + int(wrong[0])} of the column {name!r} is "
                f"of length {lengths[wrong[0]]}, the rows before of length {lengths[0]}"
            )
        values = column.flatten()
        self._refuse_gaps(values, name, first, len(values) // max(1, len(column)))
        return self._numbers(values).reshape(len(column), -1)

    def _numbers(self, column: pa.Array) -> Array:
        if self._arrow.types.is_decimal(column.type) or self._arrow.types.is_null(column.type):
            column = column.cast(self._arrow.float64())
        return np.asarray(column.to_numpy(zero_copy_only=False))

    def _refuse_gaps(self, column: pa.Array, name: str, first: int, width: int = 0) -> None:
        """Refuse missing values; `width` is the number of values per row, for vectors."""
        if column.null_count:
            at = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            row, place = divmod(at, width or 1)
            missing = "empty" if self._text is None else "empty or NA"
            what = f"place {place} of row {first + row}" if width else f"row {first + row}"
            raise ValueError(
                f"{self._where}: {what} of the column {name!r} is {missing}; fill it in, or drop it"
            )

    def coded_labels(self) -> CodedLabels | CodedSets:
        """Return the object that collects the labels of the batches."""
        name, written = f"the column {self._label!r}", self._text is not None
        if self._cells is not None:
            return CodedSets(self._where, name, self._cells, written=written)
        return CodedLabels(self._where, name, written=written)

    def _labels(self, batch: pa.RecordBatch, first: int) -> Array:
        column, name = batch.column(self._label), f"the column {self._label!r}"
        if self._cells is not None:
            return self._cells.of_column(column, self._where, name, first)
        return checked_labels(column, self._where, name, first)
