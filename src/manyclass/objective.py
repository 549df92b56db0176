"""Documented names of manyclass.problem.objective."""

from manyclass.problem.objective import certificate

__all__ = ["certificate"]
