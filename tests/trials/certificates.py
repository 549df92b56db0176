"""No certificate may claim a gap below the true one: random problems, judged without rounding.

    python -m tests.trials.certificates [N] [--seed SEED] [--start NUMBER] [--only NUMBER]

P is computed of ``coef_`` and ``intercept_`` as the user gets them (where sum_c w_c = 0 is asked
for, of their projection), D of z made feasible, both exactly (exact.py). A claim is FALSE when
P - D exceeds the claimed gap, the claimed D that of z, or P the claimed one plus the gap, or where
the claim is negative or no number. For the worst of them a
second fit looks for a better W: ``refuted`` means that it found a P that the claim excludes.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tests.trials.judging import Verdict, judge, reference, to_float
from tests.trials.random_problems import RandomProblem, draw

Draw = Callable[[int, int], RandomProblem]  # the problem of a seed and a number
N_WORST = 25
# Errors that say what is wrong with a problem; every other one is a fault.
REFUSALS = (FloatingPointError, ValueError)


@dataclass(slots=True)
class Figures:
    """Counts of a run, and its false claims."""

    n: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    false: list[Verdict] = field(default_factory=list)
    n_off_centre: int = 0
    n_objectives: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        """Count one fit."""
        self.statuses[verdict.status] += 1
        self.statuses.update(f"warning: {message}" for message in verdict.messages)
        self.n_off_centre += verdict.off_centre > 1
        for name, claim, true in (
            ("P", verdict.claim.primal_objective, verdict.primal),
            ("D", verdict.claim.dual_objective, verdict.dual),
        ):
            if np.isfinite(claim) and abs(Fraction(claim) - true) > verdict.primal / 10**12:
                self.n_objectives[name] += 1
        if verdict.is_false:
            self.false.append(verdict)


def run(seed: int, numbers: Sequence[int], drawn: Draw = draw) -> Figures:
    """Judge the problems of these numbers."""
    figures = Figures()
    for number in numbers:
        figures.n += 1
        problem = drawn(seed, number)
        try:
            figures.add(judge(problem))
        except REFUSALS as error:
            figures.refusals[f"{type(error).__name__}: {str(error)[:70]}"] += 1
        except Exception:
            figures.faults.append(f"{number} ({problem})\n{traceback.format_exc()}")
    return figures


def severity(seed: int, verdict: Verdict, drawn: Draw = draw) -> str:
    """Say whether a second fit refutes the claim about P, or that about D, or neither."""
    try:
        best_primal, best_dual = reference(drawn(seed, verdict.number))
    except REFUSALS:
        return "?"
    best_primal, best_dual = min(best_primal, verdict.primal), max(best_dual, verdict.dual)
    claim = verdict.claim
    if not np.isfinite(claim.gap):
        return "?"
    if verdict.primal - best_primal > Fraction(max(claim.gap, 0.0)):
        return "refuted: W is worse than claimed"
    if Fraction(claim.dual_objective) > best_primal:
        return "refuted: D above the optimum"
    proven = verdict.primal - best_dual <= Fraction(max(claim.gap, 0.0))
    return "W is as good as claimed, z does not prove it" if proven else "open"


def _decades(false: list[Verdict]) -> Counter[str]:
    """Count how much of P the claims hide, by powers of ten and type, the worst first."""
    found: Counter[str] = Counter()
    for verdict in sorted(false, key=lambda v: -v.excess):
        floor = int(np.floor(np.log10(np.clip(verdict.excess, 1e-20, 1e300))))
        found[f"1e{floor} ({'float32' if 'float32' in verdict.text else 'float64'})"] += 1
    return found


def report(figures: Figures, seed: int, seconds: float, drawn: Draw = draw) -> None:
    """Print what was found."""
    false = sorted(figures.false, key=lambda v: -v.excess)
    counts = f"{len(false)} false claims, {len(figures.faults)} faults"
    print(f"{figures.n} problems, {counts}, {seconds:.0f} s")
    for title, found in (
        ("ended", figures.statuses),
        ("refused", figures.refusals),
        ("false by cause", Counter(verdict.cause for verdict in false)),
        ("false by formulation", Counter(verdict.text.split()[0] for verdict in false)),
        ("false by share of P that the claim hides", _decades(false)),
        ("objective more than 1e-12 P from the true one", figures.n_objectives),
    ):
        for what, count in found.items():
            print(f"  {title}: {what}: {count}")
    print(f"  W off centre by more than its last digits: {figures.n_off_centre}")
    if false:
        print(f"  worst: {false[0].excess:.1e} of P more than claimed")
    for verdict in false[:N_WORST]:
        claim, true = verdict.claim, verdict.true_gap
        print(
            f"{verdict.number:6d}  claimed {claim.gap:.2e}, true {true:.2e} of P = "
            f"{to_float(verdict.primal):.2e}; {verdict.cause}; {severity(seed, verdict, drawn)}\n"
            f"        {verdict.text} [{verdict.status}]"
        )
    for fault in figures.faults[:N_WORST]:
        print("fault in", fault)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trial; 1 if a claim is false."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="?", default=20_000, help="problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first problem")
    parser.add_argument("--only", type=int, help="one problem, by its number")
    options = parser.parse_args(arguments)
    numbers = range(options.start, options.start + options.n)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    began = time.perf_counter()
    figures = run(options.seed, numbers)
    report(figures, options.seed, time.perf_counter() - began)
    return int(bool(figures.false or figures.faults))


if __name__ == "__main__":
    sys.exit(main())
