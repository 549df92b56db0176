"""Fits and scores on the folds of a data set, in threads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.metrics import log_loss
from sklearn.model_selection import BaseCrossValidator

from manyclass.arrays.input_arrays import on_host, rows_of
from manyclass.estimators.exact_fit import Training
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import check_parameters
from manyclass.model_selection.baselines import MajorityClass
from manyclass.model_selection.scorers import Classifier, Scorer
from manyclass.problem.solution import Certificate, relative
from manyclass.training.epoch_loop import StopWhen
from manyclass.training.warm_start import WarmStart
from manyclass.utils.types import Array, FormulationName, Numbers, Rows, Settings

Indices = NDArray[np.intp]
Split = tuple[Indices, Indices]  # rows to train and to test on
LOGISTIC: Literal["logistic"] = "logistic"
ROUNDING_OF_BOUNDS = 1e-11  # as a share of the bounds
T = TypeVar("T")
RowMaker = Callable[[Indices], Rows]
CV: TypeAlias = int | BaseCrossValidator | Iterable[Split] | None


@dataclass(slots=True, eq=False)
class FoldFit:
    """A fit on the training rows of a fold, and its score on the test rows.

    Attributes
    ----------
    fit : CertifiedFit, or None
        None if it is no longer needed.
    score : float
    certificate : Certificate, or None
        Certificate of the model at the C of its column; None if nothing is proven.
    seconds : float
    """

    fit: CertifiedFit | None
    score: float
    certificate: Certificate | None
    seconds: float

    @property
    def gap(self) -> float:
        """The proven relative gap, or NaN."""
        return np.nan if self.certificate is None else self.certificate.relative_gap

    def at(self, C: float) -> FoldFit:
        """Return the same model for a larger C, with its certificate at that C."""
        assert self.fit is not None
        fit = self.fit
        proof = proof_of(fit.penalty + C * fit.loss, fit.dual_objective, C * fit.zero_loss)
        return replace(self, certificate=proof, seconds=0.0)


class TrainingRows(NamedTuple):
    """Training rows of a model.

    Attributes
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    sample_weight : array-like of shape (n,), or None
    classes : ndarray of shape (k,), default=None
        Ascending; some may have no rows. None: the classes of y.
    """

    X: Rows
    y: ArrayLike
    sample_weight: ArrayLike | None
    classes: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The rows of all folds; each fit slices its rows from the only copy of X.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), or None
    splits : list of (train, test)
        Row numbers.
    scorer : callable
    metadata : dict
        Metadata of the scorer; arrays with an entry for each row are sliced.
    classes : ndarray of shape (k,)
        Classes of all rows with a positive weight, ascending. Every fold is trained with all of
        them.
    maker : callable, default=None
        Takes the training rows of a fold, and returns X with the features computed from them.
    made : dict
        Results of `maker`, by fold number.
    """

    X: Rows
    y: Array
    sample_weight: Array | None
    splits: list[Split]
    scorer: Scorer
    metadata: Settings
    classes: Array
    maker: RowMaker | None = None
    made: dict[int, Rows] = field(default_factory=dict)

    @property
    def test_share(self) -> float:
        """n_test / n_train, on average."""
        return float(np.mean([len(test) / len(train) for train, test in self.splits]))

    def train(
        self, number: int, model: Classifier, start: WarmStart | None, stop: Event
    ) -> FoldFit:
        """Fit a model on the training rows of a fold, and score it.

        Raises
        ------
        ValueError, FloatingPointError, MemoryError
            As in `fit`; the message names the fold, counted from 1.
        """
        began = time.perf_counter()
        with self.naming(number):
            found = fit(model, self.training_rows(number), start, stop)
        score = self.score(number, found.model)
        proof = found.model.certificate_
        assert proof is not None
        return FoldFit(found, score, proof, time.perf_counter() - began)

    def training_rows(self, number: int) -> TrainingRows:
        """Return the training rows of a fold."""
        rows = self.splits[number][0]
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        X = rows_of(self._made(number), rows)
        return TrainingRows(X, self.y[rows], weights, self.classes)

    def _made(self, number: int) -> Rows:
        """Return X with the features of a fold."""
        if self.maker is None:
            return self.X
        if number not in self.made:
            self.made[number] = self.maker(self.splits[number][0])
        return self.made[number]

    def missing(self) -> dict[int, Array]:
        """Return the classes that the training rows of folds lack, by fold number."""
        found: dict[int, Array] = {}
        for number, (rows, _) in enumerate(self.splits, 1):
            held = self.y[rows]
            if self.sample_weight is not None:
                held = held[self.sample_weight[rows] > 0]
            lacks = np.setdiff1d(self.classes, held)
            if len(lacks):
                found[number] = lacks
        return found

    @contextlib.contextmanager
    def naming(self, number: int) -> Iterator[None]:
        """Prefix the messages of errors with the number of a fold, counted from 1."""
        try:
            yield
        except (ValueError, FloatingPointError, MemoryError) as error:
            raise type(error)(f"fold {number + 1}: {error}") from error

    def score(self, number: int, model: Classifier | MajorityClass) -> float:
        """Score a model on the test rows of a fold.

        Raises
        ------
        ValueError
            If scoring fails, or the score is not a finite number.
        """
        rows = self.splits[number][1]
        if self.metadata.get("sample_weight") is not None:
            weights = np.asarray(on_host(self.metadata["sample_weight"]))[rows]
            rows = rows[weights > 0] if weights.any() else rows
        metadata = {
            name: _sliced(value, rows, len(self.y)) for name, value in self.metadata.items()
        }
        scorer, X = with_labels(self.scorer, self.classes), rows_of(self._made(number), rows)
        try:
            with config_context(array_api_dispatch=False):  # y is an ndarray
                score = float(scorer(model, X, self.y[rows], **metadata))
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"fold {number + 1}: scoring failed: {error}") from error
        if not np.isfinite(score):
            raise ValueError(f"fold {number + 1}: the score is {score}; check scoring")
        return score

    def baseline_scores(self) -> Iterator[float]:
        """Yield the scores of models that predict the most frequent class of the training rows."""
        for number, (train, _) in enumerate(self.splits):
            weights = None if self.sample_weight is None else self.sample_weight[train]
            weighs = slice(None) if weights is None else weights > 0
            places = np.searchsorted(self.classes, self.y[train][weighs])
            own = None if weights is None else weights[weighs]
            counts = np.bincount(places, own, len(self.classes)).astype(float)
            yield self.score(number, MajorityClass(self.classes, counts / counts.sum()))


