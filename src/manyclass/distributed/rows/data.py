"""Rows of several ranks as parts of one data set: the same columns, the union of their classes.

A part may be empty, have one row, or lack some of the classes.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from manyclass.distributed.communicator import Communicator
from manyclass.distributed.consensus import known_to_all
from manyclass.estimators.validation import check_scaling, class_weights
from manyclass.problem.dataset import Dataset
from manyclass.utils.types import Array, ClassWeight, Rows, Settings

KINDS = {"i": "whole numbers", "u": "whole numbers", "b": "booleans", "f": "numbers"}


def part_of(
    ranks: Communicator,
    X: Rows,
    y: Array,
    weights: NDArray[np.float64],
    class_weight: ClassWeight,
    bias: float,
    names: list[str] | None,
) -> tuple[Dataset, Array]:
    """Turn the validated rows of this rank into its part of the data set.

    Parameters
    ----------
    ranks : Communicator
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        Of the rows, not negative.
    class_weight : dict, "balanced" or None
    bias : float
        Value of the appended constant feature; 0 = no intercept.
    names : list of str or None
        Of the columns.

    Returns
    -------
    Dataset
        Its rows of a positive weight; there may be none.
    ndarray of shape (k,)
        The classes of all parts, ascending.

    Raises
    ------
    ValueError
        On every rank, in the same words.
    """
    own, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weights, minlength=len(own))
    has = totals > 0
    about: Settings = {
        "features": X.shape[1],
        "names": names,
        "dtype": str(X.dtype),
        "kind": KINDS.get(y.dtype.kind, "text"),
        "y": str(y.dtype),
        "classes": own[has].tolist(),
        "totals": totals[has].tolist(),
    }
    parts = _gathered(ranks, about)
    try:
        filled = _checked(parts)
        dtype = np.dtype(filled[0]["dtype"])
        check_scaling(bias, dtype)
        classes, of_class = _classes(filled, class_weight)
    except ValueError as error:
        raise known_to_all(error, 0) from None
    weights = weights * _of_rows(y, classes, of_class)
    kept = np.flatnonzero(weights)
    if len(kept) < len(y):
        X, y, weights = X[kept], y[kept], weights[kept]
    if not len(y):
        X = X.astype(dtype)
    return Dataset.from_matrix(
        X,
        np.searchsorted(classes, y),
        n_classes=len(classes),
        weights=weights,
        bias=bias,
    ), classes


def _gathered(ranks: Communicator, about: Settings) -> list[Settings]:
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    return [json.loads(one.tobytes()) for one in ranks.all_gather(text)]


def _checked(parts: list[Settings]) -> list[Settings]:
    """Return what is known of the parts with rows; name the first that does not fit the others."""
    filled = [(part, about) for part, about in enumerate(parts) if about["classes"]]
    if not filled:
        raise ValueError("training needs rows with a positive weight; no part has one")
    first, model = filled[0]
    for part, about in enumerate(parts):
        if about["features"] != model["features"]:
            raise ValueError(
                f"X of part {part} has {about['features']} features, that of part {first} "
                f"{model['features']}; give every part the same columns"
            )
    for part, about in filled:
        if about["names"] != model["names"]:
            raise ValueError(
                f"the columns of part {part} have other names than those of part {first}; give "
                "every part the same columns in the same order"
            )
        if about["dtype"] != model["dtype"]:
            raise ValueError(
                f"X of part {part} is {about['dtype']}, that of part {first} {model['dtype']}; "
                "convert every part to one of them"
            )
        if about["kind"] != model["kind"]:
            raise ValueError(
                f"y of part {part} holds {about['kind']}, that of part {first} {model['kind']}; "
                "name the classes in the same way in every part"
            )
    return [about for _, about in filled]


def _classes(parts: list[Settings], class_weight: ClassWeight) -> tuple[Array, NDArray[np.float64]]:
    """Return the classes of a positive weight, and those weights."""
    named = [np.array(about["classes"], about["y"]) for about in parts]
    classes, codes = np.unique(np.concatenate(named), return_inverse=True)
    of_parts = np.concatenate([np.array(about["totals"], np.float64) for about in parts])
    totals = np.bincount(codes, of_parts).astype(np.float64)
    of_class = class_weights(class_weight, classes, totals)
    has = of_class > 0
    if has.sum() < 2:
        found = f"one class, {classes[has].tolist()[0]!r}" if has.any() else "no row"
        raise ValueError(
            "training needs rows of at least two classes with a positive weight; in all parts "
            f"there is {found}"
        )
    return classes[has], of_class[has]


def _of_rows(y: Array, classes: Array, of_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each row's class, 0 where it is none of the classes."""
    if not len(y):
        return np.zeros(0)
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[at] == y, of_class[at], 0.0)
