"""``manyclass evaluate``: compare predictions with the labels of a file."""

from __future__ import annotations

import argparse
import json
import warnings

from manyclass.cli.console import be_quiet, count, say
from manyclass.cli.data import load_for, read_for
from manyclass.cli.models.predict import FEATURES

LABELS = f"""\
{FEATURES}
How labels are compared: when the file's labels and the model's classes are both numbers, or both
text, as they are (1 equals 1.0, 'cat' equals 'cat'). When one side is text, what reads as a number
there counts as that number. A label that equals no class of the model counts as an error.
"""


def evaluate(args: argparse.Namespace) -> None:
    """Run ``manyclass evaluate``."""
    from manyclass.cli.models.label_matching import compare

    model = load_for(args)
    X, y = read_for(args, model, be_quiet if args.json else say)
    scores, n_unseen = compare(model.classes_, y, model.predict(X))
    if n_unseen:
        warnings.warn(
            f"{args.data}: {count(n_unseen, 'row')} with a label that is no class of the "
            "model; counted as errors",
            stacklevel=2,
        )
    if args.json:
        say(json.dumps(scores))
        return
    say(f"accuracy  {100 * scores['accuracy']:6.2f} %  (and micro F1: one label per row)")
    say(f"macro F1  {100 * scores['macro_f1']:6.2f} %")
