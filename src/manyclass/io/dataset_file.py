"""Write, check and map converted data files: CSR rows and labels in the layout of training.

Format. Safetensors: X as CSR (``indptr``, rows + 1, int64; ``indices``, int32, ascending in each
row; ``values``, float32 or float64, finite), ``labels`` (rows, int32, places in the classes), and
``classes`` (int64 or float64, ascending) unless these are text. Header, every value a string:
``format`` = "manyclass-data", ``format_version``, ``version``, ``data`` (JSON: n_features; classes
when they are text, ascending), ``checksum`` (CRC-32 of each tensor, in the order of their
names), ``header_checksum`` (CRC-32 of the header with its length, of eight zeros in the place of
this one).

Rows stay in the file: processes that map it share one copy, and the system may drop its pages.
Files are not trusted: loading checks all contents once, block by block, and anything invalid raises
ValueError, KeyError, TypeError or AttributeError before it is used.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from manyclass.io.atomic import is_special, replacement
from manyclass.io.stored_rows import MAX_SIZE, StoredRows
from manyclass.io.svmlight_stream import SvmlightBlocks
from manyclass.io.tensors import (
    ODDITIES,
    FormatError,
    Shapes,
    TensorFormat,
    TensorWriter,
    check_ascending,
    checksum_of,
    class_names,
    read_header,
    read_tensors,
)
from manyclass.utils.sparse_check import check_sparse
from manyclass.utils.types import Array, CsrArray, DType, Rows, Settings

FORMAT = TensorFormat(
    name="manyclass-data",
    version=1,
    kind="data file",
    damaged_message="cannot be read as converted data: it is damaged or truncated ({why}); "
    "convert it again",
    other_message="holds {what}, no data; give an svmlight file or one of manyclass convert",
    error=FormatError,
)
TENSORS = ("indices", "indptr", "labels", "values")
ELEMENTS_AT_A_TIME = 1 << 20  # numbers that are looked at a time


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
        If there is no row, a number is complex or not finite, X is no valid sparse matrix, or the
        labels are of another kind.
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
    matrix = sp.csr_array(X, copy=True)  # a copy: the entries of a row may have to be sorted
    if matrix.dtype.kind == "c":
        raise ValueError("X holds complex numbers; give real ones, such as X.real and X.imag")
    if matrix.dtype != np.float32:
        matrix = matrix.astype(np.float64)
    check_sparse(matrix)  # nested lists convert without checks
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
        Iterated once; about two blocks are in memory at a time.

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
        Mapped, read-only: the file must not be changed in place while X is in use (replacing or
        removing it is harmless).
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
        Whether its contents were checked before.

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
            tensors = read_tensors(file, header.tensors, mapped=header.tensors)
            rows = unpack(tensors, about)
            if not trusted:
                check_contents(tensors, rows.n_features, len(rows.classes), metadata["checksum"])
        except FormatError:
            raise
        except ODDITIES as error:
            raise FORMAT.damaged(name, error) from None
    return rows


def fingerprint(path: str | os.PathLike[str]) -> bytes:
    """Return the header of a data file, which has the checksums of its contents."""
    with Path(path).open("rb") as file:
        try:
            return read_header(file).content
        except ValueError as error:
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


def pack(
    classes: Array, shape: tuple[int, int], n_nonzero: int, dtype: DType
) -> tuple[Shapes, Settings]:
    """Return the tensors of a file, and the rest, ready for JSON."""
    n_rows, n_features = shape
    if max(shape) >= MAX_SIZE:
        raise ValueError(f"{n_rows} rows, {n_features} features: must be less than 2^31 - 1")
    about: Settings = {"n_features": n_features}
    int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
    shapes: dict[str, tuple[DType, tuple[int, ...]]] = {
        "indptr": (int64, (n_rows + 1,)),
        "indices": (int32, (n_nonzero,)),
        "values": (dtype, (n_nonzero,)),
        "labels": (int32, (n_rows,)),
    }
    if classes.dtype.kind in "iuf":
        kind = np.dtype(np.float64) if classes.dtype.kind == "f" else int64
        if not (np.isfinite(classes).all() and (classes.astype(kind) == classes).all()):
            raise ValueError("labels must be finite numbers of 64 bits")
        shapes["classes"] = kind, classes.shape
    elif all(isinstance(label, str) for label in classes.tolist()):
        about["classes"] = classes.tolist()
    else:
        raise ValueError(f"labels must be numbers or text, not {classes.dtype}")
    return shapes, about


def unpack(tensors: dict[str, Array], about: Settings) -> StoredRows:
    """Put rows together as far as their sizes and types allow; undoes ``pack``."""
    kinds = {name: str(tensors[name].dtype) for name in TENSORS}
    expected = {"indices": "int32", "indptr": "int64", "labels": "int32"}
    if kinds.pop("values") not in ("float32", "float64") or kinds != expected:
        raise ValueError("tensors of other types")
    indices, indptr, labels, values = (tensors[name] for name in TENSORS)
    n_features = about["n_features"]
    if type(n_features) is not int or not 0 <= n_features < MAX_SIZE:
        raise ValueError("n_features is no number of columns")
    if not 0 < len(labels) < MAX_SIZE or len(indptr) != len(labels) + 1:
        raise ValueError("tensors of other lengths")
    if len(indices) != len(values):
        raise ValueError("tensors of other lengths")
    return StoredRows(indptr, indices, values, labels, n_features, _classes(tensors, about))


def _classes(tensors: dict[str, Array], about: Settings) -> Array:
    if "classes" in tensors:
        classes = tensors["classes"]
        if str(classes.dtype) not in ("int64", "float64"):
            raise ValueError("classes of another type")
        check_ascending(classes)
    else:
        classes = class_names(about["classes"])
    if not len(classes):
        raise ValueError("there must be a class at least")
    return classes


def check_contents(
    tensors: dict[str, Array], n_features: int, n_classes: int, checksum: str
) -> None:
    """Check the contents of a data file, whose types and lengths are consistent.

    Parameters
    ----------
    tensors : dict of ndarray
        indptr, indices, values, labels; and others, of which the checksum alone counts.
    n_features, n_classes : int
    checksum : str
        CRC-32 of every tensor, in the order of their names.

    Raises
    ------
    ValueError
    """
    pass_ = _Pass(tensors)
    pass_.check_indptr()
    pass_.check_indices(n_features)
    pass_.check_range("labels", n_classes)
    pass_.check_values()
    if pass_.checksum() != checksum:
        raise ValueError("the checksum differs")


class _Pass:
    """One pass over each tensor, in parts, with its checksum."""

    def __init__(self, tensors: dict[str, Array]) -> None:
        self.tensors = tensors
        self.crcs: dict[str, int] = {}

    def check_indptr(self) -> None:
        indptr = self.tensors["indptr"]
        if indptr[0] != 0 or indptr[-1] != len(self.tensors["indices"]):
            raise ValueError("the rows begin or end elsewhere")
        last = 0
        for _, part in self._parts("indptr"):
            if part[0] < last or (part[1:] < part[:-1]).any():
                raise ValueError("a row ends before it begins")
            last = part[-1]

    def check_indices(self, n_features: int) -> None:
        indptr, last = self.tensors["indptr"], -1
        for begin, part in self._parts("indices"):
            _check_range(part, "an index", n_features)
            # Where one is no larger than the one before, a row must begin.
            falls = begin + np.flatnonzero(part <= np.concatenate([[last], part[:-1]]))
            if (indptr[np.searchsorted(indptr, falls)] != falls).any():
                raise ValueError("the indices of a row are not ascending")
            last = part[-1]

    def check_range(self, name: str, limit: int) -> None:
        for _, part in self._parts(name):
            _check_range(part, f"one of {name}", limit)

    def check_values(self) -> None:
        for _, part in self._parts("values"):
            if not np.isfinite(part).all():
                raise ValueError("a value is not finite")

    def checksum(self) -> str:
        for name in self.tensors.keys() - self.crcs.keys():
            for _ in self._parts(name):
                pass
        return checksum_of(self.crcs)

    def _parts(self, name: str) -> Iterator[tuple[int, Array]]:
        crc, tensor = 0, self.tensors[name]
        for begin in range(0, len(tensor), ELEMENTS_AT_A_TIME):
            part = tensor[begin : begin + ELEMENTS_AT_A_TIME]
            crc = zlib.crc32(part.view(np.uint8).data, crc)
            yield begin, part
        self.crcs[name] = crc


def _check_range(part: Array, what: str, limit: int) -> None:
    if part.min() < 0 or part.max() >= limit:
        raise ValueError(f"{what} is out of range")
