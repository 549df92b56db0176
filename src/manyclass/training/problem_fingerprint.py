"""Fingerprint of a training problem, by which a checkpoint or another process knows it."""

from __future__ import annotations

import numpy as np

from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS, LOGISTIC
from manyclass.problem.problem import Problem
from manyclass.problem.tree_scores import TreeScores
from manyclass.utils.fingerprints import Facts, crc32, fingerprint, fingerprint_of
from manyclass.utils.types import Array


def facts_of_problem(problem: Problem, classes: Array) -> Facts:
    """Return the facts that identify a training problem; reads all of X once.

    Parameters
    ----------
    problem : Problem
    classes : ndarray of shape (k,)
        Their names.

    Returns
    -------
    dict of str
    """
    data = problem.dataset
    named = {**FORMULATIONS, "logistic": LOGISTIC}
    known = (name for name, f in named.items() if f == problem.formulation)
    names = np.frombuffer(repr(classes.tolist()).encode(), np.uint8)
    base = problem.base
    added = {} if base is None else {"costs and offsets of classes": _fingerprint_of_base(base)}
    if problem.factors is not None:
        added["factors of losses"] = fingerprint(problem.factors)
    return {
        "formulation": next(known),
        "loss": problem.loss,
        **added,
        "C": repr(float(problem.C)),
        "constant feature": repr(data.bias),
        "rows": str(data.n_examples),
        "features": str(data.n_features),
        "classes": str(data.n_classes),
        "type of X": str(data.dtype),
        "X": _fingerprint_of_rows(data),
        "y": fingerprint(data.labels, names),
        "weights of rows and classes": fingerprint(data.weights),
    }


def _fingerprint_of_base(base: BaseScores | TreeScores) -> str:
    return fingerprint(*base.arrays(), np.array([base.gamma]))


ROWS_AT_A_TIME = 1 << 12


def _fingerprint_of_rows(data: Dataset) -> str:
    """Fingerprint of X as CSR without zeros, whether it is held so or dense."""
    if not data.is_dense:
        return fingerprint(data.indptr, data.indices, data.values)
    X = data.values.reshape(data.n_examples, data.n_features)
    parts = [slice(begin, begin + ROWS_AT_A_TIME) for begin in range(0, len(X), ROWS_AT_A_TIME)]
    counts = np.concatenate([np.count_nonzero(X[part], axis=1) for part in parts])
    total = crc32(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    for part in parts:
        total = crc32(np.nonzero(X[part])[1].astype(np.int32), total)
    for part in parts:
        total = crc32(X[part][X[part] != 0], total)
    return fingerprint_of(total)
