"""Label sets on the command line: training, prediction, evaluation."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, NamedTuple

from manyclass.cli.console import Say, UsageError, count, proven, say, shows_progress, silent
from manyclass.cli.input.costs import label_finder
from manyclass.cli.input.data import (
    check_converted,
    explain_bus_errors,
    format_options,
    loaded_table,
    read_for,
    sizes_of,
    timed,
)
from manyclass.cli.input.tables import is_table, log_read, name_features
from manyclass.cli.input.text import maker_of, with_words
from manyclass.cli.options import begin, parameters, write_state
from manyclass.cli.parameter_options import flag_of, foreign_options
from manyclass.cli.train_options import AUTO
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.model_selection.multilabel import MultilabelSVCCV
    from manyclass.multilabel.svc import MultilabelSVC
    from manyclass.utils.types import Array, CsrArray, DType, Label, Rows, Settings

ROWS_AT_A_TIME = 1 << 16
SCORINGS = ("accuracy", "f1_micro", "f1_macro")  # of searches


def train_multilabel(args: argparse.Namespace, log: Say) -> None:
    """Train a model of label sets; with ``-C auto`` choose C first."""
    import numpy as np

    from manyclass.multilabel.svc import MultilabelSVC
    from manyclass.persistence.model_file import save_model

    model: MultilabelSVC
    if args.C == AUTO:
        model, seconds = search_multilabel(args, log, {})
        name_features(args, model.best_estimator_)
        log(f"chosen: C = {model.C_:.6g}, mean score {model.best_score_:.4f}")
    else:
        model = MultilabelSVC(C=args.C, **parameters(args, MultilabelSVC))
        begin(model, args, log)
        X, y = read_multilabel(args, np.dtype(args.dtype), log, args.n_features)
        seconds = timed(args, lambda: model.fit(X, y))
    name_features(args, model)
    save_model(args.model, with_words(args, model))
    write_state(model, args, log)
    proof = model.certificate_
    found = (
        f"weights below {args.prune:g} removed, so there is no certificate"
        if proof is None
        else f"objective {proof.primal_objective:.6g}, proven {proven(proof.relative_gap)}"
    )
    log(f"trained {count(len(model.classes_), 'label')} in {seconds:.2f} s: {found}")


def check_multilabel_search(args: argparse.Namespace) -> None:
    """Refuse options that searches for label sets do not have."""
    from manyclass.model_selection.multilabel import MultilabelSVCCV

    others = ["path"] if args.path else []
    given = foreign_options(args, [MultilabelSVCCV], [*others, "formulation", "taxonomy"])
    if given:
        raise UsageError(
            f"argument {flag_of(given[0])}: cannot be combined with --multilabel; leave it out"
        )
    if args.scoring and args.scoring not in SCORINGS:
        raise UsageError(
            f"argument --scoring: with --multilabel, must be one of {', '.join(SCORINGS)}"
        )
    args.formulation = "one_vs_rest"


class Choice(NamedTuple):
    """What a search has found; tables have the shape (n_folds, n_Cs), and NaN without a fit."""

    C: float
    Cs: Array  # ascending
    best: int  # place of C
    scores: Array
    gaps: Array  # relative
    fit_seconds: Array
    seconds: float  # of all


def choose_multilabel(args: argparse.Namespace, log: Say, search: Settings) -> Choice:
    """Choose C for rows with label sets."""
    verbose = int(not args.quiet and not args.json)
    model, seconds = search_multilabel(args, log, {**search, "verbose": verbose})
    best = int(model.Cs_.searchsorted(model.C_))
    tables = model.scores_, model.gaps_, model.fit_times_
    return Choice(model.C_, model.Cs_, best, *tables, seconds)


def search_multilabel(
    args: argparse.Namespace, log: Say, search: Settings
) -> tuple[MultilabelSVCCV, float]:
    """Read rows, choose C for them and train; return the seconds, too."""
    import numpy as np

    from manyclass.model_selection.multilabel import MultilabelSVCCV, fit_sets_with_maker

    model = MultilabelSVCCV(**{**parameters(args, MultilabelSVCCV), **search})
    X, y = read_multilabel(args, np.dtype(args.dtype), log, args.n_features)
    return model, timed(args, lambda: fit_sets_with_maker(model, X, y, maker_of(args)))


def read_multilabel(
    args: argparse.Namespace, dtype: DType, log: Say, n_features: int | None = None
) -> tuple[Rows, list[frozenset[Label]]]:
    """Read rows and their label sets, and log the size."""
    began = time.perf_counter()
    with atomic.naming(args.data):
        X, y = _loaded_multilabel(args, dtype, log, n_features)
    log_read(args, began, log, *sizes_of(X, count(len(set().union(*y)), "label")))
    return X, y


def _loaded_multilabel(
    args: argparse.Namespace, dtype: DType, log: Say, n_features: int | None
) -> tuple[Rows, list[frozenset[Label]]]:
    from manyclass.io.dataset_file import load_data
    from manyclass.io.file_signatures import looks_like_data
    from manyclass.io.svmlight import load_svmlight

    table = loaded_table(args, dtype, log)
    if table is not None:
        X, y = table
        return X, [frozenset()] * len(y) if args.label is None else y.tolist()
    if looks_like_data(args.data):
        check_converted(args)
        explain_bus_errors(args.data)
        return load_data(args.data, n_features, dtype, multilabel=True)
    shows, options = shows_progress(args), format_options(args)
    return load_svmlight(
        args.data, n_features, dtype, args.jobs, multilabel=True, verbose=shows, **options
    )


def predict_multilabel(args: argparse.Namespace, model: MultilabelSVC) -> None:
    """Write the label set of every row, in the order of ``classes_``.

    The separator is the one of DATA: a comma, or for tables the separator of their labels.
    """
    from manyclass.cli.input.file_kinds import check_output, label_sets_of
    from manyclass.io.tables.label_sets import SEPARATOR

    given = {
        "--top-k": args.top_k is not None,
        "--probabilities": args.probabilities,
        "--reject": args.reject is not None,
        "--reject-label": args.reject_label is not None,
    }
    flag = next((name for name, is_given in given.items() if is_given), None)
    if flag is not None:
        raise UsageError(f"argument {flag}: {args.model} is a model of label sets; leave it out")
    names = [str(name) for name in model.classes_.tolist()]
    separator = args.label_separator or (SEPARATOR if is_table(args) else ",")
    if any(mark in name for name in names for mark in (separator, *"\t\n\r")):
        raise ValueError(
            f"{args.model}: labels that contain {separator!r}, a tab or a line break cannot be "
            "written one row per line; give another --label-separator, or predict in Python, with "
            "load_model"
        )
    kind = label_sets_of(names, separator)
    check_output(args.out, [args.data, args.model], kind, force=args.force, special=True)
    X, _ = read_for(args, model, silent, read_multilabel)
    model.predicts_sparse_ = True
    with atomic.output(args.out) as file:
        for begin in range(0, X.shape[0], ROWS_AT_A_TIME):
            found: CsrArray = model.predict(X[begin : begin + ROWS_AT_A_TIME])
            rows = (found[[i]].indices.tolist() for i in range(found.shape[0]))
            lines = (separator.join(names[c] for c in row) + "\n" for row in rows)
            file.write("".join(lines).encode())


def evaluate_multilabel(args: argparse.Namespace, model: MultilabelSVC) -> None:
    """Show F1 and the precision of the best labels; with --report, scores of each label, too."""
    from manyclass.reports.label_sets import score_label_sets

    X, y = read_known(args, model, silent if args.json else say)
    model.predicts_sparse_ = True
    found = score_label_sets(model, X, y)
    if args.json:
        say(json.dumps(found.as_dict() if args.report else found.scores()))
        return
    for name, share in found.scores().items():
        say(f"{name.replace('_', ' '):14}  {100 * share:6.2f} %")
    for line in found.lines() if args.report else ():
        say(line)


def read_known(
    args: argparse.Namespace, model: MultilabelSVC, log: Say
) -> tuple[Rows, list[frozenset[Label]]]:
    """Read rows and their label sets; refuse labels that the model does not have."""
    X, y = read_for(args, model, log, read_multilabel)
    y = _of_one_kind(y, model.classes_)
    unseen = set().union(*y) - set(model.classes_.tolist())
    if unseen:
        raise ValueError(
            f"{args.data}: {count(len(unseen), 'label')} that {args.model} does not have, such as "
            f"{min(unseen, key=str)!r}; drop these"
        )
    return X, y


def _of_one_kind(y: list[frozenset[Label]], classes: Array) -> list[frozenset[Label]]:
    """Return labels of data as labels of a model if only one of them are text: 7 equals '7'."""
    is_text = classes.dtype.kind in "UO"
    if all(isinstance(label, str) == is_text for label in set().union(*y)):
        return y
    find = label_finder(classes)

    def known(label: Label) -> Label:
        found = find(str(label))
        return label if found is None else found

    return [frozenset(map(known, labels)) for labels in y]
