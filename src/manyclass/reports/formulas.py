"""Names, losses and objectives of the models, in words and as HTML formulas."""

from __future__ import annotations

from manyclass.problem.formulations import LOGISTIC, LOSSES, Formulation
from manyclass.reports.html import Markup

# A name for users, and the loss of an example.
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
        "The sum of the losses of all absolute margins; the margin of the true class must reach k "
        "- 1.",
    ),
    "mmr": (
        "maximum margin regression (MMR)",
        "The loss of an example is the loss of the absolute margin of its own class.",
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
    "perceptron": "The loss of an example is the largest other score minus the score of its class, "
    "if positive.",
}

MINIMUM, NORM = "min<sub><i>W</i></sub> ", "‖<i>W</i>‖<sup>2</sup>"
OWN, RIVAL = "<i>s<sub>y</sub></i>", "<i>s<sub>c</sub></i>"
SUM, MAX = (f"{name}<sub><i>c</i> ≠ <i>y</i></sub> " for name in ("∑", "max"))
LOGISTIC_LOSS = f"log ∑<sub><i>c</i></sub> exp({RIVAL}) − {OWN}"
LOSS = "<i>ℓ</i>"
OF_ROW = f"{LOSS}(<i>x<sub>i</sub>, y<sub>i</sub></i>)"


COSTS, OFFSETS = "<i>Δ</i>(<i>y</i>, <i>c</i>)", " + <i>o<sub>c</sub></i>"


def exact_objective(
    machine: Formulation,
    loss: str,
    *,
    intercept: bool,
    costs: str | None = None,
    offsets: bool = False,
    multilabel: bool = False,
) -> Markup:
    """Return the problem of a MulticlassSVC or of logistic regression, as paragraphs.

    Includes costs of mistakes and their scaling, class offsets, or label sets.
    """
    problem = f"½ {NORM} + ∑<sub><i>i</i></sub> <i>C<sub>i</sub></i> {OF_ROW}"
    if machine.centred:
        problem += "  subject to ∑<sub><i>c</i></sub> <i>w<sub>c</sub></i> = 0"
    is_margin = machine != LOGISTIC
    power = LOSSES[loss].power if is_margin else 1
    term = _margin_loss(machine, power, costs) if is_margin else LOGISTIC_LOSS
    term = _multilabel_loss(power) if multilabel else term
    return _paragraphs(problem, term, is_margin, intercept, offsets)


def stochastic_objective(loss: str, *, intercept: bool, offsets: bool = False) -> Markup:
    """Return the problem of a StochasticClassifier, as paragraphs."""
    problem = f"½ <i>α</i> {NORM} + mean<sub><i>i</i></sub> {OF_ROW}"
    margin = "1 − " if loss == "hinge" else ""
    rivals = MAX + _plus(f"{margin}({OWN} − {RIVAL})")
    is_margin = loss != "log_loss"
    term = rivals if is_margin else LOGISTIC_LOSS
    return _paragraphs(problem, term, is_margin, intercept, offsets)


def _multilabel_loss(power: int) -> str:
    has, lacks = (f"∑<sub><i>c</i> {sign} <i>y</i></sub> " for sign in "∈∉")
    return f"{has}{_plus(f'1 − {RIVAL}', power)} + {lacks}{_plus(f'1 + {RIVAL}', power)}"


def _margin_loss(machine: Formulation, power: int, costs: str | None) -> str:
    gamma, factor = COSTS if costs == "margin" else "1", f"{COSTS} " if costs == "slack" else ""
    relative, absolute = f"{gamma} − ({OWN} − {RIVAL})", f"{gamma} + {RIVAL}"
    rival = factor + _plus(relative if machine.is_relative else absolute, power)
    own = _plus(f"{'1' if machine.gamma_own == '1' else '<i>k</i> − 1'} − {OWN}", power)
    if machine.targets == "own":
        return own
    if machine.takes_maximum:
        return f"max({own}, {MAX}{rival})" if machine.targets == "all" else MAX + rival
    return f"{own} + {SUM}{rival}" if machine.targets == "all" else SUM + rival


def _plus(inside: str, power: int = 1) -> str:
    exponent = f"<sup>{power}</sup>" if power > 1 else ""
    return f"[{inside}]<sub>+</sub>{exponent}"


def _paragraphs(problem: str, loss: str, is_margin: bool, intercept: bool, offsets: bool) -> Markup:
    scores = f"{RIVAL} = <i>w<sub>c</sub></i> · <i>x</i>"
    scores += " + <i>b<sub>c</sub></i>" if intercept else ""
    scores += f"{OFFSETS} while training" if offsets else ""
    positive = "[<i>t</i>]<sub>+</sub> = max(0, <i>t</i>),  " if is_margin else ""
    return Markup(
        f'<p class="formula">{MINIMUM}{problem}</p>'
        f'<p class="formula">{LOSS} = {loss}</p>'
        f'<p class="formula small">where {positive}{scores}</p>'
    )
