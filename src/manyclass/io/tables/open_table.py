"""Read tables in batches of rows: Parquet, Arrow, CSV, data frames, and arrays of NumPy.

One column is the label, the others are the features: numbers, or vectors of numbers, such as
embeddings. pyarrow reads all but NumPy files (``pip install pyarrow``). The first block of a CSV
file determines which of its columns are numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from manyclass.io.file_signatures import table_kind
from manyclass.io.tables.arrays import BATCH_ROWS, read_npy, read_npz
from manyclass.io.tables.arrow_table import TEXT, ArrowTable, Batches, index_columns
from manyclass.io.tables.base import Table, is_number, listed, pyarrow_for, readable, without
from manyclass.io.tables.csv_file import CsvFile
from manyclass.io.tables.csv_stream import source
from manyclass.io.tables.label_sets import SetCells
from manyclass.io.tensors import one_line
from manyclass.utils.input_rows import Frame, check_numbers, is_pandas, kind_of_column
from manyclass.utils.types import Array, DType

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def open_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    features: Sequence[str] | None = None,
    dtype: DType | None = None,
    dropped: Sequence[str] = (),
    cells: SetCells | None = None,
) -> Table:
    """Open a file as a table: Parquet, Arrow (Feather), CSV, ``.npy``, ``.npz``.

    See ``save_data`` for `label` and `features`. X has the type ``dtype``; None: float32 if all
    columns are float32 or shorter, else float64. `dropped` are columns that are not features, if
    `features` is None. With `cells`, the label of each row is a label set.
    """
    name, kind = os.fspath(path), table_kind(path)
    if kind in ("npy", "npz"):
        if cells is not None and label is not None:
            raise ValueError(
                f"{name}: arrays have no label sets; give Parquet, Arrow or CSV, or train in "
                "Python: MultilabelSVC takes a matrix of 0 and 1"
            )
        read = read_npy if kind == "npy" else read_npz
        return read(name, label, features, dtype, dropped)
    schema, batches, text = _opened(name, kind)
    if features is None and dropped:
        index = index_columns(schema)
        known = [one for one in dict.fromkeys(schema.names) if one != label]
        left = without(name, known, dropped)
        features = [one for one in left if one not in index]
    return ArrowTable(name, schema, batches, label, features, dtype, text=text, cells=cells)


def read_frame(
    path: str | os.PathLike[str],
    label: str | None,
    features: Sequence[str],
    texts: Sequence[str] = (),
    *,
    guessed: bool = False,
    cells: SetCells | None = None,
) -> tuple[pd.DataFrame, Array | None]:
    """Read columns of any kind, such as those of a pipeline that encodes text, from Arrow or text.

    `texts` are features that are read as text from CSV; a missing value is "". With `guessed`,
    columns of `texts` that look like numbers or dates are refused; numbers of a CSV file are
    float64. With `cells`, labels are label sets.
    """
    name, kind = os.fspath(path), table_kind(path)
    if kind in ("npy", "npz"):
        raise ValueError(f"{name}: has no names of columns; give Parquet, Arrow or CSV")
    schema, batches, text = _opened(name, kind, texts)
    table = ArrowTable(
        name, schema, batches, label, features, None, any_kind=True, text=text, cells=cells
    )
    if text is not None and any(str(one) == "binary" for one in schema.types):
        text.check_beginning()  # not UTF-8
    if text is None or guessed:
        _check_texts(name, schema, texts, "--text" if guessed else "the model")
    frame, y = table.frame()
    for column in texts:
        frame[column] = frame[column].astype(object).where(frame[column].notna(), "")
    return frame, y


def _check_texts(name: str, schema: pa.Schema, columns: Sequence[str], user: str) -> None:
    """Refuse columns that do not hold text, or are empty; `user` is what needs text."""
    for column in columns:
        kind = schema.field(column).type
        if str(kind).startswith("dictionary"):
            kind = kind.value_type
        if str(kind) not in (*TEXT, "null"):
            raise ValueError(
                f"{name}: the column {column!r} contains {_in_words(kind)}; {user} needs a column "
                "of text"
            )


def _in_words(kind: pa.DataType) -> str:
    """Return the values of an Arrow type in words."""
    name = str(kind)
    if name == "bool":
        return "booleans"
    if is_number(pyarrow_for("a table"), kind):
        return "numbers"
    return (
        "dates or times" if kind_of_column(name) == "dates or times" else f"values of type {kind}"
    )


def _opened(
    name: str, kind: str | None, texts: Sequence[str] = ()
) -> tuple[pa.Schema, Batches, CsvFile | None]:
    arrow = pyarrow_for(f"{name}: reading it")
    Path(name).open("rb").close()  # an OSError of Python contains the file name
    with readable(name):
        if kind in READERS:
            return *READERS[kind](arrow, name), None
        file = CsvFile(arrow, name, texts)
        return file.schema, file.batches, file


def table_of(
    frame: object, label: str, features: Sequence[str] | None = None, where: str = "X"
) -> ArrowTable:
    """Return a data frame, or anything that Arrow can read, as a table; messages call it `where`.

    The table can be iterated as often as its source can be read.
    """
    arrow = pyarrow_for("label=")
    if is_pandas(frame):
        frame = _of_pandas(arrow, frame, label, features, where)
    elif isinstance(frame, arrow.RecordBatch):
        frame = arrow.Table.from_batches([frame])
    if not hasattr(frame, "__arrow_c_stream__"):
        raise ValueError(f"{where}: must be a data frame or an Arrow table, not {type(frame)}")
    reader = arrow.RecordBatchReader.from_stream(frame)
    return ArrowTable(where, reader.schema, lambda *_: reader, label, features, None)


def _of_pandas(
    arrow: ModuleType, frame: Frame, label: str, features: Sequence[str] | None, where: str
) -> pa.Table:
    """Return a data frame of pandas as a table of Arrow, without its index."""
    try:
        return arrow.Table.from_pandas(frame, preserve_index=False)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        for name in frame.columns if features is None else listed(features) or ():
            if name != label:
                check_numbers(frame[name])  # names the cell that is not a number
        raise ValueError(f"{where}: cannot be read: {one_line(error)}") from None


def _read_parquet(arrow: ModuleType, name: str) -> tuple[pa.Schema, Batches]:
    import pyarrow.parquet

    def batches(features: list[str], label: str | None) -> Iterator[pa.RecordBatch]:
        columns = [*features, *([] if label is None else [label])]
        with source(arrow, name) as file:
            yield from pyarrow.parquet.ParquetFile(file).iter_batches(BATCH_ROWS, columns=columns)

    with source(arrow, name) as file:
        return pyarrow.parquet.ParquetFile(file).schema_arrow, batches


def _read_arrow(
    arrow: ModuleType, name: str, *, is_stream: bool = False
) -> tuple[pa.Schema, Batches]:
    import pyarrow.ipc

    opened = pyarrow.ipc.open_stream if is_stream else pyarrow.ipc.open_file

    def batches(_: list[str], __: str | None) -> Iterator[pa.RecordBatch]:
        with source(arrow, name, mapped=True) as file:
            reader = opened(file)
            every = reader if is_stream else map(reader.get_batch, range(reader.num_record_batches))
            for batch in every:
                batch.validate(full=True)  # a damaged one would end the process
                yield batch

    with source(arrow, name, mapped=True) as file:
        return opened(file).schema, batches


READERS: dict[str, Callable[[ModuleType, str], tuple[pa.Schema, Batches]]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "stream": partial(_read_arrow, is_stream=True),
}
