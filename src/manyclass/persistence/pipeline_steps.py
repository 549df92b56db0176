"""Convert pipeline steps to tensors and JSON, and back: vectorizers and scalers of scikit-learn.

A step is its parameters, as JSON, and its learned attributes, as tensors. A vocabulary is the UTF-8
of all terms in the order of their columns, with the end of each. No step holds code, and none from
a file may open files: parameters that are functions, or ``input="filename"``, are refused.
"""

from __future__ import annotations

import re
import warnings
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
ADVICE = "save the classifier alone (save_model(path, pipeline[-1])), or the pipeline with skops"
LONGEST_PATTERN = 1000  # characters


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
    """Return the learned attributes of a fitted step, and its parameters, ready for JSON.

    Raises
    ------
    ValueError
        If a parameter has no place in JSON.
    """
    if not isinstance(step, HashingVectorizer):  # it has no fitted state
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
    """Return the step of ``pack_step``.

    Parameters
    ----------
    tensors : dict of ndarray
        Of this step.
    facts : dict
    n_features : int
        Columns of its output, and of its input unless that is text.
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
    """Return the non-default parameters of a step, ready for JSON."""
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
    """Return the names of the required tensors, and of the optional ones that are present."""
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
    # Without smoothing, terms without a text have infinite weights.
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
    return array[()]  # of one count, the NumPy scalar that partial_fit expects


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


def pack_terms(vocabulary: dict[str, int]) -> dict[str, Array]:
    """Return a vocabulary as tensors: the bytes of all terms, and the end of each."""
    terms = [term.encode() for term in sorted(vocabulary, key=lambda term: vocabulary[term])]
    ends = np.cumsum([len(term) for term in terms], dtype=np.int64)
    return {"terms": np.frombuffer(b"".join(terms), np.uint8), "term_ends": ends}


def unpack_terms(tensors: dict[str, Array]) -> list[str]:
    """Return the terms of ``pack_terms`` in the order of their columns."""
    text, ends = tensors["terms"], tensors["term_ends"]
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


def check_text_step(step: Any) -> None:
    """Check the parameters of a vectorizer that scikit-learn checks only on use.

    Raises
    ------
    ValueError, TypeError
    """
    if step.input != "content":
        raise ValueError("a vectorizer that would read files")
    bounds = step.ngram_range
    if len(bounds) != 2 or not all(type(n) is int for n in bounds):
        raise ValueError("ngram_range must be two integers")
    if not 1 <= bounds[0] <= bounds[1]:
        raise ValueError("ngram_range must be ascending, from 1")
    if step.stop_words is not None and not isinstance(step.stop_words, str):
        strings(step.stop_words, "stop words")
    try:
        b"a".decode(step.encoding, "ignore")  # no encoding is checked for empty bytes
    except LookupError as error:
        raise ValueError(f"the encoding {step.encoding!r} is unknown") from error
    _check_pattern(step.token_pattern)
    step.build_analyzer()


def _check_pattern(pattern: object) -> None:
    if pattern is None:
        return
    if not isinstance(pattern, str) or len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"token_pattern must be a string of at most {LONGEST_PATTERN} characters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about later versions of Python
        try:
            re.compile(pattern)
        except (re.error, RecursionError) as error:
            raise ValueError(f"token_pattern is no regular expression: {error}") from error
