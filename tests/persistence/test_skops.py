"""skops stores our estimators once it trusts `skops_trusted_types`."""

import copy

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
    Taxonomy,
    skops_trusted_types,
)
from manyclass.persistence.trusted_types import OWN
from tests.helpers.iris import IRIS
from tests.helpers.pipelines import TEXTS, text_pipeline

pd = pytest.importorskip("pandas")

skops_io = pytest.importorskip("skops.io")
X, Y = IRIS
TABLE = pd.DataFrame([[0, 1, 5], [1, 0, 1], [1, 1, 0]])
SETS = np.eye(3, dtype=int)[Y]
MODELS = [
    MulticlassSVC(),
    MulticlassSVC(formulation="ovr"),
    MulticlassSVC(warm_start=True),
    MulticlassSVC(costs=Taxonomy({0: 3, 1: 3, 2: 4, 3: 4})),
    MulticlassSVCCV(Cs=2, cv=2),
    MultinomialLogisticRegression(),
    MultinomialLogisticRegressionCV(Cs=2, cv=2),
    StochasticClassifier(loss="log_loss"),
]
OF_SETS = [MultilabelSVC(), MultilabelSVCCV(Cs=[0.1, 1.0], cv=2)]
AROUND = [
    CalibratedClassifierCV(MulticlassSVC(), cv=2),
    GridSearchCV(MulticlassSVC(), {"C": [0.1, 1.0]}, scoring="accuracy"),
]


def back(model):
    content = skops_io.dumps(model)
    assert set(skops_io.get_untrusted_types(data=content)) <= set(skops_trusted_types)
    return skops_io.loads(content, trusted=skops_trusted_types)


@pytest.mark.parametrize("model", [*MODELS, *AROUND, *OF_SETS], ids=lambda m: type(m).__name__)
def test_a_model_comes_back(model):
    model.fit(X, SETS if model in OF_SETS else Y)
    np.testing.assert_array_equal(back(model).predict(X), model.predict(X))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_sparse_model_comes_back(model):
    model.fit(X, Y).sparsify(0.01)
    np.testing.assert_array_equal(back(model).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("model", [MulticlassSVC(), MulticlassSVCCV(Cs=2, cv=2)], ids=str)
def test_costs_of_a_data_frame_come_back(model):
    model.set_params(costs=TABLE, random_state=0).fit(X, Y)
    again = back(model)
    assert again.costs == TABLE.to_dict("index")
    assert model.costs is TABLE
    np.testing.assert_array_equal(again.fit(X, Y).coef_, model.coef_)


def test_a_pipeline_comes_back():
    pipeline = text_pipeline(TfidfVectorizer())
    assert (back(pipeline).predict(TEXTS) == pipeline.predict(TEXTS)).all()


def test_every_type_of_ours_is_needed():
    of_sets = [OF_SETS[1], MultilabelSVC(warm_start=True)]
    models = [*(m.fit(X, SETS) for m in of_sets), *(model.fit(X, Y) for model in MODELS)]
    found = set()
    for model in [*models, *(copy.copy(model).sparsify() for model in models[2:])]:
        found |= set(skops_io.get_untrusted_types(data=skops_io.dumps(model)))
    assert {name for name in found if name.startswith("manyclass.")} == set(OWN)
