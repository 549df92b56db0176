"""Messages of the library, in the terms of the command line."""

from __future__ import annotations

import argparse
import re

FLAGS = {"C": "-C"}
# Parameters that messages advise, and those of them that are meant only where = follows.
SWITCHES = {
    "zero_based",
    "sort",
    "sum_duplicates",
    "early_stopping",
    "weights",
    "loss",
    "solver",
    "stopping",
    "number_labels",
}
ADVISED = SWITCHES | {"n_features", "max_iter", "tol", "alpha", "C", "batch_size", "max_steps"}


def in_flags(text: str, args: argparse.Namespace) -> str:
    """Return a message whose advice, behind its last ; or :, names flags in place of parameters.

    What comes before may be the name of a file or what it holds, and stays, but for a value of
    --bias.
    """
    if hasattr(args, "bias"):
        text = re.sub(r"(^|: )intercept_scaling=", r"\1--bias ", text)
    cut = max(text.rfind(mark) for mark in ("; ", ": ")) + 1
    advice = text[cut:]
    folder = getattr(args, "checkpoint", None)
    advice = advice.replace("resume=True", f"--resume {folder}")
    advice = advice.replace("resume=False", f"--checkpoint {folder}")
    uses = "use" if hasattr(args, "dtype") else "train with"
    advice = re.sub(r"\buse (float32|float64)\b", rf"{uses} --dtype \1", advice)
    for name in ADVISED & vars(args).keys():
        advice = _with_flag(advice, name, FLAGS.get(name, "--" + name.replace("_", "-")))
    return text[:cut] + advice


def _with_flag(advice: str, name: str, flag: str) -> str:
    word = rf"(?<![\w./-]){name}"
    advice = re.sub(rf"use {name}=False\b", f"leave out {flag}", advice)
    advice = re.sub(rf"{word}=True\b", flag, advice)
    advice = re.sub(rf"{word}='(\w+)'", rf"{flag} \1", advice)
    return advice if name in SWITCHES else re.sub(rf"{word}(?![\w./=-])", flag, advice)
