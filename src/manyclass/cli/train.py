"""``manyclass train``: exact, logistic and stochastic training."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli import console
from manyclass.cli.console import Say, UsageError, count, proven, say, silent
from manyclass.cli.input.blocks import may_not_fit, read_in_blocks
from manyclass.cli.input.costs import BALANCED, LOGIT_ADJUSTMENT, take_by_label
from manyclass.cli.input.data import read, timed
from manyclass.cli.input.tables import name_features
from manyclass.cli.input.text import maker_of, with_words
from manyclass.cli.multilabel import train_multilabel
from manyclass.cli.options import LOGISTIC, begin, parameters, write_state
from manyclass.cli.train_options import AUTO, check_options

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from manyclass.estimators.logistic import MultinomialLogisticRegression
    from manyclass.estimators.stochastic.classifier import StochasticClassifier
    from manyclass.estimators.svc import MulticlassSVC
    from manyclass.utils.types import Array, Rows


def train(args: argparse.Namespace) -> None:
    """Run ``manyclass train`` in this process."""
    check_options(args)
    check_files(args)
    log = silent if args.quiet else say
    with _resumable(args):
        if args.multilabel:
            train_multilabel(args, log)
        elif args.C == AUTO:
            _train_chosen(args, log)
        elif args.solver == "stochastic":
            _train_stochastic(args, log)
        else:
            _train_exact(args, exact_model(args), log)
    log(f"saved {args.model}")


@contextlib.contextmanager
def _resumable(args: argparse.Namespace) -> Iterator[None]:
    """Turn SIGTERM into an interrupt with a checkpoint; the message says how to resume."""
    from manyclass.training.checkpoints import found_in

    if not args.checkpoint:
        yield
        return
    try:
        with console.termination_handled():
            yield
    except KeyboardInterrupt as interrupt:
        if Path(args.checkpoint).is_dir() and found_in(Path(args.checkpoint)):
            interrupt.add_note(f"to continue: --resume {args.checkpoint}")
        raise


def check_files(args: argparse.Namespace) -> None:
    """Refuse files that cannot be written, before the data are read."""
    from manyclass.cli.input.file_kinds import MODEL, STATE, check_output
    from manyclass.training.checkpoints import check

    check_output(args.model, [args.data], MODEL, force=args.force)
    if args.state:
        check_output(args.state, [args.data], STATE, force=args.force)
        if Path(args.state).resolve() == Path(args.model).resolve():
            raise UsageError(
                f"{args.state}: is also the name of the model; choose another name for --state"
            )
    if args.checkpoint:
        check(Path(args.checkpoint), resume=args.resume)


def exact_model(
    args: argparse.Namespace, communicator: object = None
) -> MulticlassSVC | MultinomialLogisticRegression:
    """Return the estimator of exact training."""
    from manyclass.estimators.logistic import MultinomialLogisticRegression
    from manyclass.estimators.svc import MulticlassSVC

    shared = {"C": args.C, "communicator": communicator}
    if args.formulation == LOGISTIC:
        given = parameters(args, MultinomialLogisticRegression)
        return MultinomialLogisticRegression(split=args.split, **shared, **given)
    return MulticlassSVC(
        formulation=args.formulation,
        solver="auto" if args.solver == "dual" else args.solver,
        split="rows" if args.split == "rows" else None,
        **shared,
        **parameters(args, MulticlassSVC),
    )


def _read(args: argparse.Namespace, model: BaseEstimator, log: Say) -> tuple[Rows, Array]:
    """Return rows and labels; set what the command line gives by these."""
    import numpy as np

    X, y = read(args, np.dtype(args.dtype), log, args.n_features)
    take_by_label(model, args, y)
    return X, y


def _train_exact(
    args: argparse.Namespace, model: MulticlassSVC | MultinomialLogisticRegression, log: Say
) -> None:
    from manyclass.persistence.model_file import save_model

    begin(model, args, log)
    X, y = _read(args, model, log)
    seconds = timed(args, lambda: model.fit(X, y))
    name_features(args, model)
    save_model(args.model, with_words(args, model))
    write_state(model, args, log)
    log_proof(model, seconds, log)


def log_proof(
    model: MulticlassSVC | MultinomialLogisticRegression, seconds: float, log: Say
) -> None:
    """Log the certificate of a model."""
    proof = model.certificate_
    assert proof is not None
    log(
        f"trained {count(model.n_iter_, 'epoch')} in {seconds:.2f} s: "
        f"objective {proof.primal_objective:.6g}, "
        f"proven {proven(proof.relative_gap)}"
    )


def _train_chosen(args: argparse.Namespace, log: Say) -> None:
    """Choose C by cross-validation, and train with it."""
    from manyclass.cli.cross_validation import advice_at_ends, estimator, log_choice
    from manyclass.model_selection.cv_fit import fit_with_maker
    from manyclass.persistence.model_file import save_model

    model = estimator(args, {})
    X, y = _read(args, model, log)
    seconds = timed(args, lambda: fit_with_maker(model, X, y, maker_of(args)))
    name_features(args, model, model.best_estimator_)
    save_model(args.model, with_words(args, model))
    end = advice_at_ends(model.Cs_, model.scores_, model.C_)
    log_choice(model.C_, model.best_score_, seconds, end, log)
    log_proof(model.best_estimator_, model.refit_time_, log)


def _train_stochastic(args: argparse.Namespace, log: Say) -> None:
    from manyclass.estimators.stochastic.classifier import StochasticClassifier
    from manyclass.persistence.model_file import save_model

    model = StochasticClassifier(**parameters(args, StochasticClassifier))
    if args.out_of_core or (args.text is None and may_not_fit(args.data)):
        seconds = _train_in_blocks(args, model, log)
    else:
        X, y = _read(args, model, log)
        seconds = timed(args, lambda: model.fit(X, y))
        name_features(args, model)
    save_model(args.model, with_words(args, model))
    log(
        f"trained {count(model.n_iter_, 'epoch')}, {count(model.n_steps_, 'step')} in "
        f"{seconds:.2f} s: mean loss {model.history_[-1].loss:.6g} in the last"
    )


def _train_in_blocks(args: argparse.Namespace, model: StochasticClassifier, log: Say) -> float:
    """Train on the blocks of a file; return the seconds."""
    import numpy as np

    if args.early_stopping:
        raise UsageError(
            "argument --early-stopping: needs all rows in memory, to hold some out; "
            f"{args.data} is read in blocks"
        )
    blocks = read_in_blocks(args, log)
    take_by_label(model, args, blocks.classes)
    if args.class_weight == [BALANCED]:
        weights = blocks.n_rows / (len(blocks.classes) * blocks.class_counts)
        model.class_weight = dict(zip(blocks.classes.tolist(), weights.tolist(), strict=True))
    if model.class_offset == LOGIT_ADJUSTMENT:
        model.class_offset = _log_shares(model, blocks.classes, blocks.class_counts)
    shape = blocks.classes, blocks.n_features, np.dtype(args.dtype)
    return timed(args, lambda: model.fit_blocks(blocks.labelled(), *shape))


def _log_shares(model: StochasticClassifier, classes: Array, counts: Array) -> Array:
    """Return the logarithms of the shares of the classes in the weights of all rows."""
    import numpy as np

    from manyclass.estimators.validation import class_weights

    totals = counts * class_weights(model.class_weight, classes, np.ones(len(classes)))
    return np.asarray(np.log(totals / totals.sum()))
