"""What a converted data file holds: tensors, and the rest as JSON.

Nothing that comes from a file is trusted: whatever is odd about it raises a ValueError or another
mishap of Python (KeyError, TypeError, AttributeError), before it is used.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from manyclass.io.dataset_file.mapped_dataset import MAX_SIZE, StoredRows
from manyclass.io.tensors.class_names import check_ascending, class_names
from manyclass.io.tensors.writer import Shapes, checksum_of
from manyclass.utils.types import Array, DType, Settings

TENSORS = ("indices", "indptr", "labels", "values")


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


ELEMENTS_AT_A_TIME = 1 << 20  # numbers that are looked at a time


def check_contents(
    tensors: dict[str, Array], n_features: int, n_classes: int, checksum: str
) -> None:
    """Look once through the arrays of a data file, whose types and lengths fit together.

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
