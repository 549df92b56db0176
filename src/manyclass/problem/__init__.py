"""The data of training: data set, formulation, problem, objective, solution.

May import io and the layers below. Begin with problem.py and formulations.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.problem.formulations import FORMULATIONS as FORMULATIONS
    from manyclass.problem.objective import certificate as certificate
    from manyclass.problem.solution import Certificate as Certificate
    from manyclass.problem.solution import EpochRecord as EpochRecord

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Certificate": "manyclass.problem.solution",
        "EpochRecord": "manyclass.problem.solution",
        "FORMULATIONS": "manyclass.problem.formulations",
        "certificate": "manyclass.problem.objective",
    },
)
