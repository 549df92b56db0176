"""The kernels of visits against the array functions, interpreted on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
pytest.importorskip("array_api_compat")

# Triton decides when it is imported whether kernels are interpreted.
CHECK = """
import numpy as np, torch
torch.set_num_threads(1)
from manyclass.arrays import namespace
from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.svm.kernel_choice import visits_of
from manyclass.arrays.svm.row_visits import ArrayVisits
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.triton_kernels import TritonVisits
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem

namespace.CPU_COUNTS = True
rng = np.random.default_rng(0)
n, d, k = 12, 5, 6
zeros = lambda: torch.zeros(n, k, dtype=torch.float64)
X, y = torch.tensor(rng.normal(size=(n, d))), rng.integers(0, k, n)
data = DeviceDataset.from_array(X, y, rng.uniform(0.5, 2, n), n_classes=k, bias=0.5)
for name in ("crammer_singer", "weston_watkins"):
    for C in (0.02, 3.0):
        for offsets in (None, np.linspace(-1, 1, k)):
            problem = Problem(data, named(name), C)
            if offsets is not None:
                problem = problem.with_base(BaseScores.from_offsets(offsets, n))
            rows = ArrayRows(problem)
            q = torch.tensor(rows.squared_norms())
            one, other = visits_of(rows, q, zeros()), ArrayVisits(rows, q, zeros())
            one.n_rows[:] = 7
            assert isinstance(one, TritonVisits)
            W = torch.tensor(rng.normal(size=(d + 1, k)))
            for _ in range(3):
                i = torch.tensor(rng.permutation(n)[:7])
                x = rows.features(i, rows.dtype)
                shift = torch.tensor(rng.normal(size=k))
                found, wanted = (v.visit(x @ W[:-1], W, i, shift) for v in (one, other))
                for a, b in zip(found, wanted):
                    assert torch.allclose(a, b, rtol=1e-5, atol=1e-4), (name, C, a, b)
                for visits in (one, other):
                    visits.store(i, wanted[0], torch.tensor(0.7, dtype=torch.float64))
                assert torch.allclose(one.Z, other.Z, rtol=1e-9, atol=1e-12)

from manyclass.arrays.svm import admm

sets = data.with_sets(rng.uniform(size=(n, k)) < 0.4)
for offsets, given in ((None, data), (np.linspace(-1, 1, k), data), (None, sets)):
    problem = Problem(given, named("one_vs_rest"), 0.3)
    if offsets is not None:
        problem = problem.with_base(BaseScores.from_offsets(offsets, n))
    solver = admm.OneVsRestAdmm(problem, None)
    solver.own_gamma = 0.7
    T, v = (torch.tensor(rng.normal(size=(n, k))) for _ in range(2))
    results = []
    for kernel in (solver._kernel, None):
        solver._kernel, solver.v.array[:] = kernel, v
        results.append((*solver._relax(slice(0, n), T.clone()), solver.v.array.clone()))
    for a, b in zip(*results):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12), (a, b)
print("equal")
"""


@pytest.mark.slow
def test_kernels_equal_array_functions():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "ignore", "-c", CHECK]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "equal", found.stderr
