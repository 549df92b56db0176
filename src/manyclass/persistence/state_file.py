"""State files: a fitted model and the start of its next fit. Loading a file runs no code.

Format: as in model files (model_file.py), with ``format`` = "manyclass state", the tensors of
state_schema.py, and ``state``, the JSON of state_schema.py, in the header.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from sklearn.utils.validation import check_is_fitted

from manyclass.estimators.fitted_weights import keep_state, keeps_state
from manyclass.estimators.logistic import MultinomialLogisticRegression, start_at_weights
from manyclass.estimators.svc import MulticlassSVC
from manyclass.io.atomic import check_path_first
from manyclass.io.tensors import TensorFormat, one_line, read_header, write_tensors
from manyclass.multilabel.svc import MultilabelSVC
from manyclass.persistence.model_file import ODDITIES, load_model, read_parts
from manyclass.persistence.model_schema import pack, unpack
from manyclass.persistence.state_schema import PREFIX, Stateful, pack_state, state_of, unpack_state
from manyclass.problem.formulations import full_name
from manyclass.utils.types import Array, Settings

if TYPE_CHECKING:
    from manyclass.multilabel.warm_start import LabelStart
    from manyclass.training.warm_start import WarmStart

FORMAT = TensorFormat(
    name="manyclass state",
    version=1,
    kind="state file",
    damaged_message="cannot be read as a state file: {why}; save it again",
    other_message="cannot be read as a state file: it holds {what}",
)
StatePath = str | os.PathLike[str]


def save_state(path: StatePath, estimator: Stateful) -> None:
    """Save a fitted estimator with the state from which its next fit starts.

    The file is written completely or not at all. It has the content of ``save_model`` and, for each
    training row, a fingerprint, the class, the cost and the dual variables, but no values of X.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.
    estimator : MulticlassSVC, MultinomialLogisticRegression or MultilabelSVC
        Fitted with ``warm_start=True``.

    Raises
    ------
    TypeError
        If `estimator` is of a different type, such as a pipeline.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the estimator was fitted with ``warm_start=False``, or cannot be stored.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_state : Load the file.
    save_model : Save only the model.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC, load_state, save_state
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(warm_start=True, random_state=0).fit(X[10:], y[10:])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_state(pathlib.Path(folder, "state"), model)
    ...     loaded = load_state(pathlib.Path(folder, "state"))
    >>> loaded.set_params(verbose=1).fit(X, y).score(X, y) > 0.9
    warm start: 140 rows kept, 10 new, 0 gone
    ...
    True
    """
    check_path_first(path, "save_state(path, model)")
    if not _is_stateful(estimator):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            "save_state takes a MulticlassSVC, a MultinomialLogisticRegression or a MultilabelSVC, "
            f"fitted, not {name}; save the last step of a pipeline"
        )
    check_is_fitted(estimator)
    if not keeps_state(estimator):
        raise ValueError("the model has no state; fit it with warm_start=True")
    try:
        tensors, model = pack(estimator)
        of_state, state = pack_state(estimator)
        metadata = {"model": json.dumps(model), "state": json.dumps(state)}
        _unpacked({**tensors, **of_state}, json.loads(metadata["model"]), metadata)
    except ODDITIES as error:
        raise ValueError(f"the state cannot be saved: {one_line(error)}") from error
    write_tensors(path, {**tensors, **of_state}, FORMAT.metadata(**metadata))


def load_state(path: StatePath) -> Stateful:
    """Load a model and its state from a file of ``save_state``.

    Loading does not run code from the file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MulticlassSVC, MultinomialLogisticRegression or MultilabelSVC
        Fitted, with ``warm_start=True``: its next ``fit`` starts from the saved state. Change other
        parameters with ``set_params``.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, not a state file, or of a newer version.
    OSError
        If the file cannot be read.

    See Also
    --------
    save_state : Save the file, with an example.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"load_state takes a path, not {path!r}")
    tensors, model, metadata = read_parts(path, FORMAT)
    try:
        return _unpacked(tensors, model, metadata)
    except ODDITIES as error:
        why = f"its contents are inconsistent ({one_line(error)})"
        raise FORMAT.damaged(path, why) from None


def start_from(estimator: Stateful, path: StatePath) -> str:
    """Let the next fit of an estimator start from a state or model file; say what it is."""
    with Path(path).open("rb") as file:
        try:
            is_state = read_header(file).metadata.get("format") == FORMAT.name
        except ValueError:
            is_state = False  # the error of load_model names the kind of file
    model = load_state(path) if is_state else load_model(path)
    kinds = [_kind_of(one) for one in (model, estimator)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"{os.fspath(path)}: is a model of {kinds[0]}, not of {kinds[1]}")
    assert isinstance(model, Stateful)
    estimator.warm_start = True
    known: WarmStart | LabelStart | None = None
    if is_state:
        known = state_of(model)
    elif isinstance(model, MultinomialLogisticRegression):
        known = start_at_weights(model)
    if known is None:
        return "a model file without state: dual variables start at 0, as in new training"
    keep_state(estimator, known)
    if not is_state:
        return "a model file without state: training starts from its weights"
    n_rows = known.n_rows
    rows = f"the state of {n_rows} row{'' if n_rows == 1 else 's'}"
    changes = "" if estimator.C == model.C else f"; this training has C = {estimator.C:g}"
    return f"{rows}, trained with C = {model.C:g}{changes}"


def _kind_of(model: object) -> str:
    """Return a description that must be equal for two models."""
    if isinstance(model, MulticlassSVC):
        return f"MulticlassSVC, {full_name(model.formulation)}, {model.loss}"
    if isinstance(model, MultilabelSVC):
        return f"MultilabelSVC, {model.loss}"
    return type(model).__name__


def _is_stateful(model: object) -> TypeGuard[Stateful]:
    return type(model) in (MulticlassSVC, MultinomialLogisticRegression, MultilabelSVC)


def _unpacked(tensors: dict[str, Array], model: Settings, metadata: dict[str, str]) -> Stateful:
    state = json.loads(metadata["state"])
    if not isinstance(state, dict):
        raise TypeError("the state has no entries")
    own = {name: value for name, value in tensors.items() if not name.startswith(PREFIX)}
    estimator = unpack(own, model)
    if not _is_stateful(estimator):
        raise ValueError(f"a {type(estimator).__name__} has no state")
    estimator.warm_start = True
    keep_state(estimator, unpack_state(tensors, state, estimator))
    return estimator
