"""Options of ``manyclass train`` and their compatibility."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from manyclass.cli.console import CommandParser, UsageError, finite, positive
from manyclass.cli.input.costs import check_cost_scaling
from manyclass.cli.input.text import check_text, text_options
from manyclass.cli.options import (
    LOGISTIC,
    check_estimator_options,
    data_and_model,
    force_option,
    multilabel_option,
    problem_options,
    quiet_option,
    reader_options,
    run_options,
    shape_options,
)
from manyclass.cli.parameter_options import add_parameter, add_parameters, flag_of, foreign_options
from manyclass.estimators.parameters.search import MULTILABEL
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.formulations import LOSSES as MARGIN_LOSSES

# Other exact solvers, with the options of dual.
COMPARED = ("sequential_dual", "exponentiated_gradient", "cutting_plane", "most_violating")
STOCHASTIC_LOSSES = ("hinge", "log_loss", "perceptron")
# Options of exact and of stochastic training that are not in the table of parameters.
OF_EXACT = ("formulation", "C", "split", "taxonomy")
OF_STOCHASTIC = ("out_of_core",)
AUTO = "auto"  # value of C
MINUTES = 10.0  # between two checkpoints


def _number_or(text: str, word: str, convert: Callable[[str], float]) -> float | str:
    """Return the converted number, or the text if it equals `word`."""
    try:
        return text if text == word else convert(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(str(error).replace(", not", f" or {word}, not")) from None


def train_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass train``."""
    data_and_model(parser)
    _problem_options(parser.add_argument_group("model"))
    _run_options(parser.add_argument_group("training"))
    training_data_options(parser)
    output = parser.add_argument_group("output")
    quiet_option(output)
    force_option(output)
    _multilabel_options(parser.add_argument_group("label sets"))
    _stochastic_options(
        parser.add_argument_group(
            "--solver stochastic: a few passes over the data, which may be read in blocks"
        )
    )


def training_data_options(parser: CommandParser) -> None:
    """Add the options of commands that train: what the rows are."""
    data = parser.add_argument_group("data")
    reader_options(data)
    shape_options(data)
    text_options(parser.add_argument_group("text in a table"))


def _problem_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "-C",
        "-c",
        type=partial(_number_or, word=AUTO, convert=positive),
        help="cost of a unit of loss (default 1); auto: chosen by cross-validation, as in "
        "manyclass cv",
    )
    about_loss = (
        "; squared_hinge: for formulations that add losses; log_loss, perceptron: with --solver "
        "stochastic (log_loss is the default of --formulation logistic)"
    )
    problem_options(group, [*MARGIN_LOSSES, *STOCHASTIC_LOSSES[1:]], about_loss)


def _run_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--tol",
        type=positive,
        default=1e-3,
        metavar="T",
        help="when to stop (default 0.001): dual: see --stopping; stochastic: when the mean loss "
        "(or accuracy, with --early-stopping) has not improved by T for five epochs",
    )
    add_parameter(group, "stopping")
    run_options(group)
    add(
        "--solver",
        choices=["dual", *COMPARED, "stochastic"],
        default="dual",
        help="dual (default): trains to a proven distance from the optimum; stochastic: a few "
        "passes without a certificate; the others: slower exact solvers, for comparison",
    )
    add_parameter(group, "checkpoint")
    add_parameter(group, "checkpoint_minutes", type=positive)
    add_parameter(group, "resume", action="store", type=str)
    add(
        "--start",
        metavar="OLD",
        help="warm start on changed rows, from a file of --state or from a logistic regression "
        "model",
    )
    add(
        "--state",
        metavar="FILE",
        help="also write the state of training to FILE, for --start in a later run",
    )
    add(
        "--split",
        choices=["classes", "rows"],
        help="how the processes of mpiexec divide the problem: by classes (default; all "
        "formulations except logistic, adm and atm), or by rows (all formulations)",
    )


def _multilabel_options(group: argparse._ArgumentGroup) -> None:
    multilabel_option(group, "; trains one binary SVM per label")
    add_parameter(group, "threshold", type=partial(_number_or, word="tuned", convert=finite))
    add_parameter(group, "prune", type=positive)


def _check_multilabel(args: argparse.Namespace) -> None:
    """Refuse options that models of label sets lack; set the options of MultilabelSVC."""
    for flag in ("threshold", "prune"):
        if getattr(args, flag) is not None and not args.multilabel:
            raise UsageError(f"argument --{flag}: requires --multilabel")
    if not args.multilabel:
        return
    from manyclass.multilabel.svc import MultilabelSVC

    others = ("formulation", "taxonomy", *OF_STOCHASTIC)
    given = foreign_options(args, [MultilabelSVC], others)
    given += ["solver"] if args.solver != "dual" else []
    if given:
        raise UsageError(
            f"argument {flag_of(given[0])}: cannot be combined with --multilabel; leave it out"
        )
    args.formulation = "one_vs_rest"


def _stochastic_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add_parameters(group, "alpha", "batch_size", "max_steps", "average", "early_stopping")
    add(
        "--out-of-core",
        action="store_true",
        default=None,
        help="read DATA in blocks in every epoch (default: if it may not fit into memory)",
    )


