"""Kernels in Triton where they run, array functions elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.row_visits import ArrayVisits, OneVsRest, RowVisits
from manyclass.utils.types import DeviceArray

Relaxation = Callable[[OneVsRest, slice, DeviceArray, DeviceArray], tuple[DeviceArray, DeviceArray]]


def relaxation_of(rows: ArrayRows) -> Relaxation | None:
    """Return the kernel of one-vs-rest where it runs."""
    if rows.place.is_torch:
        from manyclass.arrays.svm import triton_kernels

        if triton_kernels.serves(rows):
            return triton_kernels.relax
    return None


def visits_of(rows: ArrayRows, q: DeviceArray, Z: DeviceArray) -> RowVisits:
    """Return visits by the kernels of ``triton_kernels.py`` where they run."""
    if rows.place.is_torch and rows.problem.formulation.is_relative:
        from manyclass.arrays.svm import triton_kernels

        if triton_kernels.serves(rows):
            return triton_kernels.TritonVisits(rows, q, Z)
    return ArrayVisits(rows, q, Z)
