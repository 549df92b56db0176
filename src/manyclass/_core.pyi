"""Typed view of the compiled core."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def instruction_sets() -> list[str]: ...
def parse_svmlight(
    data: bytes | memoryview,
    *,
    float64: bool,
    n_features: int,
    zero_based: bool,
    sort: bool,
    sum_duplicates: bool,
) -> tuple[
    NDArray[np.int32] | NDArray[np.int64],  # indices, from 0
    NDArray[np.float32] | NDArray[np.float64],  # values
    NDArray[np.int64],  # row_ends
    NDArray[np.int32],  # codes
    list[bytes],  # labels
    NDArray[np.int64],  # label_lines
    int,  # n_lines
    int,  # max_index
]: ...

class SweepResult:
    def __init__(self) -> None: ...
    @property
    def gap(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def dual_gain(self) -> float: ...
    @property
    def max_violation(self) -> float: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def n_active(self) -> int: ...

class ShrunkGoal:
    def __init__(self, gap: float, violation: float, evaluations: int, min_gap: float) -> None: ...

class ShrunkResult:
    @property
    def dual_gain(self) -> float: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def n_active(self) -> int: ...
    @property
    def loops(self) -> int: ...

class Formulation:
    def __init__(
        self,
        relative: bool,
        others: bool,
        own: bool,
        maximum: bool,
        centred: bool,
        squared: bool,
        gamma: float,
        gamma_own: float,
    ) -> None: ...

class _Duals:
    def __init__(self, n_rows: int, n_classes: int) -> None: ...
    def to_csr(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]: ...
    def from_csr(
        self, indptr: NDArray[np.int64], labels: NDArray[np.int32], values: NDArray[Any]
    ) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...

class Duals32(_Duals): ...
class Duals64(_Duals): ...
class LaneDuals32(_Duals): ...
class LaneDuals64(_Duals): ...

class _Trainer:
    def __init__(
        self,
        formulation: Formulation,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        n_features: int,
        bias: float,
        labels: NDArray[np.int32],
        n_classes: int,
        costs: NDArray[np.float64],
        instruction_set: str,
    ) -> None: ...
    def squared_norms(self) -> NDArray[np.float64]: ...
    def stop(self) -> None: ...
    def full_loop(
        self,
        weights: NDArray[Any],
        duals: _Duals,
        rows: NDArray[np.int32],
        active: NDArray[np.int32],
        min_gap: float,
        seed: int,
    ) -> SweepResult: ...
    def shrunk_loops(
        self,
        weights: NDArray[Any],
        duals: _Duals,
        active: NDArray[np.int32],
        n_active: int,
        goal: ShrunkGoal,
        seed: int,
    ) -> ShrunkResult: ...
    def inspect(
        self, weights: NDArray[Any], duals: _Duals, begin: int, end: int
    ) -> SweepResult: ...
    def add_duals(self, weights: NDArray[Any], duals: _Duals, begin: int, end: int) -> None: ...

class Trainer32(_Trainer): ...
class Trainer64(_Trainer): ...
class LaneTrainer32(_Trainer): ...
class LaneTrainer64(_Trainer): ...

class _Predictor:
    def __init__(
        self, weights: NDArray[Any], intercepts: NDArray[Any], instruction_set: str
    ) -> None: ...
    def csr_scores(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        out: NDArray[Any],
    ) -> None: ...
    def csr_labels(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        out: NDArray[np.int64],
    ) -> None: ...
    def dense_scores(self, rows: NDArray[Any], out: NDArray[Any]) -> None: ...
    def dense_labels(self, rows: NDArray[Any], out: NDArray[np.int64]) -> None: ...

class Predictor32(_Predictor): ...
class Predictor64(_Predictor): ...
