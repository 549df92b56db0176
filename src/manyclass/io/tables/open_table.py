"""Read tables in batches of rows: Parquet, Arrow, CSV, data frames, and arrays of NumPy.

One column is the label, the others are the features: numbers, or vectors of numbers, such as
embeddings. pyarrow reads all but NumPy's files (``pip install 'manyclass[arrow]'``). The first
block of a CSV file says which of its columns are numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from manyclass.io.foreign_files import kind_of
from manyclass.io.tables.arrays import BATCH_ROWS, read_npy, read_npz
from manyclass.io.tables.arrow_table import ArrowTable, Batches, is_number
from manyclass.io.tables.base import Table, pyarrow_for, readable, without
from manyclass.utils.given_rows import is_pandas
from manyclass.utils.types import Array, DType

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz"}
LONGEST = 16  # bytes of a mark
CSV_BLOCK = 1 << 24  # bytes
COMPRESSED = (".gz", ".bz2", ".zst")
TEXT = {".csv": ",", ".tsv": "\t"}
DELIMITERS = ",;\t"
TO_UTF8 = "save it in UTF-8 (the program that wrote it can, or iconv)"
SVMLIGHT = re.compile(rb"[^\s,;:]+ +[0-9]+:[-+.0-9eE]+( |\r?$)")  # a row
WIDE_TEXT = b"\xff\xfe", b"\xfe\xff"  # UTF-16


def table_kind(path: str | os.PathLike[str]) -> str | None:
    """Return what a table is: "parquet", "arrow", "csv", "npy" or "npz"; None for other files."""
    file = Path(path)
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        start = opened.read(LONGEST)
    for mark, kind in MAGIC.items():
        if start.startswith(mark):
            return kind if kind != "npz" or file.suffix.lower() == ".npz" else None
    return "csv" if _suffix(file) in TEXT else None


def _suffix(file: Path) -> str:
    stem = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    return stem.suffix.lower()


def open_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    features: Sequence[str] | None = None,
    dtype: DType | None = None,
    dropped: Sequence[str] = (),
) -> Table:
    """Open a file as a table.

    Parameters
    ----------
    path : str or path-like
        Parquet, Arrow (Feather), ``.npy``, ``.npz``, or text with a line of names above its
        columns.
    label : str, default=None
        The column of the labels; of an ``.npy`` file the number of a column, of an ``.npz`` file an
        array. None: there are none.
    features : str or sequence of str, default=None
        The columns of X in their order, or one; None: all others. Of an ``.npz`` file one array
        (default "X").
    dtype : {float32, float64}, default=None
        Of X; None: float32 if all columns are that or shorter, else float64.
    dropped : sequence of str, default=()
        Columns that are no features, where `features` names none. Not of an ``.npz`` file.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If there is no such column, or one holds no numbers. While reading: if a value is missing
        or not finite.
    ImportError
        If pyarrow is missing.
    OSError
        If the file cannot be read.
    """
    name, kind = os.fspath(path), table_kind(path)
    if kind in ("npy", "npz"):
        read = read_npy if kind == "npy" else read_npz
        return read(name, label, features, dtype, dropped)
    schema, batches = _opened(name, kind)
    if features is None and dropped:
        known = list(dict.fromkeys(schema.names))
        features = without(name, [one for one in known if one != label], dropped)
    return ArrowTable(name, schema, batches, label, features, dtype)


def read_frame(
    path: str | os.PathLike[str], label: str | None, features: Sequence[str]
) -> tuple[pd.DataFrame, Array | None]:
    """Read columns of any kind, such as those of a pipeline that encodes text.

    Parameters
    ----------
    path, label, features
        As of ``open_table``; Parquet, Arrow or CSV.

    Returns
    -------
    frame : pandas.DataFrame
        The features. Numbers of a CSV file are float64.
    labels : ndarray or None

    Raises
    ------
    ValueError, ImportError, OSError
        As ``open_table``.
    """
    name, kind = os.fspath(path), table_kind(path)
    if kind in (None, "npy", "npz"):
        raise ValueError(f"{name}: has no names of columns; give Parquet, Arrow or CSV")
    schema, batches = _opened(name, kind)
    return ArrowTable(name, schema, batches, label, features, None, any_kind=True).frame()


def _opened(name: str, kind: str | None) -> tuple[pa.Schema, Batches]:
    arrow = pyarrow_for(f"{name}: reading it")
    Path(name).open("rb").close()  # an OSError of Python names the file
    with readable(name):
        return READERS[kind or "csv"](arrow, name)


def table_of(
    frame: object, label: str, features: Sequence[str] | None = None, where: str = "X"
) -> ArrowTable:
    """Return a data frame, or anything that Arrow can read, as a table.

    Parameters
    ----------
    frame : pandas or polars DataFrame, pyarrow Table, RecordBatch or reader, DuckDB relation
        One that can be read once can be gone through once.
    label, features
        As of ``open_table``.
    where : str, default="X"
        What messages call it.

    Returns
    -------
    Table

    Raises
    ------
    ValueError, ImportError
        As ``open_table``; or if it is something else.
    """
    arrow = pyarrow_for("label=")
    if is_pandas(frame):
        frame = arrow.Table.from_pandas(frame, preserve_index=False)
    elif isinstance(frame, arrow.RecordBatch):
        frame = arrow.Table.from_batches([frame])
    if not hasattr(frame, "__arrow_c_stream__"):
        raise ValueError(f"{where}: must be a data frame or a table of Arrow, not {type(frame)}")
    reader = arrow.RecordBatchReader.from_stream(frame)
    return ArrowTable(where, reader.schema, lambda *_: reader, label, features, None)


def _read_parquet(_: ModuleType, name: str) -> tuple[pa.Schema, Batches]:
    import pyarrow.parquet

    def batches(features: list[str], label: str | None) -> Iterator[pa.RecordBatch]:
        columns = [*features, *([] if label is None else [label])]
        yield from pyarrow.parquet.ParquetFile(name).iter_batches(BATCH_ROWS, columns=columns)

    return pyarrow.parquet.ParquetFile(name).schema_arrow, batches


def _read_arrow(arrow: ModuleType, name: str) -> tuple[pa.Schema, Batches]:
    import pyarrow.ipc

    def batches(_: list[str], __: str | None) -> Iterator[pa.RecordBatch]:
        file = pyarrow.ipc.open_file(arrow.memory_map(name))
        for i in range(file.num_record_batches):
            batch = file.get_batch(i)
            batch.validate(full=True)  # a damaged one would end the process
            yield batch

    return pyarrow.ipc.open_file(arrow.memory_map(name)).schema, batches


def _read_csv(arrow: ModuleType, name: str) -> tuple[pa.Schema, Batches]:
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=_delimiter(_header(arrow, name), name))
    read = csv.ReadOptions(block_size=CSV_BLOCK)

    def opened(convert: csv.ConvertOptions = None) -> csv.CSVStreamingReader:
        stream = arrow.input_stream(name, compression="detect")
        return csv.open_csv(stream, read, parse, convert)

    schema = opened().schema
    kinds = {field.name: field.type for field in schema}

    def batches(features: list[str], label: str | None) -> Iterator[pa.RecordBatch]:
        # Whole numbers of the first block may be others later on.
        types = {
            name: arrow.float64() if is_number(arrow, kind) and kind != arrow.bool_() else kind
            for name, kind in kinds.items()
            if name in features
        }
        for one in (*features, label):
            if one is not None and arrow.types.is_binary(kinds[one]):
                raise ValueError(f"{name}: the column {one!r} is no UTF-8; {TO_UTF8}")
        if label is not None:
            types[label] = arrow.string() if kinds[label] == arrow.bool_() else kinds[label]
        yield from opened(csv.ConvertOptions(include_columns=[*types], column_types=types))

    return schema, batches


def _header(arrow: ModuleType, name: str) -> str:
    """Return the first line of a file of text.

    Raises
    ------
    ValueError
        If it is a file of another kind, or its text is no UTF-8.
    """
    with arrow.input_stream(name, compression="detect") as stream:
        start: bytes = stream.read(1 << 16)
    other = kind_of(start[:LONGEST])
    if other is not None:
        raise ValueError(f"{name}: is {other}, and no table of Parquet, Arrow, CSV or NumPy")
    line = start.partition(b"\n")[0]
    if start.startswith(WIDE_TEXT) or b"\0" in line:
        raise ValueError(f"{name}: is in UTF-16 or no text; {TO_UTF8}")
    if SVMLIGHT.match(line):
        raise ValueError(f"{name}: is svmlight text, whose rows begin with their label; name none")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{name}: the names of its columns are no UTF-8; {TO_UTF8}") from None


def _delimiter(line: str, name: str) -> str:
    """Return what separates the names of the first line, some of them perhaps within quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    likely = max(DELIMITERS, key=bare.count)
    return likely if bare.count(likely) else TEXT.get(_suffix(Path(name)), ",")


READERS = {"parquet": _read_parquet, "arrow": _read_arrow, "csv": _read_csv}
