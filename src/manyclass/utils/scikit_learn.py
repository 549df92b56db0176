"""Support of scikit-learn: advice for its estimators' parameters, pipelines without idle steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from sklearn.pipeline import Pipeline

P = ParamSpec("P")
S = TypeVar("S")

_L2 = "weights are always regularised by 1/2 ||W||^2; leave it out"
# Of LinearSVC, LogisticRegression, SGDClassifier and SVC.
COMMON: Mapping[str, str] = {
    "penalty": _L2,
    "l1_ratio": _L2,
    "dual": "the solver chooses; leave it out",
    "kernel": "models are linear; map the features first (sklearn.kernel_approximation)",
    "gamma": "models are linear; map the features first (sklearn.kernel_approximation)",
    "probability": "use MultinomialLogisticRegression, or CalibratedClassifierCV around this",
    "cv": "use MulticlassSVCCV or MultinomialLogisticRegressionCV, which choose C",
    "Cs": "use MulticlassSVCCV or MultinomialLogisticRegressionCV, which choose C",
    "epsilon": "the stopping tolerance is tol",
    "eps": "the stopping tolerance is tol",
    "decision_function_shape": "decision_function always gives a score for each class",
}
OF_SVC: Mapping[str, str] = {
    **COMMON,
    "multi_class": "use formulation='crammer_singer' or formulation='one_vs_rest'",
    "alpha": "use C = 1 / (alpha * n_samples)",
    "shuffle": "visits are always in a random order; see random_state",
}
OF_LOGISTIC: Mapping[str, str] = {
    **COMMON,
    "multi_class": "the loss is always multinomial; leave it out",
    "solver": "there is one, which chooses its method by itself; leave it out",
    "loss": "the loss is the log loss; use MulticlassSVC for hinge losses",
    "alpha": "use C = 1 / (alpha * n_samples)",
    "formulation": "the loss is multinomial; use MulticlassSVC for the formulations of the SVM",
    "weights": "W is dense; leave it out",
    "probability": "predict_proba always gives them; leave it out",
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
}
# Of each estimator, the first that it has.
EXAMPLES: Mapping[str, str] = {"C": "C=1.0", "Cs": "Cs=[1.0]", "alpha": "alpha=1e-4"}


def explains(
    foreign: Mapping[str, str],
) -> Callable[[Callable[Concatenate[S, P], None]], Callable[Concatenate[S, P], None]]:
    """Let ``__init__`` say what to write in place of a parameter that it does not have.

    Parameters
    ----------
    foreign : mapping
        Names of parameters, and advice.
    """

    def wrap(init: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
        @functools.wraps(init)
        def checked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
            name = type(self).__name__
            known = getattr(init, "__kwdefaults__", None) or {}
            if args:
                example = next(text for word, text in EXAMPLES.items() if word in known)
                raise TypeError(f"{name} takes parameters by name, such as {example}")
            for word in kwargs:
                if word in foreign and word not in known:
                    raise TypeError(f"{name} has no parameter {word!r}: {foreign[word]}")
            init(self, *args, **kwargs)

        return checked

    return wrap


def without_passthrough(pipeline: Any) -> Any:
    """Return a pipeline of the same steps, without those that are "passthrough" or None.

    Parameters
    ----------
    pipeline : Pipeline

    Returns
    -------
    Pipeline
        The same one if it has no such step.
    """
    steps = [(name, step) for name, step in pipeline.steps[:-1] if not _is_idle(step)]
    if len(steps) == len(pipeline.steps) - 1:
        return pipeline
    return Pipeline([*steps, pipeline.steps[-1]], verbose=pipeline.verbose)


def _is_idle(step: object) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")
