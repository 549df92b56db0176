"""Rows of several ranks as parts of one data set: the same columns, the union of their classes.

A part may be empty, have one row, or lack some of the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from manyclass.arrays.dataset import DeviceDataset, training_type
from manyclass.arrays.input_arrays import on_host, rows_of
from manyclass.arrays.namespace import is_on_device
from manyclass.distributed.communicator import Communicator, gather_json
from manyclass.distributed.consensus import known_to_all
from manyclass.estimators.validation import check_scaling, checked_weights, class_weights
from manyclass.problem.dataset import Dataset
from manyclass.utils.fingerprints import Facts
from manyclass.utils.input_rows import is_sparse
from manyclass.utils.types import Array, ClassWeight, DType, Rows, Settings

KINDS = {"i": "whole numbers", "u": "whole numbers", "b": "booleans", "f": "numbers"}


@dataclass(frozen=True, slots=True, eq=False)
class GlobalInfo:
    """What all parts have in common."""

    dtype: DType
    classes: Array  # of all parts, ascending
    of_class: NDArray[np.float64]  # their weights
    bias: float  # value of the appended constant feature; 0 = no intercept


def part_of(
    ranks: Communicator,
    X: Rows,
    y: Array,
    weights: NDArray[np.float64],
    class_weight: ClassWeight,
    bias: float,
    names: list[str] | None,
) -> tuple[Dataset, Array]:
    """Turn the validated rows of this rank into its part of the data; return the classes of all.

    The part has the rows of a positive weight; there may be none. `bias` is the value of the
    appended constant feature, or 0; `names` are those of the columns. Errors are the same on every
    rank.
    """
    parts = gather_json(ranks, about_rows(X, y, weights, names))
    try:
        common = global_info(parts, class_weight, bias)
    except ValueError as error:
        raise known_to_all(error, 0) from None
    return dataset_of(X, y, weights, common), common.classes


def about_rows(
    X: Rows, y: Array, weights: NDArray[np.float64], names: list[str] | None
) -> Settings:
    """Return the facts about the validated rows of a part for the other parts, as JSON values."""
    dtype = training_type(X) if is_on_device(X) else X.dtype
    own, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weights, minlength=len(own))
    has = totals > 0
    return {
        "features": X.shape[1],
        "names": names,
        "dtype": str(dtype),
        "on_device": is_on_device(X),
        "kind": KINDS.get(y.dtype.kind, "text"),
        "y": str(y.dtype),
        "classes": own[has].tolist(),
        "totals": totals[has].tolist(),
    }


def global_info(parts: list[Settings], class_weight: ClassWeight, bias: float) -> GlobalInfo:
    """Return the facts that parts share, from the facts of each part (``about_rows``).

    Refuse a part that does not fit the others, by its number, and fewer than two classes.
    """
    filled = _checked(parts)
    dtype = np.dtype(filled[0]["dtype"])
    check_scaling(bias, dtype)
    return GlobalInfo(dtype, *_classes(filled, class_weight), bias)


def dataset_of(X: Rows, y: Array, weights: NDArray[np.float64], common: GlobalInfo) -> Dataset:
    """Turn the validated rows of a part with a positive weight into a data set.

    Rows on a device stay there; without rows, the data set is in host memory.
    """
    weights = weights * _of_rows(y, common.classes, common.of_class)
    kept = np.flatnonzero(weights)
    if len(kept) < len(y):
        X, y, weights = rows_of(X, kept), y[kept], weights[kept]
    labels = np.searchsorted(common.classes, y)
    sizes: Settings = {"n_classes": len(common.classes), "bias": common.bias}
    if is_on_device(X) and len(y):
        return DeviceDataset.from_array(X, labels, weights, **sizes)
    if not len(y):
        no_row = X if is_sparse(X) else np.empty(X.shape)
        X = no_row.astype(common.dtype)
    return Dataset.from_matrix(X, labels, weights=weights, **sizes)


def weights_of(rows: Rows, sample_weight: ArrayLike | None) -> Array:
    """Return the weights of the rows of a part, which may all be zero."""
    n = rows.shape[0]
    is_given = sample_weight is not None
    given = np.asarray(on_host(sample_weight, "sample_weight")) if is_given else np.ones(n)
    if not n or not np.any(given):
        if is_given:
            check_consistent_length(np.empty(n), given)
        return np.zeros(n)
    return checked_weights(sample_weight, rows)


def facts_of_parts(facts: Facts, parts: list[Facts]) -> Facts:
    """Return the facts that identify the problem of all parts, from the facts of each part."""
    of_all = {"rows": str(sum(int(part["rows"]) for part in parts))}
    for name in ("X", "y", "weights of rows and classes"):
        of_all[name] = " ".join(part[name] for part in parts)
    return {**facts, **of_all}


def _checked(parts: list[Settings]) -> list[Settings]:
    """Return the facts of the parts with rows; raise an error for the first that differs."""
    numbers = [about.get("part", i) for i, about in enumerate(parts)]
    filled = [(i, about) for i, about in zip(numbers, parts, strict=True) if about["classes"]]
    if not filled:
        raise ValueError("training needs rows with a positive weight; no part has one")
    first, model = filled[0]
    for part, about in zip(numbers, parts, strict=True):
        if about["features"] != model["features"]:
            raise ValueError(
                f"X of part {part} has {about['features']} features, but X of part {first} "
                f"has {model['features']}; give every part the same columns"
            )
    for part, about in filled:
        if about["names"] != model["names"]:
            raise ValueError(
                f"the columns of part {part} have different names than in part {first}; give "
                "every part the same columns in the same order"
            )
        if about["on_device"] != model["on_device"]:
            there, here = (part, first) if about["on_device"] else (first, part)
            raise ValueError(
                f"X of part {there} is on a device, but X of part {here} in host memory; give "
                "all parts as arrays of one kind, or pass device="
            )
        if about["dtype"] != model["dtype"]:
            raise ValueError(
                f"X of part {part} is {about['dtype']}, but X of part {first} {model['dtype']}; "
                "convert every part to one of them"
            )
        if about["kind"] != model["kind"]:
            raise ValueError(
                f"y of part {part} holds {about['kind']}, but y of part {first} {model['kind']}; "
                "name the classes in the same way in every part"
            )
    return [about for _, about in filled]


def _classes(parts: list[Settings], class_weight: ClassWeight) -> tuple[Array, NDArray[np.float64]]:
    """Return the classes with a positive weight, and their weights."""
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
    """Return the weight of each row's class; 0 if it is not one of the classes."""
    if not len(y):
        return np.zeros(0)
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[at] == y, of_class[at], 0.0)
