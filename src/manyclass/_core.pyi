"""Typed view of the compiled core."""

import enum

import numpy as np
from numpy.typing import NDArray

from manyclass.utils.types import Array

BLOCK_BYTES: int  # rows of W are padded to whole blocks
MAX_LANE_BLOCKS: int  # blocks of classes that a visit holds in registers
ELSEWHERE: int  # label of an example whose class is outside of a subset
AT_BOUND32: float  # from this share of its bound on z counts as at it
AT_BOUND64: float
TABLE_ROW_BYTES: int  # of a feature of W in hash tables, beside its weights
CALL_WORK: int  # multiply-adds between two looks at the signals
MAX_COUNT: int  # of examples, features and classes
MAX_THREADS: int

class ThreadChoice:
    def __init__(self, most: int) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def reduced(self) -> int: ...
    def record(self, work: float, seconds: float) -> None: ...

def instruction_sets() -> list[str]: ...
def explain_bus_errors(text: bytes) -> None: ...
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
        shifted: bool = False,
        drift: float = 0.0,
    ) -> None: ...

class _Duals:
    def __init__(self, n_rows: int, n_classes: int, shifted: bool = False) -> None: ...
    def to_csr(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]: ...
    def from_csr(
        self, indptr: NDArray[np.int64], labels: NDArray[np.int32], values: Array
    ) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...

class _DualLists(_Duals):
    def add_entries(
        self,
        rows: NDArray[np.int32],
        labels: NDArray[np.int32],
        values: Array,
        columns: NDArray[np.int32],
    ) -> None: ...

class Duals32(_DualLists): ...
class Duals64(_DualLists): ...
class LaneDuals32(_Duals): ...
class LaneDuals64(_Duals): ...

class _Examples:
    def __init__(
        self,
        formulation: Formulation,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Array,
        n_features: int,
        bias: float,
        labels: NDArray[np.int32],
        n_classes: int,
        costs: NDArray[np.float64],
        instruction_set: str,
    ) -> None: ...
    def squared_norms(self) -> NDArray[np.float64]: ...
    def stop(self) -> None: ...

class _LoopTrainer(_Examples):
    def full_loop(
        self,
        weights: Array,
        duals: _Duals,
        rows: NDArray[np.int32],
        active: NDArray[np.int32],
        min_gap: float,
        seed: int,
    ) -> SweepResult: ...
    def shrunk_loops(
        self,
        weights: Array,
        duals: _Duals,
        active: NDArray[np.int32],
        n_active: int,
        goal: ShrunkGoal,
        seed: int,
    ) -> ShrunkResult: ...
    def inspect(
        self,
        weights: Array,
        duals: _Duals,
        common: NDArray[np.float64],
        norm: float,
        begin: int,
        end: int,
    ) -> SweepResult: ...
    def rebuild(self, weights: Array, duals: _Duals, common: NDArray[np.float64]) -> float: ...
    def row_sums(
        self, duals: _Duals, rows: NDArray[np.int32], sigma: NDArray[np.float64]
    ) -> None: ...
    def sum_of_rows(self, factors: NDArray[np.float64]) -> NDArray[np.float64]: ...

class _RowTrainer(_LoopTrainer):
    def use_threads(self, n_threads: int) -> None: ...

class RowTrainer32(_RowTrainer): ...
class RowTrainer64(_RowTrainer): ...

class _Trainer(_LoopTrainer):
    def order(self, rows: NDArray[np.int32], seed: int) -> NDArray[np.int32]: ...
    def visit(
        self,
        weights: Array,
        duals: _Duals,
        rows: NDArray[np.int32],
        shrunk: bool,
        active: NDArray[np.uint8],
        sigma: NDArray[np.float64],
        moved: NDArray[np.float64],
    ) -> SweepResult: ...
    def follow_mean(
        self,
        weights: Array,
        duals: _Duals,
        rows: NDArray[np.int32],
        moved: NDArray[np.float64],
        steps: NDArray[np.float64],
        relaxation: float,
        mean: MeanFollower,
    ) -> float: ...
    def settle_mean(self, weights: Array, duals: _Duals, mean: MeanFollower) -> float: ...

class MeanFollower:
    def __init__(self, n_features: int) -> None: ...
    def restart(self, sum: NDArray[np.float64]) -> None: ...
    @property
    def sum(self) -> NDArray[np.float64]: ...

class Trainer32(_Trainer): ...
class Trainer64(_Trainer): ...

