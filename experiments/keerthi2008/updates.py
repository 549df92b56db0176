"""Section 2.2: the updates that each order of the examples needs.

    python -m experiments.keerthi2008.updates [--quick]

In NumPy, independent of the solvers of this project: algorithm 2.1 without heuristics, every loop
in random order, and the example with the largest v_i at every step. Steps solve the block of an
example exactly; an update is a step that changes z. The numbers go to results/updates.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments import Split, available
from experiments.keerthi2008.data import dataset
from experiments.keerthi2008.methods import make_problem, optimum
from measuring.quick import parse
from measuring.results import read_results, write_results

RESULTS = Path(__file__).parent / "results" / "updates.json"
# Rows at most.
DATA = {"dna": None, "letter": 2_000, "news20": 1_000}
LEVELS = (1e-1, 1e-2, 1e-3)
MOST = 2_000_000  # updates


class Ascent:
    """Crammer-Singer's dual, with a share of the class itself: p >= 0, sum_c p_ic = C.

    W = sum_i x_i (C e_{y_i} - p_i), a_ic = [c != y_i] + w_c . x_i = dD / dp_ic.
    """

    def __init__(self, X: Any, y: NDArray[Any], C: float) -> None:
        self.X, self.y, self.C = sp.csr_array(X, dtype=np.float64), y, C
        n, k = len(y), int(y.max()) + 1
        self.norms = np.asarray(self.X.power(2).sum(axis=1)).ravel()
        self.p = C * np.eye(k)[y]
        self.W = np.zeros((X.shape[1], k))
        self.a = 1 - np.eye(k)[y]  # kept up to date by `follow` alone
        self.dual = 0.0
        self._rows = [slice(self.X.indptr[i], self.X.indptr[i + 1]) for i in range(n)]

    def slopes(self, i: int) -> NDArray[np.float64]:
        """Return a_i at W."""
        row = self._rows[i]
        a = 1 + self.X.data[row] @ self.W[self.X.indices[row]]
        a[self.y[i]] -= 1
        return a

    def step(self, i: int, a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Maximize D over p_i; return the change of p_i."""
        q, row = self.norms[i], self._rows[i]
        change = projected(self.p[i] + a / q, self.C) - self.p[i]
        self.p[i] += change
        self.W[self.X.indices[row]] -= np.outer(self.X.data[row], change)
        self.dual += a @ change - q / 2 * (change @ change)
        return change

    def follow(self, i: int, change: NDArray[np.float64]) -> None:
        """Update the a of all examples."""
        x = self.X[[i]].toarray().ravel()
        self.a -= np.outer(self.X @ x, change)


def projected(v: NDArray[np.float64], C: float) -> NDArray[np.float64]:
    """Return the nearest point of {p >= 0, sum p = C}."""
    falling = np.sort(v)[::-1]
    thresholds = (np.cumsum(falling) - C) / np.arange(1, len(v) + 1)
    return np.maximum(v - thresholds[np.flatnonzero(falling > thresholds)[-1]], 0)


def sequential(ascent: Ascent, rng: np.random.Generator) -> Iterator[float]:
    """Yield D after every update of loops in random order."""
    while True:
        for i in rng.permutation(len(ascent.y)):
            a = ascent.slopes(i)
            if violation(a, ascent.p[i]) > 1e-12:
                ascent.step(i, a)
                yield ascent.dual


def most_violating(ascent: Ascent, _rng: np.random.Generator) -> Iterator[float]:
    """Yield D after every update of the example with the largest v_i."""
    while True:
        i = int(np.argmax(violation(ascent.a, ascent.p)))
        ascent.follow(i, ascent.step(i, ascent.a[i].copy()))
        yield ascent.dual


def violation(a: NDArray[np.float64], p: NDArray[np.float64]) -> Any:
    """Return v, eq. 6: the largest a less the smallest of a class with a share."""
    return a.max(axis=-1) - np.where(p > 0, a, np.inf).min(axis=-1)


ORDERS = {"sequential": sequential, "most violating": most_violating}


def counted(split: Split, C: float, best: float) -> dict[str, dict[str, int]]:
    """Return the updates to each level of (D* - D) / D*."""
    found: dict[str, dict[str, int]] = {}
    for name, order in ORDERS.items():
        levels = iter(LEVELS)
        level, found[name] = next(levels), {}
        ascent = Ascent(split.X, split.y, C)
        for update, dual in enumerate(order(ascent, np.random.default_rng(0)), 1):
            while level and best - dual <= level * best:
                found[name][f"{level:g}"] = update
                level = next(levels, 0.0)
            if not level or update == MOST:
                break
    return found


def first_rows(split: Split, n: int | None) -> Split:
    """Return n rows drawn at random, all of them where n is None."""
    if n is None:
        return split
    chosen = np.sort(np.random.default_rng(0).permutation(len(split.y))[:n])
    return Split(split.X[chosen], split.y[chosen], split.X_test, split.y_test)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    if parse(parser).quick:
        split = first_rows(dataset("tiny"), 100)
        print(counted(split, 0.1, optimum(make_problem(split, "crammer_singer", 0.1), 1e-7, 60.0)))
        return
    results = read_results(RESULTS)
    for name, rows in available(DATA, dataset):
        split = first_rows(rows, DATA[name])
        best = optimum(make_problem(split, "crammer_singer", 1.0), 1e-7, 600.0)
        results[name] = {"rows": len(split.y), "updates": counted(split, 1.0, best)}
        print(name, results[name], flush=True)
        write_results(RESULTS, results)


if __name__ == "__main__":
    main()
