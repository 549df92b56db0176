"""Support of scikit-learn: advice on parameters and their values, pipelines without idle steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Concatenate, ParamSpec, TypeVar

from sklearn.pipeline import Pipeline

from manyclass.utils.advice import EXAMPLES, meant

P = ParamSpec("P")
S = TypeVar("S")


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
                if word not in known:
                    advice = f": {foreign[word]}" if word in foreign else meant(word, known)
                    raise TypeError(f"{name} has no parameter {word!r}{advice}")
            init(self, *args, **kwargs)

        return checked

    return wrap


def without_passthrough(pipeline: Pipeline) -> Pipeline:
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
