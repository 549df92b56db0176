"""Exact, certified, fast training of multi-class linear classifiers."""

from __future__ import annotations

from manyclass.utils.lazy import ENTRY_POINTS, lazy_names
from manyclass.version import __version__

__all__ = [
    "CPath",
    "CPathDisplay",
    "ConfusionPairs",
    "ConvergenceDisplay",
    "MulticlassSVC",
    "MulticlassSVCCV",
    "MultilabelSVC",
    "MultilabelSVCCV",
    "MultinomialLogisticRegression",
    "MultinomialLogisticRegressionCV",
    "StochasticClassifier",
    "Taxonomy",
    "__version__",
    "c_path",
    "calibrate",
    "leave_out",
    "load_data",
    "load_liblinear",
    "load_model",
    "load_state",
    "load_svmlight",
    "loo_error_bounds",
    "predict_labels",
    "predict_top_k",
    "save_data",
    "save_liblinear",
    "save_model",
    "save_state",
    "skops_trusted_types",
    "support",
    "write_report",
]

_HOMES = {
    "CPath": "manyclass.model_selection.path",
    "CPathDisplay": "manyclass.displays",
    "ConfusionPairs": "manyclass.reports.confusion",
    "ConvergenceDisplay": "manyclass.displays",
    "MulticlassSVC": "manyclass.estimators.svc",
    "MulticlassSVCCV": "manyclass.model_selection.estimators",
    "MultilabelSVC": "manyclass.multilabel.svc",
    "MultilabelSVCCV": "manyclass.model_selection.multilabel",
    "MultinomialLogisticRegression": "manyclass.estimators.logistic",
    "MultinomialLogisticRegressionCV": "manyclass.model_selection.estimators",
    "StochasticClassifier": "manyclass.estimators.stochastic.classifier",
    "Taxonomy": "manyclass.problem.taxonomy",
    "c_path": "manyclass.model_selection.path",
    "calibrate": "manyclass.pipelines",
    "leave_out": "manyclass.model_selection.influence",
    "load_data": "manyclass.io.dataset_file",
    "load_liblinear": "manyclass.persistence.liblinear",
    "load_model": "manyclass.persistence.model_file",
    "load_state": "manyclass.persistence.state_file",
    "load_svmlight": "manyclass.io.svmlight",
    "loo_error_bounds": "manyclass.model_selection.leave_one_out",
    "predict_labels": "manyclass.pipelines",
    "predict_top_k": "manyclass.pipelines",
    "save_data": "manyclass.io.dataset_writer",
    "save_liblinear": "manyclass.persistence.liblinear",
    "save_model": "manyclass.persistence.model_file",
    "save_state": "manyclass.persistence.state_file",
    "skops_trusted_types": "manyclass.persistence.trusted_types",
    "support": "manyclass.model_selection.influence",
    "write_report": "manyclass.reports.report",
}


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
ENTRY_POINTS["communicator"] = "manyclass.distributed.model:training_on"
ENTRY_POINTS["rows"] = "manyclass.distributed.rows.fit:training_on_rows"
