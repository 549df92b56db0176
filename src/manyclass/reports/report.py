"""Write an HTML page about a model and its predictions on labelled data."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from manyclass.estimators.coefficients import names_of_features
from manyclass.estimators.validation import checked_count
from manyclass.io.atomic import check_path_first, replacement
from manyclass.model_selection.cv_fit import CrossValidationMixin
from manyclass.model_selection.multilabel import MultilabelSVCCV
from manyclass.model_selection.search import current_estimator
from manyclass.multilabel.label_sets import LabelSets
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.persistence.model_schema import KINDS, Estimator
from manyclass.problem.taxonomy import Taxonomy
from manyclass.reports import evaluation_sections, model_sections
from manyclass.reports.evaluation import Evaluation, evaluate
from manyclass.reports.html import Markup, document, element, facts, paragraph, percent
from manyclass.reports.label_sets import MultilabelScores, labels_section, score_label_sets
from manyclass.utils.scikit_learn import without_passthrough
from manyclass.utils.types import Array

if TYPE_CHECKING:
    from manyclass.persistence.composites import Model

TOP = 10  # features of a class, if they have names
OF_SETS = {"f1_micro": "micro F1", "f1_macro": "macro F1", "accuracy": "whole sets right"}


def write_report(
    path: str | os.PathLike[str],
    model: Model,
    X: ArrayLike | None = None,
    y: ArrayLike | LabelSets | None = None,
    *,
    feature_names: ArrayLike | None = None,
    top_features: int | None = None,
    taxonomy: Taxonomy | None = None,
    title: str = "Model report",
    origin: str = "",
) -> None:
    """Write an HTML report about a model: training problem, certificate, and predictions on data.

    The report is one self-contained HTML file. Without data, it shows the training problem,
    parameters, certificate, convergence, the features with the largest weights, density and memory.
    With data, it also shows precision, recall and F1 of every class, the confusion matrix (for more
    than 40 classes, the most confused pairs), and the calibration of probabilities, if there are
    any.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced. The file is written completely or not at all.
    model : MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier or MultilabelSVC
        A fitted model, also with CV; or a fitted Pipeline that ends with one. The names of features
        are taken from the steps, if possible.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows to evaluate the model on, ideally held out; or the input of the Pipeline.
    y : array-like of shape (n_samples,), default=None
        True labels; labels that are not a class of the model count as errors. For a MultilabelSVC,
        an indicator matrix or label sets.
    feature_names : array-like of shape (n_features,), default=None
        None: ``feature_names_in_``.
    top_features : int, default=None
        Number of features to show for each class. None: 10 if they have names, else 0.
    taxonomy : Taxonomy, default=None
        A tree with the labels as nodes, for hierarchical scores. None: the taxonomy that the model
        was trained with, if any.
    title : str, default="Model report"
        Title of the page.
    origin : str, default=""
        A line below the title, such as the names of files.

    Raises
    ------
    TypeError
        If the model is of a different type.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If only one of X and y is given; if they do not fit the model or differ in length; if the
        number of names differs from the number of features; or if `top_features` is not an integer
        of at least 1.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC, write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder, "iris.html")
    ...     write_report(page, model, X, y)
    ...     "Crammer-Singer" in page.read_text("utf-8")
    True
    """
    check_path_first(path, "write_report(path, model, X, y)")
    page = report_page(
        model,
        X,
        y,
        feature_names=feature_names,
        top_features=top_features,
        taxonomy=taxonomy,
        title=title,
        origin=origin,
    )[0]
    with replacement(os.fspath(path)) as file:
        file.write(page)


def report_page(
    model: Model,
    X: ArrayLike | None = None,
    y: ArrayLike | LabelSets | None = None,
    *,
    feature_names: ArrayLike | None = None,
    top_features: int | None = None,
    taxonomy: Taxonomy | None = None,
    title: str = "Model report",
    origin: str = "",
    steps: Pipeline | None = None,
) -> tuple[bytes, Evaluation | None]:
    """Return the page of ``write_report`` in UTF-8, and the evaluation.

    ``steps`` have transformed X already; the model is the classifier after them.
    """
    classifier, steps = _classifier(model), steps or _steps_of(model)
    if top_features is not None:
        top_features = checked_count(top_features, "top_features")
    if (X is None) != (y is None):
        raise ValueError("a report needs both X and y, to evaluate the model, or neither")
    names = names_of_features(
        feature_names, _known_names(classifier, steps), classifier.n_features_in_
    )
    n_top = TOP if top_features is None and names is not None else top_features
    about = model_sections.About.from_model(classifier, steps)
    parts = [
        model_sections.trained_section(about),
        model_sections.proven_section(about),
        model_sections.convergence_section(about),
    ]
    found = sets = None
    if isinstance(classifier, MultilabelSVC):
        if taxonomy is not None:
            raise ValueError("taxonomy= requires a model with one class per row")
        if X is not None and y is not None:
            rows = model[:-1].transform(X) if isinstance(model, Pipeline) else X
            sets = score_label_sets(classifier, rows, y)
            parts.append(labels_section(sets))
    elif X is not None and y is not None:
        found = evaluate(model, X, cast("ArrayLike", y), taxonomy=taxonomy)
        parts += [
            evaluation_sections.classes_section(found),
            evaluation_sections.confusion_section(found),
        ]
        confidence = evaluation_sections.confidence_section(found)
        parts += [confidence] if confidence is not None else []
        parts += [] if found.tree is None else [evaluation_sections.levels_section(found.tree)]
        if found.calibration is not None:
            parts.append(evaluation_sections.calibration_section(found.calibration))
    if n_top is not None:
        parts.append(model_sections.features_section(classifier, n_top, names))
    parts += [model_sections.weights_section(about), model_sections.versions_section()]
    page = document(title, _header(about, found or sets, title, origin), parts)
    return page.encode("utf-8", "backslashreplace"), found


def _classifier(model: Model) -> Estimator:
    """Return the linear classifier of a model: itself, the last step, or the best estimator."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if isinstance(last, CrossValidationMixin | MultilabelSVCCV):
        check_is_fitted(last)
    searched = last
    if isinstance(last, CrossValidationMixin) and hasattr(last, "best_estimator_"):
        last = current_estimator(last)
    last = getattr(last, "best_estimator_", last)
    kind = KINDS.get(type(last).__name__)
    if kind is None or type(last) is not kind.estimator:
        hint = "" if last is searched else f" within a {type(searched).__name__}"
        hint += "; give its best_estimator_" if hint and hasattr(last, "steps") else ""
        raise TypeError(f"a report is of a {' or a '.join(KINDS)}, not {type(last).__name__}{hint}")
    check_is_fitted(last)
    classifier: Estimator = last
    return classifier


