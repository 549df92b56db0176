"""``manyclass evaluate``: compare predictions with the labels of a file."""

from __future__ import annotations

import argparse
import json
import warnings

from manyclass.cli.console import Parser, be_quiet, count, say
from manyclass.cli.data import load_for, read_for
from manyclass.cli.models.predict import FEATURES
from manyclass.cli.options import data_options

LABELS = f"""\
{FEATURES}
How labels are compared: when the file's labels and the model's classes are both numbers, or both
text, as they are (1 equals 1.0, 'cat' equals 'cat'). When one side is text, what reads as a number
there counts as that number. A label that equals no class of the model counts as an error.
"""


def evaluate_options(parser: Parser) -> None:
    """Add the options of ``manyclass evaluate``."""
    data_options(parser)
    parser.add_argument(
        "--report",
        action="store_true",
        help="print precision, recall and F1 of the classes and the most confused pairs, too",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, shares as fractions")


def evaluate(args: argparse.Namespace) -> None:
    """Run ``manyclass evaluate``."""
    from manyclass.reports.evaluation import evaluate as judge

    model = load_for(args)
    X, y = read_for(args, model, be_quiet if args.json else say)
    found = judge(model, X, y, probabilities=args.report)
    warn_of_unseen(args.data, found.codes.n_unseen)
    if args.json:
        say(json.dumps(found.as_dict() if args.report else found.scores()))
        return
    say(f"accuracy  {100 * found.accuracy:6.2f} %  (and micro F1: one label per row)")
    say(f"macro F1  {100 * found.macro_f1:6.2f} %")
    if args.report:
        for line in found.lines():
            say(line)


def warn_of_unseen(data: str, n_unseen: int) -> None:
    """Warn of rows with labels that the model does not have."""
    if n_unseen:
        warnings.warn(
            f"{data}: {count(n_unseen, 'row')} with a label that is no class of the "
            "model; counted as errors",
            stacklevel=3,
        )
