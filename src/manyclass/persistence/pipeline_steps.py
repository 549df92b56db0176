"""Steps of a pipeline that a model file can hold: scikit-learn's vectorizers and scalers.

A step is its parameters, as JSON, and what it learned, as tensors. Vocabularies are the UTF-8 of
all terms in the order of their columns, and where each ends. No step holds code, and none from a
file may open files: parameters that are functions, or ``input="filename"``, are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from manyclass.io.tensor_format import strings
from manyclass.persistence.text_steps import check_text_step, pack_terms, unpack_terms
from manyclass.utils.types import Array, Settings

# Steps, and their learned numbers: one for each feature.
LEARNED: dict[type[Any], tuple[str, ...]] = {
    CountVectorizer: (),
    TfidfVectorizer: ("idf_",),
    HashingVectorizer: (),
    TfidfTransformer: ("idf_",),
    StandardScaler: ("mean_", "var_", "scale_"),
    MaxAbsScaler: ("max_abs_", "scale_"),
    MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    Normalizer: (),
}
KINDS = {kind.__name__: kind for kind in LEARNED}
OF_TEXT = (CountVectorizer, HashingVectorizer)  # a TfidfVectorizer is one of the former
SEEN = "n_samples_seen_"
NUMBERS = ("float64", "float32", "int64", "int32", "int16", "int8")
ADVICE = "save the classifier apart (save_model(path, pipeline[-1])), or the pipeline with skops"


def check_step(name: str, step: Any) -> None:
    """Refuse a step that a file cannot hold.

    Raises
    ------
    TypeError
    """
    kind = type(step).__name__
    if type(step) not in LEARNED:
        raise TypeError(
            f"save_model cannot store the step {name!r}, {_article(kind)}: it knows "
            f"{', '.join(KINDS)}; {ADVICE}"
        )
    if getattr(step, "_sklearn_output_config", {}).get("transform", "default") != "default":
        raise TypeError(
            f"save_model cannot store set_output of the step {name!r}; call "
            "pipeline.set_output(transform='default') and fit again"
        )
    for key, value in step.get_params(deep=False).items():
        if key != "dtype" and callable(value):
            raise TypeError(
                f"save_model cannot store the step {name!r}: {key} is a function, and a model file "
                f"holds no code; do its work before the pipeline, on the texts, or {ADVICE}"
            )
        if key == "dtype" and np.dtype(value).name not in NUMBERS:
            raise TypeError(
                f"save_model cannot store the step {name!r} with dtype={np.dtype(value)}; use one "
                f"of {', '.join(NUMBERS)}"
            )
        if key == "input" and value != "content":
            raise TypeError(
                f"save_model cannot store the step {name!r} with input={value!r}: a model file "
                "must not make others read files; give the pipeline texts (input='content')"
            )


def pack_step(step: Any) -> tuple[dict[str, Array], Settings]:
    """Return what a fitted step learned, and its parameters, ready for JSON.

    Raises
    ------
    ValueError
        If a parameter has no place in JSON.
    """
    if not isinstance(step, HashingVectorizer):  # which learns nothing
        check_is_fitted(step)
    tensors = {name: np.asarray(getattr(step, name)) for name in _learned_names(step)}
    if isinstance(step, CountVectorizer):
        tensors |= pack_terms(step.vocabulary_)
    params = step.get_params(deep=False)
    if params.pop("vocabulary", None) is not None:
        params["vocabulary"] = "fixed"
    if "dtype" in params:
        params["dtype"] = np.dtype(params["dtype"])
    facts: Settings = {
        "kind": type(step).__name__,
        "params": {key: _plain(value) for key, value in params.items()},
    }
    if hasattr(step, "feature_names_in_"):
        facts["feature_names"] = step.feature_names_in_.tolist()
    return tensors, facts


def unpack_step(tensors: dict[str, Array], facts: Settings, n_features: int, *, first: bool) -> Any:
    """Put a step together; undoes ``pack_step``.

    Parameters
    ----------
    tensors : dict of ndarray
        Its own ones.
    facts : dict
    n_features : int
        Columns that it gives, and takes if it takes no text.
    first : bool
        Whether it is the first step, the only one that may take text.
    """
    params = dict(facts["params"])
    terms = unpack_terms(tensors) if "terms" in tensors else None
    if params.pop("vocabulary", None) is not None:
        params["vocabulary"] = terms
    if "ngram_range" in params:
        params["ngram_range"] = tuple(params["ngram_range"])
    if "feature_range" in params:
        low, high = map(float, params["feature_range"])
        params["feature_range"] = low, high
    if "dtype" in params:
        params["dtype"] = _dtype(params["dtype"])
    step = KINDS[facts["kind"]](**params)
    step._validate_params()
    if isinstance(step, OF_TEXT):
        if not first:
            raise ValueError("a step that takes text comes after another")
        check_text_step(step)
    _learn(step, tensors, terms, n_features)
    if "feature_names" in facts and not isinstance(step, OF_TEXT):
        names = strings(facts["feature_names"], "feature names")
        if len(names) != n_features:
            raise ValueError(f"{n_features} features, {len(names)} names")
        step.feature_names_in_ = np.array(names, dtype=object)
    return step


def differing_params(step: Any) -> Settings:
    """Return the parameters of a step that are no defaults, ready for JSON."""
    defaults = type(step)().get_params(deep=False)
    params = step.get_params(deep=False)
    if params.get("vocabulary") is not None:
        params["vocabulary"] = "fixed"
    return {key: _plain(v) for key, v in params.items() if _plain(v) != _plain(defaults[key])}


def _dtype(name: object) -> type[Any]:
    if name not in NUMBERS:
        raise ValueError(f"a vectorizer's dtype must be one of {', '.join(NUMBERS)}")
    kind: type[Any] = np.dtype(name).type
    return kind


def _learned_names(step: Any) -> list[str]:
    """Return the attributes of a fitted step that are arrays."""
    names = [*LEARNED[type(step)], *([SEEN] if hasattr(step, SEEN) else [])]
    if not getattr(step, "use_idf", True):
        names.remove("idf_")
    return [name for name in names if getattr(step, name) is not None]


def _learn(step: Any, tensors: dict[str, Array], terms: list[str] | None, d: int) -> None:
    if isinstance(step, HashingVectorizer):
        if step.n_features != d:
            raise ValueError(f"{step.n_features} hashed features before weights of {d}")
        return
    endless = not getattr(step, "smooth_idf", True)
    learned = {name: _checked(name, tensors[name], d, endless) for name in _needed(step, tensors)}
    if isinstance(step, CountVectorizer):
        if terms is None or len(terms) != d:
            raise ValueError(f"a vocabulary of another size than the {d} weights")
        step.fixed_vocabulary_ = step.vocabulary is not None
        step.vocabulary_ = {term: column for column, term in enumerate(terms)}
    else:
        step.n_features_in_ = d
    if isinstance(step, TfidfVectorizer):
        step._tfidf = TfidfTransformer(
            norm=step.norm,
            use_idf=step.use_idf,
            smooth_idf=step.smooth_idf,
            sublinear_tf=step.sublinear_tf,
        )
        step._tfidf.n_features_in_ = d
        step = step._tfidf
    for name in LEARNED[type(step)]:
        if name in learned or name != "idf_":
            setattr(step, name, learned.get(name))
    if SEEN in tensors and SEEN not in LEARNED[type(step)]:
        step.n_samples_seen_ = _seen(tensors[SEEN], d)


def _needed(step: Any, tensors: dict[str, Array]) -> list[str]:
    """Return the names of the tensors that transforming needs, and those that are there too."""
    absent: set[str] = set()
    if isinstance(step, StandardScaler):
        absent = {name for name in ("mean_", "var_", "scale_") if name not in tensors}
        if step.with_mean:
            absent.discard("mean_")
        if step.with_std:
            absent.discard("scale_")
    if not getattr(step, "use_idf", True):
        absent = {"idf_"}
    return [name for name in LEARNED[type(step)] if name not in absent]


def _checked(name: str, array: Array, d: int, endless: bool) -> Array:
    if array.dtype not in (np.float32, np.float64) or array.shape != (d,):
        raise ValueError(f"{name} of type {array.dtype}, shape {array.shape}, for {d} features")
    # Without smoothing, terms that were in no text have infinite weights.
    endless = endless and name == "idf_"
    if not (np.isfinite(array) | (endless & (array == np.inf))).all():
        raise ValueError(f"{name} is not finite")
    if name == "scale_" and not (array > 0).all():
        raise ValueError("scale_ is not positive")
    return array


def _seen(array: Array, d: int) -> Any:
    counts = array.dtype in (np.int64, np.float32, np.float64)  # of float32 rows, sums of weights
    fits = counts and array.shape in ((), (d,))
    if not fits or not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{SEEN} must be counts")
    return array[()]  # of one count, the NumPy scalar that partial_fit goes on from


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, type | np.dtype):
        return str(np.dtype(value))
    return value


def _article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'AEIOU' else 'a'} {noun}"