def _steps_of(model: Model) -> Pipeline | None:
    """Return the steps of a pipeline before its classifier, or None."""
    if not hasattr(model, "steps"):
        return None
    active = without_passthrough(model)
    return active[:-1] if len(active) > 1 else None


def _known_names(classifier: Estimator, steps: Pipeline | None) -> Array | None:
    return getattr(classifier, "feature_names_in_", None) if steps is None else names_out(steps)


def names_out(steps: Pipeline) -> Array | None:
    """Return the names of the features after the steps before a classifier, if available."""
    try:
        return np.asarray(steps.get_feature_names_out(), dtype=object)
    except (AttributeError, ValueError):  # a step has no names, for example a hashing step
        return None


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _scored(found: Evaluation | MultilabelScores | None) -> list[tuple[str, str | None]]:
    """Return the scores in the head of the page."""
    if found is None:
        return []
    if isinstance(found, MultilabelScores):
        scores = found.scores()
        shares = [(name, percent(scores[key], 2)) for key, name in OF_SETS.items()]
        return [*shares, ("test rows", f"{found.n_rows:,}")]
    tree = found.tree
    return [
        ("accuracy", percent(found.accuracy, 2)),
        ("macro F1", percent(found.f1_macro, 2)),
        ("mean cost", _number(found.mean_cost)),
        ("tree distance", _number(None if tree is None else tree.mean_distance)),
        ("tree F1", None if tree is None else percent(tree.f1, 2)),
        ("test rows", f"{found.n_rows:,}"),
    ]


def _header(
    about: model_sections.About,
    found: Evaluation | MultilabelScores | None,
    title: str,
    origin: str,
) -> Markup:
    model, proof = about.model, about.proof
    history = getattr(model, "history_", None)
    seconds = history[-1].seconds if history else math.nan
    digits = 2 if seconds < 0.1 else 3
    cards = [
        *_scored(found),
        ("proven gap", None if proof is None else f"{100 * proof.relative_gap:.2g} %"),
        ("labels" if isinstance(model, MultilabelSVC) else "classes", f"{len(model.classes_):,}"),
        ("features", f"{model.n_features_in_:,}"),
        ("epochs", f"{model.n_iter_:,}"),
        ("training", f"{seconds:.{digits}g} s" if math.isfinite(seconds) else None),
    ]
    note = None
    if found is None:
        note = paragraph("No labelled data were given, so predictions are not evaluated.")
    elif isinstance(found, Evaluation) and found.codes.n_unseen:
        note = paragraph(
            f"{found.codes.n_unseen:,} of the test rows have a label that is not a class of the "
            "model; they count as errors."
        )
    line = paragraph(origin) if origin else None
    return element("header", element("h1", title), line, note, facts(cards, "cards"))
