"""Which solver trains a formulation: one table for training, memory estimates and planning."""

from __future__ import annotations

from typing import Literal

from manyclass.problem.formulations import Formulation

# alone: the sequential dual method, dense or in hash tables; centred: the same with W at mean zero;
# separate: one-vs-rest, class by class. With the classes on ranks: class blocks (Weston-Watkins),
# budgets (Crammer-Singer), shared_mean (W at mean zero), separate.
Engine = Literal["alone", "centred", "bundles", "budgets", "separate", "shared_mean"]


def select_engine(formulation: Formulation, n_ranks: int) -> Engine:
    """Return the solver that trains a formulation on so many ranks."""
    if formulation.is_separable:
        return "separate"
    if formulation.centred:
        return "centred" if n_ranks == 1 else "shared_mean"
    if n_ranks == 1:
        return "alone"
    return "budgets" if formulation.takes_maximum else "bundles"
