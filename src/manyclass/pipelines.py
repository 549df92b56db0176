"""Methods of classifiers that a pipeline or a search of scikit-learn does not pass on.

``Pipeline`` and ``GridSearchCV`` have ``predict``, ``decision_function`` and ``predict_proba``. The
functions here take such a model, or a classifier itself, and call the method of the classifier at
its end, on rows that the steps before it have transformed.
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
    """Predict the k best classes of every row, the best first, also of a pipeline or search.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this package, or a ``Pipeline`` or search that ends with one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or as the pipeline takes it
    k : int
        From 1 to the number of classes.

    Returns
    -------
    ndarray of shape (n_samples, k)
        Entries of ``classes_``.

    Raises
    ------
    TypeError
        If no classifier of this package is at the end.
    ValueError
        As in ``predict_top_k`` of the classifier.
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
    """Predict the labels of every row as sets, also of a pipeline or search.

    Parameters
    ----------
    model : estimator
        A fitted ``MultilabelSVC`` or ``MultilabelSVCCV``, or a ``Pipeline`` or search that ends
        with one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or as the pipeline takes it

    Returns
    -------
    list of set

    Raises
    ------
    TypeError
        If no multi-label classifier of this package is at the end.
    ValueError
        As in ``predict_labels`` of the classifier.
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
    """Find the temperature of the scores, which gives ``predict_proba``, also of a pipeline.

    Parameters
    ----------
    model : estimator
        A fitted ``MulticlassSVC`` or ``MulticlassSVCCV``, or a ``Pipeline`` or search that ends
        with one. The classifier at its end is changed: it has ``temperature_`` afterwards.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or as the pipeline takes it
        Rows that ``fit`` has not seen.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    estimator
        The model, whose ``predict_proba`` is available.

    Raises
    ------
    TypeError
        If no classifier with ``calibrate`` is at the end.
    ValueError, FloatingPointError
        As in ``calibrate`` of the classifier.
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
    """Return the classifier with this method, and X as it takes it."""
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
