"""Identity of two problems: facts by name, and fingerprints of arrays."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from manyclass.utils.types import Array

Facts: TypeAlias = Mapping[str, str]  # name -> value

PART = 1 << 26  # bytes between two checks for Ctrl-C
LONGEST = 60  # characters of a fact


def crc32(array: Array, before: int = 0) -> int:
    """Return the CRC-32 of an array's bytes in C order."""
    total = before
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for begin in range(0, len(content), PART):
        total = zlib.crc32(content[begin : begin + PART].data, total)
    return total


def fingerprint(*arrays: Array) -> str:
    """Return a fact about arrays: equal for equal numbers, very likely different otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.utils.fingerprints import fingerprint
    >>> fingerprint(np.arange(3, dtype=np.int64))
    'fingerprint 4f8c5ccc'
    """
    total = 0
    for array in arrays:
        total = crc32(array, total)
    return fingerprint_of(total)


def fingerprint_of(crc: int) -> str:
    """Return a CRC-32 as a fact."""
    return f"fingerprint {crc:08x}"


def fact(value: object) -> str:
    """Return a parameter as a fact; a long one as its beginning and its fingerprint."""
    text = repr(value)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}... ({fingerprint(np.frombuffer(text.encode(), np.uint8))})"


def differences(first: Facts, second: Facts, places: tuple[str, str]) -> str:
    """Return the facts in which two problems differ; "" if there are none.

    Parameters
    ----------
    first, second : dict of str
    places : (str, str)
        Places of the two, such as "on rank 0".

    Returns
    -------
    str

    Examples
    --------
    >>> from manyclass.utils.fingerprints import differences
    >>> differences({"C": "1.0", "loss": "hinge"}, {"C": "2.0", "loss": "hinge"}, ("there", "here"))
    'C: 1.0 there, 2.0 here'
    """
    names = dict.fromkeys([*first, *second])
    one, other = places
    return "; ".join(
        f"{name}: {first.get(name, 'nothing')} {one}, {second.get(name, 'nothing')} {other}"
        for name in names
        if first.get(name) != second.get(name)
    )
