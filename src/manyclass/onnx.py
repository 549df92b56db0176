"""Export to ONNX: importing this module registers the models with skl2onnx.

It needs skl2onnx (``pip install skl2onnx``), which then also converts pipelines with these models.
The outputs are the same as for the classifiers of skl2onnx: ``label``, and ``probabilities`` of
shape (n_samples, n_classes). For a model without probabilities, the second output holds the scores
(with two classes: -s and s); ``to_onnx`` names it ``scores``. The options of skl2onnx are
supported: ``zipmap`` (unless it is False, a dictionary for each row), ``raw_scores`` (scores
instead of probabilities), ``nocl`` and ``output_class_labels``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer
from sklearn.utils.validation import check_is_fitted

try:
    import skl2onnx
    from onnx import TensorProto
    from skl2onnx.common import data_types
    from skl2onnx.common.utils import check_input_and_output_numbers
    from skl2onnx.common.utils_classifier import get_label_classes

    from manyclass.onnx_text import (
        Graph,
        check_vectorizers,
        register_tfidf,
        text_inputs,
        vectorizers_of,
        with_split_terms,
    )
except ImportError as missing:
    raise ImportError(
        f"manyclass.onnx needs skl2onnx ({missing}); pip install skl2onnx"
    ) from missing

from manyclass.estimators.coefficients import WithCoefficients, coefficients_of
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.stochastic.classifier import StochasticClassifier
from manyclass.estimators.svc import MulticlassSVC
from manyclass.io.tensors import one_line
from manyclass.model_selection.estimators import MulticlassSVCCV, MultinomialLogisticRegressionCV
from manyclass.model_selection.multilabel import MultilabelSVCCV
from manyclass.model_selection.search import current_estimator
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.utils.scikit_learn import without_passthrough
from manyclass.utils.types import Array, DType, Settings

if TYPE_CHECKING:
    from onnx import ModelProto
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Operator, Scope

__all__ = ["register", "to_onnx"]

MAX_BYTES = (1 << 31) - (1 << 20)  # of a protocol buffer file, minus the content besides weights
OURS = (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    MulticlassSVCCV,
    MultinomialLogisticRegressionCV,
    MultilabelSVC,
    MultilabelSVCCV,
)
BOTH = [True, False]
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": BOTH,
    "output_class_labels": BOTH,
    "raw_scores": BOTH,
}
NAN = "in float64 skl2onnx gives NaN for rows of zeros; use float32"
# Steps for which skl2onnx 1.20 gives different results: the parameter, a function (of the step and
# of whether the graph is in float64) that returns whether results differ, and the advice.
Refusal = tuple[type[BaseEstimator], str, Callable[[BaseEstimator, bool], bool], str]
REFUSED: tuple[Refusal, ...] = (
    (
        MaxAbsScaler,
        "clip",
        lambda step, _: bool(getattr(step, "clip", False)),
        "skl2onnx does not clip; train with clip=False",
    ),
    (
        TfidfTransformer,
        "smooth_idf",
        lambda step, _: bool(np.isinf(getattr(step, "idf_", 0.0)).any()),
        "a column without entries has an infinite weight, and skl2onnx gives NaN; train with "
        "smooth_idf=True",
    ),
    (TfidfTransformer, "norm", lambda step, double: double and step.norm is not None, NAN),
    (
        Normalizer,
        "norm",
        lambda step, _: bool(step.norm == "max"),
        "skl2onnx takes the largest value, not the largest absolute value; train with norm='l2'",
    ),
    (Normalizer, "norm", lambda _, double: double, NAN),
)


NO_PATH = "; it takes no path: Path(path).write_bytes(to_onnx(model).SerializeToString())"


def register() -> None:
    """Register the converters with skl2onnx; importing ``manyclass.onnx`` calls this function."""
    for kind in OURS:
        skl2onnx.update_registered_converter(
            kind, f"Manyclass{kind.__name__}", _set_shapes, _convert, options=OPTIONS
        )
    register_tfidf()


def to_onnx(model: ClassifierMixin | Pipeline, dtype: DTypeLike = np.float32) -> ModelProto:
    """Convert a fitted model, or a pipeline that ends with one, to ONNX.

    Calls ``skl2onnx.to_onnx`` with an input ``X`` of shape (n, n_features) and ``zipmap=False``. A
    pipeline that begins with a vectorizer has an input ``text`` of strings of shape (n, 1). With a
    ColumnTransformer of vectorizers, there is an input for each column, with its name. Call
    ``skl2onnx.to_onnx`` for other inputs and options.

    Parameters
    ----------
    model : MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier, MultilabelSVC
        A fitted model, also with CV, or a Pipeline that ends with one. The other steps are
        converted by skl2onnx. The classes must be whole numbers, bool or strings.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the input, the weights and the scores. With float32, rows whose best two scores
        are equal up to rounding in float32 may get a different label.

    Returns
    -------
    onnx.ModelProto
        Graph with the outputs ``label`` of shape (n,), int64 or string, and ``probabilities`` of
        shape (n, n_classes). A model without probabilities has ``scores`` of shape (n, n_classes)
        instead, with two classes -s and s. For a MultilabelSVC, ``label`` has the shape
        (n, n_labels), with 0 or 1, int64, in the order of ``classes_``.

    Raises
    ------
    TypeError
        If `model` is not one of these.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If dense weights need more than 2 GB, the limit of ONNX files, or overflow; if the classes
        have a different type; if the input of a pipeline is not a table of numbers; if skl2onnx
        cannot convert a step, or converts it to different results than scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC
    >>> from manyclass.onnx import to_onnx
    >>> model = MulticlassSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores']
    """
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, OURS):
        names = ", ".join(kind.__name__ for kind in OURS)
        hint = "; give its best_estimator_" if hasattr(last, "best_estimator_") else ""
        hint = NO_PATH if isinstance(last, str | os.PathLike) else hint
        raise TypeError(
            f"to_onnx takes one of {names}, or a Pipeline that ends with one; "
            f"not {type(last).__name__}{hint}"
        )
    kind = _input_kind(dtype)
    if isinstance(model, Pipeline):
        model = without_passthrough(model)
        _check_steps(model, double=kind is data_types.DoubleTensorType)
        model = with_split_terms(model)
    check_is_fitted(model)
    inputs, options = _inputs(model, kind)
    options[id(last)] = {"zipmap": False}
    try:
        proto: ModelProto = skl2onnx.to_onnx(
            model,
            initial_types=inputs,
            final_types=[("label", None), (_name_of_numbers(last), None)],
            options=options,
        )
    except RuntimeError as error:  # unsupported steps raise NotImplementedError and other errors
        raise ValueError(f"skl2onnx cannot convert the pipeline: {one_line(error)}") from error
    return proto


def _inputs(
    model: ClassifierMixin | Pipeline, kind: type[data_types.TensorType]
) -> tuple[list[tuple[str, data_types.TensorType]], dict[int, Settings]]:
    """Return the inputs of the graph, and the options for the steps that read them."""
    vectorizers = vectorizers_of(model) if isinstance(model, Pipeline) else None
    if vectorizers is not None:
        check_vectorizers(vectorizers)
        if kind is data_types.DoubleTensorType:
            raise ValueError("words are counted in float32 in ONNX; use float32")
        return text_inputs(vectorizers)
    width = getattr(model, "n_features_in_", None)
    if width is None:
        raise ValueError(
            f"{type(model.steps[0][1]).__name__} does not take a table of numbers; call "
            "skl2onnx.to_onnx with the input's type (initial_types)"
        )
    return [("X", kind([None, width]))], {}


def _name_of_numbers(model: ClassifierMixin | Pipeline) -> str:
    """Return the name of the second output."""
    return "probabilities" if hasattr(model, "predict_proba") else "scores"


def _input_kind(dtype: DTypeLike) -> type[data_types.TensorType]:
    """Return the type of skl2onnx for a table of numbers."""
    kinds: dict[str, type[data_types.TensorType]] = {
        "float32": data_types.FloatTensorType,
        "float64": data_types.DoubleTensorType,
    }
    try:
        name = "None" if dtype is None else str(np.dtype(dtype))  # None would be float64
    except TypeError:
        hint = NO_PATH if isinstance(dtype, str | os.PathLike) else ""
        raise ValueError(f"dtype must be float32 or float64, not {dtype!r}{hint}") from None
    if name not in kinds:
        raise ValueError(f"dtype must be float32 or float64, not {name}")
    return kinds[name]


def _check_steps(pipeline: Pipeline, *, double: bool) -> None:
    """Refuse steps that are not fitted, and steps that would give different results."""
    for _, step in pipeline.steps:
        check_is_fitted(step)
    for name, step in pipeline.get_params().items():  # nested steps, too
        for kind, parameter, applies, why in REFUSED:
            if isinstance(step, kind) and applies(step, double):
                raise ValueError(
                    f"to_onnx cannot convert the step {name!r}, a {type(step).__name__} with "
                    f"{parameter}={getattr(step, parameter)!r}: {why}"
                )


def _set_shapes(operator: Operator) -> None:
    """Set the types and shapes of the outputs, before the conversion."""
    check_input_and_output_numbers(operator, input_count_range=1, output_count_range=2)
    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    operator.outputs[1].type.shape = [n_rows, len(model.classes_)]
    if isinstance(model, MultilabelSVC):
        operator.outputs[0].set_type(data_types.Int64TensorType([n_rows, len(model.classes_)]))
        return
    _check_classes(model.classes_)
    names = _is_text(get_label_classes(operator.scope_inst, model))
    label = data_types.StringTensorType if names else data_types.Int64TensorType
    operator.outputs[0].set_type(label([n_rows]))


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
        raise ValueError("ONNX supports only classes that are whole numbers or strings")


def _encoded(name: str) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the class {name!r} cannot be stored in ONNX, whose strings are UTF-8 "
            f"({error.reason}); rename it"
        ) from error


def _convert(scope: Scope, operator: Operator, container: ModelComponentContainer) -> None:
    """Write the graph: scores, the label of the largest score, and probabilities or scores."""
    graph = _Graph(scope, container)
    given, X = operator.raw_operator, operator.inputs[0].full_name
    is_search = hasattr(given, "best_estimator_") and not isinstance(given, MultilabelSVC)
    model = current_estimator(given) if is_search else given
    dtype: DType = np.dtype(np.float32)
    if isinstance(operator.inputs[0].type, data_types.DoubleTensorType):
        dtype = np.dtype(np.float64)
    elif not isinstance(operator.inputs[0].type, data_types.FloatTensorType):
        X = graph.node("Cast", [X], to=TensorProto.FLOAT)
    weights = graph.constant("coef", _weights(model, dtype))
    intercept = graph.constant("intercept", _rounded(model.intercept_, dtype))
    scores = graph.node("Add", [graph.node("MatMul", [X, weights]), intercept])
    if isinstance(model, MultilabelSVC):
        _add_sets(graph, operator, scores, _rounded(model.thresholds_, dtype))
        return
    binary = len(model.classes_) == 2
    if binary:
        scores = graph.node("Concat", [graph.node("Neg", [scores]), scores], axis=1)
    label, shown = (output.full_name for output in operator.outputs)
    best = graph.node("ArgMax", [scores], axis=1, keepdims=0)
    graph.node("Gather", [graph.labels(get_label_classes(scope, given)), best], label, axis=0)
    raw = container.get_options(given, {"raw_scores": False})["raw_scores"]
    temperature = getattr(model, "temperature_", None)
    if raw or not (temperature or model.loss == "log_loss"):
        graph.node("Identity", [scores], shown)
        return
    if temperature:
        scores = graph.node("Div", [scores, graph.constant("temperature", dtype.type(temperature))])
    if binary:
        graph.node("Sigmoid", [scores], shown)
    else:
        graph.node("Softmax", [scores], shown, axis=1)


def _add_sets(graph: _Graph, operator: Operator, scores: str, thresholds: Array) -> None:
    """Write the labels above their thresholds, 0 or 1, and the scores."""
    label, shown = (output.full_name for output in operator.outputs)
    above = graph.node("Greater", [scores, graph.constant("thresholds", thresholds)])
    graph.node("Cast", [above], label, to=TensorProto.INT64)
    graph.node("Identity", [scores], shown)


class _Graph(Graph):
    """A graph with the classes of a model."""

    def labels(self, classes: Array) -> str:
        """Add classes, and return their name."""
        if not _is_text(classes):
            return self.constant("classes", classes.astype(np.int64))
        name: str = self._scope.get_unique_variable_name("classes")
        texts = [_encoded(text) for text in classes.tolist()]
        self._container.add_initializer(name, TensorProto.STRING, [len(texts)], texts)
        return name


def _weights(model: WithCoefficients, dtype: DType) -> Array:
    """Return dense weights of shape (n_features, n_scores)."""
    coef = coefficients_of(model)
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


register()
