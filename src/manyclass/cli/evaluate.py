"""``manyclass evaluate``: compare predictions with the labels of a file."""

from __future__ import annotations

import argparse
import contextlib
import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.cli.console import be_quiet, count, say
from manyclass.cli.data import load_for, read_for
from manyclass.cli.predict import FEATURES

LABELS = f"""\
{FEATURES}
How labels are compared: when the file's labels and the model's classes are both numbers, or both
text, as they are (1 equals 1.0, 'cat' equals 'cat'). When one side is text, what reads as a number
there counts as that number. A label that equals no class of the model counts as an error.
"""


def evaluate(args: argparse.Namespace) -> None:
    """Run ``manyclass evaluate``."""
    model = load_for(args)
    X, y = read_for(args, model, be_quiet if args.json else say)
    scores, n_unseen = compare(model.classes_, y, model.predict(X))
    if n_unseen:
        warnings.warn(
            f"{args.data}: {count(n_unseen, 'row')} with a label that is no class of the "
            "model; counted as errors",
            stacklevel=2,
        )
    if args.json:
        say(json.dumps(scores))
        return
    say(f"accuracy  {100 * scores['accuracy']:6.2f} %  (and micro F1: one label per row)")
    say(f"macro F1  {100 * scores['macro_f1']:6.2f} %")


def compare(
    classes: NDArray[Any], truth: NDArray[Any], predicted: NDArray[Any]
) -> tuple[dict[str, float], int]:
    """Score predictions, over the labels that occur in them or in the truth.

    When the labels and the classes are both numbers, or both text, they are compared as they are.
    When one side is text, what reads as a number there counts as that number.

    Parameters
    ----------
    classes, truth, predicted : ndarray
        Classes of a model, labels of a file (at least one), labels that the model predicts for it.

    Returns
    -------
    scores : dict
        accuracy, micro_f1, macro_f1, n.
    n_unseen : int
        How many labels of the file are none of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from manyclass.cli.evaluate import compare
    >>> scores, n_unseen = compare(np.array([1, 2]), np.array(["1.0", "dog"]), np.array([1, 2]))
    >>> scores["accuracy"], n_unseen
    (0.5, 1)
    """
    true, guessed, n_known = _common_codes(classes, truth, predicted)
    return _scores(true, guessed), int(np.count_nonzero(true >= n_known))


def _common_codes(
    classes: NDArray[Any], truth: NDArray[Any], predicted: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Give every label a number, equal labels the same one; those of the classes come first.

    Returns the numbers of ``truth``, of ``predicted``, and how many belong to the classes.
    """
    alike = (classes.dtype.kind in "UO") == (truth.dtype.kind in "UO")
    codes: dict[Any, int] = {}

    def number(labels: NDArray[Any]) -> NDArray[Any]:
        names, positions = np.unique(labels, return_inverse=True)
        keys = names.tolist() if alike else map(_number_or_text, names.tolist())
        return np.array([codes.setdefault(key, len(codes)) for key in keys])[positions]

    number(classes)
    n_known = len(codes)
    return number(truth), number(predicted), n_known


def _number_or_text(label: Any) -> Any:
    if isinstance(label, str) and "_" not in label:  # Python reads 1_000 as a number
        for convert in (int, float):
            with contextlib.suppress(ValueError):
                return convert(label)
    return label


def _scores(truth: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Accuracy and F1 of labels given as numbers."""
    size = 1 + max(int(truth.max()), int(predicted.max()))
    hits = np.bincount(truth[truth == predicted], minlength=size)
    uses = np.bincount(truth, minlength=size) + np.bincount(predicted, minlength=size)
    accuracy = float(np.mean(truth == predicted))
    return {
        "accuracy": accuracy,
        "micro_f1": accuracy,  # the same, as every row has one label and gets one
        "macro_f1": float(np.mean(2 * hits[uses > 0] / uses[uses > 0])),
        "n": len(truth),
    }


def check_labels(path: str, labels: NDArray[Any]) -> None:
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
