"""Options of several commands, and names of formulations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import CommandParser, UsageError, finite, jobs, positive_int, seed
from manyclass.cli.input.data import BALANCED
from manyclass.cli.input.tables import table_options
from manyclass.problem.formulations import FORMULATIONS, SHORT_NAMES, full_name
from manyclass.utils.suggestions import meant

if TYPE_CHECKING:
    from manyclass.utils.types import Settings


STDIN = "/dev/stdin"
LOGISTIC = "logistic"  # as a formulation: another estimator


def data_option(parser: CommandParser) -> None:
    """Add the data file."""
    parser.add_argument(
        "data",
        metavar="DATA",
        type=file_or_stdin,
        help="svmlight file, plain or compressed, one of convert, or a table (Parquet, Arrow, CSV, "
        ".npy, .npz); - for standard input",
    )


def swap_data_and_model(args: argparse.Namespace) -> None:
    """Exchange DATA and MODEL where DATA is a model file and MODEL is none."""
    from manyclass.cli.input.file_kinds import MODEL

    data, model = args.data, args.model
    if data is None or not (Path(data).is_file() and Path(model).is_file()):
        return
    if MODEL.matches(Path(data)) and not MODEL.matches(Path(model)):
        args.data, args.model = model, data


def file_or_stdin(name: str) -> str:
    """Return the name of a file; "-" is standard input."""
    return STDIN if name == "-" else name


def data_options(parser: CommandParser) -> None:
    """Add the options of commands on a data file and a model."""
    data_option(parser)
    parser.add_argument("model", metavar="MODEL", help="model file")
    reader_options(parser)


def class_weight(text: str) -> str | tuple[str, float]:
    """Return "balanced", or a label and its weight."""
    if text == BALANCED:
        return text
    label, found, weight = text.rpartition("=")
    value = finite(weight) if found else -1.0
    if not label or value < 0:
        raise argparse.ArgumentTypeError(
            f"must be balanced, or LABEL=W with a weight that is not negative; not {text!r}"
        )
    return label, value


def check_estimator_options(args: argparse.Namespace) -> None:
    """Refuse contradictions; a bias that is not positive means no intercept."""
    given = args.class_weight or []
    if BALANCED in given and len(given) > 1:
        raise UsageError("argument --class-weight: balanced goes with no other")
    labels = [entry[0] for entry in given if entry != BALANCED]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise UsageError(f"argument --class-weight: {twice[0]} is given twice")
    if args.bias is not None and args.no_intercept:
        raise UsageError("argument --bias: does not go with --no-intercept")
    if args.bias is not None and args.bias <= 0:
        args.bias, args.no_intercept = None, True


def convert_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass convert``."""
    parser.add_argument("data", metavar="DATA", help="svmlight file, plain or compressed, or table")
    parser.add_argument("out", metavar="OUT", help="file to write")
    parser.add_argument(
        "--multilabel",
        action="store_true",
        help="rows have sets of labels, as in 3,7,12 5:0.3 9:1",
    )
    reader_options(parser)
    shape_options(parser)
    force_option(parser)


def force_option(parser: CommandParser) -> None:
    """Add the option to overwrite any file."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace an existing file whatever it is (default: one of the same kind only)",
    )


def reader_options(parser: CommandParser) -> None:
    """Add the options of commands that read data."""
    add = parser.add_argument
    add("--jobs", type=jobs, default=1, metavar="N", help="threads; -1: all cores")
    add("--zero-based", action="store_true", help="feature numbers count from 0")
    add("--sort", action="store_true", help="sort rows whose feature numbers are not ascending")
    add("--sum-duplicates", action="store_true", help="add up values of a feature given twice")
    table_options(parser)


def estimator_options(parser: CommandParser) -> None:
    """Add the options of commands that train."""
    add = parser.add_argument
    add("--no-intercept", action="store_true", help="leave out the constant feature")
    add(
        "--bias",
        type=finite,
        metavar="B",
        help="value of the constant feature (default 1; stochastic: 0.1); 0 or less: none",
    )
    add(
        "--class-weight",
        type=class_weight,
        action="append",
        metavar="LABEL=W",
        help="multiply C by W for this class; may be given several times. balanced: give every "
        "class the same total weight",
    )
    add(
        "--weights",
        choices=["auto", "dense", "sparse"],
        default="auto",
        help="how weights are held: for thousands of classes sparse (default: what fits)",
    )
    add("--max-iter", type=positive_int, default=1000, metavar="N", help="epochs at most (1000)")
    add("--seed", type=seed, default=0, metavar="S", help="orders the visits (default 0)")
    add(
        "--regularize-intercept",
        action="store_true",
        default=None,
        help="with logistic: regularise the intercepts, too (the others always do)",
    )
    add(
        "--no-merge-columns",
        action="store_true",
        default=None,
        help="train equal or proportional features one by one (default: as one, where that pays)",
    )
    shape_options(parser)
    force_option(parser)


def shape_options(parser: CommandParser) -> None:
    """Add the options of commands that convert text to numbers."""
    add = parser.add_argument
    add("--dtype", choices=["float32", "float64"], default="float32", help="type of the values")
    add("--n-features", type=positive_int, metavar="N", help="columns, if more than DATA uses")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")


def parameters(args: argparse.Namespace) -> Settings:
    """Return the parameters of an estimator from the options."""
    scaling = {} if args.bias is None else {"intercept_scaling": args.bias}
    return {
        **scaling,
        "loss": args.loss,
        "tol": args.tol,
        "fit_intercept": not args.no_intercept,
        "class_weight": BALANCED if args.class_weight == [BALANCED] else None,
        "max_iter": args.max_iter,
        "weights": args.weights,
        "n_jobs": args.jobs,
        "random_state": args.seed,
        "verbose": 0 if args.quiet else 1,
    }


def merging(args: argparse.Namespace) -> Settings:
    """Return the parameter of exact training that merges columns."""
    return {"merge_columns": False if args.no_merge_columns else "auto"}


def formulation_name(name: str) -> str:
    """Return the full name of a formulation."""
    full = full_name(name)
    if full not in FORMULATIONS:
        hint = meant(name, [*FORMULATIONS, *SHORT_NAMES, LOGISTIC])
        raise argparse.ArgumentTypeError(
            f"must be one of {formulation_names()}; not {name!r}{hint}"
        )
    return full


def formulation_or_logistic(name: str) -> str:
    """Return the full name of a formulation, or "logistic"."""
    if name == LOGISTIC:
        return name
    try:
        return formulation_name(name)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(str(error).replace("; not", ", logistic; not")) from None


def formulation_names() -> str:
    """List all formulations, with their short names."""
    short = {full: f" ({short})" for short, full in SHORT_NAMES.items()}
    return ", ".join(name + short.get(name, "") for name in FORMULATIONS)