def _check_auto(args: argparse.Namespace) -> None:
    """Refuse options that cannot be combined with -C auto."""
    refused = {
        "--stopping": args.stopping == "kkt",
        "--checkpoint": bool(args.checkpoint),
        "--resume": bool(args.resume),
    }
    for flag, given in refused.items():
        if given:
            raise UsageError(
                f"argument {flag}: cannot be combined with -C auto; run manyclass cv first"
            )


def _refuse_other_solver(args: argparse.Namespace) -> None:
    """Refuse options of the other solver."""
    from manyclass.estimators.logistic import MultinomialLogisticRegression
    from manyclass.estimators.stochastic.classifier import StochasticClassifier
    from manyclass.estimators.svc import MulticlassSVC

    if args.solver == "stochastic":
        foreign, other = foreign_options(args, [StochasticClassifier], OF_EXACT), "dual"
    else:
        exact = [MulticlassSVC, MultinomialLogisticRegression]
        foreign, other = foreign_options(args, exact, OF_STOCHASTIC), "stochastic"
    for name in foreign:
        if name not in MULTILABEL:
            raise UsageError(f"argument {flag_of(name)}: requires --solver {other}")


def _check_state(args: argparse.Namespace) -> None:
    """Refuse --start and --state if training does not support them."""
    for flag in ("start", "state"):
        if getattr(args, flag) is None:
            continue
        if not getattr(args, flag):
            raise UsageError(f"argument --{flag}: needs the name of a file")
        if args.solver != "dual" or args.C == AUTO:
            option = "--solver" if args.solver != "dual" else "-C"
            given = args.solver if args.solver != "dual" else AUTO
            raise UsageError(
                f"argument --{flag}: cannot be combined with {option} {given}; leave it out"
            )
        if flag == "start" and args.resume:
            raise UsageError("argument --start: cannot be combined with --resume; leave one out")


def check_options(args: argparse.Namespace) -> None:
    """Set defaults and refuse incompatible options, before the data are read."""
    check_text(args)
    _check_state(args)
    _check_multilabel(args)
    _refuse_other_solver(args)
    args.formulation = args.formulation or "crammer_singer"
    args.C = args.C or 1.0
    check_estimator_options(args)
    if args.C == AUTO:
        _check_auto(args)
    check_cost_scaling(args)
    logistic = args.formulation == LOGISTIC
    if args.split == "classes" and logistic:
        raise UsageError("argument --split: logistic divides rows; give --split rows")
    args.loss = args.loss or ("log_loss" if logistic else "hinge")
    if logistic:
        check_logistic(args)
    elif args.solver == "stochastic":
        _check_stochastic(args)
        return
    else:
        check_margins(args)
    _check_checkpoint_options(args)


def _check_stochastic(args: argparse.Namespace) -> None:
    """Refuse options that stochastic training lacks."""
    if args.loss not in STOCHASTIC_LOSSES:
        raise UsageError(f"argument --loss: {args.loss} requires --solver dual")
    if args.loss == "log_loss" and args.weights == "sparse":
        raise UsageError(
            "argument --weights: sparse cannot be combined with --loss log_loss, which changes the "
            "weights of all classes in every step"
        )


def check_logistic(args: argparse.Namespace) -> None:
    """Refuse options that logistic regression lacks; cv has no solver and no stopping."""
    loss, solver = args.loss or "log_loss", getattr(args, "solver", "dual")
    stops_at_gap = getattr(args, "stopping", "gap") != "kkt"
    refused = {
        "--loss": loss != "log_loss"
        and f"{loss} cannot be combined with --formulation logistic; leave out",
        "--solver": solver != "dual"
        and f"{solver} cannot be combined with --formulation logistic; leave out",
        "--stopping": not stops_at_gap and "logistic stops by the gap; leave out",
        "--weights": args.weights == "sparse" and "logistic uses dense weights; leave out",
        "--costs": args.costs and "logistic does not support costs of mistakes; leave out",
        "--taxonomy": args.taxonomy and "logistic does not support costs of mistakes; leave out",
    }
    for flag, why in refused.items():
        if why:
            raise UsageError(f"argument {flag}: {why} {flag}")


def _check_checkpoint_options(args: argparse.Namespace) -> None:
    """Set ``checkpoint`` to the folder, and ``resume`` to True or False."""
    if args.checkpoint and args.resume:
        raise UsageError("argument --resume: writes to its own folder; leave out --checkpoint")
    if args.checkpoint_minutes and not (args.checkpoint or args.resume):
        raise UsageError("argument --checkpoint-minutes: requires --checkpoint or --resume")
    args.checkpoint_minutes = args.checkpoint_minutes or MINUTES
    args.checkpoint = args.checkpoint or args.resume
    args.resume = args.resume is not None


def check_margins(args: argparse.Namespace) -> None:
    """Refuse options that an exact SVM lacks."""
    formulation, loss = args.formulation, args.loss
    if args.regularize_intercept:
        raise UsageError("argument --regularize-intercept: requires --formulation logistic")
    if loss not in MARGIN_LOSSES:
        raise UsageError(f"argument --loss: {loss} requires --solver stochastic")
    if loss not in FORMULATIONS[formulation].losses:
        others = [name for name, f in FORMULATIONS.items() if loss in f.losses]
        raise UsageError(
            f"argument --loss: {formulation} takes the largest loss of a row, which must be hinge; "
            f"{loss} requires one of {', '.join(others)}"
        )
