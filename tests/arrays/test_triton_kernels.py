"""The kernels in Triton against array functions, interpreted on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.cases import each

pytest.importorskip("torch")
pytest.importorskip("triton")
pytest.importorskip("array_api_compat")

# Triton decides when it is imported whether kernels are interpreted.
CHECK = """
import numpy as np, torch
torch.set_num_threads(1)
from manyclass.arrays import namespace
from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.svm.regions import visits_of
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


OF_LOSSES = """
import numpy as np, torch
from dataclasses import astuple
from unittest import mock
torch.set_num_threads(1)
from manyclass.arrays import namespace, products, split_kernel
from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.smooth import log_loss_kernels, log_loss_terms
from manyclass.problem.formulations import LOGISTIC
from manyclass.problem.problem import Problem

namespace.CPU_COUNTS = True
rng = np.random.default_rng(0)
n, d, k = 15, 3, 5
X, y = torch.tensor(rng.normal(size=(n, d))), rng.integers(0, k, n)
data = DeviceDataset.from_array(X, y, np.ones(n), n_classes=k, bias=1.0)
rows = ArrayRows(Problem(data, LOGISTIC, 1.0, "log_loss"))
for scale in (1.0, 30.0, 1000.0):
    S = torch.tensor(scale * rng.normal(size=(n, k)))
    leaves, enters = torch.tensor(rng.uniform(0, 1, (2, k)))
    for shift in (None, (leaves, enters / enters.sum())):
        wanted = log_loss_terms._by_functions(rows, S, rows.labels, shift)
        found = log_loss_terms.log_loss_terms(rows, S.clone(), rows.labels, shift)
        for a, b in zip((found[0], *astuple(found[1])), (wanted[0], *astuple(wanted[1]))):
            assert torch.allclose(a, b, rtol=1e-13, atol=1e-15), (scale, shift, a, b)
P, T = torch.tensor(rng.uniform(size=(2, n, k)))
wanted = P * (T - (P * T).sum(1, keepdim=True))
assert torch.allclose(log_loss_kernels.softmax_product(P, T.clone()), wanted)

A, weights = (torch.tensor(rng.normal(size=s), dtype=torch.float32) for s in ((37, 29), (37,)))
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for n_parts in (1, 2, 3):
        for is_left in (False, True):
            for given in (None, weights):
                scale, _ = products._scales(A, given)
                arguments = A.to(dtype), given, scale, n_parts
                found = split_kernel.split(*arguments, is_left=is_left)
                with mock.patch.object(split_kernel, "serves", lambda _: False):
                    wanted = products._split(*arguments, is_left=is_left)
                assert (found == wanted).all(), (dtype, n_parts, is_left)
print("equal")
"""


@pytest.mark.slow
@each("check", [CHECK, OF_LOSSES])
def test_kernels_equal_array_functions(check):
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "ignore", "-c", check]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "equal", found.stderr
