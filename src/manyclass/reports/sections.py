"""Sections of a report: of the model alone, and of its predictions of labelled data."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

from manyclass.io.tensors import one_line
from manyclass.persistence.model_schema import KINDS, Estimator
from manyclass.prediction.scoring import count_nonzero
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import LOGISTIC, named
from manyclass.problem.solution import Certificate, EpochRecord
from manyclass.reports import formulas
from manyclass.reports.charts import (
    MATRIX_CLASSES,
    gap_chart,
    heat_map,
    loss_chart,
    objective_chart,
    reliability_chart,
)
from manyclass.reports.confusion import ConfusionPairs
from manyclass.reports.evaluation import PAIRS, Calibration, ClassScores, Evaluation
from manyclass.reports.html import (
    Markup,
    element,
    facts,
    joined,
    paragraph,
    percent,
    section,
    side_by_side,
    table,
)
from manyclass.reports.labels import LONGEST, shown
from manyclass.utils.types import Array, Label, Settings
from manyclass.version import __version__

NO_PROOF = "Small weights were left out after training, so what was proven is of other weights."
NO_PROOF_OF_OTHERS = "The model was not trained by manyclass."
NO_PROOF_OF_STEPS = "Stochastic steps prove nothing about the distance from the optimum."
NO_HISTORY = "The model has no history of its training."
WORST, LARGEST = 2000, 200  # classes of a page, where there are more
BELOW_MATRIX = 10  # confused pairs that are listed below a matrix
FEATURE_CLASSES = 500  # whose features are shown
AT_FIRST = 20  # of them before a search


@dataclass(frozen=True, slots=True)
class About:
    """A model, its description and its preprocessing.

    Attributes
    ----------
    model : estimator
    facts : dict
        formulation, C, certificate or alpha, n_steps, from ``describe_model``.
    steps : list of str
        Preprocessing steps of a pipeline.
    """

    model: Estimator
    facts: Settings
    steps: list[str]

    @classmethod
    def of(cls, model: Estimator, steps: Any = None) -> About:
        """Describe a fitted model, with the pipeline of its preprocessing if there is one."""
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
        """The tolerance of the relative gap, if training stops at it."""
        stops_at_gap = getattr(self.model, "stopping", "gap") == "gap"
        return float(self.model.tol) if stops_at_gap and self.model.tol is not None else None


def trained_section(about: About) -> Markup:
    """Return the training problem: words, formula, parameters."""
    model, kind = about.model, about.facts["formulation"]
    intercept = bool(model.fit_intercept)
    if kind is None:
        name = f"Linear classifier, {_loss(model.loss)}, by stochastic steps"
        words = formulas.STOCHASTIC_WORDS[model.loss]
        formula = formulas.stochastic_objective(model.loss, intercept=intercept)
    else:
        name, words = formulas.FORMULATION_WORDS[kind]
        machine = LOGISTIC if kind == "logistic" else named(kind)
        formula = formulas.exact_objective(machine, model.loss, intercept=intercept)
        if kind != "logistic":
            name = f"{name}, {_loss(model.loss)}"
    params = model.get_params()
    pairs = [
        (key, one_line(repr(value), LONGEST)) for key, value in params.items() if value is not None
    ]
    return section(
        "trained",
        "Training problem",
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
    """Return the certificate and its meaning."""
    proof = about.proof
    if proof is None:
        why = NO_PROOF if about.model.n_iter_ else NO_PROOF_OF_OTHERS
        why = NO_PROOF_OF_STEPS if about.is_stochastic else why
        return section("proven", "Certificate", paragraph("Nothing. ", why))
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
    return section("proven", "Certificate", meaning, facts(numbers), _asked(about, proof))


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
    """Return the charts of the training history."""
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
    """Return the bytes of the stored weights."""
    coef = model._coefficients
    if isinstance(coef, SparseCoefficients):
        return coef.indptr.nbytes + coef.classes.nbytes + coef.values.nbytes
    return int(coef.nbytes)


def size(n_bytes: float) -> str:
    """Return a number of bytes as text."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def versions_section() -> Markup:
    """Return the versions of the software that made the report."""
    pairs = [
        ("manyclass", __version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
    ]
    return section("versions", "Versions", paragraph("This page was made with"), facts(pairs))


def classes_section(found: Evaluation) -> Markup:
    """Return precision, recall and F1 of every class."""
    scores = found.classes
    many = len(scores.labels) > MATRIX_CLASSES
    order = scores.worst_first() if many else np.arange(len(scores.labels))
    listed = _listed(scores, order)
    left = len(order) - len(listed)
    note = "Precision: the share of the rows predicted as a class that are of it. Recall: the "
    note += "share of the rows of a class that are predicted as it. F1: their harmonic mean. "
    note += "Support: rows of the class."
    if left > 0:
        note += (
            f" {left:,} smaller classes of a higher F1 are left out; evaluate --report --json has "
        )
        note += "all."
    rows = [_row(scores, int(i)) for i in listed]
    what = "Classes, the lowest F1 first" if many else "Classes"
    titles = ("class", "precision", "recall", "F1", "support")
    whole = table(what, titles, rows, n_left=1, search="classes")
    return section("classes", "Classes", paragraph(note), whole)


def _listed(scores: ClassScores, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first of an order, and the largest of the other classes."""
    largest = np.argsort(-scores.support, kind="stable")[:LARGEST]
    others = order[WORST:]
    return np.concatenate([order[:WORST], others[np.isin(others, largest)]])


def _row(scores: ClassScores, i: int) -> list[str]:
    shares = [percent(s[i]) for s in (scores.precision, scores.recall, scores.f1)]
    return [shown(scores.labels[i]), *shares, str(scores.support[i])]


def confusion_section(found: Evaluation) -> Markup:
    """Return the confusion matrix of few classes, and the most confused pairs."""
    pairs = found.confusion
    matrix = heat_map(found.codes)
    parts: list[Markup] = []
    if matrix is not None:
        parts.append(
            paragraph(
                "A row for each true class, a column for each predicted one. The colour of a "
                "cell shows its share of the row."
            )
        )
        label = "Confusion matrix"
        box = element("div", matrix, class_="scroll", tabindex="0", role="region", aria_label=label)
        parts.append(box)
    n_shown = min(PAIRS if matrix is None else BELOW_MATRIX, len(pairs))
    parts.append(paragraph(_summary(pairs, n_shown)))
    if n_shown:
        rows = [
            [shown(p.true), shown(p.predicted), str(p.count), percent(p.share)]
            for p in pairs.top(n_shown)
        ]
        titles = ("true class", "predicted as", "rows", "of the true class")
        parts.append(table("The most confused pairs", titles, rows, n_left=2))
    return section("confusions", "Confusions", *parts)


def _summary(pairs: ConfusionPairs, n_shown: int) -> str:
    if not pairs.n_errors:
        return f"All {pairs.n_rows:,} rows are right."
    return (
        f"{pairs.n_errors:,} of {pairs.n_rows:,} rows are predicted as another class, in "
        f"{len(pairs):,} pairs of classes; here {'are' if n_shown > 1 else 'is'} the "
        f"{n_shown} most frequent."
    )


def calibration_section(found: Calibration) -> Markup:
    """Return the calibration of the probabilities."""
    numbers = [
        ("log loss", None if found.log_loss is None else f"{found.log_loss:.4f}"),
        ("expected calibration error", f"{found.ece:.4f}"),
    ]
    titles = ("largest probability", "rows", "mean", "share that is right")
    rows = [
        [
            f"{i / 10:.1f} to {(i + 1) / 10:.1f}",
            str(n),
            percent(found.confidence[i]) if n else "",
            percent(found.accuracy[i]) if n else "",
        ]
        for i, n in enumerate(found.counts.tolist())
    ]
    bins = table("Predictions by their probability", titles, rows, n_left=1)
    return section(
        "calibration",
        "Calibration",
        paragraph(
            "Of the predictions whose probability is about p, a share of p should be right. Above "
            "the dashed line probabilities are too small, below it too large. The expected "
            "calibration error is the mean distance from it, over all rows; the log loss is the "
            "mean of minus the logarithm of the true class's probability."
        ),
        facts(numbers),
        side_by_side(reliability_chart(found), bins),
    )


def features_section(model: Estimator, n: int, names: Array | None) -> Markup:
    """Return the n features of the largest weights of every class, or of the first classes."""
    best = model.top_features(n, names)
    labels = list(best)[:FEATURE_CLASSES]
    note = "The features that speak most for each class, with their weights, the largest first. "
    note += "Weights compare only between features of about the same scale."
    if len(labels) < len(best):
        note += f" The first {len(labels):,} of {len(best):,} classes; top_features has all."
    rows = [[shown(label), _feature_cell(best[label])] for label in labels]
    titles = ("class", "features")
    whole = table(
        "Features of the largest weights", titles, rows, n_left=2, search="classes", first=AT_FIRST
    )
    return section("features", "Features", paragraph(note), whole)


def _feature_cell(features: list[tuple[Label, float]]) -> Markup:
    if not features:
        return joined(["none of positive weight"])
    return joined(
        element("span", shown(name), " ", element("small", f"{weight:.3g}"), class_="feature")
        for name, weight in features
    )


def numbered_names(n_features: int, first: int) -> Array:
    """Return the numbers of features as names, counted from ``first``."""
    return np.arange(first, first + n_features).astype(str).astype(object)
