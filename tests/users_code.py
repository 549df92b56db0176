"""What a type checker sees of the package: checked by mypy, never run."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import scipy.sparse as sp

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
    Taxonomy,
    c_path,
)

X, y = np.eye(3), np.arange(3)
sets = [{"a"}, {"a", "b"}, {"b"}]


def fits() -> None:
    """``fit`` returns the estimator, and the certificate is there then."""
    assert_type(MulticlassSVC().fit(X, y), MulticlassSVC)
    assert_type(MulticlassSVC().fit(X, y).certificate_.relative_gap, float)
    assert_type(MulticlassSVC().fit(sp.csr_array(X), y).n_iter_, int)
    assert_type(MulticlassSVCCV(Cs="path").fit(X, y).certificate_.primal_objective, float)
    assert_type(MultinomialLogisticRegression().fit(X, y).certificate_.dual_objective, float)
    assert_type(MultinomialLogisticRegressionCV().fit(X, y), MultinomialLogisticRegressionCV)
    assert_type(MultilabelSVC().fit(X, sets).certificate_.relative_gap, float)
    assert_type(MultilabelSVCCV().fit(X, sets), MultilabelSVCCV)
    assert_type(StochasticClassifier().partial_fit(X, y, classes=y), StochasticClassifier)
    assert_type(Taxonomy({"a": "b"}), Taxonomy)


def options() -> None:
    """Options are known by name: mypy reports an ignore that nothing needs."""
    MulticlassSVC(formulation="cs", loss="squared_hinge", solver="auto", stopping="kkt")
    MulticlassSVC(formulation="crammer")  # type: ignore[arg-type]
    MulticlassSVC(loss="hinges")  # type: ignore[arg-type]
    MulticlassSVC(solver="dual")  # type: ignore[arg-type]
    MulticlassSVC(stopping="gaps")  # type: ignore[arg-type]
    MulticlassSVC(cost_scaling="margins")  # type: ignore[arg-type]
    MulticlassSVC(class_weight="balance")  # type: ignore[arg-type]
    MulticlassSVC(weights="tables")  # type: ignore[arg-type]
    MulticlassSVC(merge_columns=True)  # type: ignore[arg-type]
    MulticlassSVC(split="columns")  # type: ignore[arg-type]
    MulticlassSVCCV(formulation="crammer")  # type: ignore[arg-type]
    MultilabelSVC(threshold="tune")  # type: ignore[arg-type]
    StochasticClassifier(loss="squared_hinge")  # type: ignore[arg-type]
    StochasticClassifier(intercept_scaling="none")  # type: ignore[arg-type]
    c_path(X, y, C_min=0.1, C_max=1.0, formulation="logistic")
    c_path(X, y, C_min=0.1, C_max=1.0, formulation="logistics")  # type: ignore[arg-type]
