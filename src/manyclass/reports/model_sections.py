"""Sections of a report about the model and its training."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np
import scipy
import sklearn
from sklearn.pipeline import Pipeline

from manyclass.estimators.coefficients import coefficients_of
from manyclass.io.tensors import one_line
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.persistence.model_schema import KINDS, Estimator
from manyclass.prediction.scoring import count_nonzero
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import LOGISTIC, named
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.reports import formulas
from manyclass.reports.charts import gap_chart, loss_chart, objective_chart
from manyclass.reports.confusion import LONGEST, shown
from manyclass.reports.html import (
    Child,
    Markup,
    Section,
    element,
    facts,
    joined,
    paragraph,
    percent,
    side_by_side,
    table,
)
from manyclass.utils.types import Array, Label, Settings
from manyclass.version import __version__

NO_PROOF = "Small weights were left out after training, so what was proven is of other weights."
NO_PROOF_OF_OTHERS = "The model was not trained by manyclass."
NO_PROOF_OF_STEPS = "Stochastic training does not bound the distance from the optimum."
NO_HISTORY = "The model has no history of its training."
ESTIMATES = (
    "Points are estimates from the visits of an epoch, made while weights still change; what is "
    "proven was computed at the end."
)
MEAN_LOSSES = "Each point is the mean loss of an epoch's examples, each before its step."
FEATURES = (
    "The features that speak most for each class, with their weights, the largest first. Weights "
    "compare only between features of about the same scale."
)
FEATURE_CLASSES = 500  # classes whose features are shown
AT_FIRST = 20  # classes shown before a search


@dataclass(frozen=True, slots=True)
class About:
    """A model, its description and its preprocessing."""

    model: Estimator
    facts: Settings  # formulation, C, certificate or alpha, n_steps, as in describe_model
    steps: list[str]  # of a pipeline, before the classifier

    @classmethod
    def from_model(cls, model: Estimator, steps: Pipeline | None = None) -> About:
        """Describe a fitted model, with the pipeline of its preprocessing if there is one."""
        names = [] if steps is None else [one_line(repr(step), LONGEST) for _, step in steps.steps]
        return cls(model, KINDS[type(model).__name__].describe(model), names)

    @property
    def proof(self) -> Certificate | None:
        """The certificate, if there is one."""
        return getattr(self.model, "certificate_", None)

    @property
    def tol(self) -> float | None:
        """The tolerance of the relative gap, if training stops by the gap."""
        stops_at_gap = getattr(self.model, "stopping", "gap") == "gap"
        return float(self.model.tol) if stops_at_gap and self.model.tol is not None else None


def trained_section(about: About) -> Section:
    """Return the training problem: description, formula, parameters."""
    model, kind = about.model, about.facts["formulation"]
    given = {
        "intercept": bool(model.fit_intercept),
        "offsets": getattr(model, "class_offset", None) is not None,
    }
    if kind is None:
        name = f"Linear classifier, {_loss(model.loss)}, trained by stochastic steps"
        words = formulas.STOCHASTIC_WORDS[model.loss]
        formula = formulas.stochastic_objective(model.loss, **given)
    else:
        name, words = formulas.FORMULATION_WORDS[kind]
        machine = LOGISTIC if kind == "logistic" else named(kind)
        has_costs = getattr(model, "costs", None) is not None
        costs = model.cost_scaling if has_costs else None
        given["multilabel"] = isinstance(model, MultilabelSVC)
        formula = formulas.exact_objective(machine, model.loss, costs=costs, **given)
        if kind != "logistic":
            name = f"{name}, {_loss(model.loss)}"
    params = [
        (key, one_line(repr(value), LONGEST))
        for key, value in model.get_params().items()
        if value is not None
    ]
    before = ("The pipeline first transforms the rows by ", ", then ".join(about.steps), ".")
    content = [
        paragraph(element("strong", f"{name[0].upper()}{name[1:]}."), " ", words),
        formula,
        paragraph(*before) if about.steps else None,
        element("details", element("summary", "Parameters"), facts(params, "parameters"), open=""),
    ]
    return Section("trained", "Training", "Training problem", content)


def _loss(name: str) -> str:
    return f"{name.removesuffix('_loss').replace('_', ' ')} loss"


def proven_section(about: About) -> Section:
    """Return the certificate and its meaning."""
    proof, is_stochastic = about.proof, about.facts["formulation"] is None
    if proof is None:
        why = NO_PROOF if about.model.n_iter_ else NO_PROOF_OF_OTHERS
        nothing = paragraph("Nothing. ", NO_PROOF_OF_STEPS if is_stochastic else why)
        return Section("proven", "Proof", "Certificate", [nothing])
    meaning = paragraph(
        "The smallest possible value of the objective lies between D and P. So the objective of "
        f"this model, P, is at most {percent(proof.relative_gap, 3)} above the optimum, and above "
        "it by at most that share of what there was to gain, from P(0), the objective of W = 0: ",
        f"(P − D) / min(P, P(0) − D) = {proof.relative_gap:.2g}.",
    )
    violation = "largest violation of the optimality conditions"
    if about.facts["formulation"] == "logistic":
        violation = "upper bound of the distance of the weights from the optimal weights"
    numbers = [
        ("P, the objective", f"{proof.primal_objective:.8g}"),
        ("D, a lower bound of the optimum", f"{proof.dual_objective:.8g}"),
        ("P(0), the objective of W = 0", f"{proof.zero_objective:.8g}"),
        ("gap, P − D", f"{proof.gap:.3g}"),
        ("relative gap", f"{proof.relative_gap:.3g}"),
        (violation, f"{proof.max_violation:.3g}"),
    ]
    content = [meaning, facts(numbers), paragraph(_asked(about, proof))]
    return Section("proven", "Proof", "Certificate", content)


def _asked(about: About, proof: Certificate) -> str:
    if about.tol is None:
        return f"The requested tolerance was a violation of at most {about.model.tol:g}."
    reached = proof.relative_gap <= about.tol
    return f"The requested tolerance was a relative gap of at most {about.tol:g}; training " + (
        "reached it." if reached else "ended before reaching it."
    )


def convergence_section(about: About) -> Section:
    """Return the charts of the training history."""
    history, proof = getattr(about.model, "history_", None), about.proof
    if not history:
        content: list[Markup | None] = [paragraph(NO_HISTORY)]
    elif isinstance(history[0], EpochRecord):
        charts = gap_chart(history, proof, about.tol), objective_chart(history, proof)
        content = [side_by_side(*charts), paragraph(ESTIMATES)]
    else:
        content = [side_by_side(loss_chart(history)), paragraph(MEAN_LOSSES)]
    return Section("convergence", "Convergence", "Convergence", content)


def weights_section(about: About) -> Section:
    """Return density and memory of the weights."""
    coef = coefficients_of(about.model)
    k, d = coef.shape
    n_nonzero, n_all = count_nonzero(coef), k * d
    sparse = isinstance(coef, SparseCoefficients)
    pairs = [
        ("weights", f"{n_all:,} ({d:,} features × {k:,} {'classes' if k > 1 else 'row'})"),
        ("not zero", f"{n_nonzero:,}, {100 * n_nonzero / n_all:.3g}\u00a0%"),
        ("type", f"{'sparse' if sparse else 'dense'} {coef.dtype}"),
        ("memory", size(coef.nbytes)),
        ("as a dense array", size(n_all * coef.dtype.itemsize) if sparse else None),
    ]
    return Section("weights", "Weights", "Weights", [facts(pairs)])


def size(n_bytes: float) -> str:
    """Return a number of bytes as text."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def versions_section() -> Section:
    """Return the versions of the software that wrote the report."""
    pairs = [
        ("manyclass", __version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
    ]
    content = [paragraph("This page was made with"), facts(pairs)]
    return Section("versions", "Versions", "Versions", content)


def features_section(model: Estimator, n: int, names: Array | None) -> Section:
    """Return the n features with the largest weights of every class, or of the first classes."""
    best = model.top_features(n, names)
    labels = list(best)[:FEATURE_CLASSES]
    note = FEATURES
    if len(labels) < len(best):
        note += f" The first {len(labels):,} of {len(best):,} classes; top_features has all."
    rows = [[shown(label), _features(best[label])] for label in labels]
    caption, titles = "Features with the largest weights", ("class", "features")
    whole = table(caption, titles, rows, n_left=2, search="classes", first=AT_FIRST)
    return Section("features", "Features", "Features", [paragraph(note), whole])


def _features(features: list[tuple[Label, float]]) -> Child:
    if not features:
        return "none with a positive weight"
    return joined(
        element("span", shown(name), " ", element("small", f"{weight:.3g}"), class_="feature")
        for name, weight in features
    )
