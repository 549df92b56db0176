"""Training of all labels to a proven gap, by groups of labels, in threads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.arrays.choice import check_on_device, labels_at_once, lack_of_memory
from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.input_arrays import rows_of
from manyclass.multilabel.groups import Labels, dataset_of, groups_of
from manyclass.multilabel.label_weights import LabelWeights, compact
from manyclass.problem.dataset import Dataset, is_mapped
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, Solution, Start, Status, Weights
from manyclass.solvers.weights.storage import classes_in_group, has_wide_rows
from manyclass.training.epoch_loop import Options, StopWhen
from manyclass.training.train import train
from manyclass.utils.machine import available_memory
from manyclass.utils.types import Array, CsrArray

SINGLE = np.dtype(np.float32)
# float64 rows are trained in float32 if the magnitude of all values but 0 is from 1 / LARGEST to
# LARGEST, and the tolerance is at least LEAST_TOL.
LARGEST, LEAST_TOL = 2.0**8, 1e-5
# Weights are sparse if dense ones would need more than this share of the memory.
LARGE_SHARE = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """A multi-label problem.

    Attributes
    ----------
    rows : Dataset
        The examples; their classes are ignored.
    indicator : CSR array of shape (n, k)
    C : float
    loss : {"hinge", "squared_hinge"}
    features : ndarray of shape (rows.n_features,), or None
        Feature numbers of the columns of `rows`, out of `n_features`; None: all.
    n_features : int
    """

    rows: Dataset
    indicator: CsrArray
    C: float
    loss: str
    features: NDArray[np.int64] | None
    n_features: int

    @classmethod
    def from_rows(cls, rows: Dataset, indicator: CsrArray, C: float, loss: str) -> Labelled:
        """Return the problem on the features that the rows use; on a device, on all features."""
        if rows.lies_on_device:
            return cls(rows, indicator, C, loss, None, rows.n_features)
        X, features = compact(rows, rows.matrix())
        d = rows.n_features
        if features is not None:
            rows = Dataset.from_matrix(
                X, rows.labels, n_classes=1, weights=rows.weights, bias=rows.bias
            )
        return cls(rows, indicator, C, loss, features, d)

    def columns(self, dense: Array | None, prune: float) -> LabelWeights:
        """Return the array that collects the W of the groups."""
        used = np.arange(self.n_features) if self.features is None else self.features
        shape = self.n_features + 1, self.indicator.shape[1]
        return LabelWeights(np.append(used, self.n_features), shape, self.rows.dtype, prune, dense)

    def groups(self, labels: Labels) -> list[Labels]:
        """Partition labels into groups that train together."""
        if isinstance(self.rows, DeviceDataset):
            size = labels_at_once(self.rows, self.loss, len(labels))
            return groups_of(self.indicator, labels, size, apart=False)
        size = classes_in_group(self.rows.dtype)
        return groups_of(self.indicator, labels, size, apart=self._apart())

    def _apart(self) -> bool:
        return has_wide_rows(self.rows)

    def problem(self, group: Labels) -> Problem:
        """Return the one-vs-rest problem of a group of labels."""
        dataset: Dataset
        if isinstance(self.rows, DeviceDataset):
            dataset = self.rows.with_sets(self.indicator[:, group].toarray().astype(bool))
        else:
            dataset = dataset_of(self.rows, self.indicator, group, apart=self._apart())
        return Problem(dataset, FORMULATIONS["one_vs_rest"], self.C, self.loss)

    def constant(self) -> NDArray[np.bool_]:
        """Whether all or no examples have a label; shape (k,)."""
        counts = np.bincount(self.indicator.indices, minlength=self.indicator.shape[1])
        return np.asarray((counts == 0) | (counts == self.indicator.shape[0]))

    def whole_rows(self) -> Dataset:
        """Return the rows with their original columns."""
        if self.features is None:
            return self.rows
        indices = self.features.astype(np.int32)[self.rows.indices]
        if self.rows.is_dense:
            indices = np.tile(indices, self.rows.n_examples)
        return replace(self.rows, indices=indices, n_features=self.n_features)

    def in_single(self, tol: float) -> Labelled:
        """Return the same problem in float32, or this problem if float32 would change it.

        Training in float32 takes about 0.65 of the time. If float32 represents every value
        exactly, for example small counts, its W also solves the problem in float64, with the same
        certificate; so do the intercepts if the appended feature is a power of 2. float32 must
        also be accurate enough for `tol`.
        """
        values, bias = self.rows.values, self.rows.bias
        if values.dtype == SINGLE or is_mapped(values) or tol < LEAST_TOL:
            return self
        sizes = np.abs(values[values != 0])
        if not len(sizes) or sizes.min() < 1 / LARGEST or sizes.max() > LARGEST:
            return self
        rounded = values.astype(SINGLE)
        if (bias and math.frexp(bias)[0] != 0.5) or (rounded != values).any():
            return self
        return replace(self, rows=replace(self.rows, values=rounded))

    def some(self, rows: NDArray[np.int64]) -> Labelled:
        """Return the same problem for some of its rows."""
        data, none = self.rows, np.zeros(len(rows), np.int32)
        X = rows_of(data.X, rows) if isinstance(data, DeviceDataset) else data.matrix()[rows]
        make = DeviceDataset.from_array if data.lies_on_device else Dataset.from_matrix
        part = make(X, none, n_classes=1, weights=data.weights[rows], bias=data.bias)
        return replace(self, rows=part, indicator=self.indicator[rows])


@dataclass(slots=True, eq=False)
class Trained:
    """W of all labels, and the certificate."""

    weights: Weights
    certificate: Certificate
    n_epochs: int
    status: Status
    duals: CsrArray


def trained(
    labelled: Labelled,
    options: Options,
    seed: int,
    *,
    sparse: bool,
    prune: float = 0.0,
    start: Start | None = None,
) -> Trained:
    """Train all labels to a proven gap.

    Each group meets the stopping criterion by itself, so that the sum of the gaps meets it, too.
    Labels that all or no examples have are not trained: W = 0.

    Parameters
    ----------
    labelled : Labelled
    options : Options
        ``n_jobs`` groups are trained at once; if there are fewer groups, threads share a group.
    seed : int
        Seed of the random orders of all groups.
    sparse : bool
        Whether W is returned as a CSR array.
    prune : float, default=0.0
        Weights of a smaller magnitude are removed.
    start : Start, default=None
        Start with z of all labels; None: z = 0.

    Returns
    -------
    Trained
        ``n_epochs`` is the largest number of epochs of a group; z is empty unless
        ``options.keeps_duals``.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; other threads end after their epoch.
    FloatingPointError
        If the weights overflow.
    MemoryError
    """
    data, k = labelled.rows, labelled.indicator.shape[1]
    labels = np.flatnonzero(~labelled.constant())
    single = labelled.in_single(options.tol)
    groups = single.groups(labels)
    dense = None if sparse else np.zeros((labelled.n_features + 1, k), data.dtype)
    columns = labelled.columns(dense, prune)
    certificates, status, n_epochs = [], Status.CONVERGED, 0
    duals: list[CsrArray] = []
    for group, solution in solutions(single, groups, options, seed, start):
        columns.add(group, solution.weights)
        if options.keeps_duals:
            duals.append(solution.duals)
        certificates.append(solution.certificate)
        n_epochs = max(n_epochs, len(solution.history))
        if solution.status is not Status.CONVERGED:
            status = solution.status
    certificate = Certificate.sum_of(certificates)
    if options.rule().met(certificate):
        status = Status.CONVERGED
    z = _joined(duals, groups, labelled.indicator.shape)
    return Trained(columns.joined(), certificate, n_epochs, status, z)


def _joined(parts: list[CsrArray], groups: list[Labels], shape: tuple[int, int]) -> CsrArray:
    """Return z of all labels, joined from the groups; 0 for labels without z."""
    if not parts:
        return sp.csr_array(shape)
    side_by_side = sp.csr_array(sp.hstack(parts, format="csr"))
    labels = np.concatenate(groups).astype(np.int32)[side_by_side.indices]
    z = sp.csr_array((side_by_side.data, labels, side_by_side.indptr), shape=shape)
    z.sort_indices()
    return z


def wants_sparse(labelled: Labelled, weights: str) -> bool:
    """Whether to store W as a sparse array.

    Parameters
    ----------
    labelled : Labelled
    weights : {"auto", "dense", "sparse"}
        "auto": sparse if dense weights would need a large share of the memory.

    Raises
    ------
    MemoryError
        If dense weights are requested and do not fit.
    """
    data, k = labelled.rows, labelled.indicator.shape[1]
    needed, memory = (labelled.n_features + 1) * k * data.dtype.itemsize, available_memory()
    if weights == "dense" and needed > memory:
        raise MemoryError(
            f"dense weights for {labelled.n_features} features and {k} labels need "
            f"{needed / 1e9:.1f} GB; there are {memory / 1e9:.1f} GB; use weights='sparse'"
        )
    return weights == "sparse" or (weights == "auto" and needed > LARGE_SHARE * memory)


def _solution(problem: Problem, options: Options, start: Start | None, ended: Event) -> Solution:
    """Train a group of labels, until it ends or training is cancelled."""
    if problem.dataset.lies_on_device:
        check_on_device(problem, stopping="gap", solver="auto", weights="dense")
    try:
        return train(problem, options, start=start, hooks=[StopWhen(ended)])
    except RuntimeError as error:
        lack = lack_of_memory(problem, error)
        if lack is not None:
            raise lack from error
        raise


def solutions(
    labelled: Labelled,
    groups: list[Labels],
    options: Options,
    seed: int,
    start: Start | None = None,
) -> Iterator[tuple[Labels, Solution]]:
    """Train groups of labels, `n_jobs` of them at once; yield them in their order."""
    n_threads = max(1, min(options.n_jobs, len(groups)))
    if labelled.rows.lies_on_device:
        n_threads = 1
    each = replace(options, n_jobs=options.n_jobs // n_threads)
    ended = Event()
    by_label = None if start is None else start.duals.tocsc()

    def solve(group: Labels) -> Solution:
        own, problem = replace(each, seed=[seed, int(group[0])]), labelled.problem(group)
        begin = None
        if start is not None and by_label is not None:
            begin = replace(start, duals=sp.csr_array(by_label[:, group]))
        return _solution(problem, own, begin, ended)

    if n_threads == 1:
        for group in groups:
            yield group, solve(group)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            # Limits the number of solutions in memory.
            for begin in range(0, len(groups), 4 * n_threads):
                some = groups[begin : begin + 4 * n_threads]
                yield from zip(some, threads.map(solve, some), strict=True)
        except BaseException:
            ended.set()
            threads.shutdown(cancel_futures=True)
            raise
