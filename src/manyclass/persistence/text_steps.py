"""Vectorizers of text in a model file: their vocabularies and what is checked of them."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from manyclass.io.tensor_format import strings
from manyclass.utils.types import Array

LONGEST_PATTERN = 1000  # characters


def pack_terms(vocabulary: dict[str, int]) -> dict[str, Array]:
    """Return a vocabulary as tensors: the bytes of all terms, and where each term ends."""
    terms = [term.encode() for term in sorted(vocabulary, key=lambda term: vocabulary[term])]
    ends = np.cumsum([len(term) for term in terms], dtype=np.int64)
    return {"terms": np.frombuffer(b"".join(terms), np.uint8), "term_ends": ends}


def unpack_terms(tensors: dict[str, Array]) -> list[str]:
    """Return the terms in the order of their columns; undoes ``pack_terms``."""
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
    """Check what scikit-learn would find out about a vectorizer only when it is used.

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
        b"a".decode(step.encoding, "ignore")  # of no bytes, any encoding would do
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
        warnings.simplefilter("ignore")  # of what the pattern may mean in a later Python
        try:
            re.compile(pattern)
        except (re.error, RecursionError) as error:
            raise ValueError(f"token_pattern is no regular expression: {error}") from error
