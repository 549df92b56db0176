"""Search for the first bad line of a CSV file: quotes, columns, byte order marks, bad numbers."""

from __future__ import annotations

import csv
import io
import itertools
import re

from manyclass.utils.labels import BOM

NO_NUMBER = re.compile(r"CSV column #([0-9]+): .*? invalid value '(.*)'", re.DOTALL)
JOINED = "begins with a byte order mark, as joined files do; remove the mark"
UNCLOSED = "a quote is not closed; close it, or remove it"
AFTER_QUOTE = (
    "text follows a closing quote: one was not closed, or one within quotes is not doubled"
)


class BadLineError(Exception):
    """A line that cannot be read, with its number and the reason."""

    def __init__(self, line: int, words: str) -> None:
        super().__init__(line, words)

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)


def check_lines(
    stream: io.RawIOBase, delimiter: str, words: str = "", most: int | None = None
) -> None:
    """Look for the first bad line of a CSV file, in `most` rows or all; raise BadLineError.

    `words` are pyarrow's, which says what is wrong, but does not count lines.
    """
    text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", "surrogateescape", newline="")
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    found = NO_NUMBER.search(words)
    wrong = (int(found[1]), found[2]) if found else None
    names: list[str] = []
    line = 1
    try:
        for row in itertools.islice(rows, most):
            names = names or row
            _check_row(row, names, wrong, line)
            line = rows.line_num + 1
    except csv.Error as error:
        follows = "expected after" in str(error)
        raise BadLineError(line, AFTER_QUOTE if follows else UNCLOSED) from None
    finally:
        text.detach().detach()  # the stream stays open


def _check_row(row: list[str], names: list[str], wrong: tuple[int, str] | None, line: int) -> None:
    """Check a row; `wrong` is the column and cell that pyarrow refuses."""
    try:
        "".join(row).encode()
    except UnicodeEncodeError:
        raise BadLineError(line, "is not UTF-8; save the file in UTF-8") from None
    if row and row[0].startswith(BOM):
        raise BadLineError(line, JOINED)
    if row and len(row) != len(names):
        raise BadLineError(
            line, f"has {len(row)} columns, but the first line has {len(names)} names"
        )
    if wrong is not None and row is not names and row and row[wrong[0]].strip() == wrong[1].strip():
        cell, name = wrong[1], names[wrong[0]]
        raise BadLineError(
            line, f"the column {name!r} holds {cell!r}, but the previous rows hold numbers"
        )
