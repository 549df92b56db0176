"""The solver of support vector machines with rows in parts: consensus, then Newton's method.

Training begins with rounds of consensus (admm.py). If these are slow and W has few numbers,
Newton's method (newton_phase.py, steps_on_parts.py) continues from the best V and the z of all
parts. Both end with the certificate of all rows.
"""

from __future__ import annotations

import numpy as np

from manyclass.distributed.rows.admm import ConsensusAdmm
from manyclass.distributed.rows.svm_rows import COUNTS
from manyclass.problem.solution import Certificate, EpochRecord, scale_of
from manyclass.rows.questions import ConsensusRounds
from manyclass.solvers.newton.steps_on_parts import StepsOnParts, is_small, length_on_parts
from manyclass.solvers.newton_phase import MOST_STEPS, first_epsilon, next_epsilon
from manyclass.solvers.stopping import Found, GapRule, StoppingRule

# Newton's method begins once consensus, at the rate of its last SEEN rounds, needs more rounds than
# Newton's method takes (for the squared hinge and the hinge; measured on digits, usps, letter and
# covtype). For the hinge it begins near the optimum, or after FAR rounds; and later if the gap must
# decrease by less than exp(LITTLE), as consensus slows down on a longer way to the end.
SEEN = 3
MOST_BESIDE_SQUARED, MOST_BESIDE_HINGE, MOST_BESIDE_LITTLE = 10, 25, 50
LITTLE = 2.0
NEAR, FAR = 0.5, 12


class SvmOnRows(ConsensusAdmm):
    """Solver of an SVM with rows in parts; parameters as in ``ConsensusAdmm``."""

    _phase: StepsOnParts | None = None
    _epsilon = 0.0  # proximal term of the next round; 0 for the squared hinge
    _length = 1.0  # step by which zbar moves towards the z of the last step
    _has_moved = True  # whether zbar has moved
    _smooth = np.inf, np.inf  # P and P - D of the squared hinge at the last step
    _proven: tuple[float, ...] = ()  # gaps of the last SEEN rounds of consensus

    def epoch(self, rule: StoppingRule) -> EpochRecord:
        """Run a round of consensus, or of Newton's method."""
        if self._phase is None and self._is_slow(rule):
            self._begin_newton()
        if self._phase is not None:
            return self._newton_round(self._phase)
        record = super().epoch(rule)
        self._proven = (*self._proven, record.gap_estimate)[-SEEN:]
        return record

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met."""
        if self._has_moved:
            return super().promising(rule)
        primal, gap = self._smooth
        return rule.promising(Found(gap, 0.0), scale_of(gap, primal, self.zero_objective))

    def certify(self) -> Certificate:
        """Return the certificate of the last round."""
        if not self._has_moved:
            self._move_duals()
        return super().certify()

    def _is_slow(self, rule: StoppingRule) -> bool:
        """Whether Newton's method needs fewer rounds than consensus."""
        gaps = self._proven
        if len(gaps) < SEEN or not (isinstance(rule, GapRule) and is_small(self.problem)):
            return False
        found = self.certify()
        P = found.primal_objective
        is_squared = self.problem.slack_loss.has_ridge
        if not is_squared and gaps[-1] > NEAR * P and self._n_rounds < FAR:
            return False
        if not 0 < gaps[-1] < np.inf:
            return False
        left = rule.distance(Found(gaps[-1], 0.0), self.scale_of(found))
        rate = np.log(gaps[0] / gaps[-1]) / (SEEN - 1)
        most = MOST_BESIDE_HINGE if left > LITTLE else MOST_BESIDE_LITTLE
        return bool(left > (MOST_BESIDE_SQUARED if is_squared else most) * rate)

    def _begin_newton(self) -> None:
        """Start Newton's method at the best W, unless all z are 0."""
        gap, is_smooth = self.certify().gap, self.problem.slack_loss.has_ridge
        W = self.best.astype(np.float64)
        phase = StepsOnParts(self.problem, self.parts, W, self._of_duals)
        self._epsilon = 0.0 if is_smooth else first_epsilon(gap, phase.squared_duals())
        if np.isfinite(self._epsilon):
            self._phase = phase

    def _newton_round(self, phase: StepsOnParts) -> EpochRecord:
        self._n_rounds += 1
        primal, gap = self._round_of(phase)
        evaluations = phase.n_passes * self.n_examples * self.problem.dataset.n_classes
        return self._record(primal, gap, phase.n_zone, phase.n_steps, evaluations)

    def _round_of(self, phase: StepsOnParts) -> tuple[float, float]:
        """Make a step, or the steps to a proximal point; return P and P - D."""
        phase.of_centre, is_smooth = self._of_duals, self._epsilon == 0
        most_steps = 1 if is_smooth else MOST_STEPS
        length = length_on_parts(phase, self._epsilon, most_steps=most_steps)
        self._has_moved = False
        if is_smooth:
            self._smooth = phase.smooth_objective
            return self._smooth
        self._length = length
        found = self.certify()
        self._epsilon = next_epsilon(self._epsilon, phase.n_steps)
        return found.primal_objective, found.gap

    def _move_duals(self) -> None:
        """Move z of all parts, and certify W."""
        assert self._phase is not None
        phase, counts = self._phase, np.zeros((self.parts.n_parts, COUNTS))
        of_duals = np.zeros(self.V.shape)
        given = self._n_rounds, phase.W, self._scale, phase.epsilon, self._length
        self.parts.add(ConsensusRounds.move_duals, given, (of_duals, counts))
        self.V, self._has_moved = phase.W.astype(self.V.dtype), True
        self._take(of_duals, counts[:, -1], float(counts[:, 4].sum()))
