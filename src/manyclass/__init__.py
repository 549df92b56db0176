"""Exact, certified, fast training of multi-class linear classifiers."""

from manyclass.estimators import MulticlassSVC
from manyclass.model_file import load_model, save_model
from manyclass.svmlight import load_svmlight
from manyclass.version import __version__

__all__ = ["MulticlassSVC", "__version__", "load_model", "load_svmlight", "save_model"]
