"""The table of parameters: each is described once, for all estimators.

Signatures are explicit and have the defaults. The table has everything else. ``documented.py``
fills in docstrings and constraints, ``persistence/model_schema.py`` leaves parameters of a run out
of model files, ``cli/parameter_options.py`` adds options to the command line. If an estimator
differs, its own docstring or constraints have the entry.

To add a parameter: an entry in exact.py, search.py or stochastic.py, the signature of the
estimator, and the solver that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping

from manyclass.estimators.parameters.description import Parameter, Scope
from manyclass.estimators.parameters.exact import EXACT
from manyclass.estimators.parameters.search import MULTILABEL, SEARCH
from manyclass.estimators.parameters.stochastic import STOCHASTIC

PARAMETERS: Mapping[str, Parameter] = {**EXACT, **SEARCH, **MULTILABEL, **STOCHASTIC}


def of_scope(*scopes: Scope) -> list[str]:
    """Return the names of the parameters with one of these scopes."""
    return [name for name, parameter in PARAMETERS.items() if parameter.scope in scopes]
