"""Tables as the data of a command: Parquet, Arrow, CSV and NumPy files."""

from __future__ import annotations

import argparse
import csv
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import CommandParser, Say, UsageError, count, shows_progress
from manyclass.io import atomic
from manyclass.utils.suggestions import first_of

if TYPE_CHECKING:
    from manyclass.estimators.linear import LinearClassifier
    from manyclass.io.tables.base import Table
    from manyclass.io.tables.label_sets import SetCells
    from manyclass.utils.types import Array, DType, Rows

# Options of the text format.
OF_TEXT = {
    "zero_based": "--zero-based",
    "sort": "--sort",
    "sum_duplicates": "--sum-duplicates",
    "n_features": "--n-features",
    "out_of_core": "--out-of-core",
}


def table_options(group: CommandParser | argparse._ArgumentGroup) -> None:
    """Add the options that choose the columns of a table."""
    add = group.add_argument
    add(
        "--label",
        metavar="COLUMN",
        help="if DATA is a table: the column of the labels",
    )
    add(
        "--features",
        type=columns,
        action="extend",
        metavar="COLUMN[,COLUMN...]",
        help="columns of the table that are features (default: all but the label; with a trained "
        "model, its features)",
    )
    add(
        "--drop",
        type=columns,
        action="extend",
        metavar="COLUMN[,COLUMN...]",
        help="columns of the table that are not features, such as row numbers",
    )
    add(
        "--label-separator",
        type=separator,
        metavar="SEPARATOR",
        help="if DATA is a table whose rows have label sets: separator of the labels in a cell "
        "(default ;)",
    )


def separator(text: str) -> str:
    """Return the separator of the labels in a cell."""
    if not text or set(text) & set("\r\n"):
        raise argparse.ArgumentTypeError("must not be empty or a line break")
    return text


def set_cells(args: argparse.Namespace) -> SetCells | None:
    """Return how cells contain label sets; None if each row has one class."""
    from manyclass.io.tables.label_sets import SEPARATOR, SetCells

    if not getattr(args, "multilabel", False):
        return None
    given = args.label_separator
    return SetCells(given or SEPARATOR, is_given=given is not None)


def _check_separator(args: argparse.Namespace) -> None:
    """Refuse the separator of labels if rows have one class each, or have no column of labels."""
    if args.label_separator is None:
        return
    if getattr(args, "multilabel", False):
        if args.label is None and args.command != "predict":
            raise UsageError(
                "argument --label-separator: requires --label, the column of the labels in a "
                "table; labels of svmlight text are separated by commas"
            )
        return
    if args.command in ("train", "cv", "convert"):
        raise UsageError("argument --label-separator: requires --multilabel")
    raise UsageError(
        f"argument --label-separator: {args.model} is not a model of label sets; leave it out"
    )


def columns(text: str) -> list[str]:
    """Return the names of columns in an argument; names with commas are quoted."""
    return next(csv.reader([text]), [""])


def is_table(args: argparse.Namespace) -> bool:
    """Whether the data of a command are a table; refuse options that do not apply to the data."""
    from manyclass.io.file_signatures import looks_like_data, table_kind

    _check_separator(args)
    if args.drop is not None and args.features is not None:
        raise UsageError("argument --drop: --features names all columns that are features")
    chosen = {"--label": args.label, "--features": args.features, "--drop": args.drop}
    chosen = {"--text": getattr(args, "text", None), **chosen}
    if args.command != "predict":  # which writes label sets for all kinds of data
        chosen["--label-separator"] = args.label_separator
    flags = [flag for flag, given in chosen.items() if given is not None]
    named = bool(flags)
    if not named and table_kind(args.data) is None:
        return False
    if looks_like_data(args.data) or not Path(args.data).is_file():
        if named and Path(args.data).exists():
            raise UsageError(f"argument {flags[0]}: {args.data} is not a table; leave it out")
        return False
    given = [flag for name, flag in OF_TEXT.items() if getattr(args, name, None)]
    if given:
        raise UsageError(f"argument {given[0]}: requires svmlight text, and {args.data} is a table")
    return True


def check_label(args: argparse.Namespace) -> None:
    """Refuse a table without the name of its labels, which predict alone does not need."""
    if args.label is None and args.command != "predict":
        raise UsageError(f"{args.data}: is a table; name the column of the labels by --label")


def log_read(args: argparse.Namespace, began: float, log: Say, *sizes: str) -> None:
    """Log how long reading the data took, and their sizes."""
    log(f"read {args.data} in {time.perf_counter() - began:.2f} s: {', '.join(sizes)}")


