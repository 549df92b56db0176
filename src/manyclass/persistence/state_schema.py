"""Convert the state for warm starts to tensors and JSON, and back.

Tensors, all with the prefix ``state/``: ``duals.*``, ``weights``, ``history`` and ``epochs`` as in
checkpoints (training/checkpoint_file.py), ``log_u`` (n, k) of logistic regression, ``labels`` (n,),
int32, ``costs`` (n,), float64, ``factors`` (k, k), float64, ``prints`` (n, 2), uint64, ``numbers``
(n,), int64 (the row numbers in X, if some rows have weight 0), ``classes`` if they are numbers, and
``sets.indptr``, ``sets.labels`` of MultilabelSVC. JSON: formulation, loss, n_features, dtype,
classes if they are names. Files are not trusted: z must be feasible and u a distribution, as
certificates depend on both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.estimators.fitted_weights import kept_state
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.multilabel.warm_start import LabelStart
from manyclass.persistence.model_schema import KINDS, pack_classes, unpack_classes
from manyclass.problem.dataset import MAX_INDEX, Dataset
from manyclass.problem.formulations import FORMULATIONS, LOGISTIC
from manyclass.problem.problem import Problem
from manyclass.training.checkpoint_file import ROUNDING, checked_start, expect, tensors_of_start
from manyclass.training.warm_start import WarmStart
from manyclass.utils.types import Array, CsrArray, DType, Settings

Stateful = MulticlassSVC | MultinomialLogisticRegression | MultilabelSVC
PREFIX = "state/"
NAMED = {**FORMULATIONS, "logistic": LOGISTIC}
ROWS_AT_A_TIME = 1 << 12
DTYPES: dict[str, DType] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


def pack_state(model: Stateful) -> tuple[dict[str, Array], Settings]:
    """Return the tensors of a model's state, and the other content as JSON values."""
    held = state_of(model)
    state = held.state if isinstance(held, LabelStart) else held
    assert state.labels is not None
    assert state.costs is not None
    start = replace(state.start, history=(), epochs=None)
    classes, names = pack_classes(state.classes)
    tensors = {
        **tensors_of_start(start),
        **classes,
        "labels": np.ascontiguousarray(state.labels, np.int32),
        "costs": np.ascontiguousarray(state.costs, np.float64),
    }
    found = {"log_u": start.log_u, "factors": state.factors, "prints": state.prints}
    found["numbers"] = state.numbers
    tensors.update({name: np.ascontiguousarray(v) for name, v in found.items() if v is not None})
    if isinstance(held, LabelStart):
        sets = sp.csr_array(held.indicator)
        tensors["sets.indptr"] = sets.indptr.astype(np.int64)
        tensors["sets.labels"] = sets.indices.astype(np.int32)
    about: Settings = {
        "formulation": next(name for name, f in NAMED.items() if f == state.formulation),
        "loss": state.loss,
        "n_features": state.n_features,
        "dtype": str(start.duals.dtype),
        **names,
    }
    return {PREFIX + name: tensor for name, tensor in tensors.items()}, about


def state_of(model: Stateful) -> WarmStart | LabelStart:
    """Return the start of the next fit of a model."""
    held = kept_state(model)
    assert isinstance(held, WarmStart | LabelStart)
    return held


