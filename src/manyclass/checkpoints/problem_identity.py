"""What identifies a training problem: facts that ranks, or a checkpoint and a training, share."""

from __future__ import annotations

import numpy as np

from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.utils.fingerprints import Facts, fact, fingerprint
from manyclass.utils.types import Array, Settings
from manyclass.version import __version__


def facts_of_problem(problem: Problem, classes: Array) -> Facts:
    """Return what two trainings of the same problem have in common; looks at all of X once.

    Parameters
    ----------
    problem : Problem
    classes : ndarray of shape (k,)
        Their names.

    Returns
    -------
    dict of str
    """
    data = problem.dataset
    known = (name for name, f in FORMULATIONS.items() if f == problem.formulation)
    names = np.frombuffer(repr(classes.tolist()).encode(), np.uint8)
    return {
        "formulation": next(known),
        "loss": problem.loss,
        "C": repr(float(problem.C)),
        "constant feature": repr(data.bias),
        "rows": str(data.n_examples),
        "features": str(data.n_features),
        "classes": str(data.n_classes),
        "type of X": str(data.dtype),
        "X": fingerprint(data.indptr, data.indices, data.values),
        "y": fingerprint(data.labels, names),
        "weights of rows and classes": fingerprint(data.weights),
    }


def facts_of_rank(problem: Facts, params: Settings) -> Facts:
    """Return what the ranks of one training have in common: version, parameters, problem."""
    given = {name: fact(value) for name, value in params.items()}
    return {"version of manyclass": __version__, **given, **problem}
