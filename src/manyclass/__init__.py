"""Exact, certified, fast training of multi-class linear classifiers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from manyclass.version import __version__

if TYPE_CHECKING:
    from manyclass.data_file import load_data, save_data
    from manyclass.estimators import MulticlassSVC
    from manyclass.model_file import load_model, save_model
    from manyclass.stochastic_classifier import StochasticClassifier
    from manyclass.svmlight import load_svmlight

__all__ = [
    "MulticlassSVC",
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
    "MulticlassSVC": "manyclass.estimators",
    "StochasticClassifier": "manyclass.stochastic_classifier",
    "load_data": "manyclass.data_file",
    "load_model": "manyclass.model_file",
    "load_svmlight": "manyclass.svmlight",
    "save_data": "manyclass.data_file",
    "save_model": "manyclass.model_file",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
