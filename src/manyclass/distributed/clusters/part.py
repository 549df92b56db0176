"""A part of the rows on a worker of a cluster: it is loaded there, and returns sums.

The content of a part can be computed from its rows and the plan of the training: a lost part is
loaded again, and returns the same sums.
"""

from __future__ import annotations

import copy
import gc
import math
import mmap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.arrays.choice import check_on_device, lack_of_memory
from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.namespace import is_on_device
from manyclass.arrays.places.host_rows import HostRows
from manyclass.arrays.remote_rows import remote_rows
from manyclass.distributed.rows.admm import LOG_LOSS
from manyclass.distributed.rows.averaged_newton import NewtonRows
from manyclass.distributed.rows.data import GlobalInfo, about_rows, dataset_of, weights_of
from manyclass.distributed.rows.device_svm_rows import DeviceSvmRows
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import check_size, validated
from manyclass.problem.problem import Problem
from manyclass.rows.parts import ALIGNMENT, PartOfRows, zeros_like
from manyclass.training.checkpoint_file import facts_of_problem
from manyclass.utils.fingerprints import Facts
from manyclass.utils.machine import effective_n_jobs, one_blas_thread
from manyclass.utils.types import Array, DType, Rows, Settings

PATIENCE = 30.0  # seconds to wait for a round before a part is written

