"""``manyclass train`` on the ranks started by mpiexec."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from manyclass.cli import console
from manyclass.cli.console import Say, UsageError, count, say, silent
from manyclass.cli.input.costs import take_by_label
from manyclass.cli.input.data import (
    check_converted,
    explain_bus_errors,
    format_options,
    log_size,
    timed,
)
from manyclass.cli.input.tables import log_read, refuse_table
from manyclass.cli.options import LOGISTIC
from manyclass.cli.train import check_files, exact_model, log_proof
from manyclass.cli.train_options import AUTO, check_options
from manyclass.distributed import consensus, mpiexec
from manyclass.distributed.consensus import OtherRankError, abort_others, agreed, check_same
from manyclass.distributed.data import load_partition, load_shared
from manyclass.distributed.model import ShardedTraining
from manyclass.estimators.svc import MulticlassSVC
from manyclass.persistence.model_file import save_model

if TYPE_CHECKING:
    from manyclass.distributed.communicator import Communicator
    from manyclass.utils.types import Settings

# Arguments that may differ between ranks.
OF_RANKS = ("run", "needs", "data", "model", "jobs", "quiet", "force")


def train_on_ranks(args: argparse.Namespace) -> None:
    """Train on all ranks; one of them reports an error."""
    try:
        ranks = consensus.world()
    except ValueError as error:
        if not mpiexec.is_first():
            raise SystemExit(console.FAILED) from error
        raise
    try:
        with abort_others(ranks):
            _train(args, ranks)
    except (OSError, MemoryError, ValueError, FloatingPointError, OtherRankError) as error:
        if ranks.rank != getattr(error, "reported_by", 0):
            raise SystemExit(console.FAILED) from error
        raise


def _train(args: argparse.Namespace, ranks: Communicator) -> None:
    agreed(ranks, lambda: _check(args, ranks))
    options = {name: value for name, value in vars(args).items() if name not in OF_RANKS}
    check_same(ranks, consensus.facts_of_rank({}, options))
    log = say if ranks.rank == 0 and not args.quiet else silent
    if args.split == "rows":
        _train_rows(args, ranks, log)
        return
    model, began = exact_model(args, ranks), time.perf_counter()
    assert isinstance(model, MulticlassSVC)
    X, y = load_shared(ranks, args.data, **_how(args, ranks))
    log_size(args, X, y, began, log)
    agreed(ranks, lambda: take_by_label(model, args, y))
    training = ShardedTraining(model)
    seconds = timed(args, lambda: training.fit(X, y))
    training.save(args.model)
    log_proof(model, seconds, log)
    log(f"saved {args.model}")


def _train_rows(args: argparse.Namespace, ranks: Communicator, log: Say) -> None:
    """Train on a share of the rows of each rank."""
    model = exact_model(args, ranks)
    began = time.perf_counter()
    X, y, classes = load_partition(ranks, args.data, **_how(args, ranks))
    n_rows = int(ranks.all_sum(np.array([len(y)], np.int64))[0])
    sizes = f"{count(n_rows, 'row')} on {ranks.size} ranks", count(X.shape[1], "feature")
    log_read(args, began, log, *sizes, f"{len(classes)} classes")
    agreed(ranks, lambda: take_by_label(model, args, classes))
    seconds = timed(args, lambda: model.fit(X, y))
    agreed(ranks, lambda: save_model(args.model, model) if ranks.rank == 0 else None)
    log_proof(model, seconds, log)
    log(f"saved {args.model}")


def _check(args: argparse.Namespace, ranks: Communicator) -> None:
    """Refuse options that several processes do not support, before the data are read."""
    check_options(args)
    started = f"trains in one process, and mpiexec started {ranks.size}"
    if args.solver == "stochastic":
        raise UsageError(
            f"argument --solver: stochastic {started}; leave out mpiexec, and use --jobs for "
            "threads"
        )
    if args.formulation == LOGISTIC and args.split is None and args.C != AUTO:
        raise UsageError(
            f"argument --formulation: logistic {started}; with --split rows each reads and trains "
            "on a share of the rows; or leave out mpiexec"
        )
    for flag in ("start", "state", "text"):
        if getattr(args, flag):
            raise UsageError(f"argument --{flag}: {started}; leave out mpiexec")
    if args.multilabel:
        raise UsageError(f"argument --multilabel: {started}; leave out mpiexec")
    if args.C == AUTO:
        raise UsageError(f"argument -C: auto {started}; run manyclass cv first")
    if ranks.rank == 0:
        refuse_table(args)
        check_files(args)


def _how(args: argparse.Namespace, ranks: Communicator) -> Settings:
    """Return how the data file is read on all ranks together."""
    agreed(ranks, lambda: check_converted(args))
    explain_bus_errors(args.data)
    shape = {"n_features": args.n_features, "dtype": np.dtype(args.dtype)}
    return {**shape, "n_jobs": args.jobs, **format_options(args)}
