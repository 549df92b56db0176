"""Convert a pipeline to tensors and JSON, and back: its steps by skops, the classifier as alone.

Tensors: those of the classifier; ``steps``, the bytes of a skops file of the pipeline without its
classifier; and for the i-th vectorizer of texts within it ``terms.i``, the UTF-8 of its terms in
the order of their columns, and ``term_ends.i``, the end of each (skops takes 650 bytes and 37 us to
load a term, these two 10 bytes and 0.4 us). As in ``model_schema``, files are not trusted: skops
makes objects of scikit-learn, NumPy and SciPy alone, and none that opens files is accepted.
"""

from __future__ import annotations

import copy
import inspect
import zipfile
from collections.abc import Iterator
from io import BytesIO
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif
from sklearn.pipeline import Pipeline

from manyclass.io.tensors import one_line
from manyclass.persistence.search_schema import (
    CLASSIFIERS,
    Classifier,
    chosen,
    pack_classifier,
    unpack_classifier,
)
from manyclass.utils.scikit_learn import without_passthrough
from manyclass.utils.types import Array, Settings

PIPELINE = "Pipeline"
OF_TEXT = (CountVectorizer, HashingVectorizer)  # a TfidfVectorizer is one of the former
# Functions and types that are harmless, and that skops leaves to its caller to trust.
TRUSTED = [
    *(f"{f.__module__}.{f.__name__}" for f in (chi2, f_classif, mutual_info_classif)),
    f"{make_column_selector.__module__}.make_column_selector",
    "numpy.dtype",
    "numpy.number",
]
LONGEST = 60  # characters of a parameter that is described
Model: TypeAlias = Classifier | Pipeline


def last_of(model: Model) -> Any:
    """Return the classifier at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def classifier_of(model: Model) -> Any:
    """Return the classifier at the end of a pipeline, or the model itself; of CV, the best one."""
    return chosen(last_of(model))


def takes_text(steps: Any) -> bool:
    """Whether a pipeline begins with a vectorizer of text."""
    return isinstance(steps[0], OF_TEXT)


def check_pipeline(pipeline: Any) -> None:
    """Refuse a pipeline that a model file cannot hold.

    Raises
    ------
    TypeError
        If it is of another type, ends with another classifier, or would read files.
    """
    if type(pipeline) is not Pipeline:
        raise TypeError(
            f"save_model takes scikit-learn's own Pipeline, not {type(pipeline).__name__}"
        )
    last = pipeline.steps[-1][1]
    if CLASSIFIERS.get(type(last).__name__) is not type(last):
        hint = ""
        if hasattr(last, "best_estimator_"):
            hint = "; make a Pipeline of the other steps and its best_estimator_"
        raise TypeError(
            f"save_model takes a Pipeline that ends with a {' or a '.join(CLASSIFIERS)}, not "
            f"{type(last).__name__}{hint}"
        )
    for step in _estimators(pipeline.steps[:-1]):
        if getattr(step, "input", "content") != "content":
            raise TypeError(
                f"save_model cannot store a {type(step).__name__} with input={step.input!r}: a "
                "model file must not make others read files; give the pipeline texts "
                "(input='content')"
            )


def pack_pipeline(pipeline: Any) -> tuple[dict[str, Array], Settings]:
    """Return the tensors of a fitted pipeline, and the rest, ready for JSON.

    Steps that do nothing and what ``memory`` names are left out.

    Raises
    ------
    ImportError
        If skops is not installed.
    TypeError
        If a step holds a function or an object that is not scikit-learn's, NumPy's or SciPy's.
    ValueError
        As ``pack``; or if a term of a vocabulary is no text of UTF-8.
    """
    io = _skops()
    pipeline = without_passthrough(pipeline)
    name, last = pipeline.steps[-1]
    tensors, classifier = pack_classifier(last)
    steps, terms = _without_terms(
        Pipeline([*pipeline.steps[:-1], (name, "passthrough")], verbose=pipeline.verbose)
    )
    for step_name, step in steps.steps:
        _check_types(io, step_name, step)
    tensors |= {**terms, "steps": np.frombuffer(io.dumps(steps), np.uint8)}
    return tensors, {"estimator": PIPELINE, "classifier": classifier}


def _check_types(io: ModuleType, name: str, step: object) -> None:
    """Refuse a step that skops would not load."""
    try:
        others = set(io.get_untrusted_types(data=io.dumps(step))).difference(TRUSTED)
    except Exception as error:  # whatever the step's own code raises
        raise TypeError(f"skops cannot store the step {name!r}: {one_line(error)}") from error
    if others:
        raise TypeError(
            f"save_model cannot store the step {name!r}: it holds {', '.join(sorted(others))}, and "
            "a model file has types and functions of scikit-learn, NumPy and SciPy alone; do its "
            "work before the pipeline, or save the classifier alone (save_model(path, "
            "pipeline[-1]))"
        )


def unpack_pipeline(tensors: dict[str, Array], model: Settings) -> Any:
    """Return the pipeline of ``pack_pipeline``."""
    io, content = _skops(), tensors["steps"].tobytes()
    try:
        _check_stored(content)
        pipeline = io.loads(content, trusted=TRUSTED)
    except Exception as error:  # skops checks types, and a hostile file may hold anything else
        raise ValueError(f"its steps cannot be read: {one_line(error)}") from None
    if type(pipeline) is not Pipeline:
        raise TypeError("its steps are no pipeline")
    pipeline.steps[-1] = pipeline.steps[-1][0], unpack_classifier(tensors, model["classifier"])
    pipeline._validate_steps()
    steps = list(_estimators(pipeline.steps[:-1]))
    for step in steps:
        if getattr(step, "memory", None) or getattr(step, "input", "content") != "content":
            raise ValueError(f"a {type(step).__name__} that would read files")
    for i, step in enumerate(filter(_has_terms, steps)):
        terms = unpack_terms(tensors[f"terms.{i}"], tensors[f"term_ends.{i}"])
        step.vocabulary_ = {term: column for column, term in enumerate(terms)}
        if step.vocabulary is not None:
            step.vocabulary = terms
    return pipeline


def _check_stored(content: bytes) -> None:
    """Refuse an archive that unpacks to more than its own size: skops stores, and packs nothing."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        entries = archive.infolist()
    packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if packed or sum(entry.file_size for entry in entries) > len(content):
        raise ValueError("entries of the archive are compressed")


