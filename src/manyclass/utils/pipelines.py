"""Steps of scikit-learn pipelines, without the empty ones."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline


def without_passthrough(pipeline: Any) -> Any:
    """Return a pipeline of the same steps, without those that are "passthrough" or None.

    Parameters
    ----------
    pipeline : Pipeline

    Returns
    -------
    Pipeline
        The same one if it has no such step.
    """
    steps = [(name, step) for name, step in pipeline.steps[:-1] if not _is_idle(step)]
    if len(steps) == len(pipeline.steps) - 1:
        return pipeline
    return Pipeline([*steps, pipeline.steps[-1]], verbose=pipeline.verbose)


def _is_idle(step: object) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")
