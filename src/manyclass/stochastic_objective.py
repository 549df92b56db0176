"""Documented names of manyclass.solvers.stochastic.objective."""

from manyclass.solvers.stochastic.objective import stochastic_objective

__all__ = ["stochastic_objective"]
