"""The solvers, each with its certificate.

May import problem, prediction and all below. Begin with sequential_dual.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.solvers.stochastic.objective import stochastic_objective as stochastic_objective
    from manyclass.solvers.stochastic.plan import StochasticRecord as StochasticRecord

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "StochasticRecord": "manyclass.solvers.stochastic.plan",
        "stochastic_objective": "manyclass.solvers.stochastic.objective",
    },
)
