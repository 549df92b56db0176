"""The sections of a report that need the model alone."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn

from manyclass.io.tensors import one_line
from manyclass.persistence.model_schema import KINDS, Estimator
from manyclass.prediction.scoring import count_nonzero
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import LOGISTIC, named
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.reports.label_codes import LONGEST
from manyclass.reports.page import formulas
from manyclass.reports.page.elements import Markup, element
from manyclass.reports.page.figures import gap_chart, loss_chart, objective_chart
from manyclass.reports.page.tables import facts, paragraph, percent, section, side_by_side
from manyclass.utils.types import Settings
from manyclass.version import __version__

NO_PROOF = "Small weights were left out after training, so what was proven is of other weights."
NO_PROOF_OF_OTHERS = "The model was not trained by manyclass."
NO_PROOF_OF_STEPS = "Stochastic steps prove nothing about the distance from the optimum."
NO_HISTORY = "The model has no history of its training."


@dataclass(frozen=True, slots=True)
class About:
    """A model, and what it says of itself.

    Attributes
    ----------
    model : estimator
    facts : dict
        formulation, C, certificate or alpha, n_steps; as ``describe_model`` tells them.
    steps : list of str
        What rows go through before.
    """

    model: Estimator
    facts: Settings
    steps: list[str]

    @classmethod
    def of(cls, model: Estimator, steps: Any = None) -> About:
        """Return it for a fitted model, and the pipeline of what comes before, if there is one."""
        names = [] if steps is None else [one_line(repr(step), LONGEST) for _, step in steps.steps]
        return cls(model, KINDS[type(model).__name__].describe(model), names)

    @property
    def proof(self) -> Certificate | None:
        """The certificate, if there is one."""
        return getattr(self.model, "certificate_", None)

    @property
    def is_stochastic(self) -> bool:
        """Whether it was trained by stochastic steps."""
        return self.facts["formulation"] is None

    @property
    def tol(self) -> float | None:
        """The relative gap that was asked for."""
        stops_at_gap = getattr(self.model, "stopping", "gap") == "gap"
        return float(self.model.tol) if stops_at_gap and self.model.tol is not None else None


def trained_section(about: About) -> Markup:
    """Return what was trained: words, formula, parameters."""
    model, kind = about.model, about.facts["formulation"]
    intercept = bool(model.fit_intercept)
    if kind is None:
        name = f"Linear classifier, {_loss(model.loss)}, by stochastic steps"
        words = formulas.STOCHASTIC_WORDS[model.loss]
        formula = formulas.stochastic_objective(model.loss, intercept=intercept)
    else:
        name, words = formulas.FORMULATION_WORDS[kind]
        machine = LOGISTIC if kind == "logistic" else named(kind)
        squared = model.loss == "squared_hinge"
        formula = formulas.exact_objective(machine, squared=squared, intercept=intercept)
        if kind != "logistic":
            name = f"{name}, {_loss(model.loss)}"
    params = model.get_params()
    pairs = [
        (key, one_line(repr(value), LONGEST)) for key, value in params.items() if value is not None
    ]
    return section(
        "trained",
        "What was trained",
        paragraph(element("strong", f"{name[0].upper()}{name[1:]}."), " ", words),
        formula,
        _before(about.steps),
        element("details", element("summary", "Parameters"), facts(pairs, "parameters"), open=""),
    )


def _before(steps: list[str]) -> Markup | None:
    if not steps:
        return None
    return paragraph("The pipeline first transforms the rows by ", ", then ".join(steps), ".")


def _loss(name: str) -> str:
    return f"{name.removesuffix('_loss').replace('_', ' ')} loss"


def proven_section(about: About) -> Markup:
    """Return what is proven, and what that means."""
    proof = about.proof
    if proof is None:
        why = NO_PROOF if about.model.n_iter_ else NO_PROOF_OF_OTHERS
        why = NO_PROOF_OF_STEPS if about.is_stochastic else why
        return section("proven", "What is proven", paragraph("Nothing. ", why))
    far = percent(proof.relative_gap, 3)
    meaning = paragraph(
        "The smallest possible value of the objective lies between D and P. So the objective of "
        f"this model, P, is at most {far} above the optimum: ",
        Markup("(P − D) / P"),
        f" = {proof.relative_gap:.2g}.",
    )
    numbers = [
        ("P, the objective", f"{proof.primal_objective:.8g}"),
        ("D, a lower bound of the optimum", f"{proof.dual_objective:.8g}"),
        ("gap, P − D", f"{proof.gap:.3g}"),
        ("relative gap", f"{proof.relative_gap:.3g}"),
        (_violation(about), f"{proof.max_violation:.3g}"),
    ]
    return section("proven", "What is proven", meaning, facts(numbers), _asked(about, proof))


def _violation(about: About) -> str:
    if about.facts["formulation"] == "logistic":
        return "distance of the weights from the optimal ones, at most"
    return "largest violation of the optimality conditions"


def _asked(about: About, proof: Certificate) -> Markup:
    if about.tol is None:
        return paragraph(f"Training was asked for violations of at most {about.model.tol:g}.")
    asked = f"Training was asked for a relative gap of at most {about.tol:g}"
    if proof.relative_gap <= about.tol:
        return paragraph(f"{asked}, and reached it.")
    return paragraph(f"{asked}, and ended before it was reached.")


def convergence_section(about: About) -> Markup:
    """Return how training went."""
    history = getattr(about.model, "history_", None)
    if not history:
        return section("convergence", "Convergence", paragraph(NO_HISTORY))
    if isinstance(history[0], EpochRecord):
        charts = side_by_side(
            gap_chart(history, about.proof, about.tol), objective_chart(history, about.proof)
        )
        note = (
            "Points are estimates from the visits of an epoch, made while weights still change; "
            "what is proven was computed at the end."
        )
    else:
        charts = side_by_side(loss_chart(history))
        note = "Each point is the mean loss of an epoch's examples, each before its step."
    return section("convergence", "Convergence", charts, paragraph(note))


def weights_section(about: About) -> Markup:
    """Return density and memory of the weights."""
    coef = about.model._coefficients
    k, d = coef.shape
    n_nonzero, n_all = count_nonzero(coef), k * d
    sparse = isinstance(coef, SparseCoefficients)
    pairs = [
        ("weights", f"{n_all:,} ({d:,} features × {k:,} {'classes' if k > 1 else 'row'})"),
        ("not zero", f"{n_nonzero:,}, {100 * n_nonzero / n_all:.3g}\u00a0%"),
        ("type", f"{'sparse' if sparse else 'dense'} {coef.dtype}"),
        ("memory", size(weight_bytes(about.model))),
        ("as a dense array", size(n_all * coef.dtype.itemsize) if sparse else None),
    ]
    return section("weights", "Weights", facts(pairs))


def weight_bytes(model: Estimator) -> int:
    """Return the bytes of the weights as they are held."""
    coef = model._coefficients
    if isinstance(coef, SparseCoefficients):
        return coef.indptr.nbytes + coef.classes.nbytes + coef.values.nbytes
    return int(coef.nbytes)


def size(n_bytes: float) -> str:
    """Return bytes for people."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def versions_section() -> Markup:
    """Return the versions of what made the report."""
    pairs = [
        ("manyclass", __version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
    ]
    return section("versions", "Versions", paragraph("This page was made with"), facts(pairs))
