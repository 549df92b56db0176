"""Options of the command line that are parameters of an estimator, from the table of parameters."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import TYPE_CHECKING

from manyclass.cli.console import CommandParser, not_negative, positive, positive_int, seed
from manyclass.estimators.parameters.description import Names, Parameter, Range
from manyclass.estimators.parameters.table import PARAMETERS

if TYPE_CHECKING:
    from manyclass.utils.types import Settings

NEGATION = "--no-"  # of a parameter that is on by default
# Flags that are not the parameter's name.
FLAGS = {
    name: described.option.flags[0]
    for name, described in PARAMETERS.items()
    if described.option is not None and described.option.flags
}
# Options that are not parameters but occur in advice.
OTHER_OPTIONS = {"zero_based", "sort", "sum_duplicates", "encode_labels", "n_features"}
# Names of parameters in advice, next to counts such as max_iter; other names mean a parameter only
# if = follows.
WORDS = {"C", "alpha", "n_features", "tol"}


def flag_of(name: str) -> str:
    """Return the flag of a parameter or other option by its name."""
    return "-C" if name == "C" else FLAGS.get(name, "--" + name.replace("_", "-"))


def attribute_of(name: str) -> str:
    """Return the attribute of the parsed arguments for a parameter."""
    return flag_of(name).lstrip("-").replace("-", "_")


def add_parameters(group: CommandParser | argparse._ArgumentGroup, *names: str) -> None:
    """Add the options of these parameters; options that are not given are None."""
    for name in names:
        add_parameter(group, name)


def add_parameter(
    group: CommandParser | argparse._ArgumentGroup, name: str, **changes: object
) -> None:
    """Add the option of a parameter; changes replace what the table says."""
    described = PARAMETERS[name]
    assert described.option is not None
    values = {} if "type" in changes else _values(described)
    settings: Settings = {"help": described.option.help, **values, **changes}
    if settings.get("action") != "store_true" and "choices" not in settings:
        settings.setdefault("metavar", described.option.metavar)
    group.add_argument(flag_of(name), **settings)


def _values(described: Parameter) -> Settings:
    """Return the arguments of ``add_argument`` for the values of a parameter."""
    flags = described.option.flags if described.option is not None else ()
    if "boolean" in described.allowed or any(flag.startswith(NEGATION) for flag in flags):
        return {"action": "store_true", "default": None}
    if "random_state" in described.allowed:
        return {"type": seed}
    first = described.allowed[0]
    if isinstance(first, Names):
        return {"choices": list(first.names)}
    return {"type": _converter(first)} if isinstance(first, Range) else {}


def _converter(allowed: Range) -> Callable[[str], float]:
    if allowed.kind is Integral:
        return positive_int
    return not_negative if allowed.closed == "left" else positive


def given_parameters(args: argparse.Namespace, names: Iterable[str]) -> Settings:
    """Return the values of the parameters that the command line gives."""
    found = {}
    for name in names:
        described = PARAMETERS.get(name)
        value = getattr(args, attribute_of(name), None)
        if described is None or described.option is None or value is None:
            continue
        found[name] = _value(name, value)
    return found


def foreign_options(
    args: argparse.Namespace, estimators: Iterable[type], others: Iterable[str] = ()
) -> list[str]:
    """Return the given options whose parameters do not exist in any of these estimators.

    `others` are further options that they lack.
    """
    from manyclass.estimators.parameters.documented import defaults_of

    known = set().union(*map(defaults_of, estimators))
    names = [n for n, one in PARAMETERS.items() if one.option is not None and n not in known]
    return [n for n in (*others, *names) if getattr(args, attribute_of(n), None) is not None]


def _value(name: str, value: object) -> object:
    """Return the value of a parameter; negating flags have the opposite value."""
    if not flag_of(name).startswith(NEGATION):
        return value
    return not value if "boolean" in PARAMETERS[name].allowed else (False if value else "auto")


def in_flags(text: str, args: argparse.Namespace) -> str:
    """Replace the parameters in a message's advice, after its last ; or :, by flags.

    The text before may be the name or content of a file and does not change, except for
    intercept_scaling= and --taxonomy.
    """
    if hasattr(args, "bias"):
        text = re.sub(r"(^|: )intercept_scaling=", r"\1--bias ", text)
    if flag := getattr(getattr(args, "taxonomy", None), "flag", None):
        text = re.sub(r"--taxonomy(?![\w-])", flag, text)
    cut = max(text.rfind(mark) for mark in ("; ", ": ")) + 1
    advice = text[cut:]
    folder = getattr(args, "checkpoint", None)
    advice = advice.replace("resume=True", f"--resume {folder}")
    advice = advice.replace("resume=False", f"--checkpoint {folder}")
    advice = re.sub(r"\b(label|features)=", r"--\1", advice)
    uses = "use" if hasattr(args, "dtype") else "train with"
    advice = re.sub(r"\buse (float32|float64)\b", rf"{uses} --dtype \1", advice)
    for name in (*PARAMETERS, *OTHER_OPTIONS):
        if hasattr(args, attribute_of(name)):
            advice = _with_flag(advice, name)
    return text[:cut] + advice


def _with_flag(advice: str, name: str) -> str:
    word, flag = rf"(?<![\w./-]){name}", flag_of(name)
    off = f"use {flag}" if flag.startswith(NEGATION) else f"leave out {flag}"
    advice = re.sub(rf"use {name}=False\b", off, advice)
    advice = re.sub(rf"{word}=True\b", flag, advice)
    advice = re.sub(rf"{word}='(\w+)'", rf"{flag} \1", advice)
    is_plain = name in WORDS or (name in PARAMETERS and _is_counted(PARAMETERS[name]))
    return re.sub(rf"(?<!['\"]){word}(?![\w./=-])", flag, advice) if is_plain else advice


def _is_counted(described: Parameter) -> bool:
    """Whether a parameter is a number of something, as max_iter is."""
    first = described.allowed[0]
    return isinstance(first, Range) and first.kind is Integral