def _skops() -> ModuleType:
    try:
        import skops.io
    except ImportError as missing:
        raise ImportError(
            f"pipelines in model files need skops ({missing}); pip install 'manyclass[skops]', or "
            "save the classifier alone"
        ) from missing
    module: ModuleType = skops.io
    return module


def _estimators(value: object) -> Iterator[Any]:
    """Yield an estimator and those within it, in lists and in attributes."""
    if isinstance(value, BaseEstimator):
        yield value
        value = list(vars(value).values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _estimators(part)


def _has_terms(step: object) -> bool:
    return isinstance(step, CountVectorizer) and hasattr(step, "vocabulary_")


def _without_terms(pipeline: Pipeline) -> tuple[Pipeline, dict[str, Array]]:
    """Return a copy without ``memory`` and the vocabularies, and these as tensors."""
    tensors: dict[str, Array] = {}
    memo: dict[int, object] = {}
    for i, step in enumerate(filter(_has_terms, _estimators(pipeline))):
        try:
            tensors[f"terms.{i}"], tensors[f"term_ends.{i}"] = pack_terms(step.vocabulary_)
        except UnicodeEncodeError as error:
            raise ValueError(
                f"save_model cannot store the vocabulary of a {type(step).__name__}: it holds "
                f"{error.object!r}, which is no text of UTF-8 ({error.reason})"
            ) from error
        memo[id(step.vocabulary_)] = {}
        if step.vocabulary is not None:
            memo[id(step.vocabulary)] = []
    copied = copy.deepcopy(pipeline, memo)
    for step in _estimators(copied):
        if hasattr(step, "memory"):
            step.memory = None
    return copied, tensors


def pack_terms(vocabulary: dict[str, int]) -> tuple[Array, Array]:
    """Return a vocabulary as the bytes of all terms, and the end of each."""
    terms = [term.encode() for term in sorted(vocabulary, key=lambda term: vocabulary[term])]
    ends = np.cumsum([len(term) for term in terms], dtype=np.int64)
    return np.frombuffer(b"".join(terms), np.uint8), ends


def unpack_terms(text: Array, ends: Array) -> list[str]:
    """Return the terms of ``pack_terms`` in the order of their columns."""
    if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
        raise ValueError("a vocabulary of another type")
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    if len(ends) == 0 or (begins > ends).any() or ends[-1] != len(text):
        raise ValueError("the vocabulary's terms do not fit together")
    content = text.tobytes()
    terms = [
        content[begin:end].decode()
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    if len(set(terms)) < len(terms):
        raise ValueError("a term is in the vocabulary twice")
    return terms


def describe_steps(model: Model) -> list[Settings]:
    """Return name, kind and non-default parameters of the steps before the classifier."""
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    return [
        {"name": name, "kind": type(step).__name__, "params": _differing_params(step)}
        for name, step in steps
    ]


def _differing_params(step: Any) -> Settings:
    params = step.get_params(deep=False)
    if params.get("vocabulary") is not None:
        params["vocabulary"] = "fixed"
    given = inspect.signature(type(step)).parameters
    return {
        key: _plain(value)
        for key, value in params.items()
        if _plain(value) != _plain(given[key].default)
    }


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it, or its text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, type) and issubclass(value, np.generic):
        return str(np.dtype(value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return one_line(repr(value), LONGEST)