class _WeightTables:
    @staticmethod
    def zeros(n_rows: int, n_classes: int, n_slices: int, dense_from: int) -> _WeightTables: ...
    def to_csr(
        self, names: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]: ...
    def load_csr(
        self,
        indptr: NDArray[np.int64],
        labels: NDArray[np.int32],
        values: Array,
        places: NDArray[np.int32],
    ) -> None: ...
    def squared_norm(self) -> float: ...
    def clear(self) -> None: ...
    @property
    def n_slots(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...

class WeightTables32(_WeightTables): ...
class WeightTables64(_WeightTables): ...

class _SparseTrainer(_Examples):
    def full_loop(
        self,
        weights: _WeightTables,
        duals: _Duals,
        rows: NDArray[np.int32],
        active: NDArray[np.int32],
        min_gap: float,
        seed: int,
    ) -> SweepResult: ...
    def shrunk_loops(
        self,
        weights: _WeightTables,
        duals: _Duals,
        active: NDArray[np.int32],
        n_active: int,
        goal: ShrunkGoal,
        seed: int,
    ) -> ShrunkResult: ...
    def inspect(
        self, weights: _WeightTables, duals: _Duals, norm: float, begin: int, end: int
    ) -> SweepResult: ...
    def rebuild(self, weights: _WeightTables, duals: _Duals) -> float: ...

class SparseTrainer32(_SparseTrainer): ...
class SparseTrainer64(_SparseTrainer): ...

class ClassPair:
    def __init__(
        self,
        width: int,
        n_first: int,
        n_second: int,
        labels: NDArray[np.int32],
        own_too: bool = True,
    ) -> None: ...

class _PairTables:
    def __init__(self, n_rows: int, width: int, dense_from: int) -> None: ...
    def squared_norm(self) -> float: ...
    def clear(self) -> None: ...
    @property
    def n_slots(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...

class PairTables32(_PairTables): ...
class PairTables64(_PairTables): ...

def read_rows(
    weights: Array | _PairTables, slot: int, begin: int, end: int, drop: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]: ...
def put_rows(
    weights: Array | _PairTables,
    slot: int,
    begin: int,
    counts: NDArray[np.int32],
    classes: NDArray[np.int32],
    values: Array,
) -> None: ...

class _PairTrainer(_Examples):
    def loop(
        self,
        pair: ClassPair,
        weights: Array | _PairTables,
        duals: _Duals,
        rows: NDArray[np.int32],
        active: NDArray[np.int32],
        shrunk: bool,
        min_gap: float,
        seed: int,
    ) -> SweepResult: ...
    def own_scores(
        self,
        pair: ClassPair,
        weights: Array | _PairTables,
        rows: NDArray[np.int32],
        out: NDArray[np.float64],
    ) -> None: ...
    def inspect(
        self,
        pair: ClassPair,
        weights: Array | _PairTables,
        duals: _Duals,
        own_scores: NDArray[np.float64],
        norm: float,
    ) -> SweepResult: ...
    def trade(
        self,
        pair: ClassPair,
        weights: Array | _PairTables,
        shares: _Duals,
        rows: NDArray[np.int32],
        active: NDArray[np.int32],
        scored: NDArray[np.uint8],
        seed: int,
    ) -> SweepResult: ...
    def survey(
        self,
        pair: ClassPair,
        weights: Array | _PairTables,
        duals: _Duals,
        own_scores: NDArray[np.float64],
        largest: NDArray[np.float64],
        smallest: NDArray[np.float64],
        z_dot_xi: NDArray[np.float64],
    ) -> None: ...
    def rebuild(
        self,
        pair: ClassPair,
        weights: Array | _PairTables,
        duals: _Duals,
        totals: NDArray[np.float64],
        scale: NDArray[np.float64],
    ) -> float: ...

class PairTrainer32(_PairTrainer): ...
class PairTrainer64(_PairTrainer): ...

class _ComparisonTrainer(_Examples):
    def exponentiated_gradient(
        self,
        weights: Array,
        log_u: Array,
        rates: NDArray[np.float64],
        rows: NDArray[np.int32],
        seed: int,
    ) -> SweepResult: ...
    def separate(self, weights: Array, duals: _Duals) -> SweepResult: ...
    def scores(self, weights: Array, out: Array, begin: int, end: int) -> None: ...
    def violations(self, scores: Array, duals: _Duals, out: NDArray[np.float64]) -> None: ...
    def most_violating(
        self,
        scores: Array,
        duals: _Duals,
        violations: NDArray[np.float64],
        indptr: NDArray[np.int64],
        rows: NDArray[np.int32],
        values: Array,
        n_steps: int,
    ) -> SweepResult: ...

class ComparisonTrainer32(_ComparisonTrainer): ...
class ComparisonTrainer64(_ComparisonTrainer): ...

class LogisticSums:
    loss: float
    gap: float
    entropy: float

class _LogisticTrainer(_Examples):
    def visit(
        self, weights: Array, v: Array, fresh: bool, class_major: bool, seed: int
    ) -> SweepResult: ...
    def gradient(self, weights: Array, out: Array, class_major: bool) -> float: ...
    def curvature(
        self, weights: Array, direction: Array, out: Array, class_major: bool
    ) -> None: ...
    def log_softmax(self, weights: Array, v: Array, class_major: bool) -> None: ...
    def inspect(
        self,
        weights: NDArray[np.float64],
        v: Array | None,
        leaves: NDArray[np.float64],
        enters: NDArray[np.float64],
        sums: NDArray[np.float64] | None,
        left: NDArray[np.float64],
        class_major: bool,
    ) -> LogisticSums: ...
    def dual_sums(
        self,
        v: Array,
        leaves: NDArray[np.float64],
        enters: NDArray[np.float64],
        sums: NDArray[np.float64] | None,
        left: NDArray[np.float64],
        class_major: bool,
    ) -> LogisticSums: ...
    def use_threads(self, n_threads: int) -> None: ...

class LogisticTrainer32(_LogisticTrainer): ...
class LogisticTrainer64(_LogisticTrainer): ...

class StochasticLoss(enum.Enum):
    hinge = 0
    log_loss = 1
    perceptron = 2

class Passage:
    def __init__(self, loss: StochasticLoss, batch_size: int, n_threads: int) -> None: ...

class StochasticClock:
    alpha: float
    seen: float
    steps: int
    reach: float
    average_from: float
    rising: bool
    average_steps: float
    average_weight: float

class _StochasticTrainer:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Array,
        n_features: int,
        bias: float,
        labels: NDArray[np.int32],
        n_classes: int,
        costs: NDArray[np.float64],
        instruction_set: str,
    ) -> None: ...
    def steps(
        self,
        weights: Array,
        average: Array | None,
        clock: StochasticClock,
        passage: Passage,
        rows: NDArray[np.int32],
        moved: NDArray[np.int32] | None = None,
    ) -> float: ...
    def table_steps(
        self,
        weights: _WeightTables,
        average: _WeightTables | None,
        clock: StochasticClock,
        passage: Passage,
        rows: NDArray[np.int32],
    ) -> float: ...

class StochasticTrainer32(_StochasticTrainer): ...
class StochasticTrainer64(_StochasticTrainer): ...

class NewtonRound:
    @property
    def primal(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def max_violation(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def n_zone(self) -> int: ...
    @property
    def evaluations(self) -> int: ...

class _Newton:
    def rebuild(self, anew: bool) -> None: ...
    def round(self, epsilon: float, budget: int) -> NewtonRound: ...
    def read_weights(self, out: Array) -> None: ...
    def write_weights(self, weights: Array) -> None: ...
    @property
    def squared_duals(self) -> float: ...
    def gradient_at(self, weights: Array, epsilon: float, out: Array) -> None: ...
    def hessian_times(self, p: Array, out: Array) -> None: ...
    def preconditioned(self, p: Array, out: Array) -> None: ...
    @property
    def response(self) -> _Duals: ...

class Newton32(_Newton): ...
class Newton64(_Newton): ...

class LaneTrainer32(_Trainer):
    def newton(self, duals: _Duals, n_threads: int) -> Newton32: ...

class LaneTrainer64(_Trainer):
    def newton(self, duals: _Duals, n_threads: int) -> Newton64: ...

class _Predictor:
    def __init__(self, weights: Array, intercepts: Array, instruction_set: str) -> None: ...
    def csr_scores(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Array,
        out: Array,
    ) -> None: ...
    def csr_labels(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Array,
        out: NDArray[np.int64],
    ) -> None: ...
    def dense_scores(self, rows: Array, out: Array) -> bool: ...
    def dense_labels(self, rows: Array, out: NDArray[np.int64]) -> bool: ...

class Predictor32(_Predictor): ...
class Predictor64(_Predictor): ...

class _SparseWeights:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        classes: NDArray[np.int32],
        values: Array,
        n_classes: int,
    ) -> None: ...
    def finite(self) -> bool: ...

class SparseWeights32(_SparseWeights): ...
class SparseWeights64(_SparseWeights): ...

class _SparsePredictor:
    def __init__(
        self, weights: _SparseWeights, intercepts: Array, instruction_set: str
    ) -> None: ...
    def csr_scores(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Array,
        out: Array,
    ) -> None: ...
    def csr_labels(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Array,
        out: NDArray[np.int64],
    ) -> None: ...

class SparsePredictor32(_SparsePredictor): ...
class SparsePredictor64(_SparsePredictor): ...
class SparsePredictor64Of32(_SparsePredictor): ...
