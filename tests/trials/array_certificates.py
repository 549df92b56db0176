"""No certificate of training on arrays may be better than the truth: random problems.

    python -m tests.trials.array_certificates [N] [--seed SEED] [--start NUMBER] [--only NUMBER]

Tensors of PyTorch on the CPU count as lying on a device, or arrays of array-api-strict where there
is no PyTorch. Two problems of three have the hinge loss and no base scores, and are judged without
rounding (judging.py); rows of half of them are streamed. The others have base scores, such as costs
and offsets, the squared hinge or the log loss: P is computed in long double, and D may exceed no P
that the core finds.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.arrays import namespace
from manyclass.arrays.namespace import Place
from manyclass.arrays.places import memory
from manyclass.arrays.places.host_rows import HostRows
from tests.arrays.problems import loss_of
from tests.trials import certificates, random_problems
from tests.trials.certificates import REFUSALS, report
from tests.trials.random_problems import RandomProblem

FORMULATIONS = ("crammer_singer", "weston_watkins", "one_vs_rest")
DIGIT = 1e-12  # of P: of its judge and of the core's claim


def asarray(X: NDArray[Any]) -> Any:
    """Return rows as an array that counts as lying on a device."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return importlib.import_module("array_api_strict").asarray(X.copy())
    torch.set_num_threads(1)
    return torch.as_tensor(X.copy())


@dataclass(frozen=True, slots=True, eq=False)
class ArrayProblem(RandomProblem):
    """The same, whose rows lie on a device or are streamed to it."""

    @property
    def rows(self) -> Any:
        """X as it is passed; every third one goes to its device block by block."""
        if self.number % 3:
            return asarray(self.X)
        return HostRows(self.X, [Place(asarray(self.X))])


