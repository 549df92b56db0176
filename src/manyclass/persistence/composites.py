"""Convert scikit-learn models that contain our classifiers to tensors and JSON, and back.

These are pipelines, searches, calibrated classifiers and ensembles. skops writes the model with a
placeholder for every classifier of this package, fitted or not; these are stored like single
classifiers. Tensors: ``around``, the bytes of the skops file; the tensors of the i-th classifier
with the prefix ``i/``; and the vocabularies of vectorizers (vocabularies.py). JSON: estimator, the
name of its type; ``classifiers``, the entry of each. As in ``model_schema``, files are not trusted:
skops creates only objects of scikit-learn, NumPy and SciPy, and objects that open files are
refused.
"""

from __future__ import annotations

import copy
import inspect
import zipfile
from collections.abc import Iterator
from io import BytesIO
from types import ModuleType
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import Pipeline

from manyclass.io.tensors import one_line
from manyclass.persistence.search_schema import Classifier, chosen, is_own, pack_any, unpack_any
from manyclass.persistence.step_checks import check_steps, refused_types, reset_runs
from manyclass.persistence.trusted_types import AROUND
from manyclass.persistence.vocabularies import (
    pack_vocabularies,
    unpack_vocabularies,
    with_vocabulary,
)
from manyclass.utils.scikit_learn import without_passthrough
from manyclass.utils.types import Array, Settings

OF_TEXT = (CountVectorizer, HashingVectorizer)  # a TfidfVectorizer is a CountVectorizer
LONGEST = 60  # characters of a parameter in a description
Model: TypeAlias = Classifier | BaseEstimator


class Placeholder(BaseEstimator):  # type: ignore[misc]
    """Placeholder of the i-th classifier in a model that skops writes."""

    def __init__(self, index: int = 0) -> None:
        self.index = index


TRUSTED = [*AROUND, f"{Placeholder.__module__}.{Placeholder.__name__}"]


