"""Memory-map converted data files of dataset_writer.py: rows and labels in the layout of training.

Format: safetensors. X is stored as CSR (``indptr``, rows + 1, int64; ``indices``, int32, ascending
in each row; ``values``, float32 or float64, finite) or, for dense rows, only as ``values``, row by
row. ``labels`` are class indices (rows, int32); for label sets, the labels of all rows,
concatenated, with ``label_indptr`` (rows + 1, int64). ``classes`` are int64 or float64, ascending;
classes that are text or booleans are in the header. The header has these entries, all strings:
``format`` = "manyclass-data", ``format_version``, ``version``, ``data`` (JSON: n_features; classes
when they are text or booleans, ascending), ``checksum`` (CRC-32 of each tensor, in the order of
their names), ``header_checksum`` (CRC-32 of the header with its length, computed with eight zeros
instead of this checksum).

Rows stay in the file: processes that map it share one copy, and the system may drop its pages.
Files are not trusted: loading checks all contents once, by blocks, and invalid contents raise
ValueError, KeyError, TypeError or AttributeError before they are used.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal, overload

import numpy as np
from numpy.typing import DTypeLike

from manyclass.io.atomic import open_regular
from manyclass.io.dataset_checks import check_ascending, check_contents, class_names
from manyclass.io.stored_rows import (
    MAX_SIZE,
    StoredDenseRows,
    StoredLabelSets,
    StoredRows,
    StoredSparseRows,
    label_sets,
)
from manyclass.io.tensors import (
    ODDITIES,
    FormatError,
    Shapes,
    TensorFormat,
    read_header,
    read_tensors,
)
from manyclass.utils.types import Array, DType, Label, Rows, Settings

FORMAT = TensorFormat(
    name="manyclass-data",
    version=1,
    kind="data file",
    damaged_message="cannot be read as converted data: it is damaged or truncated ({why}); "
    "convert it again, or read svmlight text by load_svmlight",
    other_message="holds {what}, not data; give an svmlight file or a file of manyclass convert",
    error=FormatError,
)
SPARSE = ("indices", "indptr")
TENSORS = (*SPARSE, "labels", "label_indptr", "values")


@overload
def load_data(
    path: str | os.PathLike[str],
    n_features: int | None = ...,
    dtype: DTypeLike | None = ...,
    *,
    multilabel: Literal[True],
) -> tuple[Rows, list[frozenset[Label]]]: ...
@overload
def load_data(
    path: str | os.PathLike[str], n_features: int | None = ..., dtype: DTypeLike | None = ...
) -> tuple[Rows, Array]: ...


def load_data(
    path: str | os.PathLike[str],
    n_features: int | None = None,
    dtype: DTypeLike | None = None,
    *,
    multilabel: bool = False,
) -> tuple[Rows, Array | list[frozenset[Label]]]:
    """Load a file of ``save_data`` or ``manyclass convert``.

    Parameters
    ----------
    path : str or path-like
    n_features : int, default=None
        Number of columns of X, at least the number in the file; for dense rows exactly this
        number. None: the number in the file.
    dtype : {numpy.float32, numpy.float64}, default=None
        Type of the values; None: as stored. A different type needs a copy.
    multilabel : bool, default=False
        Whether y holds label sets; rows with one class become sets with one label.

    Returns
    -------
    X : scipy.sparse.csr_array or ndarray of shape (n, d)
        Sparse or dense, as saved. Memory-mapped and read-only: do not modify the file in place
        while X is in use (replacing or removing it is harmless).
    y : ndarray of shape (n,)
        Labels: int64, float64, bool or text. With `multilabel`, a list of frozensets of labels.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, of a different format or of a newer version; without
        `multilabel`, if its rows have label sets.
    OSError
        If it cannot be read.
    """
    rows = open_data(path, multilabel=multilabel).wanted(os.fspath(path), n_features, dtype)
    return rows.matrix(), label_sets(rows) if multilabel else rows.targets()


def open_data(
    path: str | os.PathLike[str], *, trusted: bool = False, multilabel: bool = False
) -> StoredRows:
    """Map a converted data file; unless it is trusted, its contents are checked."""
    name = os.fspath(path)
    with open_regular(path) as file:
        try:
            header = read_header(file)
            FORMAT.check(name, header)
            metadata = header.metadata
            about = json.loads(metadata["data"])
            if not header.tensors.keys() <= {*TENSORS, "classes"}:
                raise ValueError("it has other tensors")
            tensors = read_tensors(file, header.tensors, mapped=header.tensors)
            rows = unpack(tensors, about)
            if not trusted:
                check_contents(tensors, rows.n_features, len(rows.classes), metadata["checksum"])
        except FormatError:
            raise
        except ODDITIES as error:
            raise FORMAT.damaged(name, error) from None
    if isinstance(rows.labels, StoredLabelSets) and not multilabel:
        raise ValueError(
            f"{name}: rows have label sets, not one class each; train --multilabel and "
            "load_data(multilabel=True) read them"
        )
    return rows


def fingerprint(path: str | os.PathLike[str]) -> bytes:
    """Return the header of a data file, which contains the checksums of its contents."""
    with Path(path).open("rb") as file:
        try:
            return read_header(file).content
        except ValueError as error:
            raise FORMAT.damaged(os.fspath(path), error) from None


def pack(
    classes: Array,
    shape: tuple[int, int],
    n_nonzero: int | None,
    dtype: DType,
    n_labels: int | None = None,
) -> tuple[Shapes, Settings]:
    """Return dtype and shape of every tensor of a file, and the rest, ready for JSON.

    Rows are dense without ``n_nonzero``, and have one label each without ``n_labels``. Refuse too
    many rows or columns, and labels that are neither numbers nor text.
    """
    n_rows, n_features = shape
    if max(shape) >= MAX_SIZE:
        raise ValueError(f"{n_rows} rows, {n_features} features: must be less than 2^31 - 1")
    about: Settings = {"n_features": n_features}
    int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
    n_values = n_rows * n_features if n_nonzero is None else n_nonzero
    shapes: dict[str, tuple[DType, tuple[int, ...]]] = {
        "values": (dtype, (n_values,)),
        "labels": (int32, (n_rows if n_labels is None else n_labels,)),
    }
    if n_labels is not None:
        shapes["label_indptr"] = int64, (n_rows + 1,)
    if n_nonzero is not None:
        shapes |= {"indptr": (int64, (n_rows + 1,)), "indices": (int32, (n_nonzero,))}
    if classes.dtype.kind == "b":
        about["classes"] = classes.tolist()
    elif classes.dtype.kind in "iuf":
        kind = np.dtype(np.float64) if classes.dtype.kind == "f" else int64
        if not (np.isfinite(classes).all() and (classes.astype(kind) == classes).all()):
            raise ValueError("labels must be finite numbers of 64 bits")
        shapes["classes"] = kind, classes.shape
    elif all(isinstance(label, str) for label in classes.tolist()):
        about["classes"] = classes.tolist()
        for label in about["classes"]:
            try:
                label.encode()
            except UnicodeEncodeError as error:
                raise ValueError(f"the label {label!r} is not valid UTF-8 text") from error
    else:
        raise ValueError(f"labels must be numbers or text, not {classes.dtype}")
    return shapes, about


def unpack(tensors: dict[str, Array], about: Settings) -> StoredRows:
    """Return the rows of tensors after checking sizes and types; the inverse of ``pack``."""
    n_features, values, places = about["n_features"], tensors["values"], tensors["labels"]
    if type(n_features) is not int or not 0 <= n_features < MAX_SIZE:
        raise ValueError("n_features is not a valid number of columns")
    if str(values.dtype) not in ("float32", "float64") or places.dtype != np.int32:
        raise ValueError("tensors of other types")
    labels = (
        StoredLabelSets(tensors["label_indptr"], places) if "label_indptr" in tensors else places
    )
    if isinstance(labels, StoredLabelSets) and labels.indptr.dtype != np.int64:
        raise ValueError("tensors of other types")
    if not 0 < len(labels) < MAX_SIZE:
        raise ValueError("tensors of other lengths")
    classes = _classes(tensors, about)
    if tensors.keys().isdisjoint(SPARSE):
        if len(values) != len(labels) * n_features:
            raise ValueError("tensors of other lengths")
        return StoredDenseRows(values.reshape(len(labels), n_features), labels, classes)
    indices, indptr = (tensors[name] for name in SPARSE)
    if indices.dtype != np.int32 or indptr.dtype != np.int64:
        raise ValueError("tensors of other types")
    if len(indptr) != len(labels) + 1 or len(indices) != len(values):
        raise ValueError("tensors of other lengths")
    return StoredSparseRows(indptr, indices, values, labels, n_features, classes)


def _classes(tensors: dict[str, Array], about: Settings) -> Array:
    if "classes" in tensors:
        classes = tensors["classes"]
        if str(classes.dtype) not in ("int64", "float64"):
            raise ValueError("classes of a different type")
        check_ascending(classes)
    elif about["classes"] and all(type(one) is bool for one in about["classes"]):
        classes = np.array(about["classes"])
        check_ascending(classes)
    else:
        classes = class_names(about["classes"])
    if not len(classes) and "label_indptr" not in tensors:
        raise ValueError("there must be at least one class")
    return classes
