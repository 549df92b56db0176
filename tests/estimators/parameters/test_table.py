"""The table of parameters, and what is derived from it: docstrings, constraints, files, options."""

import re
from dataclasses import replace
from numbers import Integral

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
)
from manyclass.cli.console import CommandParser
from manyclass.cli.parameter_options import add_parameter, given_parameters, in_flags
from manyclass.estimators.parameters import table
from manyclass.estimators.parameters.description import Option, Parameter, Scope, positive
from manyclass.estimators.parameters.documented import defaults_of, documented
from manyclass.persistence import model_schema

ESTIMATORS = [MulticlassSVC, MultilabelSVC, MultinomialLogisticRegression, StochasticClassifier]
ESTIMATORS += [MulticlassSVCCV, MultilabelSVCCV, MultinomialLogisticRegressionCV]
each = pytest.mark.parametrize
ENTRY = re.compile(r"(?m)^(\w+) : .*default=(.*)$")
X, y = np.random.default_rng(0).normal(size=(40, 3)), np.repeat([0, 1, 2, 3], 10)


@each("estimator", ESTIMATORS)
def test_docstrings_and_constraints_have_all_parameters(estimator):
    section = estimator.__doc__.partition("Attributes\n")[0]
    found = ENTRY.findall(section)
    defaults = defaults_of(estimator)
    assert [name for name, _ in found] == list(defaults)
    for name, shown in found:
        assert shown == repr(defaults[name]).replace("'", '"'), name
    assert list(estimator._parameter_constraints) == list(defaults)


def test_clusters_have_all_parameters():
    pytest.importorskip("dask")
    dask = pytest.importorskip("manyclass.dask")
    for estimator in (dask.DaskMulticlassSVC, dask.DaskMultinomialLogisticRegression):
        section = estimator.__doc__.partition("Attributes\n")[0]
        assert [name for name, _ in ENTRY.findall(section)] == list(defaults_of(estimator))


def test_every_parameter_is_of_an_estimator():
    known = set().union(*map(defaults_of, ESTIMATORS))
    assert known == set(table.PARAMETERS)


OTHERS = {
    **{"formulation": "weston_watkins", "C": 2.0, "loss": "squared_hinge", "fit_intercept": False},
    **{"intercept_scaling": 2.0, "class_weight": {0: 2.0, 1: 1.0, 2: 1.0, 3: 1.0}},
    **{"costs": 2 - 2 * np.eye(4), "cost_scaling": "slack", "class_offset": [0.0, 1.0, 0.0, 0.0]},
}


@each("name", [n for n in table.of_scope(Scope.PROBLEM) if n in defaults_of(MulticlassSVC)])
def test_another_problem_is_not_resumed(tmp_path, name):
    costs = 3 - 3 * np.eye(4) if name == "cost_scaling" else None
    model = MulticlassSVC(formulation="ww", costs=costs, checkpoint=tmp_path, random_state=0)
    model.fit(X, y)
    other = "crammer_singer" if name == "formulation" else OTHERS[name]
    with pytest.raises(ValueError, match="checkpoint of a different problem"):
        model.set_params(**{name: other}, resume=True).fit(X, y)


def test_parameters_of_a_run_are_not_in_model_files():
    fitted = MulticlassSVC(n_jobs=2, random_state=0).fit(X, y)
    stored = model_schema.plain_params(fitted)
    run = set(table.of_scope(Scope.RUN))
    assert not run & stored.keys()
    assert stored.keys() | run >= defaults_of(MulticlassSVC).keys() - {"costs"}


PATIENCE = Parameter(
    (positive(Integral),),
    "int",
    "Epochs without a smaller gap after which training ends.",
    option=Option("epochs without a smaller gap", metavar="N"),
)


@pytest.fixture
def patient(monkeypatch):
    """A made-up estimator with a made-up parameter: an entry of the table, and a signature."""
    monkeypatch.setitem(table.PARAMETERS, "patience", PATIENCE)

    @documented(like=MulticlassSVC)
    class PatientSVC(MulticlassSVC):
        """Support vector machine that gives up.

        Attributes
        ----------
        coef_ : ndarray
        """

        def __init__(self, *, C=1.0, patience=5, random_state=None):
            super().__init__(C=C, random_state=random_state)
            self.patience = patience

    return PatientSVC


def test_a_new_parameter_is_documented_checked_and_an_option(patient):
    assert ENTRY.findall(patient.__doc__)[1] == ("patience", "5")
    assert "Epochs without a smaller gap after which" in patient.__doc__
    with pytest.raises(InvalidParameterError, match=r"'patience' .* int in the range \[1"):
        patient(patience=0).fit(X, y)
    parser = CommandParser()
    add_parameter(parser, "patience")
    args = parser.parse_args(["--patience", "7"])
    assert given_parameters(args, defaults_of(patient)) == {"patience": 7}
    assert in_flags("no progress; use patience=True", args) == "no progress; use --patience"


def test_a_new_parameter_is_stored_unless_it_is_of_a_run(patient, monkeypatch):
    assert model_schema.plain_params(patient().fit(X, y))["patience"] == 5
    of_a_run = replace(PATIENCE, scope=Scope.RUN)
    monkeypatch.setitem(table.PARAMETERS, "patience", of_a_run)
    assert "patience" in table.of_scope(Scope.RUN)


def test_entries_that_are_no_parameters_are_refused():
    with pytest.raises(TypeError, match="not parameters of the signature: colour"):

        @documented()
        class Wrong(MulticlassSVC):
            """Made up.

            Parameters
            ----------
            colour : str
            """
