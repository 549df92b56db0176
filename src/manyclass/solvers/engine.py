"""Selects the solver of a formulation, for training and for memory estimates."""

from __future__ import annotations

from typing import Literal

from manyclass.problem.formulations import Formulation

# serial: the sequential dual method, dense or in hash tables; serial_centred: the same with W at
# mean zero; one_vs_rest: class by class. With the classes on ranks: class_blocks (Weston-Watkins),
# class_blocks_simplex (Crammer-Singer, whose simplex is split over the blocks), sum_to_zero (W at
# mean zero), one_vs_rest.
Engine = Literal[
    "serial", "serial_centred", "class_blocks", "class_blocks_simplex", "one_vs_rest", "sum_to_zero"
]


def select_engine(formulation: Formulation, n_ranks: int) -> Engine:
    """Return the solver that trains a formulation on a number of ranks."""
    if formulation.is_separable:
        return "one_vs_rest"
    if formulation.centred:
        return "serial_centred" if n_ranks == 1 else "sum_to_zero"
    if n_ranks == 1:
        return "serial"
    return "class_blocks_simplex" if formulation.takes_maximum else "class_blocks"
