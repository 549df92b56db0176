"""The solvers, each with its certificate; train.py chooses one.

May import checkpoints, problem, prediction and all below. Begin with train.py (the choice) and
training_loop.py (the loop).
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
