"""The public names, for type checkers; __init__.py imports them when they are first used."""

from manyclass.displays import ConvergenceDisplay as ConvergenceDisplay
from manyclass.displays import CPathDisplay as CPathDisplay
from manyclass.estimators.logistic import (
    MultinomialLogisticRegression as MultinomialLogisticRegression,
)
from manyclass.estimators.stochastic.classifier import StochasticClassifier as StochasticClassifier
from manyclass.estimators.svc import MulticlassSVC as MulticlassSVC
from manyclass.io.dataset_file import load_data as load_data
from manyclass.io.dataset_writer import save_data as save_data
from manyclass.io.svmlight import load_svmlight as load_svmlight
from manyclass.model_selection.estimators import MulticlassSVCCV as MulticlassSVCCV
from manyclass.model_selection.estimators import (
    MultinomialLogisticRegressionCV as MultinomialLogisticRegressionCV,
)
from manyclass.model_selection.influence import leave_out as leave_out
from manyclass.model_selection.influence import support as support
from manyclass.model_selection.leave_one_out import loo_error_bounds as loo_error_bounds
from manyclass.model_selection.multilabel import MultilabelSVCCV as MultilabelSVCCV
from manyclass.model_selection.path import CPath as CPath
from manyclass.model_selection.path import c_path as c_path
from manyclass.multilabel.svc import MultilabelSVC as MultilabelSVC
from manyclass.persistence.liblinear import load_liblinear as load_liblinear
from manyclass.persistence.liblinear import save_liblinear as save_liblinear
from manyclass.persistence.model_file import load_model as load_model
from manyclass.persistence.model_file import save_model as save_model
from manyclass.persistence.state_file import load_state as load_state
from manyclass.persistence.state_file import save_state as save_state
from manyclass.persistence.trusted_types import skops_trusted_types as skops_trusted_types
from manyclass.pipelines import calibrate as calibrate
from manyclass.pipelines import predict_labels as predict_labels
from manyclass.pipelines import predict_top_k as predict_top_k
from manyclass.problem.taxonomy import Taxonomy as Taxonomy
from manyclass.reports.confusion import ConfusionPairs as ConfusionPairs
from manyclass.reports.report import write_report as write_report
from manyclass.version import __version__ as __version__