def with_labels(scorer: Scorer, classes: Array) -> Scorer:
    """Return a log loss scorer with all classes, as the test rows of a fold may lack some."""
    settings = getattr(scorer, "_kwargs", {})
    if getattr(scorer, "_score_func", None) is not log_loss or "labels" in settings:
        return scorer
    complete = copy(scorer)
    vars(complete)["_kwargs"] = {**settings, "labels": classes}
    return complete


def checked_splits(splits: Iterable[Split], y: Array) -> list[Split]:
    """Return the rows of each fold as arrays.

    Raises
    ------
    ValueError
        If there are no folds, or a fold has no training or test rows.
    """
    all_rows = np.arange(len(y))
    found: list[Split] = []
    for number, (train, test) in enumerate(splits, 1):
        try:
            found.append((all_rows[train], all_rows[test]))
        except IndexError as error:
            raise ValueError(f"fold {number} has no rows of {len(y)}: {error}; check cv") from None
    if not found:
        raise ValueError("cv gives no folds")
    for number, fold in enumerate(found, 1):
        for rows, use in zip(fold, ("train", "test"), strict=True):
            if not len(rows):
                raise ValueError(f"fold {number} has no row to {use} on; check cv")
    return found


def _sliced(value: ArrayLike, rows: Indices, n: int) -> ArrayLike:
    return np.asarray(value)[rows] if np.shape(value)[:1] == (n,) else value


