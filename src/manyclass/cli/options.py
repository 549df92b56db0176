"""Options of several commands, and names of formulations."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import CommandParser, Say, UsageError, finite, jobs, positive_int
from manyclass.cli.input.costs import BALANCED, class_offset, taxonomy_option
from manyclass.cli.input.tables import table_options
from manyclass.cli.input.text import text_option
from manyclass.cli.parameter_options import add_parameter, add_parameters, given_parameters
from manyclass.problem.formulations import FORMULATIONS, SHORT_NAMES, full_name
from manyclass.utils.suggestions import meant

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from manyclass.persistence.state_schema import Stateful
    from manyclass.utils.types import Settings


Options = CommandParser | argparse._ArgumentGroup
STDIN = "/dev/stdin"
LOGISTIC = "logistic"  # as a formulation: another estimator


def data_option(parser: CommandParser, what: str = "", nargs: str | None = None) -> None:
    """Add the data file."""
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs=nargs,
        type=file_or_stdin,
        help=f"{what}svmlight file, plain or "
        "compressed; file written by manyclass convert; or table (Parquet, Arrow, CSV, .npy, "
        ".npz); - for standard input",
    )


def swap_data_and_model(args: argparse.Namespace) -> None:
    """Exchange DATA and MODEL if DATA is a model file and MODEL is not."""
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
    data_and_model(parser)
    add_parameter(parser, "n_jobs", type=jobs, default=1)
    reader_options(parser)
    text_option(parser)


def data_and_model(parser: CommandParser) -> None:
    """Add the two files."""
    data_option(parser)
    parser.add_argument("model", metavar="MODEL", help="model file")


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
    """Refuse contradictory options; a bias of 0 or less means no intercept."""
    given = args.class_weight or []
    if BALANCED in given and len(given) > 1:
        raise UsageError("argument --class-weight: balanced cannot be combined with LABEL=W")
    labels = [entry[0] for entry in given if entry != BALANCED]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise UsageError(f"argument --class-weight: {twice[0]} is given twice")
    if args.bias is not None and args.no_intercept:
        raise UsageError("argument --bias: cannot be combined with --no-intercept")
    if args.bias is not None and args.bias <= 0:
        args.bias, args.no_intercept = None, True


def convert_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass convert``."""
    parser.add_argument("data", metavar="DATA", help="svmlight file, plain or compressed, or table")
    parser.add_argument("out", metavar="OUT", help="file to write")
    multilabel_option(parser)
    add_parameter(parser, "n_jobs", type=jobs, default=1)
    reader_options(parser)
    shape_options(parser)
    quiet_option(parser)
    force_option(parser)


def force_option(group: Options) -> None:
    """Add the option to overwrite any file."""
    group.add_argument(
        "--force",
        action="store_true",
        help="replace an existing file of any kind (default: only of the same kind)",
    )


def reader_options(group: Options) -> None:
    """Add the options of commands that read data."""
    add = group.add_argument
    table_options(group)
    add(
        "--zero-based",
        action="store_true",
        help="in svmlight files, feature numbers start at 0 (default: at 1)",
    )
    add("--sort", action="store_true", help="sort rows whose feature numbers are not ascending")
    add(
        "--sum-duplicates",
        action="store_true",
        help="add up the values of a feature that is given twice",
    )


def problem_options(group: Options, losses: Sequence[str], about_loss: str) -> None:
    """Add the options of commands that train: what is minimized."""
    group.add_argument(
        "--formulation",
        type=formulation_or_logistic,
        metavar="F",
        help=f"formulation of the SVM: {formulation_names()}; or logistic, multinomial logistic "
        "regression; default crammer_singer",
    )
    group.add_argument("--loss", choices=losses, help=f"default hinge{about_loss}")
    add_parameter(group, "class_weight", type=class_weight, action="append")
    add_parameter(group, "fit_intercept")
    add_parameter(group, "intercept_scaling", type=finite)
    add_parameter(group, "regularize_intercept")
    add_parameters(group, "costs", "cost_scaling")
    taxonomy_option(group, "whose distances are costs")
    add_parameter(group, "class_offset", type=class_offset, action="append")


def multilabel_option(group: Options, more: str = "") -> None:
    """Add the option for label sets."""
    text = f"rows have label sets, as in 3,7,12 5:0.3 9:1, or red;round in a table{more}"
    group.add_argument("--multilabel", action="store_true", help=text)


def run_options(group: Options) -> None:
    """Add the options of commands that train: how it is minimized."""
    add_parameter(group, "n_jobs", type=jobs, default=1)
    add_parameters(group, "max_iter", "weights", "merge_columns")
    add_parameter(group, "random_state", default=0)


def quiet_option(group: Options) -> None:
    """Add the option to print little."""
    group.add_argument("--quiet", action="store_true", help="print nothing but warnings and errors")


def shape_options(group: Options) -> None:
    """Add the options of commands that convert text to numbers."""
    add = group.add_argument
    add(
        "--dtype",
        choices=["float32", "float64"],
        default="float32",
        help="type of the values (default float32)",
    )
    add(
        "--n-features",
        type=positive_int,
        metavar="N",
        help="number of features, if larger than in DATA",
    )


def parameters(args: argparse.Namespace, estimator: type[BaseEstimator]) -> Settings:
    """Return the parameters of an estimator that are given on the command line."""
    from manyclass.estimators.parameters.documented import defaults_of

    names = defaults_of(estimator)
    files = ("class_weight", "class_offset", "costs")  # set once the labels are known
    shared = {"loss": args.loss, "tol": args.tol, "verbose": 0 if args.quiet else 1}
    if args.class_weight == [BALANCED]:
        shared["class_weight"] = BALANCED
    given = given_parameters(args, set(names).difference(files))
    return {**given, **{name: value for name, value in shared.items() if name in names}}


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


def begin(model: Stateful, args: argparse.Namespace, log: Say) -> None:
    """Start training from ``--start``, and keep its state for ``--state``."""
    model.warm_start = bool(args.start or args.state)
    if not args.start:
        return
    from manyclass.persistence.state_file import start_from

    log(f"{args.start}: {start_from(model, args.start)}")


def write_state(model: Stateful, args: argparse.Namespace, log: Say) -> None:
    """Write the state of a training to ``--state``."""
    if not args.state:
        return
    from manyclass.persistence.state_file import save_state

    save_state(args.state, model)
    log(f"saved {args.state}")
