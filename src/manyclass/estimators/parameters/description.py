"""Descriptions of parameters: allowed values, documentation, scope, option of the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from typing import TypeAlias


class Scope(Enum):
    """The part of an estimator that a parameter belongs to."""

    PROBLEM = "the problem: a different value has a different optimum"
    TRAINING = "the way to the optimum; stored in model files"
    RUN = "one run on one computer; not stored in model files"


@dataclass(frozen=True, slots=True)
class Names:
    """One of several strings."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; `closed` names the ends that are included."""

    kind: type
    low: float | None = None
    high: float | None = None
    closed: str = "left"


@dataclass(frozen=True, slots=True)
class Method:
    """Objects with a method of a given name."""

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
        If empty, derived from the parameter's name.
    metavar : str or None
        Name of the value in the help.
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
        Allowed values.
    kind : str
        Type for docstrings.
    text : str
        Paragraph for docstrings.
    scope : Scope
    option : Option or None
        Option of the command line that takes the parameter's value, if there is one.
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
