"""The solvers, each with its certificate; train.py chooses one.

May import checkpoints, problem, prediction and all below. Begin with train.py (the choice) and
training_loop.py (the loop).
"""

from manyclass.utils.lazy import lazy_names

__all__ = [
    "StochasticRecord",
    "stochastic_objective",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "StochasticRecord": "manyclass.solvers.stochastic.plan",
        "stochastic_objective": "manyclass.solvers.stochastic.objective",
    },
)