def draw(seed: int, number: int) -> ArrayProblem:
    """Return the problem of this number: what the CPU's trial has, as far as devices train it."""
    rng, host = np.random.default_rng([seed, number, 2]), random_problems.draw(seed, number)
    params = {name: value for name, value in host.params.items() if name != "solver"}
    params["formulation"] = str(rng.choice(FORMULATIONS))
    sums = params["formulation"] != "crammer_singer"
    params["loss"] = "hinge"
    if sums and number % 3 == 1:  # z of the squared hinge are not returned
        params["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
    params |= {"stopping": "gap", "weights": "dense", "max_iter": int(rng.choice([1, 3, 10, 40]))}
    before = host.number, host.X, host.y, host.sample_weight, params
    return ArrayProblem(*before, is_csr=False, cost_before=host.cost_before)


def streamed(n: int, d: int, k: int, itemsize: int) -> int:
    """Return the free bytes with which rows are streamed, in blocks of 16."""
    memory.LEAST_ROWS = 16
    fixed = itemsize * memory.COPIES_OF_W * (d + 1) * k + 24 * ((d + 1) ** 2 + k * k)
    block = 8 * memory.BLOCKS * max(k, d) + memory.BLOCKS_OF_X * itemsize * d
    return fixed + 16 * block


def judge_bounds(seed: int, number: int) -> str:
    """Judge a problem with base scores or the log loss; say what is false, "" if nothing is."""
    rng, problem = np.random.default_rng([seed, number, 3]), draw(seed, number)
    k, params = problem.params["k"], dict(problem.params)
    is_log = rng.random() < 0.5
    for name in ("k", "n_jobs", "weights", *(("formulation", "loss", "stopping") * is_log)):
        params.pop(name)
    if rng.random() < 0.7:
        params["class_offset"] = rng.normal(size=k) * 10.0 ** rng.uniform(-2, 1)
    if not is_log and rng.random() < 0.5 and k > 2:
        params["costs"] = rng.uniform(0.1, 3, (k, k)) * (1 - np.eye(k))
    if is_log:
        params["regularize_intercept"] = bool(rng.random() < 0.5)
    kind = MultinomialLogisticRegression if is_log else MulticlassSVC
    given = problem.y, problem.sample_weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = kind(**params).fit(problem.rows, *given)
        tight = {"tol": 1e-10, "max_iter": 2000}
        here = kind(**{**params, **tight}).fit(problem.X.astype(np.float64), *given)
    P = primal_of(there, problem)
    claim, best = there.certificate_, here.certificate_
    if not np.isfinite(claim.gap):
        return "no number" if np.isnan(claim.gap) else ""
    digits = DIGIT * (abs(P) + claim.zero_objective)
    rounding = claim.penalty + claim.loss - claim.primal_objective + digits
    for what, is_false in (
        ("P is off", abs(P - claim.primal_objective) > rounding),
        ("D above a known P", claim.dual_objective > min(P, best.primal_objective) + digits),
        ("P below a known D", best.dual_objective - digits > P),
        ("gap below the true one", claim.gap < P - min(P, best.primal_objective) - digits),
    ):
        if is_false:
            return f"{number:6d}  {what}: {claim}, P {P:.17g}, known {best}\n        {problem}"
    return ""


def primal_of(model: Any, problem: RandomProblem) -> float:
    """Return P of the returned weights, in long double; of two classes as the model counts it."""
    wide = problem.X.astype(np.float64)
    X, y = model._dataset(wide, problem.y, problem.sample_weight)
    X = replace(X, bias=float(model._bias))
    made = model._problem(X, y)
    coef = np.atleast_2d(model.coef_)
    last = np.broadcast_to(np.asarray(model.intercept_), len(coef))
    exact = np.longdouble
    W = np.vstack([coef.T.astype(exact), last.astype(exact) / exact(model._bias or 1.0)])
    if W.shape[1] == 1:
        whole = getattr(model, "formulation", "") == "one_vs_rest" and made.base is None
        W = np.hstack([-W, W]) / (1 if whole else 2)
    of_intercepts = getattr(model, "regularize_intercept", True)
    P = loss_of(made, W) + (W[: len(W) - (not of_intercepts)] ** 2).sum() / 2
    return float(P * 2 if isinstance(model, MultinomialLogisticRegression) and len(y) == 2 else P)


def run(seed: int, numbers: Sequence[int]) -> tuple[certificates.Figures, list[str]]:
    """Judge the problems of these numbers; return also what is false of the others."""
    figures, false = certificates.Figures(), []
    for number in numbers:
        problem = draw(seed, number)
        (n, d), k = problem.X.shape, problem.params["k"]
        free = streamed(n, d, k, problem.X.itemsize)
        namespace.FREE_MEMORY = None if number % 3 else free + 5 * n * k * problem.X.itemsize
        if number % 3 != 1:
            own = certificates.run(seed, [number], draw)
            for name in ("statuses", "refusals", "n_objectives"):
                getattr(figures, name).update(getattr(own, name))
            figures.n += own.n
            figures.false += own.false
            figures.faults += own.faults
            continue
        try:
            found = judge_bounds(seed, number)
        except REFUSALS as error:
            figures.refusals[f"{type(error).__name__}: {str(error)[:70]}"] += 1
            continue
        false += [found] if found else []
    return figures, false


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trial; 1 if a claim is false."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="?", default=1500, help="problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first problem")
    parser.add_argument("--only", type=int, help="one problem, by its number")
    options = parser.parse_args(arguments)
    numbers = range(options.start, options.start + options.n)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    namespace.CPU_COUNTS = True
    began = time.perf_counter()
    figures, false = run(options.seed, numbers)
    namespace.FREE_MEMORY = None
    report(figures, options.seed, time.perf_counter() - began, random_problem)
    print(f"  base scores and log loss: {len(numbers) - figures.n} problems, {len(false)} false")
    for claim in false[: certificates.N_WORST]:
        print(claim)
    return int(bool(figures.false or figures.faults or false))


def random_problem(seed: int, number: int) -> RandomProblem:
    """Return the problem of this number, for the core."""
    problem = draw(seed, number)
    known = problem.number, problem.X, problem.y, problem.sample_weight, problem.params
    return RandomProblem(*known, is_csr=False, cost_before=problem.cost_before)


if __name__ == "__main__":
    sys.exit(main())
