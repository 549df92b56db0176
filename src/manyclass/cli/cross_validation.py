"""``manyclass cv``: compare values of C by cross-validation."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import (
    CommandParser,
    Say,
    UsageError,
    check_target,
    positive,
    positive_int,
    say,
    silent,
)
from manyclass.cli.input.costs import check_cost_scaling, take_by_label
from manyclass.cli.input.data import read, timed
from manyclass.cli.input.text import check_text, maker_of
from manyclass.cli.multilabel import Choice, check_multilabel_search, choose_multilabel
from manyclass.cli.options import (
    LOGISTIC,
    check_estimator_options,
    data_option,
    force_option,
    multilabel_option,
    parameters,
    problem_options,
    quiet_option,
    run_options,
)
from manyclass.cli.parameter_options import add_parameter
from manyclass.cli.train_options import check_logistic, check_margins, training_data_options
from manyclass.problem.formulations import LOSSES
from manyclass.utils.suggestions import TOP_K, meant

if TYPE_CHECKING:
    from manyclass.model_selection.base import SearchResult
    from manyclass.model_selection.estimators import (
        MulticlassSVCCV,
        MultinomialLogisticRegressionCV,
    )
    from manyclass.model_selection.folds import Column
    from manyclass.utils.types import Array, Settings

SCORINGS = {
    "accuracy": "accuracy",
    "f1_micro": "f1_micro",
    "f1_macro": "f1_macro",
    "log_loss": "neg_log_loss",
    "cost": "cost",
}
CV_EPILOG = """\
Every C is first trained to within 1 % of the optimum. Values that are not significantly worse than
the best one (corrected resampled t-test, 5 %) are trained to --tol, and the best of them is chosen.
After two significantly worse values, larger C are skipped. "gap" is the largest relative gap of the
folds. manyclass train -C auto does the same, and trains a model with the chosen C. With
--multilabel, every C is trained to --tol immediately, on random folds.
"""


def cv_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass cv``."""
    data_option(parser)
    compared = parser.add_argument_group("search")
    add = compared.add_argument
    add(
        "-C",
        "-c",
        type=positives,
        metavar="C,C,...",
        help="values to compare (default: 10 from 0.0001 to 10000)",
    )
    add(
        "--path",
        action="store_true",
        help="compare all values of C in --C-range: models are trained until, for every C, one is "
        "within E of the optimum",
    )
    add_parameter(compared, "C_range", type=positive, nargs=2, metavar=("MIN", "MAX"))
    add_parameter(compared, "epsilon")
    add(
        "--folds",
        type=positive_int,
        default=5,
        metavar="N",
        help="number of folds (default 5), stratified except with --multilabel",
    )
    add(
        "--scoring",
        type=scoring,
        metavar="S",
        help=f"{', '.join(SCORINGS)}, or top_3_accuracy: label among the 3 (or a different "
        "number of) best classes; cost: mean cost of mistakes, by --costs or --taxonomy; default "
        "accuracy, with --multilabel f1_micro",
    )
    add_parameter(compared, "one_standard_error")
    problem = parser.add_argument_group("model")
    problem_options(problem, list(LOSSES), "")
    multilabel_option(problem, "; one C for all labels")
    run = parser.add_argument_group("training")
    run.add_argument(
        "--tol", type=positive, default=1e-3, metavar="T", help="relative gap (default 0.001)"
    )
    run_options(run)
    training_data_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--plot", metavar="FILE", help="draw scores against C: .png, .svg or .pdf")
    quiet_option(output)
    force_option(output)


def scoring(name: str) -> str:
    """Return the name of a score; names of scikit-learn are accepted, too."""
    ours = next((ours for ours, theirs in SCORINGS.items() if name == theirs), name)
    if ours not in SCORINGS and not TOP_K.fullmatch(name):
        known = [*SCORINGS, "top_3_accuracy"]
        raise argparse.ArgumentTypeError(
            f"must be {', '.join(known[:-1])} or {known[-1]}, not {name!r}{meant(name, known)}"
        )
    return ours


def positives(text: str) -> list[float]:
    """Return several values of C."""
    return [positive(part) for part in text.split(",")]


