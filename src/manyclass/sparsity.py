"""Documented names of manyclass.estimators.sparsify."""

from manyclass.estimators.sparsify import SparsityReport

__all__ = ["SparsityReport"]
