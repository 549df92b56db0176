"""Models that write checkpoints."""

from __future__ import annotations

from manyclass import MulticlassSVC


def model(folder=None, formulation="weston_watkins", **params):
    options = {"tol": 1e-6, "random_state": 0, "checkpoint_minutes": 0, **params}
    return MulticlassSVC(formulation=formulation, checkpoint=folder, **options)


def objective(fitted):
    assert fitted.certificate_.relative_gap <= fitted.tol
    return fitted.certificate_.primal_objective
