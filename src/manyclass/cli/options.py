"""Options of the command line, and which of them go together."""

from __future__ import annotations

import argparse
import re

from manyclass.cli.console import Parser, UsageError, jobs, positive, positive_int, seed
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.formulations import LOSSES as MARGIN_LOSSES

SHORTHANDS = {
    "cs": "crammer_singer",
    "ww": "weston_watkins",
    "llw": "lee_lin_wahba",
    "rm": "reinforced",
    "ovr": "one_vs_rest",
}
# Solvers that are exact as well, and take the options of dual.
COMPARED = ("sequential_dual", "exponentiated_gradient", "cutting_plane", "most_violating")
STOCHASTIC_LOSSES = ("hinge", "log_loss", "perceptron")
# Options of one solver only, and what they are when they are not given.
DUAL = {
    "formulation": "crammer_singer",
    "C": 1.0,
    "stopping": "gap",
    "checkpoint": None,
    "checkpoint_minutes": None,
    "resume": None,
    "regularize_intercept": False,
}
STOCHASTIC = {
    "alpha": 1e-4,
    "batch_size": 1,
    "max_steps": None,
    "average": False,
    "early_stopping": False,
    "out_of_core": False,
}
LOGISTIC = "logistic"  # as a formulation: another estimator
FLAGS = {"C": "-C"}
# Parameters that messages advise, and those of them that are meant only where = follows.
SWITCHES = {
    "zero_based",
    "sort",
    "sum_duplicates",
    "early_stopping",
    "weights",
    "loss",
    "solver",
    "stopping",
}
ADVISED = SWITCHES | {"n_features", "max_iter", "tol", "alpha", "C", "batch_size", "max_steps"}
MINUTES = 10.0  # between two checkpoints