def cv(args: argparse.Namespace) -> None:
    """Run ``manyclass cv``."""
    _check(args)
    log = silent if args.quiet or args.json else say
    choice = (choose_multilabel if args.multilabel else _choose)(args, log, _search(args))
    found = _as_json(choice, args.scoring)
    if args.json:
        say(json.dumps(found))
    else:
        advised = not args.one_standard_error
        end = advice_at_ends(choice.Cs, choice.scores, choice.C) if advised else ""
        log_choice(choice.C, found["score"], choice.seconds, end, log)
    if args.plot:
        _plot(choice, args.scoring, args.plot)
        log(f"saved {args.plot}")


def _choose(args: argparse.Namespace, log: Say, search: Settings) -> Choice:
    """Choose C for rows of one class each."""
    import numpy as np
    from sklearn.utils import check_random_state

    from manyclass.model_selection.cv_fit import choose

    model = estimator(args, search)
    model.verbose = 0
    X, y = read(args, np.dtype(args.dtype), log, args.n_features)
    take_by_label(model, args, y)
    largest = int(np.unique(y, return_counts=True)[1].max())
    if args.folds > largest:
        raise UsageError(
            f"argument --folds: must be at most {largest}, the number of rows of the largest class"
        )
    shows = not args.quiet and not args.json
    on_column = _Table(args.scoring, args.tol) if shows else _print_nothing
    found: list[SearchResult] = []
    random = check_random_state(args.seed)
    search_of = partial(choose, model, X, y, random, on_column, maker_of(args))
    seconds = timed(args, lambda: found.append(search_of()))
    result = found[0]
    tables = result.scores, result.gaps, result.seconds
    return Choice(result.C, result.Cs, result.best, *tables, seconds)


def estimator(
    args: argparse.Namespace, settings: Settings
) -> MulticlassSVCCV | MultinomialLogisticRegressionCV:
    """Return the estimator of a command line."""
    if args.formulation != LOGISTIC:
        from manyclass.model_selection.estimators import MulticlassSVCCV

        solver = getattr(args, "solver", "dual")
        own = {"formulation": args.formulation, "solver": "auto" if solver == "dual" else solver}
        return MulticlassSVCCV(**{**own, **parameters(args, MulticlassSVCCV), **settings})
    from manyclass.model_selection.estimators import MultinomialLogisticRegressionCV

    given = parameters(args, MultinomialLogisticRegressionCV)
    return MultinomialLogisticRegressionCV(**{**given, **settings})


def log_choice(C: float, score: float, seconds: float, end: str, log: Say) -> None:
    """Log the choice; `end` is what ``advice_at_ends`` returns."""
    log(f"chosen: C = {C:.6g}, mean score {score:.4f}; {seconds:.2f} s{end}")


def advice_at_ends(Cs: Array, scores: Array, C: float) -> str:
    """Return what to say of a C at an end of `Cs` if their scores, by fold and C, differ."""
    import numpy as np

    means = scores[:, ~np.isnan(scores).any(axis=0)].mean(axis=0)
    if means.min() == means.max() or C not in (Cs[0], Cs[-1]):
        return ""
    end, others = ("smallest", "smaller") if Cs[0] == C else ("largest", "larger")
    return f"; this is the {end} value compared: try {others} ones, too"


def _print_nothing(_C: float, _column: object) -> None:
    """Print nothing."""


class _Table:
    """Prints a line for each C, then the lines of fits continued to a smaller gap."""

    def __init__(self, scoring: str, tol: float) -> None:
        self.sign, self.tol, self.last = _sign(scoring), tol, 0.0
        self.width = max(10, len(scoring))
        score = f"{scoring:>{self.width}}"
        say(f"{'C':>10}  {score}  {'deviation':>9}  {'seconds':>8}  {'gap':>8}")

    def __call__(self, C: float, column: Column) -> None:
        import numpy as np

        if self.last >= C:
            say(f"the best ones again, to a gap of {self.tol:g}:")
        self.last = C
        scores = np.array([entry.score for entry in column])
        gap = max(entry.gap for entry in column)
        seconds = sum(entry.seconds for entry in column)
        mean = self.sign * scores.mean() + 0.0  # not -0
        say(
            f"{C:>10.4g}  {mean:>{self.width}.4f}  {scores.std():>9.4f}  "
            f"{seconds:>8.2f}  {gap:>8.1e}"
        )


