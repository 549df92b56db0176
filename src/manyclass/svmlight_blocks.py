"""Documented names of manyclass.io.svmlight.stream."""

from manyclass.io.svmlight.stream import SvmlightBlocks

__all__ = ["SvmlightBlocks"]
