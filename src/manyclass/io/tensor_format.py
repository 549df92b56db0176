"""Header fields that model, data and checkpoint files share, and lists of names from files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from manyclass.io.tensors import Header, one_line
from manyclass.utils.types import Array
from manyclass.version import __version__

# An array of strings takes 4 bytes for each character of the longest one, for every one: class
# names that would need more than this become Python strings.
MAX_NAME_BYTES = 64 << 20


class FormatError(ValueError):
    """Of another format or version, though it may be whole."""


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """A file format: safetensors with these entries in the header.

    Attributes
    ----------
    name : str
        Header entry ``format``.
    version : int
        The newest ``format_version`` that this version of manyclass reads.
    kind : str
        What users call such a file.
    damaged_message : str
        What follows the path in an error; ``{why}`` stands for the reason.
    other_message : str
        The same for a file of another format; ``{what}`` stands for what it holds.
    error : type, default=ValueError
        Raised for a damaged file, and one of another format.
    """

    name: str
    version: int
    kind: str
    damaged_message: str
    other_message: str
    error: type[ValueError] = ValueError

    def metadata(self, **entries: str) -> dict[str, str]:
        """Return the metadata of a new file, but for its checksums."""
        return {
            "format": self.name,
            "format_version": str(self.version),
            "version": __version__,
            **entries,
        }

    def check(self, path: str | os.PathLike[str], header: Header) -> None:
        """Refuse the header of another format, of a newer version, or of a damaged file.

        Raises
        ------
        FormatError
            If a newer version wrote the file.
        ValueError
            Of type ``error``, if the header is damaged or of another format.
        """
        metadata = header.metadata
        if metadata.get("format") != self.name:
            what = "a model" if metadata.get("format") == "manyclass" else "something else"
            raise self.error(f"{os.fspath(path)}: {self.other_message.format(what=what)}")
        version = metadata.get("format_version", "")
        if not re.fullmatch(r"[1-9][0-9]{0,8}", version):
            raise self.damaged(path, "its format version is damaged")
        if int(version) > self.version:
            writer = one_line(metadata.get("version", "?"))
            raise FormatError(
                f"{os.fspath(path)}: {self.kind} of format {version}, written by manyclass "
                f"{writer}; this version reads up to {self.version}: upgrade"
            )
        if not header.intact:
            raise self.damaged(path, "the checksum of its header differs")

    def damaged(self, path: str | os.PathLike[str], why: object) -> ValueError:
        """Return the error for a file that is damaged."""
        text = self.damaged_message.format(why=one_line(why))
        return self.error(f"{os.fspath(path)}: {text}")


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
