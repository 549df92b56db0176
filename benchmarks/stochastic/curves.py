"""Accuracy after each epoch, of every solver at every alpha; no clock runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.stochastic.solvers import EpochScores, Rows, Solver, epoch_by_epoch

ALPHAS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
# Of more epochs not every one is scored.
_SCORED = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 25, 30, 40, 50}
_LAST = 3

Curve = list[tuple[int, float]]  # epochs, accuracy
Curves = dict[float, Curve]  # by alpha


@dataclass(frozen=True)
class Lengths:
    """How many epochs are looked at: of every alpha, and of so many that are best by then."""

    first: int
    last: int
    go_on: int = 2


def curves(solver: Solver, rows: Rows, lengths: Lengths) -> dict[str, Curves]:
    """Return the curves of a solver, and of those that follow it, by name."""
    running = {alpha: epoch_by_epoch(solver, rows, alpha) for alpha in ALPHAS}
    found: dict[str, Curves] = {}
    for alpha, epochs in running.items():
        _add(found, alpha, _until(epochs, lengths.first))
    going_on = {alpha for each in found.values() for alpha in best_alphas(each)[: lengths.go_on]}
    for alpha in running:
        if alpha not in going_on:
            running[alpha].close()  # frees its weights
    for alpha in sorted(going_on):
        _add(found, alpha, _until(running[alpha], lengths.last, lengths.first))
    return found


def final(curve: Curve) -> float:
    """Return the accuracy in the end: the middle one of the last three that were scored."""
    last = sorted(value for _, value in curve[-_LAST:])
    return last[len(last) // 2]


def best_alphas(found: Curves) -> list[float]:
    """Sort alphas by final accuracy, best first; of the same accuracy the larger alpha."""
    longest = max(curve[-1][0] for curve in found.values())
    whole = {alpha: curve for alpha, curve in found.items() if curve[-1][0] == longest}
    return sorted(whole, key=lambda alpha: (-final(whole[alpha]), -alpha))


def first_epoch(curve: Curve, level: float) -> int | None:
    """Return how many epochs it takes to get to an accuracy, or None."""
    return next((epoch for epoch, value in curve if value >= level), None)


def _until(epochs: Iterator[EpochScores], last: int, before: int = 0) -> Iterable[EpochScores]:
    """Continue to an epoch; a generator that restarts for each gets no further request."""
    if last <= before:
        return
    for epoch, scores in epochs:
        yield epoch, scores
        if epoch >= last:
            return


def _add(found: dict[str, Curves], alpha: float, scored: Iterable[EpochScores]) -> None:
    for epoch, scores in scored:
        if epoch in _SCORED:
            for name, value in scores.items():
                found.setdefault(name, {}).setdefault(alpha, []).append((epoch, value))
