"""Convert a fitted estimator to tensors and JSON, and back.

Files are not trusted: invalid contents raise ValueError, KeyError, TypeError, OverflowError or
AttributeError before they are used. The training history is one tensor with a row per record and a
column per field; a model without history has no such tensor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from manyclass.estimators.coefficients import coefficients_of, set_certificate, set_coefficients
from manyclass.estimators.costs import LARGEST_TABLE, cost_table
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.parameters.description import Scope
from manyclass.estimators.parameters.table import of_scope
from manyclass.estimators.probabilities import CalibrationMixin
from manyclass.estimators.stochastic.classifier import StochasticClassifier
from manyclass.estimators.svc import MulticlassSVC
from manyclass.io.dataset_checks import check_ascending, class_names, strings
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.persistence.history_table import history_of, history_tensor
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.formulations import full_name, named
from manyclass.problem.solution import PARTS, Certificate, EpochRecord
from manyclass.problem.taxonomy import Taxonomy
from manyclass.solvers.sgd import StochasticRecord
from manyclass.utils.types import Array, Settings

Estimator: TypeAlias = (
    MulticlassSVC | MultinomialLogisticRegression | StochasticClassifier | MultilabelSVC
)

SPARSE = ("weights.indptr", "weights.classes", "weights.values")
HISTORY = "history"
COSTS = "costs"  # costs of mistakes
TAXONOMY = "taxonomy"  # replaces costs that are distances in a tree
# Parameters of a run, which are neither stored nor loaded.
OF_A_RUN = of_scope(Scope.RUN)
MAX_STEPS = 1 << 62  # so that more steps can be counted


def pack(estimator: Estimator) -> tuple[dict[str, Array], Settings]:
    """Return the tensors of a fitted estimator, and the rest, ready for JSON."""
    tensors, model = pack_facts(estimator)
    weights = _weight_tensors(coefficients_of(estimator))
    return {**weights, "intercept": np.ascontiguousarray(estimator.intercept_), **tensors}, model


def pack_facts(estimator: Estimator) -> tuple[dict[str, Array], Settings]:
    """Return the same without weights and intercepts."""
    name = type(estimator).__name__
    model: Settings = {
        "estimator": name,
        "params": plain_params(estimator),
        "n_iter": estimator.n_iter_,
        **KINDS[name].facts(estimator),
    }
    classes = estimator.classes_
    tensors, names = pack_classes(classes)
    model.update(names)
    if hasattr(estimator, "feature_names_in_"):
        model["feature_names"] = estimator.feature_names_in_.tolist()
    if isinstance(estimator, MultilabelSVC):
        tensors["thresholds"] = estimator.thresholds_
    costs = getattr(estimator, "costs", None)
    tree = _tree_facts(costs, classes) if isinstance(costs, Taxonomy) else None
    if tree is not None:
        model[TAXONOMY] = tree
    elif costs is not None:
        tensors[COSTS] = cost_table(costs, classes)
    if getattr(estimator, "history_", None):
        tensors[HISTORY] = history_tensor(estimator.history_)
    return tensors, model


def _tree_facts(tree: Taxonomy, classes: Array) -> Settings | None:
    """Return a tree as JSON values; None if files cannot hold it, and a table can replace it."""
    try:
        facts = tree.as_dict()
        Taxonomy.from_dict(facts)
    except ValueError:
        if len(classes) > LARGEST_TABLE:
            raise
        return None
    return facts


def pack_classes(classes: Array) -> tuple[dict[str, Array], Settings]:
    """Return classes as a tensor if they are numbers, as JSON if they are strings."""
    if classes.dtype.kind in "iufb":
        return {"classes": classes}, {}
    if all(isinstance(c, str) for c in classes.tolist()):
        return {}, {"classes": classes.tolist(), "classes_are_objects": classes.dtype.kind == "O"}
    raise ValueError(f"classes must be numbers or strings to be saved, not {classes.dtype}")


def plain_params(estimator: BaseEstimator) -> Settings:
    """Return the stored parameters; scalars as JSON values."""
    params = estimator.get_params(deep=False)
    for name in OF_A_RUN:
        params.pop(name, None)
    if not isinstance(params["random_state"], int | None):
        params["random_state"] = None
    if isinstance(params.get("class_weight"), dict):
        params["class_weight"] = {
            "items": [[_plain(c), _plain(w)] for c, w in params["class_weight"].items()]
        }
    params.pop("costs", None)  # stored as a tensor
    if isinstance(params.get("class_offset"), dict):
        items = params["class_offset"].items()
        params["class_offset"] = {"items": [[_plain(c), float(o)] for c, o in items]}
    elif not isinstance(params.get("class_offset"), str | None):
        params["class_offset"] = np.asarray(params["class_offset"], np.float64).tolist()
    return {key: _plain(value) for key, value in params.items()}


def _weight_tensors(coef: Array | SparseCoefficients) -> dict[str, Array]:
    """Return the weights by feature, without a copy if they have the layout of training."""
    if isinstance(coef, SparseCoefficients):
        return dict(zip(SPARSE, (coef.indptr, coef.classes, coef.values), strict=True))
    return {"weights": np.ascontiguousarray(coef.T)}


def _plain(value: object) -> object:
    """Return NumPy scalars as Python scalars."""
    return value.item() if isinstance(value, np.generic) else value


def _described_costs(estimator: Estimator) -> Settings | None:
    """Return the form of the costs of mistakes, as JSON values; None without costs."""
    costs = getattr(estimator, "costs", None)
    if not isinstance(estimator, MulticlassSVC) or costs is None:
        return None
    if isinstance(costs, Taxonomy):
        sizes: Settings = {"n_nodes": len(costs.nodes), "depth": int(costs.depths.max())}
        return {"form": "taxonomy", **sizes, "scaling": estimator.cost_scaling}
    return {"form": "table", "largest": float(np.max(costs)), "scaling": estimator.cost_scaling}


def unpack(tensors: dict[str, Array], model: Settings) -> Estimator:
    """Return the estimator; the inverse of ``pack``."""
    kind, estimator = KINDS[model["estimator"]], new(model)
    classes = unpack_classes(tensors, model, kind)
    n_scores = kind.n_scores(len(classes))
    coef, intercept = _coefficients(tensors, n_scores), tensors["intercept"]
    _check_intercept(intercept, n_scores)
    set_coefficients(estimator, coef)
    estimator.intercept_, estimator.classes_ = intercept, classes
    estimator.n_iter_ = _count(model, "n_iter")
    kind.learn(estimator, model)
    if isinstance(estimator, MultilabelSVC):
        estimator.thresholds_ = _thresholds(tensors, len(classes))
    if COSTS in tensors and hasattr(estimator, "costs"):
        estimator.costs = _costs(tensors[COSTS], classes)
    if TAXONOMY in model and hasattr(estimator, "costs"):
        estimator.costs = _taxonomy(model[TAXONOMY], classes)
    if HISTORY in tensors:
        estimator.history_ = history_of(tensors[HISTORY], kind.record)
    estimator.n_features_in_ = coef.shape[1]
    if "feature_names" in model:
        names = strings(model["feature_names"], "feature names")
        if len(names) != coef.shape[1]:
            raise ValueError(f"{coef.shape[1]} features, {len(names)} names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def new(model: Settings) -> Estimator:
    """Return an unfitted estimator with the parameters."""
    kind = KINDS[model["estimator"]]
    estimator: Estimator = kind.estimator(**params_of(model["params"]))
    estimator._validate_params()
    kind.check(estimator)
    return estimator


def params_of(stored: Settings) -> Settings:
    """Return parameters for an estimator; the inverse of ``plain_params``."""
    params = {name: value for name, value in stored.items() if name not in OF_A_RUN}
    for name in ("class_weight", "class_offset"):
        if isinstance(params.get(name), dict):
            params[name] = dict(params[name]["items"])
    return params


def _costs(table: Array, classes: Array) -> Array:
    if table.dtype != np.float64:
        raise ValueError(f"costs of type {table.dtype}")
    return cost_table(table, classes)


def _taxonomy(stored: Settings, classes: Array) -> Taxonomy:
    tree = Taxonomy.from_dict(stored)
    missing = [label for label in classes.tolist() if label not in tree]
    if missing:
        raise ValueError(f"class {missing[0]!r} is not a node of the taxonomy")
    return tree


def _thresholds(tensors: dict[str, Array], n_labels: int) -> Array:
    thresholds = tensors["thresholds"]
    if thresholds.shape != (n_labels,) or thresholds.dtype != np.float64:
        raise ValueError(f"{n_labels} labels, thresholds of shape {thresholds.shape}")
    if not np.isfinite(thresholds).all():
        raise ValueError("thresholds are not finite")
    return thresholds


def _coefficients(tensors: dict[str, Array], n_scores: int) -> Array | SparseCoefficients:
    if "weights" in tensors:
        weights = tensors["weights"]
        wrong = weights.ndim != 2 or weights.shape[0] == 0
        if wrong or weights.shape[1] != n_scores:
            raise ValueError(f"classes with {n_scores} scores, weights of shape {weights.shape}")
        _check_numbers(weights)
        return weights.T
    indptr, entries, values = (tensors[name] for name in SPARSE)
    sparse = SparseCoefficients(indptr, entries, values, n_scores)
    if sparse.shape[1] == 0:
        raise ValueError(f"classes with {n_scores} scores, weights without features")
    if not sparse.core.finite():
        raise ValueError("weights or intercepts are not finite")
    return sparse


def _check_intercept(intercept: Array, n_scores: int) -> None:
    if intercept.shape != (n_scores,):
        raise ValueError(f"classes with {n_scores} scores, intercepts of shape {intercept.shape}")
    _check_numbers(intercept)


def _check_numbers(array: Array) -> None:
    if array.dtype not in (np.float32, np.float64):
        raise ValueError(f"weights or intercepts of type {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError("weights or intercepts are not finite")


def unpack_classes(tensors: dict[str, Array], model: Settings, kind: ModelKind) -> Array:
    """Return the classes of tensors and JSON; the inverse of ``pack_classes``."""
    if "classes" in tensors:
        classes = tensors["classes"]
        if classes.ndim != 1 or classes.dtype.kind not in "iufb":
            raise ValueError(f"classes of type {classes.dtype}, shape {classes.shape}")
        if classes.dtype.kind == "b" and classes.view(np.uint8).max(initial=0) > 1:
            raise ValueError("booleans that are neither 0 nor 1")
        if not kind.is_multilabel:
            check_ascending(classes)
    else:
        as_objects = bool(model["classes_are_objects"])
        any_order = kind.is_multilabel
        classes = class_names(model["classes"], as_objects=as_objects, any_order=any_order)
    if len(classes) < (1 if kind.is_multilabel else 2):
        raise ValueError("there must be at least two classes, or one label")
    if kind.is_multilabel and len(set(classes.tolist())) < len(classes):
        raise ValueError("labels must be distinct")
    return classes


def _certificate(stored: Settings | None) -> Certificate | None:
    if stored is None:
        return None
    numbers = {f.name: stored[f.name] for f in fields(Certificate) if f.name not in PARTS}
    ok = all(type(v) in (int, float) and math.isfinite(v) for v in numbers.values())
    if len(stored) != len(numbers) or not ok:
        raise ValueError("the certificate must be six finite numbers")
    return Certificate(**{name: float(value) for name, value in numbers.items()})


def _count(model: Settings, name: str) -> int:
    stored = model[name]
    if type(stored) is not int or not 0 <= stored < 2**63:
        raise ValueError(f"{name} must be an integer that is not negative")
    return stored


def _number(model: Settings, name: str) -> float:
    stored = model[name]
    if type(stored) not in (int, float) or not 0 <= stored < math.inf:
        raise ValueError(f"{name} must be finite and not negative")
    return float(stored)


@dataclass(frozen=True, slots=True)
class ModelKind:
    """An estimator: its class, its regularization parameter, and the records of its history."""

    estimator: type[Estimator]
    penalty: str
    record: type[Any] = EpochRecord

    @property
    def is_exact(self) -> bool:
        """Whether its training ends with a certificate."""
        return self.record is EpochRecord

    @property
    def is_multilabel(self) -> bool:
        """Whether it is a multi-label estimator."""
        return self.estimator is MultilabelSVC

    def n_scores(self, n_classes: int) -> int:
        """Return the number of scores of a row."""
        return 1 if n_classes == 2 and not self.is_multilabel else n_classes

    def facts(self, estimator: Estimator) -> Settings:
        """Return the attributes that only such estimators have, as JSON values."""
        if not isinstance(estimator, StochasticClassifier):
            proof = estimator.certificate_
            kinds = ("predicts_sparse", "learnt_from_sets") if self.is_multilabel else ()
            sparse = {kind: getattr(estimator, f"{kind}_") for kind in kinds}
            return {
                "certificate": proof.as_dict() if proof else None,
                "temperature": getattr(estimator, "temperature_", None),
                **sparse,
            }
        objective = getattr(estimator, "objective_", None)
        return {
            "n_steps": estimator.n_steps_,
            "weight_seen": estimator.weight_seen_,
            "intercept_scaling": estimator.intercept_scaling_,
            "objective": objective if objective is None or math.isfinite(objective) else None,
        }

    def describe(self, estimator: Estimator) -> Settings:
        """Return the attributes of ``facts``, formulation, C or alpha, and costs of mistakes."""
        if isinstance(estimator, StochasticClassifier):
            none = dict.fromkeys(("formulation", "C", "costs", "certificate", "temperature"))
            return {**none, "alpha": estimator.alpha, **self.facts(estimator)}
        name = "one_vs_rest" if self.is_multilabel else "logistic"
        if isinstance(estimator, MulticlassSVC):
            name = full_name(estimator.formulation)
        costs = _described_costs(estimator)
        return {"formulation": name, "C": estimator.C, "costs": costs, **self.facts(estimator)}

    def check(self, estimator: Estimator) -> None:
        """Refuse invalid parameters that scikit-learn's checks accept."""
        for name in (self.penalty, "tol", "intercept_scaling"):
            value = getattr(estimator, name)
            if value is not None and not isinstance(value, str) and not math.isfinite(value):
                raise ValueError(f"{name} is not finite")
        loss = estimator.loss
        if not isinstance(estimator, MulticlassSVC):
            return
        if loss not in named(estimator.formulation).losses:
            raise ValueError(f"{loss} cannot be combined with {estimator.formulation}")

    def learn(self, estimator: Estimator, model: Settings) -> None:
        """Set the attributes of ``facts``."""
        if not isinstance(estimator, StochasticClassifier):
            set_certificate(estimator, _certificate(model["certificate"]))
            if model["temperature"] is not None:
                temperature = _number(model, "temperature")
                if not temperature > 0 or not isinstance(estimator, CalibrationMixin):
                    raise ValueError("the temperature must be positive, and the model an SVM")
                estimator.temperature_ = temperature
            if isinstance(estimator, MultilabelSVC):
                estimator.predicts_sparse_ = bool(model["predicts_sparse"])
                estimator.learnt_from_sets_ = bool(model["learnt_from_sets"])
            return
        estimator.n_steps_ = _count(model, "n_steps")
        if estimator.n_steps_ > MAX_STEPS:
            raise ValueError(f"n_steps must be at most {MAX_STEPS}")
        estimator.weight_seen_ = _number(model, "weight_seen")
        estimator.intercept_scaling_ = _number(model, "intercept_scaling")
        if model["objective"] is not None:
            estimator.objective_ = _number(model, "objective")


KINDS = {
    "MulticlassSVC": ModelKind(MulticlassSVC, "C"),
    "MultinomialLogisticRegression": ModelKind(MultinomialLogisticRegression, "C"),
    "StochasticClassifier": ModelKind(StochasticClassifier, "alpha", StochasticRecord),
    "MultilabelSVC": ModelKind(MultilabelSVC, "C"),
}
# Estimators for rows with one class each.
ONE_CLASS_KINDS = {name: kind for name, kind in KINDS.items() if not kind.is_multilabel}
