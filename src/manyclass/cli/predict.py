"""``manyclass predict``, ``manyclass evaluate`` and ``manyclass calibrate``."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from manyclass.cli.console import (
    CommandParser,
    UsageError,
    count,
    not_negative,
    positive_int,
    say,
    silent,
)
from manyclass.cli.input.costs import check_nodes, read_taxonomy, taxonomy_option
from manyclass.cli.input.data import is_multilabel, load_for, read_for
from manyclass.cli.multilabel import evaluate_multilabel, predict_multilabel
from manyclass.cli.options import data_options, force_option, quiet_option, swap_data_and_model
from manyclass.io import atomic
from manyclass.utils.user_warning import warn_user

if TYPE_CHECKING:
    from manyclass.persistence.model_schema import Estimator
    from manyclass.problem.taxonomy import Taxonomy
    from manyclass.utils.types import Array, Rows, Settings


# Lines of predictions in memory at a time.
LINES_AT_A_TIME = 1 << 16
SCORES_AT_A_TIME = 1 << 22
FEATURES = "Features that the model was not trained on are ignored."
LABELS = f"""\
{FEATURES}
Comparison of labels: if the labels of the file and the classes of the model are both numbers, or
both text, they are compared directly (1 equals 1.0, 'cat' equals 'cat'). If only one of them is
text, text that is a number is compared as a number. Labels that are not a class of the model count
as errors.
"""


def predict_options(parser: CommandParser) -> None:
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
        help="write its probability after every label (for models of --formulation logistic, "
        "--loss log_loss or manyclass calibrate)",
    )
    parser.add_argument(
        "--reject",
        type=not_negative,
        metavar="T",
        help="write no class for rows with a confidence below T. Confidence is the largest "
        "probability or, without probabilities, the largest score minus the second",
    )
    parser.add_argument(
        "--reject-label",
        metavar="LABEL",
        help="label of rejected rows (default: an empty line if classes are text, else -1)",
    )
    force_option(parser)


def predict(args: argparse.Namespace) -> None:
    """Run ``manyclass predict``."""
    from manyclass.cli.input.file_kinds import check_output, labels_of

    swap_data_and_model(args)
    model = load_for(args, may_be_multilabel=True)
    if is_multilabel(model):
        predict_multilabel(args, model)
        return
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
            f"argument --probabilities: {args.model} has none; calibrate it (manyclass calibrate), "
            "or train with --formulation logistic, or --solver stochastic --loss log_loss"
        )
    top, rejection = args.top_k or 1, _rejection(args, model)
    X, _ = read_for(args, model, silent)
    with atomic.output(args.out) as file:
        step = max(1, SCORES_AT_A_TIME // n_classes) if args.probabilities else LINES_AT_A_TIME
        for begin in range(0, X.shape[0], step):
            columns = _columns(model, X[begin : begin + step], top, args.probabilities, rejection)
            lines = zip(*columns, strict=True)
            file.write("".join("\t".join(map(str, line)) + "\n" for line in lines).encode())


def _rejection(args: argparse.Namespace, model: Estimator) -> Settings:
    """Return the arguments of ``predict`` that reject rows."""
    from manyclass.estimators.decisions import checked_threshold, label_of_rejected

    if args.reject is None:
        if args.reject_label is not None:
            raise UsageError("argument --reject-label: give --reject, the threshold, too")
        return {}
    if (args.top_k or 1) > 1:
        raise UsageError("argument --reject: not allowed with argument --top-k")
    try:
        checked_threshold(args.reject, model)
    except ValueError as error:
        raise UsageError(f"argument --reject: {str(error).removeprefix('reject ')}") from None
    given: str | None = args.reject_label
    label: str | float | None = given
    if given is not None and any(mark in given for mark in "\t\n\r"):
        raise UsageError("argument --reject-label: must not contain a tab or line break")
    if given is not None and not isinstance(model.classes_.tolist()[0], str):
        try:
            label = float(given) if model.classes_.dtype.kind == "f" else int(given)
        except ValueError:
            raise UsageError(
                f"argument --reject-label: the classes are numbers, and {given!r} is none"
            ) from None
    try:
        shown = label_of_rejected(label, model.classes_)
    except ValueError as error:
        message = str(error).removeprefix("reject_label: ")
        raise UsageError(f"argument --reject-label: {message}") from None
    return {"reject": args.reject, "reject_label": shown}


def _columns(
    model: Estimator, X: Rows, top: int, probabilities: bool, rejection: Settings
) -> list[list[object]]:
    """Return the best labels of rows, the best first, each with its probability if requested."""
    import numpy as np

    if not probabilities:
        best = model.predict_top_k(X, top) if top > 1 else model.predict(X, **rejection)[:, None]
        return [column.tolist() for column in best.T]
    chances = model.predict_proba(X)
    order = np.argsort(-chances, axis=1, kind="stable")[:, :top]
    labels, shares = model.classes_[order], np.take_along_axis(chances, order, axis=1)
    if rejection:
        labels = model.predict(X, **rejection)[:, None]
    return [column.tolist() for pair in zip(labels.T, shares.T, strict=True) for column in pair]


def evaluate_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass evaluate``."""
    data_options(parser)
    parser.add_argument(
        "--report",
        action="store_true",
        help="print precision, recall and F1 of the classes, and the most confused pairs, too",
    )
    taxonomy_option(parser, "for the distances of mistakes")
    parser.add_argument(
        "--json", action="store_true", help="print JSON, with fractions instead of percentages"
    )


