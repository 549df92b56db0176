"""Pipeline steps that skl2onnx (1.20) converts to graphs that predict other labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, Normalizer
from sklearn.utils.validation import check_is_fitted


class Refusal(NamedTuple):
    """A kind of step, and when it is refused.

    Attributes
    ----------
    kind : type
        Of the step.
    parameter : str
        Their wrong result.
    applies : callable
        Takes the step and whether the graph is of float64.
    why : str
        What is wrong, and what to do.
    """

    kind: type[Any]
    parameter: str
    applies: Callable[[Any, bool], bool]
    why: str


NAN = "in float64 skl2onnx gives NaN for rows of zeros; use float32"
REFUSED = (
    Refusal(
        MaxAbsScaler,
        "clip",
        lambda step, _: bool(getattr(step, "clip", False)),
        "skl2onnx does not clip; train with clip=False",
    ),
    Refusal(
        TfidfTransformer,
        "sublinear_tf",
        lambda step, _: bool(step.sublinear_tf),
        "skl2onnx takes other logarithms; train with sublinear_tf=False",
    ),
    Refusal(
        TfidfTransformer,
        "smooth_idf",
        lambda step, _: bool(np.isinf(getattr(step, "idf_", 0.0)).any()),
        "a column without entries has an infinite weight, and skl2onnx gives NaN; train with "
        "smooth_idf=True",
    ),
    Refusal(TfidfTransformer, "norm", lambda step, double: double and step.norm is not None, NAN),
    Refusal(
        Normalizer,
        "norm",
        lambda step, _: bool(step.norm == "max"),
        "skl2onnx takes the largest value, not the largest absolute value; train with norm='l2'",
    ),
    Refusal(Normalizer, "norm", lambda _, double: double, NAN),
)


def check_steps(pipeline: Any, *, double: bool) -> None:
    """Refuse steps that are not fitted, and those that would predict otherwise."""
    for _, step in pipeline.steps:
        check_is_fitted(step)
    for name, step in pipeline.get_params().items():  # those within others, too
        for refused in REFUSED:
            if isinstance(step, refused.kind) and refused.applies(step, double):
                value = getattr(step, refused.parameter)
                raise ValueError(
                    f"to_onnx cannot convert the step {name!r}, a {type(step).__name__} with "
                    f"{refused.parameter}={value!r}: {refused.why}"
                )
