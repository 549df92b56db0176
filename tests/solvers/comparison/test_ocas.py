"""The cutting-plane solver beside msvmocas (Debian's libocas-tools), where that is installed."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from manyclass.problem.objective import primal
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from tests.helpers.catalog import make_problem, train

TOL = 1e-5
pytestmark = pytest.mark.skipif(
    shutil.which("msvmocas") is None, reason="msvmocas is not installed (libocas-tools)"
)


def trained_by_ocas(folder, X, y, C, solver):
    """Return W, (d, k), of msvmocas: solver 0 without, 1 with line search."""
    rows, model = folder / "rows", folder / "model"
    dump_svmlight_file(X, y + 1, str(rows), zero_based=False)
    command = ["msvmocas", "-v", "0", "-c", str(C), "-m", str(solver), "-r", str(TOL)]
    subprocess.run([*command, rows, model], check=True, capture_output=True, timeout=600)
    return np.loadtxt(model, ndmin=2)


@pytest.mark.parametrize("line_search", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_same_optimum(tmp_path, seed, line_search):
    rng = np.random.default_rng(seed)
    n_classes, C = 4, [0.01, 0.1, 1.0, 5.0][seed]
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 36)])
    X = rng.normal(size=(40, 5)) + 2 * np.eye(n_classes, 5)[y]
    problem = make_problem(X, y, n_classes=n_classes, C=C)
    solution = train(problem, partial(CuttingPlane, line_search=line_search), tol=TOL)
    theirs = trained_by_ocas(tmp_path, X, y, C, int(line_search))
    ours = solution.certificate
    assert ours.relative_gap <= TOL
    W = np.zeros_like(solution.weights)
    W[: theirs.shape[0]] = theirs
    reached = primal(problem, W)
    assert ours.dual_objective <= reached <= ours.primal_objective * (1 + 3 * TOL)
