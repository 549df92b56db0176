"""Checkpoint files: the state from which training can resume. Reading a file runs no code.

Format: safetensors. Tensors: z as CSR, ``duals.indptr`` (n + 1, int64), ``duals.classes`` (int32)
and ``duals.values`` (dtype of X); ``weights`` (features + 1, classes), a W that differs from W(z),
if there is one; ``history`` (epochs, float64), a column for each field of EpochRecord; ``epochs``
(classes, int64), the number of epochs of each class; ``seed`` (1, int64), which determines the
random orders together with the number of earlier epochs. Header, every value a string: ``format`` =
"manyclass checkpoint", ``format_version``, ``version``, ``problem`` (JSON: the facts that identify
it), ``checksum`` (CRC-32 of each tensor, in the order of their names), ``header_checksum`` (CRC-32
of the header with its length, computed with eight zeros instead of this checksum).
``facts_of_problem`` computes the facts, which ranks compare, too.
"""

from __future__ import annotations

import json
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.io.tensors import (
    TensorFormat,
    Tensors,
    checksum,
    read_header,
    read_tensors,
    write_tensors,
)
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS, LOGISTIC, LOSSES
from manyclass.problem.problem import Problem
from manyclass.problem.solution import EpochRecord, Start
from manyclass.utils.fingerprints import Facts, crc32, fingerprint, fingerprint_of
from manyclass.utils.types import Array, CsrArray, DType

DUALS = ("duals.indptr", "duals.classes", "duals.values")
SEEDS = 2**31
# Relative excess of z over its bounds that rounding may cause.
ROUNDING = {4: 1e-4, 8: 1e-8}


class DamagedError(ValueError):
    """A file is truncated, damaged or not a checkpoint."""


FORMAT = TensorFormat(
    name="manyclass checkpoint",
    version=1,
    kind="checkpoint",
    damaged_message="is damaged, truncated or not a checkpoint ({why})",
    other_message="is damaged, truncated or not a checkpoint (it holds {what})",
    error=DamagedError,
)


def save_checkpoint(path: Path, start: Start, seed: int, facts: Facts) -> None:
    """Write a checkpoint atomically.

    Parameters
    ----------
    path : Path
    start : Start
    seed : int
        From 0 to 2^31 - 1.
    facts : dict of str
        Facts that identify the problem.

    Raises
    ------
    OSError
    """
    tensors = {**tensors_of_start(start), "seed": np.array([seed], np.int64)}
    write_tensors(path, tensors, FORMAT.metadata(problem=json.dumps(facts)))


def tensors_of_start(start: Start) -> Tensors:
    """Return the tensors of z, W, history and epochs."""
    z = sp.csr_array(start.duals)
    records = [astuple(record) for record in start.history]
    tensors = {
        "duals.indptr": z.indptr.astype(np.int64),
        "duals.classes": z.indices.astype(np.int32),
        "duals.values": np.ascontiguousarray(z.data),
        "history": np.array(records, np.float64).reshape(-1, len(fields(EpochRecord))),
        "epochs": np.ascontiguousarray(start.epochs_of_classes(), np.int64),
    }
    if start.weights is not None:
        tensors["weights"] = np.ascontiguousarray(start.weights)
    return tensors


def read_checkpoint(path: Path) -> tuple[Tensors, Facts]:
    """Return the contents of a checkpoint, and the facts of its problem.

    Raises
    ------
    DamagedError
    ValueError
        If a newer version wrote the file.
    OSError
    """
    with path.open("rb") as file:
        try:
            header = read_header(file)
            tensors = read_tensors(file, header.tensors)
        except ValueError as error:
            raise FORMAT.damaged(path, error) from None
    FORMAT.check(path, header)
    if header.metadata.get("checksum") != checksum(tensors):
        raise FORMAT.damaged(path, "the checksum differs")
    try:
        facts = json.loads(header.metadata.get("problem", ""))
    except (ValueError, RecursionError) as error:
        raise FORMAT.damaged(path, error) from None
    if not isinstance(facts, dict) or not all(isinstance(v, str) for v in facts.values()):
        raise FORMAT.damaged(path, "its problem metadata must be strings")
    return tensors, facts


def start_of_tensors(path: Path, tensors: Tensors, problem: Problem) -> Start:
    """Return the start of a checkpoint, checked, as certificates rely on a feasible z.

    Raises
    ------
    DamagedError
    """
    try:
        return checked_start(tensors, problem)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FORMAT.damaged(path, error) from None


def checked_start(tensors: Tensors, problem: Problem) -> Start:
    """Return the start of tensors; invalid contents raise errors of Python or NumPy."""
    return Start(
        _duals(tensors, problem),
        _weights(tensors, problem),
        _history(tensors),
        _epochs(tensors, problem),
    )


