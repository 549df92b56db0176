"""Stopping rules: a proven relative gap (solution.py), or epsilon-optimality of every example.

A rule also says when the loops over the shrunk problem have done enough, and asks for more of them
as the gap falls ("cooling"; Keerthi et al. 2008, sec. 2.1).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Protocol

from manyclass.problem.solution import Certificate

# Shrunk loops end at this share of the gap that the full loop before them found: less leaves work
# to the costlier full loops, more polishes a problem that the next full loop changes.
SHRUNK_SHARE = 0.1
# ... and never go below this share of the gap that is asked for in the end.
SHRUNK_FLOOR = 0.3
# Where W is rounded to float32 afterwards, the tolerance is less by what rounding may add to the
# relative gap, but not below this part of it.
ROUNDING_OF_W = 1e-7
TIGHTENED = 0.7


class Findings(Protocol):
    """What a loop found: sums over its visits, each taken just before it."""

    @property
    def gap(self) -> float:
        """Sum of the examples' duality gaps."""

    @property
    def max_violation(self) -> float:
        """Largest v_i."""


@dataclass(frozen=True, slots=True)
class Found:
    """Findings that a solver has put together."""

    gap: float
    max_violation: float


class StoppingRule(Protocol):
    """Interface of a stopping rule to the training loop."""

    def promising(self, full: Findings, scale: float, /) -> bool:
        """Whether a full loop's estimates say that ``met`` is worth its price.

        `scale` is what a relative gap is measured against, min(P, P(0) - D).
        """

    def distance(self, full: Findings, scale: float, /) -> float:
        """Logarithm of what a full loop found over what is asked for."""

    def met(self, certificate: Certificate) -> bool:
        """Whether training is done."""

    def cool(self, full: Findings, scale: float, /) -> None:
        """Set the goal of the next shrunk loops after a full loop."""

    def tighten(self) -> None:
        """Ask for more, so that rounding W afterwards does not break the rule."""

    def shrunk_goal(self) -> tuple[float, float]:
        """Gap and violation; the shrunk loops have done enough when one falls to its value."""


@dataclass(slots=True)
class GapRule:
    """Stop at (P - D) / min(P, P(0) - D) <= tol: proven within tol of P, and of what is gained."""

    tol: float
    _goal: float = 0.0

    def promising(self, full: Findings, scale: float, /) -> bool:
        """Compare the gap, which is that of the loop's beginning and so mostly too large."""
        return full.gap <= self.tol * scale

    def distance(self, full: Findings, scale: float, /) -> float:
        """Measure the gap."""
        return _log_ratio(full.gap, self.tol * scale)

    def met(self, certificate: Certificate) -> bool:
        """Compare the proven gap."""
        return certificate.relative_gap <= self.tol

    def cool(self, full: Findings, scale: float, /) -> None:
        """Follow the gap of the full loop."""
        self._goal = max(SHRUNK_SHARE * full.gap, SHRUNK_FLOOR * self.tol * scale)

    def tighten(self) -> None:
        """Ask for a smaller gap."""
        self.tol = max(TIGHTENED * self.tol, self.tol - ROUNDING_OF_W)

    def shrunk_goal(self) -> tuple[float, float]:
        """Only the gap of the shrunk problem counts."""
        return self._goal, 0.0


class ViolationRule:
    """Stop when no example violates its optimality conditions by tol = epsilon or more.

    Cooling as in the paper: epsilon begins at 1 and falls tenfold, each time that a full loop finds
    every example epsilon-optimal, to the wanted value.
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self._epsilon = max(1.0, tol)

    def promising(self, full: Findings, _scale: float, /) -> bool:
        """Compare the largest violation."""
        return full.max_violation < self.tol

    def distance(self, full: Findings, _scale: float, /) -> float:
        """Measure the largest violation."""
        return _log_ratio(full.max_violation, self.tol)

    def met(self, certificate: Certificate) -> bool:
        """Compare the largest violation at the returned weights."""
        return certificate.max_violation < self.tol

    def cool(self, full: Findings, _scale: float, /) -> None:
        """Lower epsilon once the full problem is solved to it."""
        if full.max_violation < self._epsilon:
            self._epsilon = max(self.tol, self._epsilon / 10)

    def tighten(self) -> None:
        """Ask for a smaller violation."""
        self.tol *= TIGHTENED
        self._epsilon = max(1.0, self.tol)

    def shrunk_goal(self) -> tuple[float, float]:
        """Only the largest violation of the shrunk problem counts."""
        return -math.inf, self._epsilon


def _log_ratio(found: float, wanted: float) -> float:
    """log(found / wanted); -inf where found is 0 or less."""
    if not found > 0:
        return -math.inf
    return math.log(found) - math.log(max(wanted, sys.float_info.min))


RULES: dict[str, type[GapRule] | type[ViolationRule]] = {"gap": GapRule, "kkt": ViolationRule}
