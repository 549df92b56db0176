"""The types of public options name what there is."""

import ast
from pathlib import Path
from typing import get_args

import manyclass
from manyclass import MulticlassSVC, MultilabelSVC, StochasticClassifier
from manyclass.estimators.costs import COST_SCALINGS
from manyclass.problem.formulations import FORMULATIONS, LOSSES, SHORT_NAMES
from manyclass.solvers.sgd import STOCHASTIC_LOSSES
from manyclass.solvers.stopping import RULES
from manyclass.training.train import SOLVERS
from manyclass.utils import types


def test_types_name_all_options():
    found = {
        types.FormulationName: [*FORMULATIONS, *SHORT_NAMES],
        types.LossName: LOSSES,
        types.StochasticLossName: STOCHASTIC_LOSSES,
        types.SolverName: SOLVERS,
        types.StoppingName: RULES,
        types.CostScaling: COST_SCALINGS,
        types.WeightsName: allowed(MulticlassSVC, "weights"),
    }
    for options, names in found.items():
        assert set(get_args(options)) == set(names)
    assert set(get_args(get_args(types.Threshold)[1])) == allowed(MultilabelSVC, "threshold")
    assert allowed(StochasticClassifier, "weights") == set(get_args(types.WeightsName))


def allowed(estimator, parameter):
    """The words that a parameter may be."""
    return set(estimator._parameter_constraints[parameter][0].options)


def test_the_stub_has_the_public_names():
    stub = ast.parse(Path(manyclass.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname: node.module for node in imports for alias in node.names}
    assert sorted(homes) == sorted(manyclass.__all__)
    assert {name: homes[name] for name in manyclass._HOMES} == manyclass._HOMES
