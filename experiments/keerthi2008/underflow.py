"""Exponentiated gradient with and without logarithms: what underflow does to it.

    python -m experiments.keerthi2008.underflow [--quick]

The paper blames exponentials for the failure of EG on COVER. The same steps are taken twice, in
NumPy: once on log u, once on u itself, u <- u exp(eta a) / sum. One epoch after the other, in the
same order, with the paper's step lengths.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import Split, available
from experiments.keerthi2008.data import dataset
from experiments.keerthi2008.methods import make_problem, optimum
from measuring.quick import parse

ROWS, EPOCHS = 10_000, 30
FIRST_RATE, GROWTH = 0.5, 1.05
MOST_HALVINGS = 40


class PlainSteps:
    """EG for Crammer-Singer on u itself."""

    def __init__(self, X: NDArray[Any], y: NDArray[Any], n_classes: int, C: float) -> None:
        self.X, self.y, self.C = X, y, C
        self.norms = np.einsum("ij,ij->i", X, X)
        self.W = np.zeros((X.shape[1], n_classes))
        self.rates = np.full(len(y), FIRST_RATE)
        self.state = self.first(np.full((len(y), n_classes), 1 / n_classes, X.dtype))
        for i, x in enumerate(X):
            self.W += C * np.outer(x, np.eye(n_classes)[y[i]] - self.u(i))

    def first(self, u: NDArray[Any]) -> NDArray[Any]:
        """Return what is kept of u."""
        return u

    def u(self, i: int) -> NDArray[Any]:
        """Return u_i."""
        return self.state[i]

    def moved(self, i: int, step: NDArray[Any]) -> NDArray[Any]:
        """Return what is kept of u_i after a step of its logarithm."""
        v = self.state[i] * np.exp(step).astype(self.state.dtype)
        return v / v.sum()

    def as_u(self, kept: NDArray[Any]) -> NDArray[Any]:
        """Return u of what is kept."""
        return kept

    def visit(self, i: int) -> None:
        """Take one step that raises D, halving the step length until it does."""
        x, old = self.X[i], self.u(i)
        a = x @ self.W + 1
        a[self.y[i]] -= 1
        for halvings in range(MOST_HALVINGS):
            new = self.moved(i, self.rates[i] * a)
            delta = self.as_u(new) - old
            gain = delta @ a - 0.5 * self.C * self.norms[i] * (delta @ delta)
            if gain >= 0:
                self.state[i] = new
                self.W -= self.C * np.outer(x, delta)
                self.rates[i] *= GROWTH if halvings == 0 else 1
                return
            self.rates[i] /= 2

    def dual(self) -> float:
        """Return D(u) = sum_i C (1 - u_{i,y_i}) - ||W(u)||^2 / 2."""
        own = self.as_u(self.state)[np.arange(len(self.y)), self.y]
        return float(self.C * (1 - own).sum() - 0.5 * (self.W**2).sum())

    def zeros(self) -> float:
        """Return the share of u that is exactly 0, from which no product comes back."""
        return float((self.as_u(self.state) == 0).mean())


class LogarithmicSteps(PlainSteps):
    """EG for Crammer-Singer on log u."""

    def first(self, u: NDArray[Any]) -> NDArray[Any]:
        """Return log u."""
        return np.log(u)

    def u(self, i: int) -> NDArray[Any]:
        """Return u_i."""
        return np.exp(self.state[i])

    def moved(self, i: int, step: NDArray[Any]) -> NDArray[Any]:
        """Return log u_i after a step of it."""
        v = self.state[i] + step.astype(self.state.dtype)
        v -= v.max()
        return v - np.log(np.exp(v).sum())

    def as_u(self, kept: NDArray[Any]) -> NDArray[Any]:
        """Return u of what is kept."""
        return np.exp(kept)


def compare(split: Split, n_rows: int, epochs: int, C: float = 1.0) -> dict[str, Any]:
    """Return (D* - D) / D* after each epoch, and the share of zeros at the end."""
    chosen = np.random.default_rng(0).permutation(len(split.y))[:n_rows]
    part = Split(split.X[chosen], split.y[chosen], split.X_test, split.y_test)
    problem = make_problem(part, "crammer_singer", C)
    best = optimum(problem, 1e-6, 60.0)
    found: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        for dtype in (np.float32, np.float64):
            for name, steps in (("log u", LogarithmicSteps), ("u", PlainSteps)):
                X = part.X.toarray().astype(dtype)
                run = steps(X, part.y, problem.dataset.n_classes, C)
                found[f"{name}, {np.dtype(dtype).name}"] = _curve(run, best, epochs)
                print(name, np.dtype(dtype).name, found[f"{name}, {np.dtype(dtype).name}"])
    return found


def _curve(run: PlainSteps, best: float, epochs: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(epochs):
        for i in rng.permutation(len(run.y)):
            run.visit(i)
        excess.append((best - run.dual()) / best)
    return {"excess": excess, "zeros": run.zeros()}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    args = parse(parser)
    if args.quick:
        compare(dataset("tiny"), 60, 2)
        return
    for _, split in available(("covtype100k", "mnist"), dataset):
        compare(split, ROWS, EPOCHS)


if __name__ == "__main__":
    main()
