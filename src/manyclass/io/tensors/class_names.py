"""Names from the JSON of a file: lists of strings, and class names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from manyclass.utils.types import Array

# An array of strings takes 4 bytes for each character of the longest one, for every one: class
# names that would need more than this become Python strings.
MAX_NAME_BYTES = 64 << 20


def strings(value: object, what: str) -> list[str]:
    """Check that a value from a file is a list of strings, and return it.

    Raises
    ------
    ValueError
        If it is none, or holds half a surrogate pair.
    """
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{what} must be a list of strings")
    for text in value:
        text.encode()
    return value


def class_names(value: object, *, as_objects: bool = False) -> Array:
    """Return class names from a file as an array, of objects where an array of str is too large.

    Raises
    ------
    ValueError
        If they are no strings, or not distinct and ascending.
    """
    names = strings(value, "class names")
    if any(a >= b for a, b in pairwise(names)):  # NumPy would compare without trailing NULs
        raise ValueError("classes must be distinct and ascending")
    n_bytes = 4 * max(map(len, names), default=0) * len(names)
    return np.array(names, dtype=object if as_objects or n_bytes > MAX_NAME_BYTES else np.str_)


def check_ascending(classes: Array) -> None:
    """Check that numeric classes are finite, distinct and ascending.

    Raises
    ------
    ValueError
    """
    if not (np.isfinite(classes).all() and (classes[1:] > classes[:-1]).all()):
        raise ValueError("classes must be distinct and ascending")
