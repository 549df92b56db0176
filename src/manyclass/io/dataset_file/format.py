"""Converted data files: rows and labels as training uses them, mapped into memory.

Format. Safetensors: X as CSR (``indptr``, rows + 1, int64; ``indices``, int32, ascending in each
row; ``values``, float32 or float64, finite), ``labels`` (rows, int32, places in the classes), and
``classes`` (int64 or float64, ascending) unless these are text. Header, every value a string:
``format`` = "manyclass-data", ``format_version``, ``version``, ``data`` (JSON: n_features; classes
when they are text, ascending), ``checksum`` (CRC-32 of each tensor, in the order of their
names), ``header_checksum`` (CRC-32 of the header with its length, of eight zeros in the place of
this one).

Rows stay in the file: processes that load it share one copy, and what memory cannot hold is read
again. Loading looks at all of it once, block by block, for the checksum and for what could lead
training astray.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from manyclass.io.atomic import is_special, replacement
from manyclass.io.dataset_file.mapped_dataset import StoredRows
from manyclass.io.dataset_file.schema import TENSORS, check_contents, pack, unpack
from manyclass.io.svmlight.stream import SvmlightBlocks
from manyclass.io.tensors.header import read_header
from manyclass.io.tensors.mapped import ODDITIES, map_vectors
from manyclass.io.tensors.tensor_format import FormatError, TensorFormat
from manyclass.io.tensors.writer import TensorWriter
from manyclass.utils.sparse_check import check_sparse
from manyclass.utils.types import Array, CsrArray, DType, Rows

FORMAT = TensorFormat(
    name="manyclass-data",
    version=1,
    kind="data file",
    damaged_message="cannot be read as converted data: it is damaged or truncated ({why}); "
    "convert it again",
    other_message="holds {what}, no data; give an svmlight file or one of manyclass convert",
    error=FormatError,
)


def save_data(path: str | os.PathLike[str], X: Rows, y: ArrayLike) -> None:
    """Write rows and their labels to a file that training maps.

    The file appears whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Where to; an existing file is replaced.
    X : array or SciPy sparse matrix or array of shape (n, d)
        float32 or float64; anything else becomes float64.
    y : array-like of shape (n,)
        Labels: whole numbers, numbers or text.

    Raises
    ------
    ValueError
        If there is no row, a number is not finite, X is no valid sparse matrix, or the labels are
        of another kind.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass import load_data, save_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_data(pathlib.Path(folder, "data"), [[0.0, 1.0], [2.0, 0.0]], ["no", "yes"])
    ...     X, y = load_data(pathlib.Path(folder, "data"))
    >>> X.toarray()
    array([[0., 1.],
           [2., 0.]])
    >>> y
    array(['no', 'yes'], dtype='<U3')
    """
    check_sparse(X)
    matrix = sp.csr_array(X, copy=True)  # as the entries of a row may have to be put in order
    if matrix.dtype != np.float32:
        matrix = matrix.astype(np.float64)
    check_sparse(matrix)  # lists of lists may have become anything
    matrix.sum_duplicates()
    targets = np.asarray(y)
    if targets.shape != matrix.shape[:1] or not len(targets):
        raise ValueError(
            f"X has {matrix.shape[0]} rows, y the shape {targets.shape}: there must be a label for "
            "each row, and one row"
        )
    classes, labels = np.unique(targets, return_inverse=True)
    if not np.isfinite(matrix.data).all():
        raise ValueError("X holds NaN or infinity")
    _write(path, [(matrix, labels)], classes, matrix.shape, matrix.nnz, matrix.dtype)


def save_blocks(path: str | os.PathLike[str], blocks: SvmlightBlocks) -> None:
    """Write a file in svmlight format, read in blocks, as a file that training maps.

    Parameters
    ----------
    path : str or path-like
        Where to; an existing file is replaced.
    blocks : SvmlightBlocks
        Gone through once; about two blocks are in memory at a time.

    Raises
    ------
    ValueError, MemoryError
        As from the blocks; or if there are more rows or columns than can be trained on.
    OSError
        If a file cannot be read or written.
    """
    shape = blocks.n_rows, blocks.n_features
    _write(path, blocks, blocks.classes, shape, blocks.n_nonzero, blocks.dtype)


def load_data(
    path: str | os.PathLike[str], n_features: int | None = None, dtype: DTypeLike | None = None
) -> tuple[CsrArray, Array]:
    """Load a file of ``save_data`` or ``manyclass convert``.

    Parameters
    ----------
    path : str or path-like
    n_features : int, default=None
        Number of columns of X, at least those that the file has; None: as many.
    dtype : {numpy.float32, numpy.float64}, default=None
        Type of the values; None: as they are stored. Another one needs a copy of them.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n, d)
        Mapped, read-only: the file must not be changed in its place while X is in use (replacing
        or removing it does no harm).
    y : ndarray of shape (n,)
        The labels: int64, float64 or text.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, something else, or of a newer version.
    OSError
        If it cannot be read.
    """
    rows = open_data(path).wanted(os.fspath(path), n_features, dtype)
    return rows.matrix(), rows.targets()


def looks_like_data(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as converted data do, and not as any text."""
    file = Path(path)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        start = opened.read(9)
    return start[4:] == b"\0\0\0\0{"  # of a safetensors file


def open_data(path: str | os.PathLike[str], *, trusted: bool = False) -> StoredRows:
    """Map a converted data file.

    Parameters
    ----------
    path : str or path-like
    trusted : bool, default=False
        Whether its contents were looked through already.

    Returns
    -------
    StoredRows

    Raises
    ------
    ValueError, OSError
        As ``load_data``.
    """
    name = os.fspath(path)
    if is_special(Path(path)):
        raise OSError(errno.EINVAL, "is not a regular file", name)  # reading may never end
    with Path(path).open("rb") as file:
        try:
            header = read_header(file)
            FORMAT.check(name, header)
            metadata = header.metadata
            about = json.loads(metadata["data"])
            if not header.tensors.keys() <= {*TENSORS, "classes"}:
                raise ValueError("there are other tensors")
            tensors = map_vectors(file, header.tensors)
            rows = unpack(tensors, about)
        except FormatError:
            raise
        except ODDITIES as error:
            raise FORMAT.damaged(name, error) from None
        if not trusted:
            try:
                check_contents(tensors, rows.n_features, len(rows.classes), metadata["checksum"])
            except ODDITIES as error:
                raise FORMAT.damaged(name, error) from None
    return rows


def fingerprint(path: str | os.PathLike[str]) -> bytes:
    """Return the header of a data file, which has the checksums of its contents."""
    with Path(path).open("rb") as file:
        try:
            return read_header(file).content
        except ODDITIES as error:
            raise FORMAT.damaged(os.fspath(path), error) from None


def _write(
    path: str | os.PathLike[str],
    blocks: Iterable[tuple[CsrArray, Array]],
    classes: Array,
    shape: tuple[int, int],
    n_nonzero: int,
    dtype: DType,
) -> None:
    shapes, about = pack(classes, shape, n_nonzero, dtype)
    metadata = FORMAT.metadata(data=json.dumps(about))
    with replacement(os.fspath(path)) as new:
        file = TensorWriter(new, shapes, metadata)
        if "classes" in shapes:
            file.append("classes", classes)
        file.append("indptr", np.zeros(1, np.int64))
        n_before = 0
        for X, labels in blocks:
            file.append("indptr", n_before + X.indptr[1:].astype(np.int64))
            file.append("indices", X.indices)
            file.append("values", X.data)
            file.append("labels", labels)
            n_before += X.nnz
        file.finish()