def data_options(parser: Parser) -> None:
    """Add what every command on a data file and a model has."""
    parser.add_argument(
        "data", metavar="DATA", help="svmlight file, plain or compressed; or one of convert"
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    reader_options(parser)


def convert_options(parser: Parser) -> None:
    """Add the options of ``manyclass convert``."""
    parser.add_argument("data", metavar="DATA", help="svmlight file, plain or compressed")
    parser.add_argument("out", metavar="OUT", help="file to write")
    reader_options(parser)
    _shape_options(parser)


def force_option(parser: Parser) -> None:
    """Add what lets a command overwrite any file."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace an existing file whatever it is (default: one of the same kind only)",
    )


def reader_options(parser: Parser) -> None:
    """Add what every command that reads data has."""
    add = parser.add_argument
    add("--jobs", type=jobs, default=1, metavar="N", help="threads; -1: all cores")
    add("--zero-based", action="store_true", help="feature numbers count from 0")
    add("--sort", action="store_true", help="sort rows whose feature numbers are not ascending")
    add("--sum-duplicates", action="store_true", help="add up values of a feature given twice")


def _shape_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--dtype", choices=["float32", "float64"], default="float32", help="type of the values")
    add("--n-features", type=positive_int, metavar="N", help="columns, if more than DATA uses")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")
    force_option(parser)


def train_options(parser: Parser) -> None:
    """Add the options of ``manyclass train``."""
    data_options(parser)
    _common_options(parser)
    _dual_options(parser.add_argument_group("--solver dual: exact, with a proof"))
    _stochastic_options(
        parser.add_argument_group("--solver stochastic: a few passes, also over files in blocks")
    )


def _common_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--solver",
        choices=["dual", *COMPARED, "stochastic"],
        default="dual",
        help="dual (default): to a proven distance from the optimum; or stochastic; or, to compare "
        "with, one of the others, which are exact, too",
    )
    add(
        "--loss",
        choices=[*MARGIN_LOSSES, *STOCHASTIC_LOSSES[1:]],
        help="default hinge; squared_hinge: dual, if F sums; log_loss, perceptron: stochastic "
        "(log_loss also with --formulation logistic, where it is the default)",
    )
    add(
        "--tol",
        type=positive,
        default=1e-3,
        metavar="T",
        help="when to stop (default 0.001): dual: see --stopping; stochastic: when the mean loss "
        "(or accuracy, with --early-stopping) has not improved by T for five epochs",
    )
    add("--no-intercept", action="store_true", help="leave out the constant feature")
    add("--class-weight", choices=["balanced"], help="give every class the same total weight")
    add(
        "--weights",
        choices=["auto", "dense", "sparse"],
        default="auto",
        help="how weights are held: for thousands of classes sparse (default: what fits)",
    )
    add("--max-iter", type=positive_int, default=1000, metavar="N", help="epochs at most (1000)")
    add("--seed", type=seed, default=0, metavar="S", help="orders the visits (default 0)")
    _shape_options(parser)


def _dual_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--formulation",
        type=formulation_or_logistic,
        metavar="F",
        help=f"which machine: {formulation_names()}; or logistic, multinomial logistic regression; "
        "default crammer_singer",
    )
    group.add_argument("-C", type=positive, help="cost of a unit of loss (default 1)")
    group.add_argument(
        "--stopping",
        choices=["gap", "kkt"],
        help="what T means: relative duality gap (default), or violation of the conditions",
    )
    group.add_argument(
        "--regularize-intercept",
        action="store_true",
        default=None,
        help="with logistic: regularise the intercepts, too (the others always do)",
    )
    group.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="save the state of training in this folder from time to time, on Ctrl-C, SIGTERM and "
        "at the end",
    )
    group.add_argument(
        "--checkpoint-minutes",
        type=positive,
        metavar="N",
        help="how often (default 10), between two epochs",
    )
    group.add_argument(
        "--resume",
        metavar="DIR",
        help="go on from the last checkpoint in this folder, and save more there: same DATA, F, C, "
        "loss, weights and intercept; anything else may differ",
    )


def _stochastic_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--alpha", type=positive, metavar="A", help="regularisation (default 0.0001)")
    add("--batch-size", type=positive_int, metavar="R", help="rows in a step (default 1)")
    add("--max-steps", type=positive_int, metavar="N", help="steps at most (default: no limit)")
    add("--average", action="store_true", default=None, help="average the weights of the steps")
    add(
        "--early-stopping",
        action="store_true",
        default=None,
        help="hold out a tenth of the rows, and stop when their accuracy improves no more",
    )
    add(
        "--out-of-core",
        action="store_true",
        default=None,
        help="read DATA in blocks in every epoch (default: if it may not fit into memory)",
    )


def in_flags(text: str, args: argparse.Namespace) -> str:
    """Return a message whose advice, behind its last ; or :, names flags in place of parameters.

    What comes before may be the name of a file or what it holds, and stays.
    """
    cut = max(text.rfind(mark) for mark in ("; ", ": ")) + 1
    advice = text[cut:]
    folder = getattr(args, "checkpoint", None)
    advice = advice.replace("resume=True", f"--resume {folder}")
    advice = advice.replace("resume=False", f"--checkpoint {folder}")
    uses = "use" if hasattr(args, "dtype") else "train with"
    advice = re.sub(r"\buse (float32|float64)\b", rf"{uses} --dtype \1", advice)
    for name in ADVISED & vars(args).keys():
        advice = _with_flag(advice, name, FLAGS.get(name, "--" + name.replace("_", "-")))
    return text[:cut] + advice


def _with_flag(advice: str, name: str, flag: str) -> str:
    word = rf"(?<![\w./-]){name}"
    advice = re.sub(rf"use {name}=False\b", f"leave out {flag}", advice)
    advice = re.sub(rf"{word}=True\b", flag, advice)
    advice = re.sub(rf"{word}='(\w+)'", rf"{flag} \1", advice)
    return advice if name in SWITCHES else re.sub(rf"{word}(?![\w./=-])", flag, advice)


def formulation_name(name: str) -> str:
    """Return the full name of a formulation."""
    full = SHORTHANDS.get(name, name)
    if full not in FORMULATIONS:
        raise argparse.ArgumentTypeError(f"must be one of {formulation_names()}; not {name!r}")
    return full


def formulation_or_logistic(name: str) -> str:
    """Return the full name of what ``manyclass train`` trains."""
    if name == LOGISTIC:
        return name
    try:
        return formulation_name(name)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(str(error).replace("; not", ", logistic; not")) from None


def formulation_names() -> str:
    """List all formulations, with their short names."""
    short = {full: f" ({short})" for short, full in SHORTHANDS.items()}
    return ", ".join(name + short.get(name, "") for name in FORMULATIONS)


def settle(args: argparse.Namespace) -> None:
    """Fill in what was not given; refuse what does not go together, before the data are read."""
    own, foreign = (STOCHASTIC, DUAL) if args.solver == "stochastic" else (DUAL, STOCHASTIC)
    for name in foreign:
        if getattr(args, name) is not None:
            flag = FLAGS.get(name, "--" + name.replace("_", "-"))
            other = "dual" if foreign is DUAL else "stochastic"
            raise UsageError(f"argument {flag}: goes with --solver {other}")
    for name, default in own.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    logistic = args.formulation == LOGISTIC
    if args.loss is None:
        args.loss = "log_loss" if logistic else "hinge"
    if logistic:
        _check_logistic(args)
    elif args.solver == "stochastic":
        _check_stochastic(args)
    else:
        if args.regularize_intercept:
            raise UsageError("argument --regularize-intercept: goes with --formulation logistic")
        if args.loss not in MARGIN_LOSSES:
            raise UsageError(f"argument --loss: {args.loss} goes with --solver stochastic")
        _check_loss(args.formulation, args.loss)
        _settle_checkpoints(args)


def _check_stochastic(args: argparse.Namespace) -> None:
    """Refuse what stochastic training does not have."""
    if args.loss not in STOCHASTIC_LOSSES:
        raise UsageError(f"argument --loss: {args.loss} goes with --solver dual")
    if args.loss == "log_loss" and args.weights == "sparse":
        raise UsageError(
            "argument --weights: sparse does not go with --loss log_loss, which moves the weights "
            "of all classes in every step"
        )


def _check_logistic(args: argparse.Namespace) -> None:
    """Refuse what logistic regression does not have."""
    refused = {
        "--loss": args.loss != "log_loss" and f"{args.loss} is not the loss of logistic; leave out",
        "--solver": args.solver != "dual" and f"{args.solver} does not train logistic; leave out",
        "--stopping": args.stopping != "gap" and "logistic stops at a gap; leave out",
        "--weights": args.weights == "sparse" and "logistic holds W dense; leave out",
    }
    for flag, why in refused.items():
        if why:
            raise UsageError(f"argument {flag}: {why} {flag}")
    _settle_checkpoints(args)


def _settle_checkpoints(args: argparse.Namespace) -> None:
    """Leave the folder in ``checkpoint``, and in ``resume`` whether to go on from what it holds."""
    if args.checkpoint and args.resume:
        raise UsageError("argument --resume: writes to its own folder; leave out --checkpoint")
    if args.checkpoint_minutes and not (args.checkpoint or args.resume):
        raise UsageError("argument --checkpoint-minutes: goes with --checkpoint or --resume")
    args.checkpoint_minutes = args.checkpoint_minutes or MINUTES
    args.checkpoint = args.checkpoint or args.resume
    args.resume = args.resume is not None


def _check_loss(formulation: str, loss: str) -> None:
    """Refuse what the estimator would refuse, before the data are read."""
    if loss not in FORMULATIONS[formulation].losses():
        others = [name for name, f in FORMULATIONS.items() if loss in f.losses()]
        raise UsageError(
            f"argument --loss: {formulation} takes the largest loss of a row, which must be hinge; "
            f"{loss} goes with {', '.join(others)}"
        )
