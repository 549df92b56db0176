"""Convert a pipeline to tensors and JSON, and back: its steps, and the classifier at its end.

Tensors of step i are named ``steps.i.ATTRIBUTE``; those of the classifier as in a file of its own.
As in ``model_schema``, files are not trusted.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sklearn.pipeline import Pipeline

from manyclass.persistence.model_schema import KINDS, Estimator, pack, unpack
from manyclass.persistence.pipeline_steps import (
    OF_TEXT,
    check_step,
    differing_params,
    pack_step,
    unpack_step,
)
from manyclass.utils.pipelines import without_passthrough
from manyclass.utils.types import Array, Settings

PIPELINE = "Pipeline"
Model: TypeAlias = Estimator | Pipeline


def classifier_of(model: Model) -> Any:
    """Return the classifier at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def takes_text(steps: Any) -> bool:
    """Whether a pipeline begins with a vectorizer of text."""
    return isinstance(steps[0], OF_TEXT)


def check_pipeline(pipeline: Any) -> None:
    """Refuse a pipeline that a model file cannot hold.

    Raises
    ------
    TypeError
        Naming the step, and its parameter.
    """
    if type(pipeline) is not Pipeline:
        raise TypeError(
            f"save_model takes scikit-learn's own Pipeline, not {type(pipeline).__name__}"
        )
    last = pipeline.steps[-1][1]
    known = KINDS.get(type(last).__name__)
    if known is None or known.estimator is not type(last):
        hint = ""
        if hasattr(last, "best_estimator_"):
            hint = "; make a Pipeline of the other steps and its best_estimator_"
        raise TypeError(
            f"save_model takes a Pipeline that ends with a {' or a '.join(KINDS)}, not "
            f"{type(last).__name__}{hint}"
        )
    for name, step in without_passthrough(pipeline).steps[:-1]:
        check_step(name, step)


def pack_pipeline(pipeline: Any) -> tuple[dict[str, Array], Settings]:
    """Return the tensors of a fitted pipeline, and the rest, ready for JSON.

    Steps that do nothing are left out.

    Raises
    ------
    ValueError
        As ``pack``; or if a term of a vocabulary is no text of UTF-8.
    """
    pipeline = without_passthrough(pipeline)
    last_name, last = pipeline.steps[-1]
    tensors, classifier = pack(last)
    steps = []
    for number, (name, step) in enumerate(pipeline.steps[:-1]):
        try:
            arrays, facts = pack_step(step)
        except UnicodeEncodeError as error:
            raise ValueError(
                f"save_model cannot store the step {name!r}: its vocabulary holds "
                f"{error.object!r}, which is no text of UTF-8 ({error.reason})"
            ) from error
        tensors |= {f"steps.{number}.{key}": array for key, array in arrays.items()}
        steps.append({"name": name, **facts})
    rest = {"name": last_name, "steps": steps, "classifier": classifier}
    if pipeline.verbose:
        rest["verbose"] = True
    return tensors, {"estimator": PIPELINE, **rest}


def unpack_pipeline(tensors: dict[str, Array], model: Settings) -> Any:
    """Return the pipeline of ``pack_pipeline``."""
    classifier = unpack(tensors, model["classifier"])
    n_features = classifier.n_features_in_
    steps: list[tuple[str, Any]] = []
    for number, facts in enumerate(model["steps"]):
        prefix = f"steps.{number}."
        own = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        steps.append((facts["name"], unpack_step(own, facts, n_features, first=number == 0)))
    steps.append((model["name"], classifier))
    _check_names([name for name, _ in steps])
    verbose = model.get("verbose", False)
    if not isinstance(verbose, bool):
        raise TypeError("verbose must be true or false")
    return Pipeline(steps, verbose=verbose)


def describe_steps(model: Model) -> list[Settings]:
    """Return name, kind and non-default parameters of the steps before the classifier."""
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    return [
        {"name": name, "kind": type(step).__name__, "params": differing_params(step)}
        for name, step in steps
    ]


def _check_names(names: list[object]) -> None:
    taken = set(Pipeline([("a", None)]).get_params(deep=False))
    if len(set(names)) < len(names) or not all(
        isinstance(name, str) and "__" not in name and name not in taken for name in names
    ):
        raise ValueError("the names of the steps must be distinct strings without __")
