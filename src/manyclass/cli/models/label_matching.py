"""Labels of a file: what may be trained on, and weights of classes that are given by them."""

from __future__ import annotations

import argparse
import contextlib
from typing import Protocol

import numpy as np

from manyclass.cli.console import UsageError
from manyclass.cli.options import BALANCED
from manyclass.utils.types import Array, ClassWeight, Label


class Weighted(Protocol):
    """An estimator with weights of classes."""

    class_weight: ClassWeight


def check_labels(path: str, labels: Array) -> None:
    """Refuse labels of a file that name no classes to tell apart.

    Parameters
    ----------
    path : str
        The file, for the message.
    labels : ndarray

    Raises
    ------
    ValueError
        If there is one class only, or a number that is not whole.
    """
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            f"{path}: every row has the label {classes[0]}; training needs at least two classes"
        )
    if labels.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise ValueError(
            f"{path}: the label {classes[classes != np.rint(classes)][0]} is not a whole number, "
            "as in a regression; name classes by whole numbers or words"
        )


def weigh_classes(model: Weighted, args: argparse.Namespace, y: Array) -> None:
    """Set the weights of classes that the command line gives by their labels.

    Raises
    ------
    UsageError
        If no row has such a label, or two entries are of the same one.
    """
    given = dict(entry for entry in args.class_weight or [] if entry != BALANCED)
    if not given:
        return
    classes = np.unique(y).tolist()
    by_text = {str(label): label for label in classes}
    numbers = {} if y.dtype.kind in "UO" else {float(label): label for label in classes}
    weights: dict[Label, float] = {}
    for text, weight in given.items():
        label = by_text.get(text, numbers.get(_as_float(text)))
        if label is None:
            raise UsageError(f"argument --class-weight: no row of {args.data} has the label {text}")
        if label in weights:
            raise UsageError(f"argument --class-weight: the label {label} is given twice")
        weights[label] = weight
    model.class_weight = weights


def _as_float(text: str) -> float:
    with contextlib.suppress(ValueError):
        return float(text)
    return float("nan")