def unwrapped(model: Model) -> Model:
    """Return the best estimator of a fitted scikit-learn search, or else the model itself."""
    while not is_own(model) and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def last_of(model: Model) -> Model:
    """Return the last step of a pipeline, or the model itself."""
    model = unwrapped(model)
    return unwrapped(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def classifier_of(model: Model) -> Classifier:
    """Return our classifier in a model: the best one of a search, the first of several."""
    last = last_of(model)
    return chosen(last if is_own(last) else _fitted_within(last)[0])


def is_composite(model: object) -> bool:
    """Whether a model is a scikit-learn model that contains one of our classifiers."""
    is_estimator = isinstance(model, BaseEstimator) and _is_of_scikit_learn(model)
    return is_estimator and any(map(is_own, _within(model)))


def takes_text(steps: Pipeline) -> bool:
    """Whether a pipeline begins with a vectorizer of text."""
    return isinstance(steps[0], OF_TEXT)


def chooses_by_name(steps: Pipeline) -> bool:
    """Whether a fitted pipeline has a ColumnTransformer that selects columns by name."""
    parts = [part for part in _within(steps) if isinstance(part, ColumnTransformer)]
    columns = [chosen for part in parts for *_, chosen in part.transformers_]
    return any(isinstance(name, str) for some in columns for name in np.atleast_1d(some).tolist())


def columns_taken(steps: Pipeline) -> list[str] | None:
    """Return the columns that a ColumnTransformer as the first step uses; None if there is none.

    Dropped columns may be missing.
    """
    first = steps[0]
    if not isinstance(first, ColumnTransformer) or not hasattr(first, "feature_names_in_"):
        return None
    names, taken = first.feature_names_in_, set()
    for _, transformer, columns in first.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        chosen = names[columns] if isinstance(columns, slice) else np.atleast_1d(columns)
        taken |= set((chosen if chosen.dtype.kind in "UO" else names[chosen]).tolist())
    return [name for name in names.tolist() if name in taken]


def text_columns(steps: Pipeline) -> list[str]:
    """Return the text columns that a ColumnTransformer as the first step passes to vectorizers."""
    first, found = steps[0], []
    if not isinstance(first, ColumnTransformer) or not hasattr(first, "transformers_"):
        return []
    for _, transformer, column in first.transformers_:
        while isinstance(transformer, Pipeline) and transformer.steps:
            transformer = transformer.steps[0][1]
        if not isinstance(transformer, OF_TEXT):
            continue
        names = getattr(first, "feature_names_in_", ())  # not set after a fit on an array
        if isinstance(column, str):
            found.append(column)
        elif isinstance(column, int | np.integer) and -len(names) <= column < len(names):
            found.append(str(names[int(column)]))
    return found


def check_composite(model: BaseEstimator) -> None:
    """Refuse a model that a model file cannot hold: it would read files, or is not fitted."""
    if not _fitted_within(model):
        raise TypeError(
            f"save_model cannot store this {type(model).__name__}: it contains no fitted "
            "classifier of manyclass; fit it with refit=True"
        )
    for step in _within(model):
        if getattr(step, "input", "content") != "content":
            raise TypeError(
                f"save_model cannot store a {type(step).__name__} with input={step.input!r}: a "
                "model file must not make others read files; give the pipeline texts "
                "(input='content')"
            )


def pack_composite(model: BaseEstimator) -> tuple[dict[str, Array], Settings]:
    """Return the tensors of a fitted model, and the other content as JSON values.

    Steps of a pipeline that do nothing and what ``memory`` names are left out. Refuse functions and
    objects that are not scikit-learn's, NumPy's or SciPy's.
    """
    io = _skops()
    model = without_passthrough(model) if isinstance(model, Pipeline) else model
    parts = _within(model)
    classifiers = list(filter(is_own, parts))
    tensors, memo = pack_vocabularies(with_vocabulary(parts))
    entries: list[Settings] = []
    for i, classifier in enumerate(classifiers):
        packed, entry = pack_any(classifier)
        tensors |= {f"{i}/{name}": value for name, value in packed.items()}
        entries.append(entry)
        memo[id(classifier)] = Placeholder(i)
    around = _replaced(model, memo)
    reset_runs(_within(around))
    for name, part in around.steps if isinstance(around, Pipeline) else [("", around)]:
        _check_types(io, name, part)
    tensors["around"] = np.frombuffer(io.dumps(around), np.uint8)
    return tensors, {"estimator": type(model).__name__, "classifiers": entries}


def _check_types(io: ModuleType, name: str, part: object) -> None:
    """Refuse a step, or a whole model, that skops would not load."""
    what = f"the step {name!r}" if name else f"this {type(part).__name__}"
    try:
        content = io.dumps(part)
        others = set(io.get_untrusted_types(data=content)).difference(TRUSTED)
        others |= refused_types(content)
    except Exception as error:  # any error of the step's own code
        raise TypeError(f"skops cannot store {what}: {one_line(error)}") from error
    if others:
        raise TypeError(
            f"save_model cannot store {what}: it holds {', '.join(sorted(others))}, and a model "
            "file has only types and functions of scikit-learn, NumPy and SciPy whose contents can "
            "be checked; " + _remedy(name, part)
        )


def _remedy(name: str, part: object) -> str:
    if hasattr(part, "best_estimator_"):
        return "save its best_estimator_"
    if name:
        return (
            "do its work before the pipeline, or save the classifier alone (save_model(path, "
            "pipeline[-1]))"
        )
    return "save the classifiers within it one by one"


def unpack_composite(tensors: dict[str, Array], entry: Settings) -> BaseEstimator:
    """Return the model; the inverse of ``pack_composite``."""
    io, content = _skops(), tensors["around"].tobytes()
    try:
        _check_stored(content)
        refused = refused_types(content)
        if refused:
            raise TypeError(f"they hold {', '.join(sorted(refused))}")
        model = io.loads(content, trusted=TRUSTED)
    except Exception as error:  # skops checks types only, and a hostile file may raise any error
        raise ValueError(f"its steps cannot be read: {one_line(error)}") from None
    if not isinstance(model, BaseEstimator) or type(model).__name__ != entry["estimator"]:
        raise TypeError(f"its steps are not a {entry['estimator']}")
    parts = _within(model)
    for part in parts:
        if getattr(part, "input", "content") != "content":
            raise ValueError(f"a {type(part).__name__} that would read files")
    reset_runs(parts)
    unpack_vocabularies(with_vocabulary(parts), tensors)
    model = _replaced(model, _in_place(parts, tensors, entry["classifiers"]))
    check_steps(_walk(model, set()))
    for part in _within(model):
        if isinstance(part, Pipeline):
            part._validate_steps()
    if not _fitted_within(model):
        raise ValueError("it contains no fitted classifier")
    return model


def _in_place(
    parts: list[BaseEstimator], tensors: dict[str, Array], entries: list[Settings]
) -> dict[int, object]:
    """Return the classifiers by the ids of their placeholders, for `copy.deepcopy`."""
    places = [part for part in parts if isinstance(part, Placeholder)]
    indices = [place.index for place in places]
    if any(type(i) is not int for i in indices) or sorted(set(indices)) != [*range(len(entries))]:
        raise ValueError("its classifiers do not match the placeholders")
    classifiers = []
    for i, entry in enumerate(entries):
        own = {n.removeprefix(f"{i}/"): t for n, t in tensors.items() if n.startswith(f"{i}/")}
        classifiers.append(unpack_any(own, entry))
    return {id(place): classifiers[place.index] for place in places}


def _check_stored(content: bytes) -> None:
    """Refuse an archive with compressed entries, which could be huge; skops does not compress."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        entries = archive.infolist()
    packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if packed or sum(entry.file_size for entry in entries) > len(content):
        raise ValueError("entries of the archive are compressed")


def _skops() -> ModuleType:
    """Return ``skops.io``, which may be missing."""
    try:
        import skops.io
    except ImportError as missing:
        raise ImportError(
            f"pipelines in model files need skops ({missing}); pip install skops, or "
            "save the classifier alone"
        ) from missing
    module: ModuleType = skops.io
    return module


def _is_of_scikit_learn(value: object) -> bool:
    return type(value).__module__.startswith("sklearn.")


def _within(model: object) -> list[BaseEstimator]:
    """Return an estimator and nested estimators, each once, but none within our classifiers."""
    return [value for value in _walk(model, set()) if isinstance(value, BaseEstimator)]


def _walk(value: object, seen: set[int]) -> Iterator[object]:
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    for part in _parts(value):
        yield from _walk(part, seen)


def _replaced(model: BaseEstimator, memo: dict[int, object]) -> BaseEstimator:
    """Return a copy with some objects replaced, by their ids."""
    for value in _walk(model, set()):
        if isinstance(value, np.ma.MaskedArray) and value.dtype == object:
            # NumPy copies these without using the replacements.
            objects = np.empty(value.shape, object)
            objects.ravel()[:] = [memo.get(id(part), part) for part in value.data.ravel()]
            memo[id(value)] = np.ma.MaskedArray(objects, value.mask)
    return copy.deepcopy(model, memo)


def _parts(value: object) -> list[object]:
    """Return the nested objects that may hold estimators: lists, dicts, attributes."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, np.ndarray):
        return list(np.asarray(value).ravel()) if value.dtype == object else []
    if is_own(value) or isinstance(value, type):
        return []
    if isinstance(value, BaseEstimator) or _is_of_scikit_learn(value):
        return list(getattr(value, "__dict__", {}).values())
    return []


def _fitted_within(model: object) -> list[Classifier]:
    return [part for part in _within(model) if is_own(part) and hasattr(part, "classes_")]


def describe_steps(model: Model) -> list[Settings]:
    """Return name, kind and non-default parameters of the steps before the classifier.

    Steps within a ColumnTransformer follow it, with their ``columns``.
    """
    model = unwrapped(model)
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    return [about for name, step in steps for about in _described(name, step)]


def _described(name: str, step: BaseEstimator) -> Iterator[Settings]:
    """Yield the description of a step, and of the transformers within a ColumnTransformer."""
    params, is_split = _differing_params(step), isinstance(step, ColumnTransformer)
    if is_split:
        params.pop("transformers")
    yield {"name": name, "kind": type(step).__name__, "params": params}
    for part, transformer, columns in getattr(step, "transformers_", ()) if is_split else ():
        if isinstance(transformer, BaseEstimator):
            for inner in _described(f"{name}__{part}", transformer):
                yield {"columns": _plain(columns), **inner}


def describe_composite(model: Model) -> str | None:
    """Describe a model that contains fitted classifiers, such as "VotingClassifier of 5 ..."."""
    last = last_of(model)
    if is_own(last):
        return None
    n = len(_fitted_within(last))
    return f"{type(last).__name__} of {n} classifier{'s' if n > 1 else ''}"


def _differing_params(step: BaseEstimator) -> Settings:
    params = step.get_params(deep=False)
    if params.get("vocabulary") is not None:
        params["vocabulary"] = "fixed"
    given = inspect.signature(type(step)).parameters
    return {
        key: _plain(value)
        for key, value in params.items()
        if _plain(value) != _plain(given[key].default)
    }


def _plain(value: object) -> object:
    """Return a parameter as a JSON value, or its text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, type) and issubclass(value, np.generic):
        return str(np.dtype(value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return one_line(repr(value), LONGEST)
