"""Text files with the names of the columns in the first line (CSV), in batches of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from manyclass.io.file_signatures import DELIMITER, LONGEST, kind_of, text_suffix
from manyclass.io.tables.base import is_number
from manyclass.io.tables.csv_lines import BadLineError, check_lines
from manyclass.io.tables.csv_stream import CsvStream
from manyclass.utils.labels import BOM

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.csv import CSVStreamingReader

CSV_BLOCK = 1 << 24  # bytes
ROWS_CHECKED = 1 << 20  # about a block of short rows
DELIMITERS = ",;\t"
TO_UTF8 = "save it in UTF-8 (the program that wrote it can, or iconv)"
SVMLIGHT = re.compile(rb"[^\s,;:]+ +[0-9]+: *[-+.0-9eE]+( |\r?$)")  # a row
WIDE_TEXT = b"\xff\xfe", b"\xfe\xff"  # UTF-16


class CsvFile:
    """A file of text, in UTF-8, whose first line names its columns.

    ``schema`` has their names and the types that they seem to have in the first block. Columns of
    ``texts`` are read as they are written, also where they look like numbers or dates.
    """

    def __init__(self, arrow: ModuleType, name: str, texts: Sequence[str] = ()) -> None:
        self._arrow, self._name, self._texts = arrow, name, texts
        self._delimiter = _delimiter(_header(arrow, name), name)
        with CsvStream(arrow, name) as stream:
            stream.most = 2 * CSV_BLOCK  # the first block determines the types
            try:
                with self._reading(stream) as reader:
                    self.schema: pa.Schema = reader.schema
            except arrow.ArrowInvalid as error:
                self._check(str(error))
                raise

    def batches(self, features: list[str], label: str | None) -> Iterator[pa.RecordBatch]:
        """Yield rows of these columns: numbers as floats, labels as text."""
        types = self._types(features, label)
        with CsvStream(self._arrow, self._name) as stream:
            try:
                with self._reading(stream, types) as reader:
                    for batch in reader:
                        if label is not None and _is_odd(_labels_of(batch, label)):
                            self._check()
                        yield batch
            except self._arrow.ArrowInvalid as error:
                self._check(str(error))
                raise
            if stream.n_quotes % 2:
                self._check()

    def _types(self, features: list[str], label: str | None) -> dict[str, pa.DataType]:
        """Return the types of these columns, as far as the first block determines them."""
        arrow, kinds = self._arrow, {field.name: field.type for field in self.schema}
        for one in (*features, label):
            if one is not None and arrow.types.is_binary(kinds[one]):
                raise ValueError(f"{self._name}: the column {one!r} is not UTF-8; {TO_UTF8}")
        # A column of whole numbers in the first block may hold fractions later.
        types = {
            one: arrow.float64() if is_number(arrow, kinds[one]) else kinds[one] for one in features
        }
        types |= {one: arrow.bool_() for one in features if arrow.types.is_boolean(kinds[one])}
        types |= {one: arrow.string() for one in features if one in self._texts}
        if label is not None:
            types[label] = arrow.dictionary(arrow.int32(), arrow.string())
        return types

    @contextmanager
    def _reading(
        self, stream: CsvStream, types: dict[str, pa.DataType] | None = None
    ) -> Iterator[CSVStreamingReader]:
        """Read a stream; at the end, wait for the threads of pyarrow that read ahead.

        They call the stream, which would abort the process if it ended meanwhile.
        """
        from pyarrow import csv

        parse = csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        read = csv.ReadOptions(block_size=CSV_BLOCK)
        convert = (
            csv.ConvertOptions(include_columns=[*types], column_types=types) if types else None
        )
        reader = csv.open_csv(stream, read, parse, convert)
        try:
            yield reader
        finally:
            stream.most = 0
            with suppress(self._arrow.ArrowInvalid):
                for _ in reader:
                    pass

    def check_beginning(self) -> None:
        """Raise the error of the first bad line in the beginning of the file, if there is one."""
        self._check(most=ROWS_CHECKED)

    def _check(self, words: str = "", most: int | None = None) -> None:
        """Raise the error of the first bad line, if there is one; ``words`` is pyarrow's error."""
        with CsvStream(self._arrow, self._name) as stream:
            try:
                check_lines(stream, self._delimiter, words, most)
            except BadLineError as error:
                raise ValueError(f"{self._name}:{error}") from None


def _labels_of(batch: pa.RecordBatch, label: str) -> list[str]:
    names: list[str] = batch.column(label).dictionary.to_pylist()
    return names


def _is_odd(labels: list[str]) -> bool:
    """Whether labels show that lines were not split correctly."""
    return any("\n" in label or label.startswith(BOM) for label in labels)


def _header(arrow: ModuleType, name: str) -> str:
    """Return the first line of a file of text; refuse other kinds of files, and not UTF-8."""
    with CsvStream(arrow, name) as stream:
        start = stream.read(1 << 16)
    other = kind_of(start[:LONGEST])
    if other is not None:
        raise ValueError(f"{name}: is {other}, not a table (Parquet, Arrow, CSV or NumPy)")
    line = start.partition(b"\n")[0]
    if start.startswith(WIDE_TEXT) or b"\0" in line:
        raise ValueError(f"{name}: is in UTF-16 or not text; {TO_UTF8}")
    if SVMLIGHT.match(line):
        raise ValueError(
            f"{name}: is svmlight text, where rows begin with their label; leave out names of "
            "columns"
        )
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{name}: the names of its columns are not UTF-8; {TO_UTF8}") from None


def _delimiter(line: str, name: str) -> str:
    """Return the delimiter of the first line, whose names may be quoted."""
    bare = re.sub(r'"[^"]*"', "", line)
    likely = max(DELIMITERS, key=bare.count)
    return likely if bare.count(likely) else DELIMITER.get(text_suffix(Path(name)), ",")
