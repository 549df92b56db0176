"""``manyclass predict``: write the labels of rows, the best first, with probabilities."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from manyclass.cli.console import Parser, UsageError, be_quiet, positive_int
from manyclass.cli.data import load_for, read_for
from manyclass.cli.options import data_options, force_option
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.utils.types import Rows

# Lines of predictions put together at a time.
LINES_AT_A_TIME = 1 << 16
SCORES_AT_A_TIME = 1 << 22
FEATURES = "Features that the model was not trained on are ignored."


def predict_options(parser: Parser) -> None:
    """Add the options of ``manyclass predict``."""
    data_options(parser)
    parser.add_argument("out", metavar="OUT", help="file to write, one line per row; - for stdout")
    parser.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help="write the K best labels, the best first, separated by tabs",
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="write its probability behind every label (models of --formulation logistic or "
        "--loss log_loss)",
    )
    force_option(parser)


def predict(args: argparse.Namespace) -> None:
    """Run ``manyclass predict``."""
    from manyclass.cli.file_kinds import check_output, labels_of

    model = load_for(args)
    n_classes = len(model.classes_)
    if args.top_k is not None and args.top_k > n_classes:
        raise UsageError(
            f"argument --top-k: must be from 1 to {n_classes}, the number of classes in "
            f"{args.model}, not {args.top_k}"
        )
    if any(mark in str(name) for name in model.classes_.tolist() for mark in "\t\n\r"):
        raise ValueError(
            f"{args.model}: class names with a tab or line break cannot be written one row per "
            "line; predict in Python, with load_model"
        )
    check_output(
        args.out,
        [args.data, args.model],
        labels_of(model.classes_.tolist()),
        force=args.force,
        special=True,
    )
    if args.probabilities and not hasattr(model, "predict_proba"):
        raise UsageError(
            f"argument --probabilities: {args.model} has none; train with --solver stochastic "
            "--loss log_loss, or --formulation logistic"
        )
    X, _ = read_for(args, model, be_quiet)
    top = args.top_k or 1
    with atomic.output(args.out) as file:
        step = max(1, SCORES_AT_A_TIME // n_classes) if args.probabilities else LINES_AT_A_TIME
        for begin in range(0, X.shape[0], step):
            columns = _columns(model, X[begin : begin + step], top, args.probabilities)
            lines = zip(*columns, strict=True)
            file.write("".join("\t".join(map(str, line)) + "\n" for line in lines).encode())


def _columns(model: Any, X: Rows, top: int, probabilities: bool) -> list[list[object]]:
    """Return the best labels of rows, the best first, each with its probability if wanted."""
    import numpy as np

    if not probabilities:
        best = model.predict_top_k(X, top) if top > 1 else model.predict(X)[:, None]
        return [column.tolist() for column in best.T]
    chances = model.predict_proba(X)
    order = np.argsort(-chances, axis=1, kind="stable")[:, :top]
    labels, shares = model.classes_[order], np.take_along_axis(chances, order, axis=1)
    return [column.tolist() for pair in zip(labels.T, shares.T, strict=True) for column in pair]