def seed_of_tensors(path: Path, tensors: Tensors) -> int:
    """Return the seed of a checkpoint.

    Raises
    ------
    DamagedError
    """
    try:
        expect(tensors["seed"], np.dtype(np.int64), (1,))
        seed = int(tensors["seed"][0])
        if not 0 <= seed < SEEDS:
            raise ValueError("the seed is out of range")
    except (KeyError, ValueError) as error:
        raise FORMAT.damaged(path, error) from None
    return seed


def _duals(tensors: Tensors, problem: Problem) -> CsrArray:
    n, k = problem.dataset.n_examples, problem.dataset.n_classes
    indptr, classes, values = (tensors[name] for name in DUALS)
    expect(indptr, np.dtype(np.int64), (n + 1,))
    size = (int(indptr[-1]),)
    expect(classes, np.dtype(np.int32), size)
    expect(values, problem.dataset.dtype, size)
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("z has no rows")
    if size[0] and (classes.min() < 0 or classes.max() >= k):
        raise ValueError("z has classes that do not exist")
    small = indptr.astype(np.int32) if size[0] <= np.iinfo(np.int32).max else indptr
    z = sp.csr_array((values, classes, small), shape=(n, k))
    z.sort_indices()
    if not z.has_canonical_format:
        raise ValueError("z has a class twice")
    _check_feasible(z, problem)
    return z


def _check_feasible(z: CsrArray, problem: Problem) -> None:
    if problem.loss not in LOSSES:
        if z.nnz:
            raise ValueError("logistic regression has no z")
        return
    rows = np.repeat(np.arange(z.shape[0]), np.diff(z.indptr))
    own = z.indices == problem.dataset.labels[rows]
    targets = problem.formulation.targets
    if (targets == "others" and own.any()) or (targets == "own" and not own.all()):
        raise ValueError("z is not 0 where a class is not a target")
    if not (np.isfinite(z.data).all() and (z.data >= 0).all()):
        raise ValueError("z is negative or not finite")
    rounding = 1 + ROUNDING[z.dtype.itemsize]
    if problem.formulation.takes_maximum:
        feasible = z.sum(axis=1, dtype=np.float64) <= problem.costs * rounding
    else:
        feasible = z.data <= problem.upper(rows, z.indices) * rounding
    if not feasible.all():
        raise ValueError("z exceeds its bounds")


def _weights(tensors: Tensors, problem: Problem) -> Array | None:
    if "weights" not in tensors:
        return None
    data, W = problem.dataset, tensors["weights"]
    expect(W, data.dtype, (data.n_features + 1, data.n_classes))
    if not np.isfinite(W).all():
        raise ValueError("weights are not finite")
    return W


def _history(tensors: Tensors) -> tuple[EpochRecord, ...]:
    names = fields(EpochRecord)
    expect(tensors["history"], np.dtype(np.float64), (len(tensors["history"]), len(names)))
    whole = [name.type == "int" for name in names]
    return tuple(
        EpochRecord(*(int(x) if is_int else x for x, is_int in zip(row, whole, strict=True)))
        for row in tensors["history"].tolist()
    )


def _epochs(tensors: Tensors, problem: Problem) -> NDArray[np.int64]:
    epochs = tensors["epochs"]
    expect(epochs, np.dtype(np.int64), (problem.dataset.n_classes,))
    if (epochs < 0).any():
        raise ValueError("numbers of epochs are negative")
    return epochs


def expect(array: Array, dtype: DType, shape: tuple[int, ...]) -> None:
    """Refuse an array of a different dtype or shape."""
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(
            f"an array of {array.dtype} {array.shape} stands in the place of {dtype} {shape}"
        )


def facts_of_problem(problem: Problem, classes: Array) -> Facts:
    """Return the facts that identify a training problem; reads all of X once.

    Parameters
    ----------
    problem : Problem
    classes : ndarray of shape (k,)
        Names of the classes.

    Returns
    -------
    dict of str
    """
    data = problem.dataset
    named = {**FORMULATIONS, "logistic": LOGISTIC}
    known = (name for name, f in named.items() if f == problem.formulation)
    names = np.frombuffer(repr(classes.tolist()).encode(), np.uint8)
    base, added = problem.base, {}
    if base is not None:
        mark = fingerprint(*base.arrays(), np.array([base.gamma]))
        added["costs and offsets of classes"] = mark
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


ROWS_AT_A_TIME = 1 << 12


def _fingerprint_of_rows(data: Dataset) -> str:
    """Return the fingerprint of X as CSR without zeros, the same for dense and sparse X."""
    if not data.is_dense:
        return fingerprint(data.indptr, data.indices, data.values)
    X = data.matrix()
    parts = [slice(begin, begin + ROWS_AT_A_TIME) for begin in range(0, len(X), ROWS_AT_A_TIME)]
    counts = np.concatenate([np.count_nonzero(X[part], axis=1) for part in parts])
    total = crc32(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    for part in parts:
        total = crc32(np.nonzero(X[part])[1].astype(np.int32), total)
    for part in parts:
        total = crc32(X[part][X[part] != 0], total)
    return fingerprint_of(total)
