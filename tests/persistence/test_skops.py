"""skops stores our estimators once the types that docs/interchange.md names are trusted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from manyclass import MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier
from tests.helpers.iris import IRIS
from tests.helpers.pipelines import TEXTS, text_pipeline

skops_io = pytest.importorskip("skops.io")
X, Y = IRIS
TRUSTED = [
    "manyclass.estimators.logistic.MultinomialLogisticRegression",
    "manyclass.estimators.sparsify.SparsityReport",
    "manyclass.estimators.stochastic.StochasticClassifier",
    "manyclass.estimators.svc.MulticlassSVC",
    "manyclass.prediction.sparse_coefficients.SparseCoefficients",
    "manyclass.problem.solution.Certificate",
    "manyclass.problem.solution.EpochRecord",
    "manyclass.solvers.sgd.StochasticRecord",
]
MODELS = [
    MulticlassSVC(),
    MulticlassSVC(formulation="ovr"),
    MultinomialLogisticRegression(),
    StochasticClassifier(loss="log_loss"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_comes_back(model, sparse):
    model.fit(X, Y)
    if sparse:
        model.sparsify(0.01)
    content = skops_io.dumps(model)
    back = skops_io.loads(content, trusted=TRUSTED)
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    assert set(skops_io.get_untrusted_types(data=content)) <= set(TRUSTED)


def test_a_pipeline_comes_back():
    pipeline = text_pipeline(TfidfVectorizer())
    back = skops_io.loads(skops_io.dumps(pipeline), trusted=TRUSTED)
    assert (back.predict(TEXTS) == pipeline.predict(TEXTS)).all()


def test_every_type_is_needed():
    found = set()
    for model in MODELS:
        found |= set(skops_io.get_untrusted_types(data=skops_io.dumps(model.fit(X, Y).sparsify())))
    assert found == set(TRUSTED)
