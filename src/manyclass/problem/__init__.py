"""The data of training: data set, formulation, problem, objective, solution.

May import io and below. Begin with problem.py and formulations.py.
"""

from manyclass.utils.lazy import lazy_names

__all__ = [
    "FORMULATIONS",
    "Certificate",
    "EpochRecord",
    "certificate",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Certificate": "manyclass.problem.solution",
        "EpochRecord": "manyclass.problem.solution",
        "FORMULATIONS": "manyclass.problem.formulations",
        "certificate": "manyclass.problem.objective",
    },
)
