"""Suggestions for parameters of other libraries, and for misspelled names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manyclass.utils.types import Label

NAMES_SHOWN = 8
# Values of scoring; scikit-learn's "top_k_accuracy" has k = 2.
TOP_K = re.compile(r"top_([1-9]\d*)_accuracy")
_L2 = "weights are always regularized by 1/2 ||W||^2; leave it out"
# Parameters of LinearSVC, LogisticRegression, SGDClassifier and SVC.
COMMON: Mapping[str, str] = {
    "penalty": _L2,
    "l1_ratio": _L2,
    "dual": "the solver chooses; leave it out",
    "kernel": "models are linear; map the features first (sklearn.kernel_approximation)",
    "gamma": "models are linear; map the features first (sklearn.kernel_approximation)",
    "probability": "use calibrate(X, y) after fit, or MultinomialLogisticRegression",
    "C": "this estimator chooses C; Cs are the values to compare",
    "cv": "use MulticlassSVCCV or MultinomialLogisticRegressionCV, which choose C",
    "Cs": "use MulticlassSVCCV or MultinomialLogisticRegressionCV, which choose C",
    "epsilon": "the stopping tolerance is tol",
    "eps": "the stopping tolerance is tol",
    "decision_function_shape": "decision_function always returns a score for each class",
    "sample_weight": "give it to fit: fit(X, y, sample_weight=...)",
}
_REJECT = "give it to predict: predict(X, reject=...)"
OF_SVC: Mapping[str, str] = {
    **COMMON,
    "multi_class": "use formulation='crammer_singer' or formulation='one_vs_rest'",
    "alpha": "use C = 1 / (alpha * n_samples)",
    "shuffle": "updates are always in random order; see random_state",
    "taxonomy": "use costs=Taxonomy(...)",
    "reject": _REJECT,
}
OF_MULTILABEL: Mapping[str, str] = {
    **COMMON,
    "multi_class": "each label is a binary problem; leave it out",
    "formulation": "each label is a binary problem; leave it out",
    "alpha": "use C = 1 / (alpha * n_samples)",
    "class_weight": "use sample_weight, which weights rows, or threshold='tuned'",
    "probability": "there are no probabilities; decision_function returns a score for each label",
    "cv": "use MultilabelSVCCV, which chooses C",
    "Cs": "use MultilabelSVCCV, which chooses C",
    "costs": "rows have several labels; MulticlassSVC has costs, for one class per row",
    "taxonomy": "rows have several labels; MulticlassSVC(costs=Taxonomy(...)) is for one class",
}
OF_LOGISTIC: Mapping[str, str] = {
    **COMMON,
    "multi_class": "the loss is always multinomial; leave it out",
    "solver": "there is only one solver; leave it out",
    "loss": "the loss is the log loss; use MulticlassSVC for hinge losses",
    "alpha": "use C = 1 / (alpha * n_samples)",
    "formulation": "the loss is multinomial; use MulticlassSVC for the formulations of the SVM",
    "weights": "W is dense; leave it out",
    "probability": "predict_proba always exists; leave it out",
    "costs": "use predict(X, costs=...) after fit, or train a MulticlassSVC(costs=...)",
    "taxonomy": "use predict(X, costs=Taxonomy(...)) after fit, or train a "
    "MulticlassSVC(costs=Taxonomy(...))",
    "reject": _REJECT,
}
OF_STOCHASTIC: Mapping[str, str] = {
    **COMMON,
    "C": "use alpha = 1 / (C * n_samples)",
    "multi_class": "all classes are trained together; leave it out",
    "learning_rate": "step sizes follow from alpha; leave it out",
    "eta0": "step sizes follow from alpha; leave it out",
    "power_t": "step sizes follow from alpha; leave it out",
    "probability": "use loss='log_loss', which gives predict_proba",
    "formulation": "use loss='hinge' (Crammer-Singer); MulticlassSVC has all formulations",
    "costs": "use loss='log_loss' and predict(X, costs=...), or MulticlassSVC(costs=...)",
    "taxonomy": "use loss='log_loss' and predict(X, costs=Taxonomy(...)), or "
    "MulticlassSVC(costs=Taxonomy(...))",
    "reject": _REJECT,
}
# The first of these parameters that an estimator has.
EXAMPLES: Mapping[str, str] = {"C": "C=1.0", "Cs": "Cs=[1.0]", "alpha": "alpha=1e-4"}


def meant(word: str, known: Iterable[str]) -> str:
    """Return a suggestion of the name that a word resembles, or ""."""
    found = nearest(word, known)
    return "" if found is None else f"; did you mean {found!r}?"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the name that a word resembles, if there is one; case decides between equals."""
    likely: dict[str, list[str]] = {}
    for name in known:
        likely.setdefault(name.lower().replace("-", "_"), []).append(name)
    found = difflib.get_close_matches(word.lower().replace("-", "_"), list(likely), 1)
    return difflib.get_close_matches(word, likely[found[0]], 1, 0)[0] if found else None


def meant_label(label: Label, known: Iterable[Label]) -> str:
    """Return a suggestion of the label that another one resembles, or ""; its type may differ."""
    by_text = {str(one): one for one in known}
    if str(label) in by_text:
        return f"; did you mean {by_text[str(label)]!r}?"
    texts = (one for one in by_text.values() if isinstance(one, str))
    return meant(label, texts) if isinstance(label, str) else ""


def first_of(names: Sequence[object]) -> str:
    """Return the first few names as a list for messages."""
    return ", ".join(map(repr, names[:NAMES_SHOWN])) + (", ..." if len(names) > NAMES_SHOWN else "")
