"""Read data and labels of a command, into memory or memory-mapped."""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, TypeVar, overload

from manyclass.cli import console
from manyclass.cli.console import Say, UsageError, count, shows_progress
from manyclass.cli.input.tables import columns_of, is_table, log_read, read_columns, read_table
from manyclass.cli.input.text import check_columns, read_text, read_texts
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.multilabel.svc import MultilabelSVC
    from manyclass.persistence.composites import Model
    from manyclass.persistence.model_schema import Estimator
    from manyclass.utils.types import Array, DType, Rows


Y = TypeVar("Y")


def explain_bus_errors(path: str) -> None:
    """Print one line if the process ends because a memory-mapped file was truncated.

    Only the command line does this: a program in Python handles its own signals.
    """
    from manyclass import _core

    text = f"manyclass: error: {path}: was overwritten while it was in use, or cannot be read; "
    advice = "replace it by a new file (mv), do not copy into it (cp)"
    _core.explain_bus_errors(console.printable(text + advice).encode() + b"\n")


def read(
    args: argparse.Namespace, dtype: DType, log: Say, n_features: int | None = None
) -> tuple[Rows, Array]:
    """Read the data file of a command, and log its size."""
    began = time.perf_counter()
    X, y = _loaded(args, dtype, log, n_features)
    log_size(args, X, y, began, log)
    return X, y


def log_size(args: argparse.Namespace, X: Rows, y: Array, began: float, log: Say) -> None:
    """Log the size of data that were read."""
    import numpy as np

    log_read(args, began, log, *sizes_of(X, f"{len(np.unique(y))} classes"))


def sizes_of(X: Rows, classes: str) -> list[str]:
    """Return how many rows, features and values there are, in words."""
    values = count(X.nnz, "non-zero") if hasattr(X, "nnz") else "dense"
    return [count(X.shape[0], "row"), count(X.shape[1], "feature"), classes, values]


def _loaded(
    args: argparse.Namespace, dtype: DType, log: Say, n_features: int | None
) -> tuple[Rows, Array]:
    from manyclass.io.dataset_file import load_data
    from manyclass.io.file_signatures import looks_like_data
    from manyclass.io.svmlight import load_svmlight

    with atomic.naming(args.data):
        table = loaded_table(args, dtype, log)
        if table is not None:
            return table
        if looks_like_data(args.data):
            check_converted(args)
            explain_bus_errors(args.data)
            return load_data(args.data, n_features, dtype)
        shows, options = shows_progress(args), format_options(args)
        return load_svmlight(args.data, n_features, dtype, args.jobs, verbose=shows, **options)


def loaded_table(args: argparse.Namespace, dtype: DType, log: Say) -> tuple[Rows, Array] | None:
    """Return the rows of a table and their labels or label sets; None for other data."""
    if getattr(args, "text", None) is not None:
        return read_text(args, dtype, log)
    return read_table(args, dtype, log) if is_table(args) else None


def format_options(args: argparse.Namespace) -> dict[str, bool]:
    """Return the options of the text format."""
    return {name: getattr(args, name) for name in ("zero_based", "sort", "sum_duplicates")}


def check_converted(args: argparse.Namespace) -> None:
    """Refuse options that have no meaning for a converted file."""
    from manyclass.io.file_signatures import looks_like_data

    if args.zero_based and looks_like_data(args.data):
        raise UsageError(
            f"argument --zero-based: {args.data} is converted, so its features have fixed numbers; "
            "convert it again with --zero-based"
        )


def is_multilabel(model: object) -> TypeGuard[MultilabelSVC]:
    """Whether the rows of a model have label sets."""
    from manyclass.multilabel.svc import MultilabelSVC

    return isinstance(model, MultilabelSVC)


def load_for(
    args: argparse.Namespace, *, may_be_multilabel: bool = False, loaded: Model | None = None
) -> Estimator:
    """Load the model of a command, with its number of threads.

    Of a pipeline, the classifier; ``args.steps`` is its preprocessing, for ``read_for``.
    """
    from sklearn.pipeline import Pipeline

    from manyclass.persistence.composites import classifier_of, describe_composite, unwrapped
    from manyclass.persistence.model_file import load_model

    model = unwrapped(loaded or load_model(args.model))
    composite = describe_composite(model)
    if composite:
        raise UsageError(
            f"{args.model}: is a {composite}, and manyclass {args.command} takes "
            "one that is not wrapped; predict in Python, with load_model"
        )
    classifier: Estimator = classifier_of(model)
    if is_multilabel(classifier) and not may_be_multilabel:
        raise UsageError(
            f"{args.model}: is a model of label sets, of which manyclass {args.command} does "
            "not know; predict in Python, with load_model"
        )
    args.steps = model[:-1] if isinstance(model, Pipeline) else None
    args.names = getattr(model, "feature_names_in_", None)
    args.multilabel = is_multilabel(classifier)
    classifier.n_jobs = args.jobs
    return classifier


