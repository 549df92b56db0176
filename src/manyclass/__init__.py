"""Exact, certified, fast training of multi-class linear classifiers."""

from __future__ import annotations

import importlib
from typing import Any

from manyclass.version import __version__

__all__ = [
    "MulticlassSVC",
    "MultinomialLogisticRegression",
    "StochasticClassifier",
    "__version__",
    "load_data",
    "load_model",
    "load_svmlight",
    "save_data",
    "save_model",
]

# Imported when first used: `manyclass --help` need not wait for NumPy and scikit-learn.
_HOMES = {
    "MulticlassSVC": "manyclass.estimators.svc",
    "MultinomialLogisticRegression": "manyclass.estimators.logistic",
    "StochasticClassifier": "manyclass.estimators.stochastic",
    "load_data": "manyclass.io.dataset_file.format",
    "load_model": "manyclass.persistence.model_file",
    "load_svmlight": "manyclass.io.svmlight.reader",
    "save_data": "manyclass.io.dataset_file.format",
    "save_model": "manyclass.persistence.model_file",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
