"""Models in ONNX: importing this module lets skl2onnx convert them, in pipelines as well.

It needs skl2onnx (``pip install 'manyclass[onnx]'``). The outputs are those of skl2onnx's other
classifiers: ``label``, and ``probabilities`` of shape (n_samples, n_classes), which for a model
without probabilities holds the scores (of two classes: -s and s). Its options ``zipmap`` (a
dictionary for each row instead, unless it is False), ``raw_scores`` (scores also where there are
probabilities), ``nocl`` and ``output_class_labels`` work as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from manyclass.io.tensors import one_line
from manyclass.utils.pipelines import without_passthrough

try:
    import skl2onnx
    from skl2onnx.common import data_types
except ImportError as missing:
    raise ImportError(
        f"manyclass.onnx needs skl2onnx ({missing}); pip install 'manyclass[onnx]'"
    ) from missing

from manyclass.onnx.converters import OURS, register
from manyclass.onnx.refused_steps import check_steps

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["register", "to_onnx"]


def to_onnx(model: Any, dtype: DTypeLike = np.float32) -> ModelProto:
    """Convert a fitted model, or a pipeline that ends with one, to ONNX.

    What ``skl2onnx.to_onnx`` does with an input ``X`` of shape (n, n_features) and without maps.
    Call that for other inputs (such as text) and options.

    Parameters
    ----------
    model : MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier or Pipeline
        Or one with CV. Fitted, with classes that are whole numbers, bool or strings. A
        Pipeline ends with one of these; the converters of its other steps are skl2onnx's own.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the input, the weights and the scores. With float32, rows whose best two scores
        are equal up to float32's rounding may get another label.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label`` (n,), int64 or string, and ``probabilities`` (n, n_classes): of a
        model without probabilities the scores, of two classes -s and s.

    Raises
    ------
    TypeError
        If it is something else.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If dense weights take more than the 2 GB that a file of this kind holds, or overflow, the
        classes are of another kind, or a pipeline takes no table of numbers; if skl2onnx cannot
        convert a step, or gives it other results than scikit-learn does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC
    >>> from manyclass.onnx import to_onnx
    >>> model = MulticlassSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'probabilities']
    """
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, OURS):
        names = ", ".join(kind.__name__ for kind in OURS)
        hint = "; give its best_estimator_" if hasattr(last, "best_estimator_") else ""
        raise TypeError(
            f"to_onnx takes one of {names}, or a Pipeline that ends with one; "
            f"not {type(last).__name__}{hint}"
        )
    kind = _input_kind(dtype)
    if isinstance(model, Pipeline):
        model = without_passthrough(model)
        check_steps(model, double=kind is data_types.DoubleTensorType)
    check_is_fitted(model)
    width = getattr(model, "n_features_in_", None)
    if width is None:
        raise ValueError(
            f"{type(model.steps[0][1]).__name__} takes no table of numbers; call skl2onnx.to_onnx "
            "with the input's type (initial_types)"
        )
    options = {id(last): {"zipmap": False}}
    try:
        proto: ModelProto = skl2onnx.to_onnx(
            model, initial_types=[("X", kind([None, width]))], options=options
        )
    except RuntimeError as error:  # what skl2onnx does not know: NotImplementedError and others
        raise ValueError(f"skl2onnx cannot convert the pipeline: {one_line(error)}") from error
    return proto


def _input_kind(dtype: DTypeLike) -> Any:
    """Return skl2onnx's type of a table of numbers."""
    kinds = {"float32": data_types.FloatTensorType, "float64": data_types.DoubleTensorType}
    name = "None" if dtype is None else str(np.dtype(dtype))  # None would be float64
    if name not in kinds:
        raise ValueError(f"dtype must be float32 or float64, not {name}")
    return kinds[name]


register()
