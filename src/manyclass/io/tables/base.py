"""The interface of tables, and errors of reading."""

from __future__ import annotations

import contextlib
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from manyclass.io.tables.coded_labels import CodedLabels
from manyclass.io.tables.label_sets import CodedSets
from manyclass.io.tensors import one_line
from manyclass.utils.labels import LabelError, finite_labels_of
from manyclass.utils.suggestions import first_of, meant, nearest
from manyclass.utils.types import Array

if TYPE_CHECKING:
    import pyarrow as pa

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# Errors of reading damaged files.
ODDITIES = (
    ValueError,
    TypeError,
    AttributeError,
    EOFError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    SystemError,
    SyntaxError,
    MemoryError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


class Table(Protocol):
    """Rows and labels that can be read in batches."""

    names: list[str] | None  # names of the columns of X, for vectors once a batch is read; or None
    taken: str  # description of the features

    def batches(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield rows, float32 or float64, and their labels, or None if no labels are requested."""

    def coded_labels(self) -> CodedLabels | CodedSets:
        """Return the object that collects the labels of the batches and determines their type."""


def pyarrow_for(what: str) -> ModuleType:
    """Return pyarrow; if it is missing, an ImportError names what needs it."""
    try:
        import pyarrow
    except ImportError as missing:
        raise ImportError(f"{what} needs pyarrow ({missing}); pip install pyarrow") from missing
    module: ModuleType = pyarrow
    return module


def is_number(arrow: ModuleType, kind: pa.DataType) -> bool:
    """Whether values of this Arrow type are numbers."""
    types = arrow.types
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(number or types.is_boolean(kind) or types.is_null(kind))


@contextlib.contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn errors of pyarrow and NumPy about contents into a ValueError that names the table."""
    try:
        yield
    except ODDITIES as error:
        if str(error).startswith(where):
            raise
        raise ValueError(f"{where}: cannot be read: {one_line(error)}") from None
    except OSError as error:
        if error.filename or error.errno:
            raise
        raise ValueError(f"{where}: cannot be read: {one_line(error)}") from None


def checked_labels(y: object, where: str, name: str, first: int = 0) -> Array:
    """Return labels that are all kept as they are; `first` is the number of their first row.

    Messages call the table `where`, and the labels `name`.
    """
    try:
        return np.asarray(finite_labels_of(y))
    except LabelError as error:
        raise ValueError(f"{where}: {error.within(name, first)}") from None


def listed(features: Sequence[str] | None) -> list[str] | None:
    """Return names of columns as a list; a string is one name."""
    return [features] if isinstance(features, str) else None if features is None else [*features]


def without(where: str, columns: Sequence[str], dropped: Sequence[str]) -> list[str]:
    """Return columns without some of them, which must be there; some must be left."""
    for name in dropped:
        if name not in columns:
            raise ValueError(f"{where}: {no_column(name, columns)}")
    left = [name for name in columns if name not in dropped]
    if not left:
        raise ValueError(f"{where}: all columns are dropped")
    return left


class NoColumnError(ValueError):
    """Columns that a table does not have.

    Parameters
    ----------
    where : str
        Name of the table.
    missing, features, known : sequence of str
        Missing columns, the columns that are read as features, and the columns of the table.
    """

    def __init__(
        self, where: str, missing: Sequence[str], features: Sequence[str], known: Sequence[str]
    ) -> None:
        super().__init__(where, missing, features, known)
        self.where, self.missing = where, missing
        self.features, self.known = features, known

    def __str__(self) -> str:
        spare = [name for name in self.known if name not in self.features]
        return f"{self.where}: {no_column(self.missing[0], self.known, spare=spare)}"

    def for_model(self, model: str) -> str:
        """Return the message if `features` are the columns that a model was trained on."""
        columns = "columns" if len(self.missing) > 1 else "column"
        spare = [name for name in self.known if name not in self.features]
        near = [(nearest(name, spare), name) for name in self.missing]
        renamed = (f"rename {own!r} to {name!r} if it is the same" for own, name in near if own)
        return (
            f"{self.where}: has no {columns} {first_of(self.missing)}; {model} was trained on "
            f"{first_of(self.features)}, and the table has {first_of(self.known)}; "
            + next(renamed, f"add the {columns}")
        )


def no_column(
    name: str, known: Sequence[str], what: str = "column", spare: Sequence[str] | None = None
) -> str:
    """Return the message for a missing column; one of `spare` (default: all) may be meant."""
    hint = meant(name, known if spare is None else spare)
    return f"has no {what} {name!r}; there are {first_of(known)}{hint}"
