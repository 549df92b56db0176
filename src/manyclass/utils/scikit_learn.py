"""Support of scikit-learn: names of columns, advice on parameters, pipelines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from sklearn.base import BaseEstimator, _fit_context
from sklearn.pipeline import Pipeline
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils.validation import check_array, check_X_y, validate_data

from manyclass.utils.bad_cells import located
from manyclass.utils.input_rows import frame_of_vectors
from manyclass.utils.suggestions import EXAMPLES, meant
from manyclass.utils.types import Array, Label, Rows

NONE = "no_validation"  # scikit-learn's value for missing targets
P = ParamSpec("P")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., object])


def fit_context(method: F) -> F:
    """Check the parameters of an estimator before a fit, as in scikit-learn; the type stays."""
    checked: F = _fit_context(prefer_skip_nested_validation=True)(method)
    return checked


class _Reasoned(_AvailableIfDescriptor):  # type: ignore[misc]  # scikit-learn has no types
    """A method that exists on a condition, with an error that explains why it does not."""

    def _check(self, obj: object, owner: type) -> None:
        try:
            super()._check(obj, owner)
        except AttributeError as error:
            raise AttributeError(f"{error}: {error.__cause__}") from None


def available_if(check: Callable[[S], bool]) -> Callable[[F], F]:
    """Hide a method if a check fails, like scikit-learn's ``available_if``.

    Parameters
    ----------
    check : callable
        Takes the estimator; raises an AttributeError, whose message becomes part of the error of
        the method.
    """

    def wrap(method: F) -> F:
        hidden: F = _Reasoned(method, check, attribute_name=method.__name__)
        return hidden

    return wrap


def suggests_parameters(
    foreign: Mapping[str, str],
) -> Callable[[Callable[Concatenate[S, P], None]], Callable[Concatenate[S, P], None]]:
    """Let ``__init__`` suggest a replacement for an unknown parameter.

    Parameters
    ----------
    foreign : mapping
        Advice by the names of parameters.
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


def named_rows(
    X: object,
    estimator: BaseEstimator,
    given: object,
    y: object = NONE,
    *,
    reset: bool = True,
    **checks: object,
) -> Rows | tuple[Rows, Array]:
    """Call scikit-learn's ``validate_data``, and set names for columns of vectors.

    Parameters
    ----------
    X : array-like
    estimator : estimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set or, without `reset`, compared.
    given : array-like
        The result of ``rows_as_given`` for X.
    y : array-like, default=NONE
    reset : bool, default=True
    **checks
        Arguments of ``check_array``.

    Returns
    -------
    X : ndarray or CSR of shape (n, d)
    y : ndarray
        Only if it was given.

    Raises
    ------
    ValueError
        If X or y is invalid, or the columns of X differ from ``fit``.
    """
    names = frame_of_vectors(X, given)
    if names is None:
        return validate_data(estimator, given, y, reset=reset, **checks)
    validate_data(estimator, names, reset=reset, skip_check_array=True)
    checks["estimator"] = estimator
    if y is NONE:
        return check_array(given, input_name="X", **checks)
    return check_X_y(given, y, **checks)


def explain_rows(error: Exception, X: object, names: Sequence[Label] | None = None) -> None:
    """Re-raise an error about X that holds lists, NaN or infinity, with the place and advice.

    Parameters
    ----------
    error : Exception
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    names : sequence of labels, default=None
        The names of the columns.
    """
    message = located(error, X, names)
    if message is not None:
        raise ValueError(message) from None
    if "setting an array element with a sequence" in str(error):
        raise ValueError(
            "X holds lists next to numbers, or of several lengths; give a column of vectors alone, "
            "or put them together (np.hstack)"
        ) from error


def without_passthrough(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline without the steps that are "passthrough" or None.

    Parameters
    ----------
    pipeline : Pipeline

    Returns
    -------
    Pipeline
        The same pipeline if it has no such step.
    """
    steps = [(name, step) for name, step in pipeline.steps[:-1] if not _is_idle(step)]
    if len(steps) == len(pipeline.steps) - 1:
        return pipeline
    return Pipeline([*steps, pipeline.steps[-1]], verbose=pipeline.verbose)


def _is_idle(step: object) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")
