"""What formulations are called on the command line."""

from __future__ import annotations

import argparse

from manyclass.problem.formulations import FORMULATIONS, SHORT_NAMES, full_name

LOGISTIC = "logistic"  # as a formulation: another estimator


def formulation_name(name: str) -> str:
    """Return the full name of a formulation."""
    full = full_name(name)
    if full not in FORMULATIONS:
        raise argparse.ArgumentTypeError(f"must be one of {formulation_names()}; not {name!r}")
    return full


def formulation_or_logistic(name: str) -> str:
    """Return the full name of what ``manyclass train`` trains."""
    if name == LOGISTIC:
        return name
    try:
        return formulation_name(name)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(str(error).replace("; not", ", logistic; not")) from None


def formulation_names() -> str:
    """List all formulations, with their short names."""
    short = {full: f" ({short})" for short, full in SHORT_NAMES.items()}
    return ", ".join(name + short.get(name, "") for name in FORMULATIONS)
