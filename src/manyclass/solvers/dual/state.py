"""State of the sequential dual method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.solution import Certificate
from manyclass.solvers.dual.proximal_newton import NewtonPhase, Pace
from manyclass.solvers.stopping import Findings
from manyclass.utils.types import Array


def _no_rows() -> NDArray[np.int32]:
    return np.empty(0, np.int32)


@dataclass(slots=True, eq=False)
class State:
    """State between two epochs."""

    trainer: Any  # of the core, with the z and the W that it takes
    z: Any
    buffer: Array
    weights: Any
    began: float
    rows: NDArray[np.int32] = field(default_factory=_no_rows)  # the examples with x_i != 0
    active: NDArray[np.int32] = field(default_factory=_no_rows)
    n_active: int = 0
    constant: float = 0.0  # loss of the examples with x_i = 0
    use_sgd_init: bool = False  # whether the first epoch begins with stochastic steps
    dual: float = 0.0
    epoch: int = 0
    earlier_epochs: int = 0  # of the same training, before its warm start
    fast: bool = True  # whether the last epoch divided the gap by FAST
    full: Findings = field(default_factory=_core.SweepResult)
    pace: Pace = field(default_factory=Pace)
    failed_certificate: Certificate | None = None  # it corrects the estimates of the loops
    newton: NewtonPhase | None = None  # once it has been entered
    returned: Array | None = None  # W if it is not `weights`, which is W(z)
    class_order: NDArray[np.int32] = field(default_factory=_no_rows)  # of W in hash tables
