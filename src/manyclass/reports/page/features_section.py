"""The section of a report on the features of the largest weights."""

from __future__ import annotations

import numpy as np

from manyclass.persistence.model_schema import Estimator
from manyclass.reports.label_codes import shown
from manyclass.reports.page.elements import Markup, element, joined
from manyclass.reports.page.tables import paragraph, section, table
from manyclass.utils.types import Array, Label

MOST_CLASSES = 500
AT_FIRST = 20  # of them, shown before a search


def features_section(model: Estimator, n: int, names: Array | None) -> Markup:
    """Return the n features of the largest weights of every class, or of the first classes."""
    best = model.top_features(n, names)
    labels = list(best)[:MOST_CLASSES]
    note = "The features that speak most for each class, with their weights, the largest first. "
    note += "Weights compare only between features of about the same scale."
    if len(labels) < len(best):
        note += f" The first {len(labels):,} of {len(best):,} classes; top_features has all."
    rows = [[shown(label), _listed(best[label])] for label in labels]
    titles = ("class", "features")
    whole = table(
        "Features of the largest weights", titles, rows, n_left=2, search="classes", first=AT_FIRST
    )
    return section("features", "Features", paragraph(note), whole)


def _listed(features: list[tuple[Label, float]]) -> Markup:
    if not features:
        return joined(["none of positive weight"])
    return joined(
        element("span", shown(name), " ", element("small", f"{weight:.3g}"), class_="feature")
        for name, weight in features
    )


def numbered_names(n_features: int, first: int) -> Array:
    """Return the numbers of features as names, counted from ``first``."""
    return np.arange(first, first + n_features).astype(str).astype(object)
