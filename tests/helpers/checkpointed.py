"""Models that write checkpoints."""

import warnings

import numpy as np

from manyclass import MulticlassSVC
from tests.helpers.catalog import text_problem

PROBLEM = text_problem(n=80, d=60, k=7, dtype=np.float64)
X, Y = PROBLEM.dataset.matrix(), PROBLEM.dataset.labels


def model(folder=None, formulation="weston_watkins", **params):
    options = {"tol": 1e-6, "random_state": 0, "checkpoint_minutes": 0, **params}
    return MulticlassSVC(formulation=formulation, checkpoint=folder, **options)


def objective(fitted):
    assert fitted.certificate_.relative_gap <= fitted.tol
    return fitted.certificate_.primal_objective


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def begun(folder, n_epochs=2, **params):
    """A training that is ended early, and leaves its checkpoints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model(folder, max_iter=n_epochs, **params).fit(X, Y)


def undisturbed(formulation="weston_watkins", **params):
    return objective(model(formulation=formulation, **params).fit(X, Y))