def unpack_state(
    tensors: dict[str, Array], about: Settings, model: Stateful
) -> WarmStart | LabelStart:
    """Return the checked state of a model; the inverse of ``pack_state``."""
    own = {
        name.removeprefix(PREFIX): tensor
        for name, tensor in tensors.items()
        if name.startswith(PREFIX)
    }
    name, is_multilabel = about["formulation"], isinstance(model, MultilabelSVC)
    if (name == "logistic") != isinstance(model, MultinomialLogisticRegression):
        raise ValueError("the state belongs to a different estimator")
    if is_multilabel and name != "one_vs_rest":
        raise ValueError("label sets require formulation one_vs_rest")
    classes = unpack_classes(own, about, KINDS[type(model).__name__])
    problem = _problem(own, about, len(classes))
    start = replace(checked_start(own, problem), history=(), epochs=None)
    n, k = problem.dataset.n_examples, len(classes)
    if "log_u" in own:
        if name != "logistic" or start.weights is None:
            raise ValueError("log_u requires the weights of logistic regression")
        _check_log_u(own["log_u"], n, k, problem.dataset)
        start = replace(start, log_u=own["log_u"])
    if "prints" in own:
        expect(own["prints"], np.dtype(np.uint64), (n, 2))
    elif is_multilabel:
        raise ValueError("there are no fingerprints")
    prints = own.get("prints")
    state = WarmStart.from_problem(problem, start, classes, prints)
    if "numbers" in own:
        expect(own["numbers"], np.dtype(np.int64), (n,))
        if own["numbers"][0] < 0 or (np.diff(own["numbers"]) <= 0).any():
            raise ValueError("row numbers are not ascending from 0")
        state = replace(state, numbers=own["numbers"])
    return LabelStart(state, _sets(own, n, k)) if is_multilabel else state


def _problem(own: dict[str, Array], about: Settings, k: int) -> Problem:
    """Return a problem with the costs and labels of the state, and empty rows."""
    labels, costs, n_features = own["labels"], own["costs"], about["n_features"]
    n, dtype = len(labels), DTYPES[about["dtype"]]
    expect(labels, np.dtype(np.int32), (n,))
    expect(costs, np.dtype(np.float64), (n,))
    if n == 0 or labels.min() < 0 or labels.max() >= k:
        raise ValueError("labels of rows are out of range")
    if not (np.isfinite(costs).all() and (costs > 0).all()):
        raise ValueError("costs of rows must be positive and finite")
    if type(n_features) is not int or not 0 < n_features <= MAX_INDEX:
        raise ValueError("the number of features is out of range")
    factors = own.get("factors")
    if factors is not None:
        expect(factors, np.dtype(np.float64), (k, k))
        if np.isnan(factors).any():
            raise ValueError("factors are not numbers")
    empty = np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, dtype)
    data = Dataset(*empty, labels, costs, n_features, k, 0.0)
    formulation = NAMED[about["formulation"]]
    return Problem(data, formulation, 1.0, about["loss"], factors=factors)


def _check_log_u(log_u: Array, n: int, k: int, data: Dataset) -> None:
    """Check that u of every row is a distribution."""
    expect(log_u, data.dtype, (n, k))
    for begin in range(0, n, ROWS_AT_A_TIME):
        part = log_u[begin : begin + ROWS_AT_A_TIME].astype(np.float64)
        if np.isnan(part).any() or part.max() > ROUNDING[data.dtype.itemsize]:
            raise ValueError("log_u does not hold logarithms of shares")
        off = np.abs(np.exp(part).sum(axis=1) - 1)
        if off.max() > ROUNDING[data.dtype.itemsize]:
            raise ValueError("the shares of a row do not add up to 1")


def _sets(own: dict[str, Array], n: int, k: int) -> CsrArray:
    """Return the labels of the rows as a matrix of 0 and 1."""
    indptr, labels = own["sets.indptr"], own["sets.labels"]
    expect(indptr, np.dtype(np.int64), (n + 1,))
    expect(labels, np.dtype(np.int32), (int(indptr[-1]),))
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("label sets have no rows")
    if len(labels) and (labels.min() < 0 or labels.max() >= k):
        raise ValueError("labels of rows are out of range")
    ends: NDArray[np.int64] | NDArray[np.int32] = indptr
    if len(labels) <= MAX_INDEX:
        ends = indptr.astype(np.int32)
    sets = sp.csr_array((np.ones(len(labels), np.int8), labels, ends), shape=(n, k))
    sets.sort_indices()
    if not sets.has_canonical_format:
        raise ValueError("a row has a label twice")
    return sets
