"""Checks of the contents of possibly hostile files: converted data, by blocks, and classes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from manyclass.io.tensors import checksum_of
from manyclass.utils.types import Array

# An array of strings takes 4 bytes for each character of the longest string, per string: class
# names that would need more bytes than this become Python strings.
MAX_NAME_BYTES = 64 << 20
ELEMENTS_AT_A_TIME = 1 << 20  # numbers that are checked at a time


def check_contents(
    tensors: dict[str, Array], n_features: int, n_classes: int, checksum: str
) -> None:
    """Check the contents of a data file, whose types and lengths are consistent.

    Tensors are described in dataset_file.py; for other tensors, only the checksum is checked.
    """
    pass_ = _Pass(tensors)
    if "indptr" in tensors:
        pass_.check_lists("indptr", "indices", n_features)
    if "label_indptr" in tensors:
        pass_.check_lists("label_indptr", "labels", n_classes)
    else:
        pass_.check_range("labels", n_classes)
    pass_.check_values()
    if pass_.checksum() != checksum:
        raise ValueError("the checksum differs")


class _Pass:
    """One pass over each tensor, in blocks, with its checksum."""

    def __init__(self, tensors: dict[str, Array]) -> None:
        self.tensors = tensors
        self.crcs: dict[str, int] = {}

    def check_lists(self, ends: str, name: str, limit: int) -> None:
        """Check lists of ascending numbers, one for each row, and their ends."""
        indptr = self.tensors[ends]
        if indptr[0] != 0 or indptr[-1] != len(self.tensors[name]):
            raise ValueError("the first or last row offset is wrong")
        last = 0
        for _, part in self._parts(ends):
            if part[0] < last or (part[1:] < part[:-1]).any():
                raise ValueError("a row ends before it begins")
            last = part[-1]
        self._check_ascending(indptr, name, limit)

    def _check_ascending(self, indptr: Array, name: str, limit: int) -> None:
        last = -1
        for begin, part in self._parts(name):
            _check_range(part, f"one of {name}", limit)
            # If a number is not larger than the previous one, it must begin a row.
            falls = begin + np.flatnonzero(part <= np.concatenate([[last], part[:-1]]))
            if (indptr[np.searchsorted(indptr, falls)] != falls).any():
                raise ValueError(f"the {name} of a row are not ascending")
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


def strings(value: object, what: str) -> list[str]:
    """Return a value from a file if it is a list of strings without lone surrogates."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{what} must be a list of strings")
    for text in value:
        text.encode()
    return value


def class_names(value: object, *, as_objects: bool = False, any_order: bool = False) -> Array:
    """Return class names from a file as an array, of objects if an array of str is too large."""
    names = strings(value, "class names")
    # NumPy would ignore trailing NULs in comparisons.
    if not any_order and any(a >= b for a, b in pairwise(names)):
        raise ValueError("classes must be distinct and ascending")
    n_bytes = 4 * max(map(len, names), default=0) * len(names)
    return np.array(names, dtype=object if as_objects or n_bytes > MAX_NAME_BYTES else np.str_)


def check_ascending(classes: Array) -> None:
    """Check that numeric classes are finite, distinct and ascending."""
    if not (np.isfinite(classes).all() and (classes[1:] > classes[:-1]).all()):
        raise ValueError("classes must be distinct and ascending")
