"""Docstrings and constraints of estimators, filled in from the table of parameters."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from manyclass.estimators.parameters.description import Allowed, Method, Names, Range
from manyclass.estimators.parameters.table import PARAMETERS
from manyclass.problem.taxonomy import Taxonomy
from manyclass.utils.types import Settings

E = TypeVar("E", bound=type[BaseEstimator])
INDENT = " " * 4
HEADING = "Parameters\n----------\n"
SECTION = re.compile(r"(?m)^[A-Z][A-Za-z ]+\n-{3,}\n")
HEADER = re.compile(r"^(.*default=).*")  # first line of an entry


def documented(*, like: type[BaseEstimator] | None = None) -> Callable[[E], E]:
    """Complete an estimator's docstring and ``_parameter_constraints`` from its signature.

    The entry of the class itself takes precedence, then the entry of `like`, then the table.
    Docstrings list all parameters in the order of the signature.

    Parameters
    ----------
    like : type, default=None
        A documented estimator that shares some parameters with the class.

    Returns
    -------
    callable
        Decorator of an estimator. Its docstring may lack the section "Parameters".
    """

    def complete(cls: E) -> E:
        defaults = defaults_of(cls)
        known = {} if like is None else like._parameter_constraints
        own = {**known, **cls.__dict__.get("_parameter_constraints", {})}
        cls._parameter_constraints = {
            name: own[name] if name in own else list(map(_constraint, PARAMETERS[name].allowed))
            for name in defaults
            if name in own or name in PARAMETERS
        }
        if cls.__doc__:  # not with python -OO
            before = {} if like is None else _sections(like.__doc__ or "")[1]
            cls.__doc__ = _filled(cls.__doc__, defaults, before)
        return cls

    return complete


def defaults_of(cls: type) -> Settings:
    """Return an estimator's parameters and defaults from its signature or ``defaults``."""
    if hasattr(cls, "defaults"):
        known: Settings = cls.defaults()
        return known
    return {name: given.default for name, given in inspect.signature(cls).parameters.items()}


def _constraint(allowed: Allowed) -> object:
    """Return scikit-learn's constraint for a kind of values."""
    match allowed:
        case Names():
            return StrOptions(dict.fromkeys(allowed.names).keys())
        case Range():
            return Interval(allowed.kind, allowed.low, allowed.high, closed=allowed.closed)
        case Method():
            return HasMethods(allowed.name)
        case bool():
            return Options(bool, {allowed})
        case "taxonomy":
            return Taxonomy
        case _:
            return allowed


def _filled(doc: str, defaults: Mapping[str, object], like: Mapping[str, str]) -> str:
    """Return a docstring with all parameters in its section "Parameters"."""
    before, own, after = _sections(doc)
    foreign = own.keys() - defaults.keys()
    if foreign:
        raise TypeError(f"not parameters of the signature: {', '.join(sorted(foreign))}")
    known = {**like, **own}
    texts = [
        _with_default(known[name], default) if name in known else _entry(name, default)
        for name, default in defaults.items()
    ]
    return f"{before}{HEADING}{''.join(texts)}\n{after}"


def _sections(doc: str) -> tuple[str, dict[str, str], str]:
    """Return the text before the section "Parameters", its entries by name, and the rest."""
    before, found, after = inspect.cleandoc(doc).partition(HEADING)
    place = SECTION.search(after if found else before)
    at = None if place is None else place.start()
    if not found:
        return before[:at], {}, "" if at is None else before[at:]
    entries = re.split(r"(?m)^(?=\w+ : )", after[:at])[1:]
    named = {one.partition(" : ")[0]: f"{one.rstrip()}\n" for one in entries}
    return before, named, "" if at is None else after[at:]


def _with_default(entry: str, default: object) -> str:
    """Return an entry of a different estimator with the default of this one."""
    return HEADER.sub(lambda found: found[1] + _shown(default), entry, count=1)


def _entry(name: str, default: object) -> str:
    """Return the entry of a parameter of the table."""
    parameter = PARAMETERS[name]
    text = textwrap.indent(textwrap.dedent(parameter.text).strip(), INDENT)
    return f"{name} : {parameter.kind}, default={_shown(default)}\n{text}\n"


def _shown(default: object) -> str:
    return json.dumps(default) if isinstance(default, str) else repr(default)
