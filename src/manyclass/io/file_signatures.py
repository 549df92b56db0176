"""Kinds of files: tables, converted data and files of other programs, by their first bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path

LONGEST = 1 << 12  # number of bytes that are checked
LENGTH = 8  # bytes of the length in safetensors
KINDS = {
    rb"PAR1": "a Parquet file",
    rb"ARROW1": "an Arrow (Feather) file",
    rb"\xff\xff\xff\xff": "an Arrow stream",
    rb"FEA1": "a Feather file of version 1 (write it again, with version=2)",
    rb"\x93NUMPY": "a NumPy array (.npy)",
    rb"PK\x03\x04": "a zip archive, such as .npz or a skops file",
    rb"\x80[\x02-\x05][^\0]": "a pickle",
    rb"\x89HDF": "an HDF5 file",
    rb"SQLite": "an SQLite database",
    rb"solver_type ": "a model of LIBLINEAR (manyclass import and load_liblinear read it)",
    rb"svm_type ": "a model of LIBSVM",
    rb"\x08[\x01-\x7f]\x12": "an ONNX model",
    rb"<(!DOCTYPE|!doctype|html)": "an HTML page",
    rb"\x28\xb5\x2f\xfd": "a file compressed by Zstandard",
    rb"\x1f\x8b": "a file compressed by gzip",
    rb"BZh": "a file compressed by bzip2",
    rb"\xfd7zXZ": "a file compressed by xz",
}

TABLES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "stream",  # a stream of Arrow, as in data sets of Hugging Face
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
DELIMITER = {".csv": ",", ".tsv": "\t"}
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def table_kind(path: str | os.PathLike[str]) -> str | None:
    """Return "parquet", "arrow", "stream" (of Arrow), "csv", "npy", "npz"; None for other files."""
    file, start = Path(path), _start_of(path)
    for mark, kind in TABLES.items():
        if start.startswith(mark):
            return kind if kind != "npz" or file.suffix.lower() == ".npz" else None
    return "csv" if file.is_file() and text_suffix(file) in DELIMITER else None


def text_suffix(file: Path) -> str:
    """Return the suffix of a file; for a compressed file, the suffix before."""
    stem = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    return stem.suffix.lower()


def looks_like_data(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like converted data, and not like text."""
    return _start_of(path)[4:9] == b"\0\0\0\0{"  # of a safetensors file


def _start_of(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of a regular file, else b""."""
    if not Path(path).is_file():
        return b""
    with Path(path).open("rb") as opened:
        return opened.read(16)


def kind_of(start: bytes) -> str | None:
    r"""Return the kind of a file with these first bytes, or None if it is unknown.

    Examples
    --------
    >>> from manyclass.io.file_signatures import kind_of
    >>> kind_of(b"PAR1\x15\x04")
    'a Parquet file'
    """
    if start[LENGTH : LENGTH + 1] == b"{":  # safetensors, which begins with a length
        return None
    if _is_arff(start):
        return "an ARFF file of Weka (convert it to CSV or Parquet)"
    return next((kind for begin, kind in KINDS.items() if re.match(begin, start, re.DOTALL)), None)


def _is_arff(start: bytes) -> bool:
    """Whether the first line that is not a comment names a relation."""
    lines = (line.strip() for line in start.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"%")), b"")
    return first.lower().startswith(b"@relation")
