"""Documented names of manyclass.io.shared.dataset."""

from manyclass.io.shared.dataset import load_common

__all__ = ["load_common"]
