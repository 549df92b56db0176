"""What a converted data file holds: tensors, and the rest as JSON.

Nothing that comes from a file is trusted: whatever is odd about it raises a ValueError or another
mishap of Python (KeyError, TypeError, AttributeError), before it is used.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.stored_rows import MAX_SIZE, StoredRows
from manyclass.tensor_writer import Shapes

TENSORS = ("indices", "indptr", "labels", "values")
# An array of text takes 4 bytes for each character of the longest one, for every one.
MAX_NAME_BYTES = 64 << 20


def pack(
    classes: NDArray[Any], shape: tuple[int, int], n_nonzero: int, dtype: np.dtype[Any]
) -> tuple[Shapes, dict[str, Any]]:
    """Return the tensors of a file, and the rest, ready for JSON."""
    n_rows, n_features = shape
    if max(shape) >= MAX_SIZE:
        raise ValueError(f"{n_rows} rows, {n_features} features: must be less than 2^31 - 1")
    about: dict[str, Any] = {"n_features": n_features}
    int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
    shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
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


def unpack(tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> StoredRows:
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


def _classes(tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> NDArray[Any]:
    if "classes" in tensors:
        classes = tensors["classes"]
        ascending = bool((classes[1:] > classes[:-1]).all()) and np.isfinite(classes).all()
        if str(classes.dtype) not in ("int64", "float64"):
            raise ValueError("classes of another type")
    else:
        names = about["classes"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("classes must be a list of text")
        "".join(names).encode()  # UnicodeEncodeError, a ValueError, for half a surrogate pair
        ascending = all(a < b for a, b in pairwise(names))
        wide = 4 * max(map(len, names), default=0) * len(names) > MAX_NAME_BYTES
        classes = np.array(names, dtype=object if wide else np.str_)
    if not len(classes) or not ascending:
        raise ValueError("classes must be distinct and ascending")
    return classes
