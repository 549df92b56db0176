"""The solvers, each with its certificate.

May import problem, prediction and the layers below. Begin with sequential_dual.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.solvers.sgd import StochasticRecord as StochasticRecord
    from manyclass.solvers.sgd_objective import stochastic_objective as stochastic_objective

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "StochasticRecord": "manyclass.solvers.sgd",
        "stochastic_objective": "manyclass.solvers.sgd_objective",
    },
)