@dataclass(slots=True, eq=False)
class CertifiedFit:
    """A model with an upper bound N + C L of its P at every C, and a lower bound of the optimum.

    Attributes
    ----------
    model : MulticlassSVC or MultinomialLogisticRegression
    C, penalty, loss, dual_objective : float
    zero_loss : float
        Loss of W = 0: P(0) = C zero_loss.
    gap : float
        Proven relative gap at C.
    start : WarmStart
        Start of a later fit on the same rows.
    """

    model: Classifier
    C: float
    penalty: float
    loss: float
    dual_objective: float
    zero_loss: float
    gap: float
    start: WarmStart

    @property
    def nbytes(self) -> int:
        """Approximate bytes of the model and its start."""
        kept = self.start.start.duals
        z = kept.data.nbytes + kept.indices.nbytes
        coef = self.model.coef_
        return int(z + 2 * (coef.data.nbytes if sp.issparse(coef) else coef.nbytes))

    def gap_at(self, C: float) -> float:
        """Return the proven relative gap at a larger C, as P* does not decrease in C."""
        if not self.dual_objective > 0:
            return np.inf
        upper = self.penalty + C * self.loss
        return float(gap_between(upper, self.dual_objective, C * self.zero_loss))


def estimator_for(
    formulation: FormulationName | Literal["logistic"], parameters: Settings
) -> Classifier:
    """Return the estimator of a formulation or "logistic"."""
    if formulation == LOGISTIC:
        return MultinomialLogisticRegression(**parameters)
    return MulticlassSVC(formulation=formulation, **parameters)


def fit(
    model: Classifier,
    given: TrainingRows,
    start: WarmStart | None = None,
    stop: Event | None = None,
) -> CertifiedFit:
    """Fit a model, from the start of an earlier fit if given.

    Does not warn if the tolerance is not reached (see `gap`). Thread-safe.
    """
    hooks = () if stop is None else (StopWhen(stop),)
    X, y, sample_weight, classes = given
    training = Training(model, start=start, hooks=hooks, is_final=False, classes=classes)
    check_parameters(model)
    training.run(X, y, sample_weight)
    assert training.ended is not None
    # v is recomputed from W in one loop over the examples.
    then = replace(training.ended, start=replace(training.ended.start, log_u=None))
    proof = model.certificate_
    assert proof is not None
    return CertifiedFit(
        model,
        model.C,
        proof.penalty,
        proof.loss / model.C,
        proof.dual_objective,
        proof.zero_objective / model.C,
        proof.relative_gap,
        then,
    )


def gap_between(upper: ArrayLike, lower: ArrayLike, zero: ArrayLike) -> Numbers:
    """Return bounds of (P - P*) / min(P*, P(0) - P*), from upper bounds of P, lower bounds of P*.

    If bounds differ only by rounding, the denominator is P*.
    """
    U, L, P0 = (np.asarray(bound, np.float64) for bound in (upper, lower, zero))
    apart = np.maximum(U - L, 0.0)
    scale = np.where(apart > ROUNDING_OF_BOUNDS * U, np.minimum(L, P0 - U), L)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(scale > 0, apart / scale, np.inf)
    return np.where(apart > 0, found, 0.0)


def proof_of(primal: float, dual: float, zero: float) -> Certificate:
    """Return the certificate for bounds of P and of the optimum, and P(0)."""
    gap = max(0.0, primal - dual)
    return Certificate(primal, dual, gap, relative(gap, primal, zero), np.nan, zero)


def in_order(
    tasks: Sequence[Callable[[Event], T]], n_threads: int, stop: Event | None = None
) -> Generator[T]:
    """Run tasks in order and yield their results in the same order.

    Close the iterator to skip the other tasks. After an error or Ctrl-C, pending tasks are
    cancelled, and running tasks are signaled and joined.

    Parameters
    ----------
    tasks : sequence of callables
        Each takes an event that is set when its result is no longer needed.
    n_threads : int
        1: each task runs in the caller's thread when its result is requested.
    stop : Event, default=None
        Shared cancellation event.
    """
    stop = stop or Event()
    if n_threads == 1:
        for task in tasks:
            yield task(stop)
        return
    with ThreadPoolExecutor(n_threads) as executor:
        results = [executor.submit(task, stop) for task in tasks]
        try:
            for result in results:
                yield result.result()
        finally:
            stop.set()
            executor.shutdown(wait=True, cancel_futures=True)


Column = list[FoldFit]  # the folds at one C


def scores_of(table: list[Column]) -> Numbers:
    """Return the scores of a table, shape (n_folds, n_Cs)."""
    return np.array([[entry.score for entry in column] for column in table], np.float64).T