def _sign(scoring: str) -> int:
    """Return -1 for a loss, which scikit-learn negates."""
    return -1 if scoring in ("log_loss", "cost") else 1


def _check(args: argparse.Namespace) -> None:
    """Refuse incompatible options, before the data are read."""
    check_text(args)
    check_estimator_options(args)
    if args.folds < 2:
        raise UsageError("argument --folds: must be at least 2")
    for flag, value in (("--C-range", args.C_range), ("--epsilon", args.epsilon)):
        if value is not None and not args.path:
            raise UsageError(f"argument {flag}: requires --path")
    if args.path and args.C:
        raise UsageError("argument --path: replaces -C; give --C-range instead")
    if args.C_range and not args.C_range[0] < args.C_range[1]:
        raise UsageError("argument --C-range: MIN must be less than MAX")
    if args.multilabel:
        check_multilabel_search(args)
    elif args.scoring == "f1_micro":
        raise UsageError(
            "argument --scoring: f1_micro requires --multilabel; with one class per row, use "
            "accuracy, which is the same"
        )
    args.scoring = args.scoring or ("f1_micro" if args.multilabel else "accuracy")
    args.formulation = args.formulation or "crammer_singer"
    _check_formulation(args)
    if args.plot:
        _check_plot(args)


def _check_formulation(args: argparse.Namespace) -> None:
    """Refuse options that a formulation lacks."""
    if args.scoring == "log_loss" and args.formulation != LOGISTIC:
        raise UsageError("argument --scoring: log_loss requires --formulation logistic")
    if args.scoring == "cost" and not (args.costs or args.taxonomy):
        raise UsageError("argument --scoring: cost requires --costs or --taxonomy")
    if args.formulation == LOGISTIC:
        check_logistic(args)
    check_cost_scaling(args)
    if args.formulation != LOGISTIC:
        args.loss = args.loss or "hinge"
        check_margins(args)


def _check_plot(args: argparse.Namespace) -> None:
    if Path(args.plot).suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"argument --plot: {args.plot} must end with .png, .svg or .pdf")
    if Path(args.plot).exists() and not args.force:
        raise UsageError(f"{args.plot}: exists already; choose another name, or give --force")
    check_target(args.plot, [args.data], special=False)
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError(
            "argument --plot: needs matplotlib; install it, or leave out --plot"
        ) from error
    mpl.use("Agg")


def _search(args: argparse.Namespace) -> Settings:
    """Return the parameters of the search."""
    return {
        "Cs": "path" if args.path else args.C or 10,
        "cv": args.folds,
        "scoring": SCORINGS.get(args.scoring, args.scoring),
    }


def _as_json(choice: Choice, scoring: str) -> Settings:
    import numpy as np

    def rows(values: Array) -> list[list[float | None]]:
        return [[None if np.isnan(v) else float(v) for v in row] for row in values]

    sign = _sign(scoring)
    return {
        "C": choice.C,
        "scoring": scoring,
        "score": sign * float(choice.scores[:, choice.best].mean()) + 0.0,
        "Cs": choice.Cs.tolist(),
        "scores": rows(sign * choice.scores),
        "gaps": rows(choice.gaps),
        "fit_seconds": rows(choice.fit_seconds),
        "seconds": choice.seconds,
    }


def _plot(choice: Choice, scoring: str, file: str) -> None:
    from matplotlib import pyplot as plt

    from manyclass.displays import CPathDisplay
    from manyclass.io.atomic import replacement

    scores = _sign(scoring) * choice.scores
    figure, ax = plt.subplots(layout="constrained")
    CPathDisplay.from_scores(choice.Cs, scores, choice.gaps, C=choice.C, scoring=scoring).plot(ax)
    with replacement(file) as out:
        figure.savefig(out, dpi=150, format=Path(file).suffix[1:])
    plt.close(figure)