@overload
def read_for(args: argparse.Namespace, model: Estimator, log: Say) -> tuple[Rows, Array]: ...
@overload
def read_for(
    args: argparse.Namespace,
    model: Estimator,
    log: Say,
    reader: Callable[[argparse.Namespace, DType, Say], tuple[Rows, Y]],
) -> tuple[Rows, Y]: ...
def read_for(
    args: argparse.Namespace,
    model: Estimator,
    log: Say,
    reader: Callable[[argparse.Namespace, DType, Say], tuple[Rows, object]] | None = None,
) -> tuple[Rows, object]:
    """Read data for a model, by ``read`` or a different reader, without unknown columns."""
    import numpy as np

    takes = _takes(args)
    y: object
    if takes == "texts":
        X, y = read_texts(args, log)
    else:
        check_columns(args)
        with _naming_model(args):
            X, y = _read_by_name(args, model, log, reader or read, takes)
    return X, y.tolist() if args.multilabel and isinstance(y, np.ndarray) else y


@contextlib.contextmanager
def _naming_model(args: argparse.Namespace) -> Iterator[None]:
    """Name the model in errors about missing columns if it determines which columns are read."""
    from manyclass.io.tables.base import NoColumnError

    given = args.features
    try:
        yield
    except NoColumnError as error:
        if given is not None or args.label in error.missing:
            raise
        raise ValueError(error.for_model(args.model)) from None


def _read_by_name(
    args: argparse.Namespace,
    model: Estimator,
    log: Say,
    reader: Callable[[argparse.Namespace, DType, Say], tuple[Rows, object]],
    takes: str,
) -> tuple[Rows, object]:
    """Read the columns that a model was trained on, or the rows of a file without columns."""
    if args.names is not None and args.features is None and is_table(args):
        args.features = _columns_taken(args) or columns_of(args.names.tolist())
        args.drop = None
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
    if takes == "columns":
        return read_columns(args, log)
    X, y = reader(args, model.intercept_.dtype, log)
    width = getattr(args.steps, "n_features_in_", model.n_features_in_)  # before the steps
    X = _with_columns(args, X, width)
    return X if args.steps is None else _transformed(args, X), y


def _columns_taken(args: argparse.Namespace) -> list[str] | None:
    """Return the names of the columns that the steps use, without dropped columns."""
    from manyclass.persistence.composites import columns_taken

    return None if args.steps is None else columns_taken(args.steps)


def _takes(args: argparse.Namespace) -> str:
    """Return the input of the steps: "texts", "columns" (by name) or "numbers"."""
    from manyclass.persistence.composites import chooses_by_name, takes_text

    if args.steps is None:
        return "numbers"
    if takes_text(args.steps):
        return "texts"
    return "columns" if chooses_by_name(args.steps) else "numbers"


def _with_columns(args: argparse.Namespace, X: Rows, n_features: int) -> Rows:
    """Return sparse rows with the columns of a model; refuse dense rows with other columns."""
    import numpy as np

    if not isinstance(X, np.ndarray):
        X.resize((X.shape[0], n_features))
    elif X.shape[1] != n_features:
        raise ValueError(
            f"{args.data}: has dense rows of {X.shape[1]} features, and {args.model} was trained "
            f"on {n_features}; give the columns of training"
        )
    return X


def _transformed(args: argparse.Namespace, X: Rows) -> Rows:
    """Return the rows transformed by the steps before the classifier."""
    import numpy as np
    from sklearn.utils import get_tags

    from manyclass.utils.machine import available_memory

    if isinstance(X, np.ndarray) or get_tags(args.steps).input_tags.sparse:
        return args.steps.transform(X)
    needed, there = 2 * X.shape[0] * X.shape[1] * X.dtype.itemsize, available_memory()
    if needed > there:
        raise MemoryError(
            f"{args.model} takes dense rows, and {args.data} needs {needed / 1e9:.1f} GB, but "
            f"only {there / 1e9:.1f} GB are available; split the data"
        )
    return args.steps.transform(X.toarray())


def timed(args: argparse.Namespace, fit: Callable[[], object]) -> float:
    """Return the seconds of a fit; its errors name a file, by default the data."""
    files = tuple(
        str(Path(name)) for name in (args.data, getattr(args, "checkpoint", None)) if name
    )
    files += (args.data,)
    began = time.perf_counter()
    try:
        fit()
    except (ValueError, FloatingPointError) as error:
        words = str(error)
        named = type(error)(words if words.startswith(files) else f"{args.data}: {words}")
        if hasattr(error, "reported_by"):  # only one of several processes reports the error
            vars(named)["reported_by"] = error.reported_by
        raise named from error
    return time.perf_counter() - began
