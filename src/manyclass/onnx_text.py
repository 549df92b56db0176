"""Text in ONNX: the inputs of pipelines that begin with vectorizers, and tf-idf; needs skl2onnx.

skl2onnx splits text at all characters except ASCII letters, and its sublinear counts are
log(1 + n). This module writes the words and the counts 1 + log(n) of scikit-learn.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import skl2onnx
from onnx import numpy_helper
from skl2onnx.common import data_types
from skl2onnx.common._registration import get_converter, get_shape_calculator
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import Pipeline

from manyclass.utils.types import Array, Settings

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Operator, Scope

TFIDF = "SklearnTfidfTransformer"  # skl2onnx's name, also for the second half of a TfidfVectorizer
PATTERN = CountVectorizer().token_pattern
# Its pattern for RE2, where \w is an ASCII letter.
WORD = r"[\p{L}\p{N}_][\p{L}\p{N}_]+"
LOCALE = "C.UTF-8"  # locale in which onnxruntime converts to lower case
PLAIN = {
    "analyzer": "word",
    "token_pattern": PATTERN,
    "tokenizer": None,
    "preprocessor": None,
    "stop_words": None,
    "strip_accents": None,
}
convert_tfidf = get_converter(TFIDF)


class Graph:
    """Adds nodes and constants to the graph that skl2onnx builds."""

    def __init__(self, scope: Scope, container: ModelComponentContainer) -> None:
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


def with_split_terms(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline whose vectorizers have vocabularies of tuples of words, for skl2onnx.

    skl2onnx cannot split all terms itself, and onnxruntime refuses n-grams longer than any term.
    """
    (name, first), *others = pipeline.steps
    if isinstance(first, ColumnTransformer):
        parts = [(part, _split(step), column) for part, step, column in first.transformers_]
        first = copy.copy(first)
        first.transformers_ = parts
    return Pipeline([(name, _split(first)), *others])


def _split(step: BaseEstimator) -> BaseEstimator:
    if not isinstance(step, CountVectorizer):
        return step
    step = copy.copy(step)
    words = {tuple(term.split(" ")): column for term, column in step.vocabulary_.items()}
    step.vocabulary_, step.ngram_range = words, (step.ngram_range[0], max(map(len, words)))
    return step


def vectorizers_of(pipeline: Pipeline) -> dict[str, CountVectorizer] | None:
    """Return the vectorizers at the beginning, by the names of their inputs, or None.

    Of a ColumnTransformer the names are those of the columns, else "text".
    """
    first = pipeline.steps[0][1]
    if isinstance(first, CountVectorizer):
        return {"text": first}
    if not isinstance(first, ColumnTransformer):
        return None
    parts = [part for part in first.transformers_ if part[1] != "drop"]
    found = {column: part for _, part, column in parts if isinstance(part, CountVectorizer)}
    if not found:
        return None
    if len(found) < len(parts) or not all(isinstance(column, str) for column in found):
        raise ValueError(
            "a ColumnTransformer with text is converted if all it has is a vectorizer for each of "
            "some named columns; call skl2onnx.to_onnx with the types of the columns"
        )
    return found


def check_vectorizers(vectorizers: dict[str, CountVectorizer]) -> None:
    """Refuse vectorizers that a graph of ONNX cannot express."""
    for name, step in vectorizers.items():
        for parameter, value in PLAIN.items():
            given = getattr(step, parameter)
            if given != value:
                raise ValueError(
                    f"to_onnx cannot convert the vectorizer of {name!r}, with "
                    f"{parameter}={given!r}: its words would differ; use {parameter}={value!r}"
                )


def text_inputs(
    vectorizers: dict[str, CountVectorizer],
) -> tuple[list[tuple[str, data_types.StringTensorType]], dict[int, Settings]]:
    """Return the inputs of a graph, and the options of skl2onnx for these steps."""
    inputs = [(name, data_types.StringTensorType([None, 1])) for name in vectorizers]
    return inputs, {id(step): {"tokenexp": WORD, "locale": LOCALE} for step in vectorizers.values()}


def register_tfidf() -> None:
    """Register the converter of tf-idf with skl2onnx."""
    options = {"nan": [True, False]}
    skl2onnx.update_registered_converter(
        TfidfTransformer, TFIDF, get_shape_calculator(TFIDF), _convert_tfidf, options=options
    )


def _convert_tfidf(scope: Scope, operator: Operator, container: ModelComponentContainer) -> None:
    """Write the graph of counts, 1 + log(n) if sublinear, then the graph of skl2onnx."""
    step = operator.raw_operator
    if not step.sublinear_tf:
        convert_tfidf(scope, operator, container)
        return
    is_double = isinstance(operator.inputs[0].type, data_types.DoubleTensorType)
    graph, counts = Graph(scope, container), operator.input_full_names[0]
    dtype = np.float64 if is_double else np.float32
    zero, one = (graph.constant("number", np.full(1, value, dtype)) for value in (0, 1))
    is_there = graph.node("Greater", [counts, zero])
    logs = graph.node("Log", [graph.node("Where", [is_there, counts, one])])
    damped = graph.node("Where", [is_there, graph.node("Add", [logs, one]), zero])
    then = SimpleNamespace(
        raw_operator=_linear(step),
        inputs=operator.inputs,
        input_full_names=[damped],
        output_full_names=operator.output_full_names,
    )
    convert_tfidf(scope, then, container)


def _linear(step: BaseEstimator) -> BaseEstimator:
    """Return a copy without sublinear counts."""
    plain = copy.copy(step)
    if isinstance(step, CountVectorizer):
        plain._tfidf = copy.copy(step._tfidf)  # which TfidfVectorizer sets, too
    plain.sublinear_tf = False
    return plain