Model: TypeAlias = MulticlassSVC | MultinomialLogisticRegression
# Turns the objects of a part into X, y and perhaps weights.
Read: TypeAlias = Callable[..., tuple[ArrayLike, ...]]
Answers: TypeAlias = list[Any]  # results of a method of all parts, in their order


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Facts that all parts need before training."""

    common: GlobalInfo
    model: Model  # not fitted; its n_jobs are threads for each part
    on_device: bool = False  # whether the rows of all parts lie on devices, or go to them
    firsts: Mapping[int, int] = field(default_factory=dict)  # first row among all, by part

    def following(self, parts: Sequence[PartInfo]) -> Plan:
        """Return the plan for consecutive parts."""
        ends = accumulate((part.n_examples for part in parts), initial=0)
        return replace(
            self, firsts={part.number: end for part, end in zip(parts, ends, strict=False)}
        )


class PartInfo(NamedTuple):
    """Number of a part, its number of training rows, their least and largest C_i; or an error."""

    number: int
    n_examples: int
    least: float
    largest: float
    error: Exception | None


class ArraySpec(NamedTuple):
    """Shape and dtype of an array of sums."""

    shape: tuple[int, ...]
    dtype: DType


class Part:
    """A part of the rows, on its worker.

    ``rows`` are X, y and perhaps weights, as of ``MultinomialLogisticRegression.fit``, or objects
    that ``read`` turns into these. Dense rows in host memory are trained on ``device`` of PyTorch.
    ``about`` is what the others must know of the rows, ``error`` what is wrong with them.
    """

    def __init__(
        self, number: int, *rows: object, read: Read | None = None, device: str | None = None
    ) -> None:
        self.number, self.device = number, device
        self.error: Exception | None = None
        self.about: Settings = {}
        self._given: tuple[Rows, Array, NDArray[np.float64]] | None = None  # until it is planned
        self._problem: Problem | None = None
        self._rows: PartOfRows | None = None
        self.pages: mmap.mmap | None = None  # of the rows, if they are dropped after each answer
        self._lock = threading.Lock()
        reads: Read = read or _as_given
        self.error = self._tried(lambda: self._load(*reads(*rows)))

    def known(self) -> tuple[Settings, Exception | None]:
        """Return the facts for the other parts, and the error."""
        return self.about, self.error

    def ready(self, plan: Plan) -> PartInfo:
        """Create the problem of the part."""
        error = self._tried(lambda: self.planned(plan))
        if self._problem is None:
            return PartInfo(self.number, 0, math.inf, 0.0, error)
        costs = self._problem.costs
        least, largest = costs.min(initial=math.inf), costs.max(initial=0.0)
        return PartInfo(self.number, len(costs), float(least), float(largest), error)

    def facts(self, plan: Plan) -> Facts:
        """Return the facts that identify the problem of the part."""
        return facts_of_problem(self.planned(plan).problem, plan.common.classes)

    def add(
        self, plan: Plan, question: str, given: Sequence[object], into: Sequence[Array]
    ) -> None:
        """Add the results of a method of the rows to arrays."""
        with self._lock:
            rows = self.planned(plan)
            if rows.problem.dataset.n_examples or not plan.on_device:
                with _memory_of(rows.problem):
                    getattr(rows, question)(*given, *into)
            self.drop_pages()

    def planned(self, plan: Plan) -> PartOfRows:
        """Return the object that computes sums over the rows."""
        if self._problem is None:
            assert self._given is not None
            dataset = dataset_of(*self._given, plan.common)
            check_size(dataset)
            self._problem = plan.model._problem(dataset, plan.common.classes)
            self._given = None
        if self._rows is None:
            with _memory_of(self._problem):
                self._rows = self._rows_of(self._problem, plan.model)
        if plan.firsts:
            self._rows.first = plan.firsts[self.number]
        return self._rows

    def _rows_of(self, problem: Problem, model: Model) -> PartOfRows:
        """Return the object that computes sums: rows on a device, or in the core."""
        if problem.dataset.lies_on_device:
            gc.collect()  # rows of an earlier training may be in cycles of references
            check_on_device(problem, stopping=model.stopping, solver="auto", weights="dense")
            if problem.loss == "hinge":
                return DeviceSvmRows(problem, self.number)
            rows = remote_rows(problem)
            rows.number = self.number
            return rows
        n_jobs = effective_n_jobs(model.n_jobs)
        if problem.loss == LOG_LOSS:
            return NewtonRows(problem, n_jobs)
        return SvmRows(problem, n_jobs, number=self.number)

    def drop_pages(self) -> None:
        """Release the memory of pages that can be read again from the file."""
        if self.pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            self.pages.madvise(mmap.MADV_DONTNEED)

    def __sizeof__(self) -> int:
        """Return the bytes of its rows and dual variables, as cluster engines request."""
        own = self._rows.__sizeof__() if isinstance(self._rows, SvmRows) else 0
        if self.pages is not None:
            return own
        if self._problem is not None:
            data = self._problem.dataset
            if isinstance(data, DeviceDataset):
                return own + _bytes_here(data.X)
            return own + int(data.values.nbytes + data.indices.nbytes + data.indptr.nbytes)
        return 0 if self._given is None else _bytes_here(self._given[0])

    def __getstate__(self) -> Settings:
        """Return the state without values derived from the rows; wait for the end of a round.

        The dual variables are kept. A cluster that is short of memory writes parts to disk.
        """
        state: Settings = {**vars(self), "_rows": None, "_lock": None, "pages": None}
        if isinstance(self._rows, SvmRows) and self._lock.acquire(timeout=PATIENCE):
            try:
                state["_rows"] = copy.copy(self._rows)
            finally:
                self._lock.release()
        return state

    def __setstate__(self, state: Settings) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def _tried(self, step: Callable[[], object]) -> Exception | None:
        """Run a step; return an error of the rows, with the number of the part."""
        try:
            step()
        except FloatingPointError as error:
            return FloatingPointError(f"part {self.number}: {error}")
        except (TypeError, ValueError) as error:
            return ValueError(f"part {self.number}: {error}")
        return None

    def _load(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        model = MultinomialLogisticRegression(device=self.device)
        if is_on_device(X) and not np.shape(X)[0]:
            X = np.empty(np.shape(X))
        rows, targets = validated(model, X, y, least_rows=0, on_device=True)
        weights = weights_of(rows, sample_weight)
        names = getattr(model, "feature_names_in_", None)
        about = about_rows(rows, targets, weights, None if names is None else list(names))
        self.about = {**about, "part": self.number}
        self._given = rows, targets, weights


@contextmanager
def _memory_of(problem: Problem) -> Iterator[None]:
    """Raise MemoryError if a device runs out of memory."""
    try:
        yield
    except RuntimeError as error:
        of_device = lack_of_memory(problem, error)
        if of_device is None:
            raise
        raise of_device from error


def _bytes_here(X: Rows) -> int:
    """Return the bytes of X in host memory."""
    if isinstance(X, HostRows):
        return X.X.nbytes
    if is_on_device(X):
        return 0
    if isinstance(X, np.ndarray):
        return X.nbytes
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def _as_given(*rows: ArrayLike) -> tuple[ArrayLike, ...]:
    return rows


def called(part: Part, method: str, *arguments: object) -> object:
    """Return the result of a method of a part."""
    found: object = getattr(part, method)(*arguments)
    part.drop_pages()
    return found


def answer(
    parts: Sequence[Part], question: str, like: Sequence[ArraySpec], plan: Plan, *given: object
) -> list[Array]:
    """Return the sums of the parts of a worker, which are added one part after the other."""
    into = [zeros_like(np.empty(shape, dtype)) for shape, dtype in like]
    arguments = [aligned(value) if isinstance(value, np.ndarray) else value for value in given]
    with one_blas_thread():
        for part in parts:
            part.add(plan, question, arguments, into)
    return into


def added(left: list[Array], right: list[Array]) -> list[Array]:
    """Return the sums of more parts."""
    return [one + other for one, other in zip(left, right, strict=True)]


def aligned(values: Array) -> Array:
    """Return an array that is writable and aligned, as the kernels require."""
    if values.flags.writeable and values.flags.c_contiguous and not values.ctypes.data % ALIGNMENT:
        return values
    copy = zeros_like(values)
    copy[...] = values
    return copy