def read_table(args: argparse.Namespace, dtype: DType, log: Say) -> tuple[Array, Array]:
    """Return the rows of a table, and their labels; zeros where a command needs none.

    Sets ``args.columns`` to the names of the columns, for ``name_features``.
    """
    import numpy as np

    from manyclass.utils.progress import counted, reading

    check_label(args)
    table = _opened(args, dtype)
    log(f"{args.data}: {table.taken}")
    parts, labels = [], table.coded_labels()
    with reading(shows_progress(args), args.data, "rows") as see:
        for X, y in counted(table.batches(), see, lambda batch: len(batch[0])):
            parts.append(X)
            if y is not None:
                labels.add(y)
    args.columns = table.names
    if not sum(map(len, parts)):
        raise ValueError(f"{args.data}: has no rows")
    trained = None if getattr(args, "names", None) is None else args.names.tolist()
    if trained is not None and table.names is not None and table.names != trained:
        raise ValueError(
            f"{args.data}: the columns differ from the columns that {args.model} was trained on; "
            "leave out --features, and give vectors of the same length"
        )
    rows = np.concatenate(parts)
    return rows, np.zeros(len(rows), np.int64) if args.label is None else labels.vector()


def _opened(args: argparse.Namespace, dtype: DType) -> Table:
    """Open a table of numbers; errors for text columns say how to train on them."""
    from manyclass.io.tables.arrow_table import TextColumnError
    from manyclass.io.tables.open_table import open_table

    try:
        cells = set_cells(args)
        return open_table(args.data, args.label, args.features, dtype, args.drop or (), cells)
    except TextColumnError as error:
        if args.command not in ("train", "cv"):
            raise
        found, _, advice = str(error).rpartition("; ")
        raise ValueError(
            f"{found}; train on its words (--text {error.column}), or {advice}"
        ) from None


def read_columns(args: argparse.Namespace, log: Say) -> tuple[Rows, Array]:
    """Return the rows of a table as the steps of a pipeline transform them, and labels.

    The steps get a data frame, because they use columns by name.
    """
    import numpy as np

    from manyclass.io.tables.open_table import read_frame
    from manyclass.persistence.composites import text_columns

    texts = text_columns(args.steps)
    if not is_table(args):
        raise UsageError(
            f"{args.model}: is a pipeline that takes columns by their names, and {args.data} has "
            "none; give a table (Parquet, Arrow, CSV)"
            + (f" with text in the column {first_of(texts)}" if texts else "")
        )
    check_label(args)
    began = time.perf_counter()
    with atomic.naming(args.data):
        read = [name for name in texts if name in (args.features or texts)]
        cells = set_cells(args)
        frame, y = read_frame(args.data, args.label, args.features, read, cells=cells)
    log_read(args, began, log, count(len(frame), "row"), count(frame.shape[1], "column"))
    try:
        rows = args.steps.transform(frame)
    except ValueError as error:
        raise ValueError(f"{args.data}: {args.model} cannot transform it: {error}") from error
    return rows, np.zeros(len(frame), np.int64) if y is None else y


def columns_of(names: list[str]) -> list[str]:
    """Return the columns of a table with these names; a column of vectors once."""
    return list(dict.fromkeys(re.sub(r"\[[0-9]+\]$", "", name) for name in names))


def name_features(args: argparse.Namespace, *models: LinearClassifier) -> None:
    """Set the names of the training columns on models."""
    import numpy as np

    names = getattr(args, "columns", None)
    if names is not None:
        for model in models:
            model.feature_names_in_ = np.array(names, object)


def convert_table(args: argparse.Namespace, log: Say) -> None:
    """Write a table as a converted data file."""
    import numpy as np

    from manyclass.io.dataset_writer import save_table
    from manyclass.io.tables.open_table import open_table

    check_label(args)
    began = time.perf_counter()
    with atomic.naming(args.data):
        dtype = np.dtype(args.dtype)
        cells = set_cells(args)
        table = open_table(args.data, args.label, args.features, dtype, args.drop or (), cells)
        log(f"{args.data}: {table.taken}")
        save_table(args.out, table, args.data, shows_progress(args))
    size = Path(args.out).stat().st_size
    log(f"saved {args.out} in {time.perf_counter() - began:.2f} s: {size / 1e6:,.3g} MB, dense")


def refuse_table(args: argparse.Namespace) -> None:
    """Refuse a table if a command reads only text or a converted file."""
    if is_table(args):
        raise UsageError(
            f"{args.data}: is a table; convert it first (manyclass convert {args.data} OUT --label "
            "COLUMN), which several processes and out-of-core training read"
        )
