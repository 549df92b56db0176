"""Columns of text as the data of a command: the words of the rows, weighted by tf-idf.

``train --text`` fits a vectorizer for each column, and stores a pipeline with the vectorizers.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import CommandParser, Say, UsageError, count, positive_int
from manyclass.cli.input.tables import check_label, columns, is_table, log_read, set_cells
from manyclass.utils.suggestions import first_of

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator
    from sklearn.compose import ColumnTransformer

    from manyclass.model_selection.folds import RowMaker
    from manyclass.persistence.composites import Model
    from manyclass.utils.types import Array, DType, Rows

# Options that cannot be combined with --text, and why.
REFUSED = {
    "features": "cannot be combined with --text, which uses only the words as features; leave it "
    "out, or use a ColumnTransformer in Python",
    "drop": "cannot be combined with --text, which uses only the words as features; leave it out",
    "start": "cannot be combined with --text, whose features are the words of these rows; leave it "
    "out",
    "state": "cannot be combined with --text, whose features are the words of these rows; leave it "
    "out",
    "out_of_core": "cannot be combined with --text, which reads all rows into memory; leave it out",
}


def text_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of commands that train on text."""
    add = group.add_argument
    add(
        "--text",
        type=columns,
        action="extend",
        metavar="COLUMN[,COLUMN...]",
        help="if DATA is a table: a column of text, whose words are the features, weighted by "
        "tf-idf; the model stores the vectorizer",
    )
    add(
        "--ngrams",
        type=ngrams,
        metavar="N[-M]",
        help="with --text: sequences of N to M words are features (default 1: words)",
    )
    add(
        "--min-df",
        type=positive_int,
        metavar="N",
        help="with --text: ignore words that occur in fewer than N rows (default 1)",
    )


def text_option(group: CommandParser | argparse._ArgumentGroup) -> None:
    """Add the option of commands on a model that may read text."""
    group.add_argument(
        "--text",
        metavar="COLUMN",
        help="the column of a table that has the text, for a pipeline made in Python that takes "
        "text (a model of train --text knows its columns)",
    )


def ngrams(text: str) -> tuple[int, int]:
    """Return the least and the largest number of words in a sequence."""
    first, found, last = text.partition("-")
    try:
        least, most = int(first), int(last) if found else int(first)
    except ValueError:
        least, most = 0, 0
    if not 1 <= least <= most:
        raise argparse.ArgumentTypeError(
            f"must be a number of words, or two as in 1-2; not {text!r}"
        )
    return least, most


def check_text(args: argparse.Namespace) -> None:
    """Refuse options that cannot be combined with --text, and missing packages, before any work."""
    if args.text is None:
        for flag, given in (("--ngrams", args.ngrams), ("--min-df", args.min_df)):
            if given is not None:
                raise UsageError(f"argument {flag}: requires --text")
        return
    for name, why in REFUSED.items():
        if getattr(args, name, None):
            raise UsageError(f"argument --{name.replace('_', '-')}: {why}")
    twice = next((name for name in args.text if args.text.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"argument --text: {twice} is given twice")
    for package in ("pyarrow", "pandas", "skops"):
        if find_spec(package) is None:
            raise UsageError(f"argument --text: needs {package}; pip install {package}")


def read_text(args: argparse.Namespace, dtype: DType, log: Say) -> tuple[Rows, Array]:
    """Return the words of the rows of a table, weighted by tf-idf, and labels.

    What weights them is ``args.words``, for ``with_words``, and in folds ``args.words_of_fold``.
    """
    from manyclass.io.tables.open_table import read_frame

    if not is_table(args):
        Path(args.data).open("rb").close()  # an OSError names a missing file
        raise UsageError(f"argument --text: {args.data} is not a file with a table")
    check_label(args)
    cells = set_cells(args)
    frame, y = read_frame(args.data, args.label, args.text, args.text, guessed=True, cells=cells)
    assert y is not None
    args.words = _vectorizers(args, dtype)
    try:
        X = args.words.fit_transform(frame)
    except ValueError as error:
        raise ValueError(f"{args.data}: {_lacking(args)}") from error
    args.words_of_fold = partial(_words_of_fold, args.words, frame, _lacking(args))
    log(f"{args.data}: features are the words of {_named(args)}")
    return X, y


def _words_of_fold(
    words: ColumnTransformer, frame: pd.DataFrame, lacking: str, rows: Array
) -> Rows:
    """Return the words of all rows, by the vocabulary and the weights of some."""
    from sklearn.base import clone

    try:
        found: Rows = clone(words).fit(frame.iloc[rows]).transform(frame)
    except ValueError as error:
        raise ValueError(lacking) from error
    return found


def maker_of(args: argparse.Namespace) -> RowMaker | None:
    """Return the function that computes text features from the training rows of a fold, or None."""
    maker: RowMaker | None = getattr(args, "words_of_fold", None)
    return maker


def check_columns(args: argparse.Namespace) -> None:
    """Refuse a column of text that is not what a model takes by its name."""
    from manyclass.persistence.composites import text_columns

    known = [] if args.steps is None else text_columns(args.steps)
    if args.text is None or known == [args.text]:
        return
    takes = (
        f"takes text by the name of its column ({first_of(known)})" if known else "takes no text"
    )
    raise UsageError(f"argument --text: {args.model} {takes}; leave out --text")


def read_texts(args: argparse.Namespace, log: Say) -> tuple[Rows, Array]:
    """Return the rows of a table as a pipeline transforms the text of a column, and labels."""
    import numpy as np

    from manyclass.io.tables.open_table import read_frame

    if args.text is None or not is_table(args):
        raise UsageError(
            f"{args.model}: is a pipeline that takes text, by its {type(args.steps[0]).__name__}; "
            "give a table (CSV, Parquet, Arrow), and name the column that has the text by --text"
        )
    check_label(args)
    began = time.perf_counter()
    cells = set_cells(args)
    frame, y = read_frame(args.data, args.label, [args.text], [args.text], cells=cells)
    log_read(args, began, log, count(len(frame), "row"))
    rows = args.steps.transform(frame[args.text])
    return rows, np.zeros(len(frame), np.int64) if y is None else y


def _vectorizers(args: argparse.Namespace, dtype: DType) -> ColumnTransformer:
    """Return the vectorizer of each column, not fitted."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer

    settings = {
        "ngram_range": args.ngrams or (1, 1),
        "min_df": args.min_df or 1,
        "sublinear_tf": True,
        "dtype": dtype.type,
    }
    return ColumnTransformer(
        [(column, TfidfVectorizer(**settings), column) for column in args.text],
        sparse_threshold=1.0,
        verbose_feature_names_out=len(args.text) > 1,
    )


def _named(args: argparse.Namespace) -> str:
    return f"the column{'s' if len(args.text) > 1 else ''} {first_of(args.text)}"


def _lacking(args: argparse.Namespace) -> str:
    """Return the message for text without features."""
    fewest, shortest = args.min_df or 1, (args.ngrams or (1, 1))[0]
    what = "word" if shortest == 1 else f"sequence of {shortest} words"
    if fewest > 1:
        return f"no {what} of {_named(args)} is in {fewest} rows or more; use a smaller --min-df"
    return f"no row has a {what} of two letters or more in {_named(args)}; see --text and --ngrams"


def with_words(args: argparse.Namespace, model: BaseEstimator) -> Model:
    """Return a pipeline of the vectorizers and the model, or the model itself without text."""
    from sklearn.pipeline import Pipeline

    words = getattr(args, "words", None)
    return model if words is None else Pipeline([("words", words), ("classifier", model)])
