"""Documented names of manyclass.problem.solution."""

from manyclass.problem.solution import Certificate, EpochRecord

__all__ = ["Certificate", "EpochRecord"]
