"""Methods of classifiers that scikit-learn's pipelines and searches do not have.

``Pipeline`` and ``GridSearchCV`` have ``predict``, ``decision_function`` and ``predict_proba``. The
functions here take such a model, or the classifier itself. They transform the rows by the steps
before the classifier, and call its method.
"""

from __future__ import annotations

from typing import TypeVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from manyclass.utils.types import Array, Label, RowsLike

Model = TypeVar("Model", bound=BaseEstimator)


def predict_top_k(model: BaseEstimator, X: RowsLike, k: int) -> Array:
    """Predict the k best classes of every row with a classifier, pipeline or search.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this package, or a ``Pipeline`` or search that ends with one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or input of the pipeline
    k : int
        From 1 to the number of classes.

    Returns
    -------
    ndarray of shape (n_samples, k)
        Entries of ``classes_``, the best first.

    Raises
    ------
    TypeError
        If the model does not end with a classifier of this package.
    ValueError
        See ``predict_top_k`` of the classifier.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from manyclass import MulticlassSVC, predict_top_k
    >>> texts = ["a red apple", "a green leaf", "the blue sea"]
    >>> model = make_pipeline(TfidfVectorizer(), MulticlassSVC(C=10)).fit(texts, ["r", "g", "b"])
    >>> predict_top_k(model, ["red", "green"], 1).tolist()
    [['r'], ['g']]
    """
    classifier, rows = _at_the_end(model, X, "predict_top_k")
    found: Array = classifier.predict_top_k(rows, k)
    return found


def predict_labels(model: BaseEstimator, X: RowsLike) -> list[set[Label]]:
    """Predict the label set of every row with a multi-label model, pipeline or search.

    Parameters
    ----------
    model : estimator
        A fitted ``MultilabelSVC`` or ``MultilabelSVCCV``, or a ``Pipeline`` or search that ends
        with one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or input of the pipeline

    Returns
    -------
    list of set

    Raises
    ------
    TypeError
        If the model does not end with a multi-label classifier of this package.
    ValueError
        See ``predict_labels`` of the classifier.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from manyclass import MultilabelSVC, predict_labels
    >>> X, Y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [{"a"}, {"b"}, {"a", "b"}]
    >>> model = make_pipeline(StandardScaler(), MultilabelSVC(C=100)).fit(X, Y)
    >>> [sorted(labels) for labels in predict_labels(model, X)]
    [['a'], ['b'], ['a', 'b']]
    """
    classifier, rows = _at_the_end(model, X, "predict_labels")
    found: list[set[Label]] = classifier.predict_labels(rows)
    return found


def calibrate(
    model: Model, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Model:
    """Calibrate the scores of a classifier, pipeline or search, for ``predict_proba``.

    Parameters
    ----------
    model : estimator
        A fitted ``MulticlassSVC`` or ``MulticlassSVCCV``, or a ``Pipeline`` or search that ends
        with one. Sets ``temperature_`` of the classifier.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or input of the pipeline
        Held-out rows.
    y : array-like of shape (n_samples,)
        Classes of the rows.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    estimator
        The model, which now has ``predict_proba``.

    Raises
    ------
    TypeError
        If the model does not end with a classifier that has ``calibrate``.
    ValueError, FloatingPointError
        See ``calibrate`` of the classifier.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from manyclass import MulticlassSVC, calibrate
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MulticlassSVC(random_state=0)).fit(X[::2], y[::2])
    >>> calibrate(model, X[1::2], y[1::2]).predict_proba(X[83:84]).shape
    (1, 3)
    """
    classifier, rows = _at_the_end(model, X, "calibrate")
    classifier.calibrate(rows, y, sample_weight)
    return model


def _at_the_end(model: BaseEstimator, X: RowsLike, method: str) -> tuple[BaseEstimator, RowsLike]:
    """Return the classifier with this method, and X transformed for it."""
    check_is_fitted(model)
    inner = model
    while not hasattr(inner, method):
        if isinstance(inner, Pipeline):
            if len(inner.steps) > 1:
                X = inner[:-1].transform(X)
            inner = inner.steps[-1][1]
        elif hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif hasattr(inner, "estimator") and hasattr(inner, "refit"):
            raise TypeError(f"{method} needs a search with refit=True, which keeps its best model")
        else:
            where = "" if inner is model else f", at the end of {type(model).__name__}"
            raise TypeError(f"{type(inner).__name__}{where} has no method {method}")
    return inner, X
