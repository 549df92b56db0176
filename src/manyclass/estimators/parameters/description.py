"""Descriptions of parameters: allowed values, documentation, scope, option of the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from typing import TypeAlias


class Scope(Enum):
    """What a parameter belongs to."""

    PROBLEM = "the problem: another value has another optimum"
    TRAINING = "the way to the optimum, which model files keep"
    RUN = "one run on one computer, which model files leave out"


@dataclass(frozen=True, slots=True)
class Names:
    """Text, one of these."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; `closed` says which ends belong to it."""

    kind: type
    low: float | None = None
    high: float | None = None
    closed: str = "left"


@dataclass(frozen=True, slots=True)
class Method:
    """Objects with a method of this name."""

    name: str


# A type, None, a value, "taxonomy", or a word of scikit-learn's constraints, such as "boolean".
Allowed: TypeAlias = Names | Range | Method | type | Callable[..., bool] | str | bool | None


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command line.

    Attributes
    ----------
    help : str
    flags : tuple of str
        Of the parameter's name when empty.
    metavar : str or None
        Stands for the value in the help.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of estimators.

    Attributes
    ----------
    allowed : tuple
        The values that it may have.
    kind : str
        Type, as docstrings write it.
    text : str
        Paragraph of docstrings.
    scope : Scope
    option : Option or None
        Of the command line, if it has one that takes the parameter's value.
    """

    allowed: tuple[Allowed, ...]
    kind: str
    text: str
    scope: Scope = Scope.TRAINING
    option: Option | None = None


BOOLEAN: tuple[Allowed, ...] = ("boolean",)


def positive(kind: type = Real) -> Range:
    """Return the range of positive numbers."""
    return Range(kind, 1) if kind is Integral else Range(kind, 0, closed="neither")
