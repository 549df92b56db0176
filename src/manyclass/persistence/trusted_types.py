"""Types that skops may load with a model: types of this package, and harmless ones of others.

skops trusts public estimators of scikit-learn, and types of NumPy and SciPy. This module lists the
other types in fitted models. None of them opens a file or runs code from a file.
"""

from __future__ import annotations

from sklearn.compose import make_column_selector
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif
from sklearn.metrics import get_scorer, get_scorer_names

__all__ = ["skops_trusted_types"]

# Types in fitted estimators of this package, including the state of warm starts.
OWN = [
    "manyclass.estimators.logistic.MultinomialLogisticRegression",
    "manyclass.estimators.sparsify.SparsityReport",
    "manyclass.estimators.stochastic.classifier.StochasticClassifier",
    "manyclass.estimators.svc.MulticlassSVC",
    "manyclass.model_selection.estimators.MulticlassSVCCV",
    "manyclass.model_selection.estimators.MultinomialLogisticRegressionCV",
    "manyclass.model_selection.multilabel.MultilabelSVCCV",
    "manyclass.multilabel.svc.MultilabelSVC",
    "manyclass.multilabel.warm_start.LabelStart",
    "manyclass.prediction.sparse_coefficients.SparseCoefficients",
    "manyclass.problem.formulations.Formulation",
    "manyclass.problem.solution.Certificate",
    "manyclass.problem.solution.EpochRecord",
    "manyclass.problem.solution.Start",
    "manyclass.problem.taxonomy.Taxonomy",
    "manyclass.solvers.sgd.StochasticRecord",
    "manyclass.training.warm_start.WarmStart",
]
FUNCTIONS = {
    *(chi2, f_classif, mutual_info_classif),
    *(get_scorer(name)._score_func for name in get_scorer_names()),
}
# Types in other steps and in models that contain our estimators.
AROUND = [
    *(f"{f.__module__}.{f.__name__}" for f in FUNCTIONS),
    f"{make_column_selector.__module__}.make_column_selector",
    "numpy.dtype",
    "numpy.number",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.utils._bunch.Bunch",
]

skops_trusted_types = sorted([*OWN, *AROUND])