def evaluate(args: argparse.Namespace) -> None:
    """Run ``manyclass evaluate``."""
    from manyclass.reports.evaluation import evaluate as judge

    swap_data_and_model(args)
    model = load_for(args, may_be_multilabel=True)
    if is_multilabel(model):
        if args.taxonomy:
            raise UsageError("argument --taxonomy: cannot be combined with models of label sets")
        evaluate_multilabel(args, model)
        return
    X, y = read_for(args, model, silent if args.json else say)
    tree = _tree_of(args, _labels_of(model, y)) if args.taxonomy else None
    found = judge(model, X, y, confidence=args.report, taxonomy=tree)
    warn_of_unseen(args.data, found.codes.n_unseen)
    if args.json:
        say(json.dumps(found.as_dict() if args.report else found.scores()))
        return
    say(f"accuracy  {100 * found.accuracy:6.2f} %  (and micro F1: one label per row)")
    say(f"macro F1  {100 * found.f1_macro:6.2f} %")
    if found.mean_cost is not None:
        say(f"mean cost {found.mean_cost:7.3f}")
    if found.tree is not None:
        for line in found.tree.lines():
            say(line)
    if args.report:
        for line in found.lines():
            say(line)


def _tree_of(args: argparse.Namespace, labels: Array) -> Taxonomy:
    """Read the tree of the command line, and check that it has all these labels."""
    tree = read_taxonomy(args.taxonomy, labels)
    check_nodes(args, tree, labels)
    return tree


def _labels_of(model: Estimator, y: Array) -> Array:
    """Return the classes of a model, with the labels of the data if both are of one kind."""
    import numpy as np

    alike = (model.classes_.dtype.kind in "UO") == (y.dtype.kind in "UO")
    return np.union1d(model.classes_, y) if alike else np.asarray(model.classes_)


def warn_of_unseen(data: str, n_unseen: int) -> None:
    """Warn of rows with labels that the model does not have."""
    if n_unseen:
        warn_user(
            f"{data}: {count(n_unseen, 'row')} with a label that is not a class of the "
            "model; counted as errors"
        )


def calibrate_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass calibrate``."""
    data_options(parser)
    parser.add_argument("out", metavar="OUT", help="model file to write")
    quiet_option(parser)
    force_option(parser)


def calibrate(args: argparse.Namespace) -> None:
    """Run ``manyclass calibrate``."""
    from manyclass.cli.input.file_kinds import MODEL, check_output
    from manyclass.persistence.composites import last_of
    from manyclass.persistence.model_file import load_model, save_model
    from manyclass.reports.confusion import label_codes

    swap_data_and_model(args)
    check_output(args.out, [args.data, args.model], MODEL, force=args.force)
    whole = load_model(args.model)
    last = last_of(whole)
    if not hasattr(last, "calibrate"):
        raise UsageError(
            f"{args.model}: is a {type(last).__name__}, and only a MulticlassSVC can be calibrated"
        )
    log = silent if args.quiet else say
    X, y = read_for(args, load_for(args, loaded=whole), log)
    codes = label_codes(last.classes_, y, last.classes_[:1].repeat(len(y)))
    if codes.n_unseen:
        raise ValueError(
            f"{args.data}: {count(codes.n_unseen, 'row')} with a label that is not a class of "
            f"{args.model}; leave these rows out"
        )
    last.set_params(n_jobs=args.jobs).calibrate(X, last.classes_[codes.columns()[codes.true]])
    save_model(args.out, whole)
    log(f"saved {args.out}: temperature {last.temperature_:.4g}")
