"""Names, losses and objectives of the models, in words and as HTML formulas."""

from __future__ import annotations

from collections.abc import Sequence

from manyclass.problem.formulations import LOGISTIC, Formulation
from manyclass.problem.losses import LOSSES
from manyclass.reports.html import Markup, element, joined

# A name for people, and what the loss of an example is.
FORMULATION_WORDS = {
    "crammer_singer": (
        "Crammer-Singer support vector machine",
        "The loss of an example is the largest loss of its relative margins to the other classes.",
    ),
    "weston_watkins": (
        "Weston-Watkins support vector machine",
        "The loss of an example is the sum of the losses of its relative margins.",
    ),
    "lee_lin_wahba": (
        "Lee-Lin-Wahba support vector machine",
        "The loss of an example is the sum of the losses of the other classes' absolute margins.",
    ),
    "adm": (
        "support vector machine with absolute margins (ADM)",
        "The loss of an example is the largest loss of the other classes' absolute margins.",
    ),
    "ats": (
        "support vector machine with absolute margins of all classes, added (ATS)",
        "The loss of an example is the sum of the losses of all classes' absolute margins.",
    ),
    "atm": (
        "support vector machine with absolute margins of all classes, their maximum (ATM)",
        "The loss of an example is the largest loss of all classes' absolute margins.",
    ),
    "reinforced": (
        "reinforced multi-category support vector machine",
        "The sum of the losses of all absolute margins; that of its own class must reach k - 1.",
    ),
    "mmr": (
        "maximum margin regression (MMR)",
        "The loss of an example is that of its own class's absolute margin.",
    ),
    "one_vs_rest": (
        "one-vs-rest support vector machines",
        "Each class is a binary problem of its own: its examples against all others.",
    ),
    "logistic": (
        "multinomial logistic regression",
        "The loss of an example is minus the logarithm of the probability of its class.",
    ),
}
STOCHASTIC_WORDS = {
    "hinge": "The loss of an example is the largest hinge loss of its relative margins.",
    "log_loss": "The loss of an example is minus the logarithm of the probability of its class.",
    "perceptron": "The loss of an example is by how much the largest other score exceeds its own.",
}

NORM = Markup("‖<i>W</i>‖<sup>2</sup>")
OWN, RIVAL = Markup("<i>s<sub>y</sub></i>"), Markup("<i>s<sub>c</sub></i>")
RIVALS = Markup("<sub><i>c</i> ≠ <i>y</i></sub>")
SUM, MAX = joined([Markup("∑"), RIVALS, " "]), joined(["max", RIVALS, " "])
SCORES = Markup("<i>s<sub>c</sub></i> = <i>w<sub>c</sub></i> · <i>x</i>")
INTERCEPT = Markup(" + <i>b<sub>c</sub></i>")
LOGISTIC_LOSS = Markup("log ∑<sub><i>c</i></sub> exp(<i>s<sub>c</sub></i>) − <i>s<sub>y</sub></i>")
LOSS = Markup("<i>ℓ</i>")
POSITIVE = Markup("[<i>t</i>]<sub>+</sub> = max(0, <i>t</i>)")
CENTRED = Markup("∑<sub><i>c</i></sub> <i>w<sub>c</sub></i> = 0")
MINIMUM = Markup("min<sub><i>W</i></sub> ")


def exact_objective(machine: Formulation, loss: str, *, intercept: bool) -> Markup:
    """Return the problem of a MulticlassSVC or of logistic regression, as paragraphs."""
    costs = Markup(" + ∑<sub><i>i</i></sub> <i>C<sub>i</sub></i> ")
    problem = [MINIMUM, "½ ", NORM, costs, LOSS, Markup("(<i>x<sub>i</sub>, y<sub>i</sub></i>)")]
    if machine.centred:
        problem += ["  subject to ", CENTRED]
    is_margin = machine != LOGISTIC
    term = _margin_loss(machine, LOSSES[loss].power) if is_margin else LOGISTIC_LOSS
    return _paragraphs(problem, term, is_margin, intercept)


def stochastic_objective(loss: str, *, intercept: bool) -> Markup:
    """Return the problem of a StochasticClassifier, as paragraphs."""
    mean = Markup(" + mean<sub><i>i</i></sub> ")
    problem = [MINIMUM, Markup("½ <i>α</i> "), NORM, mean, LOSS]
    problem.append(Markup("(<i>x<sub>i</sub>, y<sub>i</sub></i>)"))
    margin = "1 − " if loss == "hinge" else ""
    rivals = joined([MAX, _plus(joined([margin, "(", OWN, " − ", RIVAL, ")"]))])
    term = LOGISTIC_LOSS if loss == "log_loss" else rivals
    return _paragraphs(problem, term, loss != "log_loss", intercept)


def _margin_loss(machine: Formulation, power: int) -> Markup:
    relative = joined(["1 − (", OWN, " − ", RIVAL, ")"])
    rival = _plus(relative if machine.is_relative else joined(["1 + ", RIVAL]), power)
    gamma = "1" if machine.gamma_own == "1" else Markup("<i>k</i> − 1")
    own = _plus(joined([gamma, " − ", OWN]), power)
    if machine.targets == "own":
        return own
    if machine.takes_maximum:
        worst = joined([MAX, rival])
        return joined(["max(", own, ", ", worst, ")"]) if machine.targets == "all" else worst
    added = joined([SUM, rival])
    return joined([own, " + ", added]) if machine.targets == "all" else added


def _plus(inside: Markup, power: int = 1) -> Markup:
    exponent = Markup(f"<sup>{power}</sup>") if power > 1 else ""
    return joined(["[", inside, Markup("]<sub>+</sub>"), exponent])


def _paragraphs(problem: Sequence[str], loss: Markup, margins: bool, intercept: bool) -> Markup:
    scores = joined([SCORES, INTERCEPT if intercept else ""])
    where = [*([POSITIVE] if margins else []), scores]
    return joined(
        [
            element("p", *problem, class_="formula"),
            element("p", LOSS, " = ", loss, class_="formula"),
            element("p", "where ", joined(where, ",  "), class_="formula small"),
        ]
    )
