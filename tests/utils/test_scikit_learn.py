"""Errors for parameters of other libraries."""

import pytest
from sklearn.base import clone

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
)
from manyclass.utils.suggestions import OF_LOGISTIC, OF_MULTILABEL, OF_STOCHASTIC, OF_SVC

FOREIGN = {
    MulticlassSVC: OF_SVC,
    MulticlassSVCCV: OF_SVC,
    MultinomialLogisticRegression: OF_LOGISTIC,
    MultinomialLogisticRegressionCV: OF_LOGISTIC,
    StochasticClassifier: OF_STOCHASTIC,
    MultilabelSVC: OF_MULTILABEL,
    MultilabelSVCCV: OF_MULTILABEL,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_advice_for_each(kind):
    own = kind().get_params()
    for name, advice in FOREIGN[kind].items():
        if name in own:
            kind(**{name: own[name]})
            continue
        with pytest.raises(TypeError) as error:
            kind(**{name: 1})
        assert str(error.value) == f"{kind.__name__} has no parameter {name!r}: {advice}"


@pytest.mark.parametrize("kind", FOREIGN)
def test_no_advice_to_use_itself(kind):
    with pytest.raises(TypeError) as error:
        kind(probability=True)
    advice = str(error.value).partition(": ")[2]
    assert kind.__name__.removesuffix("CV") not in advice


@pytest.mark.parametrize("kind", FOREIGN)
def test_parameters_by_position_are_refused(kind):
    with pytest.raises(TypeError, match="takes parameters by name, such as ") as error:
        kind(1.0)
    assert str(error.value).rpartition(" ")[2].partition("=")[0] in kind().get_params()
    with pytest.raises(TypeError, match="has no parameter 'nonsense'"):
        kind(nonsense=1)
    assert clone(kind()).get_params() == kind().get_params()
