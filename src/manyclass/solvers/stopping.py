"""Stopping criteria: a proven relative gap (solution.py), or epsilon-optimality of every example.

A criterion also sets the goal of the shrunk loops, which decreases with the gap ("cooling"; Keerthi
et al. 2008, sec. 2.1).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Protocol

from manyclass.problem.solution import Certificate

# Shrunk loops end at this share of the gap of the previous full loop: stopping earlier leaves work
# to the more expensive full loops, stopping later refines a problem that the next full loop
# changes.
SHRUNK_SHARE = 0.1
# ... but not below this share of the requested gap.
SHRUNK_FLOOR = 0.3
# If W is rounded to float32 afterwards, the tolerance is reduced by the effect of rounding on the
# relative gap, but not below this share of it.
ROUNDING_OF_W = 1e-7
TIGHTENED = 0.7


class Findings(Protocol):
    """Sums over the visits of a loop, with the terms before each visit."""

    @property
    def gap(self) -> float:
        """Sum of the examples' duality gaps."""

    @property
    def max_violation(self) -> float:
        """Largest v_i."""


@dataclass(frozen=True, slots=True)
class Found:
    """Findings computed by a solver."""

    gap: float
    max_violation: float


class StoppingRule(Protocol):
    """Interface of a stopping criterion to the training loop."""

    def promising(self, full: Findings, scale: float, /) -> bool:
        """Whether a full loop's estimates justify the cost of a certificate for ``met``.

        `scale` is the denominator of the relative gap, min(P, P(0) - D).
        """

    def distance(self, full: Findings, scale: float, /) -> float:
        """Return the logarithm of a full loop's gap or violation over the requested value."""

    def met(self, certificate: Certificate) -> bool:
        """Whether the certificate meets the criterion."""

    def cool(self, full: Findings, scale: float, /) -> None:
        """Set the goal of the next shrunk loops after a full loop."""

    def tighten(self) -> None:
        """Reduce the tolerance, so that the criterion also holds after rounding W."""

    def shrunk_goal(self) -> tuple[float, float]:
        """Return a gap and a violation; shrunk loops end when one of them is reached."""


@dataclass(slots=True)
class GapRule:
    """Stop at (P - D) / min(P, P(0) - D) <= tol."""

    tol: float
    _goal: float = 0.0

    def promising(self, full: Findings, scale: float, /) -> bool:
        """Compare the gap, which is mostly too large, as its terms precede the visits."""
        return full.gap <= self.tol * scale

    def distance(self, full: Findings, scale: float, /) -> float:
        """Return the logarithm of the gap over the requested gap."""
        return _log_ratio(full.gap, self.tol * scale)

    def met(self, certificate: Certificate) -> bool:
        """Compare the proven gap."""
        return certificate.relative_gap <= self.tol

    def cool(self, full: Findings, scale: float, /) -> None:
        """Set the goal to a share of the gap of the full loop."""
        self._goal = max(SHRUNK_SHARE * full.gap, SHRUNK_FLOOR * self.tol * scale)

    def tighten(self) -> None:
        """Reduce the requested gap."""
        self.tol = max(TIGHTENED * self.tol, self.tol - ROUNDING_OF_W)

    def shrunk_goal(self) -> tuple[float, float]:
        """Only the gap of the shrunk problem counts."""
        return self._goal, 0.0


class ViolationRule:
    """Stop when no example violates its optimality conditions by tol = epsilon or more.

    Cooling as in the paper: epsilon begins at 1, and is divided by 10 whenever all examples are
    epsilon-optimal in a full loop, down to the requested value.
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self._epsilon = max(1.0, tol)

    def promising(self, full: Findings, _scale: float, /) -> bool:
        """Compare the largest violation."""
        return full.max_violation < self.tol

    def distance(self, full: Findings, _scale: float, /) -> float:
        """Return the logarithm of the largest violation over the requested one."""
        return _log_ratio(full.max_violation, self.tol)

    def met(self, certificate: Certificate) -> bool:
        """Compare the largest violation at the returned weights."""
        return certificate.max_violation < self.tol

    def cool(self, full: Findings, _scale: float, /) -> None:
        """Decrease epsilon once the full problem is solved to it."""
        if full.max_violation < self._epsilon:
            self._epsilon = max(self.tol, self._epsilon / 10)

    def tighten(self) -> None:
        """Reduce the requested violation."""
        self.tol *= TIGHTENED
        self._epsilon = max(1.0, self.tol)

    def shrunk_goal(self) -> tuple[float, float]:
        """Only the largest violation of the shrunk problem counts."""
        return -math.inf, self._epsilon


def _log_ratio(found: float, wanted: float) -> float:
    """Return log(found / wanted); -inf if found is 0 or less."""
    if not found > 0:
        return -math.inf
    return math.log(found) - math.log(max(wanted, sys.float_info.min))


RULES: dict[str, type[GapRule] | type[ViolationRule]] = {"gap": GapRule, "kkt": ViolationRule}
