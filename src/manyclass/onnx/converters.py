"""Converters of the classifiers for skl2onnx, which calls them with fitted models and pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import skl2onnx
from onnx import TensorProto, numpy_helper
from skl2onnx.common import data_types
from skl2onnx.common.utils import check_input_and_output_numbers
from skl2onnx.common.utils_classifier import get_label_classes

from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.stochastic import StochasticClassifier
from manyclass.estimators.svc import MulticlassSVC
from manyclass.model_selection.estimators import MulticlassSVCCV, MultinomialLogisticRegressionCV
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.utils.types import Array, DType

MAX_BYTES = (1 << 31) - (1 << 20)  # of a file of protocol buffers, less what is not weights
OURS = (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    MulticlassSVCCV,
    MultinomialLogisticRegressionCV,
)
BOTH = [True, False]
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": BOTH,
    "output_class_labels": BOTH,
    "raw_scores": BOTH,
}


def register() -> None:
    """Register the converters with skl2onnx, which importing ``manyclass.onnx`` does."""
    for kind in OURS:
        skl2onnx.update_registered_converter(
            kind,
            f"Manyclass{kind.__name__}",
            _set_shapes,
            _convert,
            options=OPTIONS,
        )


def _set_shapes(operator: Any) -> None:
    """Set the types and shapes of the outputs, before the conversion."""
    check_input_and_output_numbers(operator, input_count_range=1, output_count_range=2)
    model = operator.raw_operator
    _check_classes(model.classes_)
    n_rows = operator.inputs[0].get_first_dimension()
    names = _is_text(get_label_classes(operator.scope_inst, model))
    label = data_types.StringTensorType if names else data_types.Int64TensorType
    operator.outputs[0].set_type(label([n_rows]))
    operator.outputs[1].type.shape = [n_rows, len(model.classes_)]


def _is_text(classes: Array) -> bool:
    return all(isinstance(name, str) for name in classes.tolist())


def _check_classes(classes: Array) -> None:
    if _is_text(classes):
        for name in classes.tolist():
            _encoded(name)
        return
    whole = classes.dtype.kind == "b" or (
        classes.dtype.kind in "iuf"
        and (classes == np.rint(classes)).all()
        and float(np.abs(classes.astype(np.float64)).max()) < 2.0**63
    )
    if not whole:
        raise ValueError("ONNX holds classes that are whole numbers or strings, and no others")


def _encoded(name: str) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the class {name!r} has no place in ONNX, whose strings are UTF-8 ({error.reason}); "
            "rename it"
        ) from error


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph: scores, the largest one's label, and probabilities or scores."""
    graph = _Graph(scope, container)
    given, X = operator.raw_operator, operator.inputs[0].full_name
    model = getattr(given, "best_estimator_", given)  # of one with CV
    dtype: DType = np.dtype(np.float32)
    if isinstance(operator.inputs[0].type, data_types.DoubleTensorType):
        dtype = np.dtype(np.float64)
    elif not isinstance(operator.inputs[0].type, data_types.FloatTensorType):
        X = graph.node("Cast", [X], to=TensorProto.FLOAT)
    weights = graph.constant("coef", _weights(model, dtype))
    intercept = graph.constant("intercept", _rounded(model.intercept_, dtype))
    scores = graph.node("Add", [graph.node("MatMul", [X, weights]), intercept])
    binary = len(model.classes_) == 2
    if binary:
        scores = graph.node("Concat", [graph.node("Neg", [scores]), scores], axis=1)
    label, shown = (output.full_name for output in operator.outputs)
    best = graph.node("ArgMax", [scores], axis=1, keepdims=0)
    graph.node("Gather", [graph.labels(get_label_classes(scope, given)), best], label, axis=0)
    raw = container.get_options(given, {"raw_scores": False})["raw_scores"]
    if raw or model.loss != "log_loss":
        graph.node("Identity", [scores], shown)
    elif binary:
        graph.node("Sigmoid", [scores], shown)
    else:
        graph.node("Softmax", [scores], shown, axis=1)


class _Graph:
    """Adds nodes and constants to the graph that skl2onnx builds."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def node(
        self, kind: str, inputs: list[str], output: str | None = None, **attributes: int
    ) -> str:
        """Add a node of one output, and return the output's name."""
        name = output or self._scope.get_unique_variable_name(kind.lower())
        operator = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, inputs, name, name=operator, **attributes)
        return name

    def constant(self, what: str, values: Array) -> str:
        """Add numbers, and return their name."""
        name: str = self._scope.get_unique_variable_name(what)
        self._container.add_initializer(name, None, None, numpy_helper.from_array(values))
        return name

    def labels(self, classes: Array) -> str:
        """Add classes, and return their name."""
        if not _is_text(classes):
            return self.constant("classes", classes.astype(np.int64))
        name: str = self._scope.get_unique_variable_name("classes")
        texts = [_encoded(text) for text in classes.tolist()]
        self._container.add_initializer(name, TensorProto.STRING, [len(texts)], texts)
        return name


def _weights(model: Any, dtype: DType) -> Array:
    """Return dense weights of shape (n_features, n_scores)."""
    coef = model._coefficients
    n_bytes = coef.shape[0] * coef.shape[1] * dtype.itemsize
    if n_bytes > MAX_BYTES:
        raise ValueError(
            f"dense weights of {coef.shape[0]} classes and {coef.shape[1]} features take "
            f"{n_bytes / 1e9:.1f} GB, and an ONNX file holds 2 GB; keep the model in "
            "manyclass's own file (save_model), which may be sparse"
        )
    dense = coef.toarray() if isinstance(coef, SparseCoefficients) else coef
    return _rounded(dense.T, dtype)


def _rounded(values: Array, dtype: DType) -> Array:
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(values, dtype)
    if not np.isfinite(rounded).all():
        raise ValueError(f"weights are not finite in {dtype}; use float64")
    return rounded
