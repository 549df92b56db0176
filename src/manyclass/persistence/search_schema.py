"""Convert an estimator that has chosen C to tensors and JSON, and back.

Tensors: the tensors of ``best_estimator_``, and ``search.Cs`` (n_Cs,), ``search.scores``,
``search.gaps``, ``search.seconds`` (n_folds, n_Cs), ``search.certificates`` (n_folds, n_Cs, 5; NaN
if nothing was trained), all float64. JSON: estimator, params, C, best_score, refit_time and, as
``best``, the entry of ``best_estimator_``. Parameters that are functions or splitters are left out.
As in ``model_schema``, files are not trusted.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from manyclass.estimators.coefficients import coefficients_of, set_coefficients
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.svc import MulticlassSVC
from manyclass.model_selection.estimators import MulticlassSVCCV, MultinomialLogisticRegressionCV
from manyclass.model_selection.multilabel import MultilabelSVCCV
from manyclass.model_selection.search import FITTED, current_estimator
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.persistence.model_schema import (
    COSTS,
    KINDS,
    Estimator,
    new,
    pack,
    params_of,
    plain_params,
    unpack,
)
from manyclass.problem.solution import PARTS, Certificate
from manyclass.utils.types import Array, Settings

Search: TypeAlias = MulticlassSVCCV | MultinomialLogisticRegressionCV | MultilabelSVCCV
Classifier: TypeAlias = Estimator | Search
SEARCHES: dict[str, type[Search]] = {
    "MulticlassSVCCV": MulticlassSVCCV,
    "MultinomialLogisticRegressionCV": MultinomialLogisticRegressionCV,
    "MultilabelSVCCV": MultilabelSVCCV,
}
# Attributes that a search shares with its best estimator.
COPIED = (
    *(*FITTED, "n_features_in_", "feature_names_in_", "temperature_"),
    *("thresholds_", "predicts_sparse_", "learnt_from_sets_"),
)
# Types that a model file may hold, by name.
CLASSIFIERS = {**{name: kind.estimator for name, kind in KINDS.items()}, **SEARCHES}
TABLES = {"search.scores": "scores_", "search.gaps": "gaps_", "search.seconds": "fit_times_"}
NUMBERS = [f.name for f in fields(Certificate) if f.name not in PARTS]
MAX_CS = 1 << 20  # largest number of entries of a table


def chosen(model: Classifier) -> Classifier:
    """Return the best estimator of a fitted search, or the model itself."""
    is_fitted = _is_search(model) and hasattr(model, "best_estimator_")
    return current_estimator(model) if is_fitted else model


def _is_search(model: object) -> TypeGuard[Search]:
    return type(model) in SEARCHES.values()


def is_own(model: object) -> TypeGuard[Classifier]:
    """Whether a model is an estimator of this package, not of a subclass."""
    return type(model) in CLASSIFIERS.values()


def pack_any(model: Classifier) -> tuple[dict[str, Array], Settings]:
    """Return the same as ``pack_classifier``; of a classifier that is not fitted its parameters."""
    if hasattr(model, "classes_"):
        return pack_classifier(model)
    costs = getattr(model, "costs", None)
    if not isinstance(costs, np.ndarray | list | tuple | None):
        raise ValueError(
            "costs of mistakes by label are stored as a table, with the classes of a fitted "
            "classifier, and one here is not fitted; give it the table, an array"
        )
    tensors = {} if costs is None else {COSTS: np.array(costs, np.float64, ndmin=2)}
    params = _params(model) if isinstance(model, Search) else plain_params(model)
    return tensors, {"estimator": type(model).__name__, "params": params, "fitted": False}


def unpack_any(tensors: dict[str, Array], entry: Settings) -> Classifier:
    """Return the classifier; the inverse of ``pack_any``."""
    if entry.get("fitted", True) is not False:
        return unpack_classifier(tensors, entry)
    model: Classifier = _new_search(entry) if entry["estimator"] in SEARCHES else new(entry)
    if COSTS in tensors and isinstance(model, MulticlassSVC | MulticlassSVCCV):
        model.costs = tensors[COSTS]  # fit checks the parameters
    return model


def pack_classifier(model: Classifier) -> tuple[dict[str, Array], Settings]:
    """Return the tensors of a fitted classifier, and the rest, ready for JSON."""
    if not isinstance(model, Search):
        return pack(model)
    search = model
    tensors, best = pack(current_estimator(search))
    tensors |= {name: _table(getattr(search, attribute)) for name, attribute in TABLES.items()}
    tensors |= {"search.Cs": _table(search.Cs_), "search.certificates": _proofs(search)}
    entry = {
        "estimator": type(model).__name__,
        "params": _params(search),
        "C": float(search.C_),
        "best_score": float(search.best_score_),
        "refit_time": float(search.refit_time_),
        "best": best,
    }
    return tensors, entry


def unpack_classifier(tensors: dict[str, Array], entry: Settings) -> Classifier:
    """Return the classifier; the inverse of ``pack_classifier``."""
    name = entry["estimator"]
    if name not in SEARCHES:
        return unpack(tensors, entry)
    search = _new_search(entry)
    best = unpack(tensors, entry["best"])
    is_exact = isinstance(best, MulticlassSVC | MultinomialLogisticRegression | MultilabelSVC)
    if not is_exact or type(best).__name__ + "CV" != name:
        raise ValueError(f"the best estimator of a {name} is a {type(best).__name__}")
    Cs = tensors["search.Cs"]
    tables = {attribute: tensors[table] for table, attribute in TABLES.items()}
    _check_tables(Cs, list(tables.values()))
    C, score, seconds = (_number(entry, key) for key in ("C", "best_score", "refit_time"))
    has_range = isinstance(search, MultilabelSVCCV) or len(search.C_range) == 2
    is_plain = isinstance(search.cv, int | None) and has_range
    if C not in Cs or best.C != C or not 0 <= seconds < math.inf or not is_plain:
        raise ValueError("the chosen C is not a C of the search")
    for attribute in COPIED:
        if hasattr(best, attribute):
            setattr(search, attribute, getattr(best, attribute))
    if isinstance(search, MulticlassSVCCV) and isinstance(best, MulticlassSVC):
        search.costs = best.costs
    set_coefficients(search, coefficients_of(best))
    certificates = _certificates(tensors["search.certificates"], tables["scores_"].shape)
    search.__dict__.update(
        tables,
        best_estimator_=best,
        Cs_=Cs,
        certificates_=certificates,
        C_=C,
        best_score_=score,
        refit_time_=seconds,
    )
    return search


def _new_search(entry: Settings) -> Search:
    """Return an unfitted search."""
    params = params_of(entry["params"])
    if isinstance(params.get("C_range"), list):
        params["C_range"] = tuple(params["C_range"])
    search = SEARCHES[entry["estimator"]](**params)
    search._validate_params()
    return search


def _params(search: Search) -> Settings:
    """Return the parameters as JSON values; None for functions and splitters."""
    params = plain_params(search)
    if not isinstance(params["cv"], int | None):
        params["cv"] = None
    if not isinstance(params["scoring"], str | None):
        params["scoring"] = None
    if not isinstance(params["Cs"], int | str):
        params["Cs"] = np.asarray(list(params["Cs"]), np.float64).tolist()
    if "C_range" in params:
        params["C_range"] = [float(C) for C in params["C_range"]]
    return params


def _table(array: Array) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, np.float64)


def _proofs(search: Search) -> NDArray[np.float64]:
    found = search.certificates_
    numbers = np.full((*found.shape, len(NUMBERS)), np.nan)
    for at, proof in np.ndenumerate(found):
        if proof is not None:
            numbers[at] = [getattr(proof, name) for name in NUMBERS]
    return numbers


def _certificates(numbers: Array, shape: tuple[int, ...]) -> NDArray[np.object_]:
    if numbers.dtype != np.float64 or numbers.shape != (*shape, len(NUMBERS)):
        raise ValueError(f"certificates of type {numbers.dtype}, shape {numbers.shape}")
    if (numbers[..., NUMBERS.index("gap")] < 0).any():
        raise ValueError("the gap of a certificate is negative")
    found = np.full(shape, None, object)
    for at in np.ndindex(shape):
        if not np.isnan(numbers[at]).all():
            found[at] = Certificate(*numbers[at].tolist())
    return found


def _check_tables(Cs: Array, tables: list[Array]) -> None:
    n_Cs = len(Cs) if Cs.ndim == 1 else 0
    if Cs.dtype != np.float64 or not 0 < n_Cs <= MAX_CS or not (Cs[:1] > 0).all():
        raise ValueError(f"values of C of type {Cs.dtype}, shape {Cs.shape}")
    if not (np.isfinite(Cs).all() and (Cs[1:] > Cs[:-1]).all()):
        raise ValueError("values of C must be finite, distinct and ascending")
    shape = tables[0].shape
    if len(shape) != 2 or shape[0] < 1 or shape[1] != n_Cs:
        raise ValueError(f"scores of shape {shape} for {n_Cs} values of C")
    if any(table.shape != shape or table.dtype != np.float64 for table in tables):
        raise ValueError("tables of the search have different shapes or types")


def _number(entry: Settings, name: str) -> float:
    stored = entry[name]
    if type(stored) not in (int, float):
        raise ValueError(f"{name} must be a number")
    return float(stored)
