"""``manyclass train`` on the ranks that mpiexec started."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from manyclass.cli import console
from manyclass.cli.console import UsageError, count, say, silent
from manyclass.cli.input.costs import take_costs, take_offsets
from manyclass.cli.input.data import (
    Say,
    check_converted,
    check_labels,
    explain_bus_errors,
    format_options,
    log_size,
    timed,
    weigh_classes,
)
from manyclass.cli.input.tables import refuse_table
from manyclass.cli.options import LOGISTIC
from manyclass.cli.train import check_files, log_proof, logistic_of, svc_of
from manyclass.cli.train_options import AUTO, check_options
from manyclass.distributed import consensus, mpiexec
from manyclass.distributed.consensus import OtherRankError, abort_others, agreed, check_same
from manyclass.distributed.data import load_partition, load_shared
from manyclass.distributed.model import ShardedTraining
from manyclass.persistence.model_file import save_model

if TYPE_CHECKING:
    from manyclass.distributed.communicator import Communicator
    from manyclass.utils.types import Array, CsrArray

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
    model = svc_of(args, ranks)
    X, y = _read(args, ranks, log)
    agreed(ranks, lambda: check_labels(args.data, y))
    agreed(ranks, lambda: weigh_classes(model, args, y))
    agreed(ranks, lambda: take_costs(model, args, y))
    agreed(ranks, lambda: take_offsets(model, args, y))
    training = ShardedTraining(model)
    seconds = timed(args, lambda: training.fit(X, y))
    training.save(args.model)
    log_proof(model, seconds, log)
    log(f"saved {args.model}")


def _train_rows(args: argparse.Namespace, ranks: Communicator, log: Say) -> None:
    """Train on a share of the rows of each rank."""
    model = (logistic_of if args.formulation == LOGISTIC else svc_of)(args, ranks)
    began = time.perf_counter()
    agreed(ranks, lambda: check_converted(args))
    explain_bus_errors(args.data)
    dtype, options = np.dtype(args.dtype), format_options(args)
    X, y, classes = load_partition(ranks, args.data, args.n_features, dtype, args.jobs, **options)
    n_rows = int(ranks.all_sum(np.array([len(y)], np.int64))[0])
    log(
        f"read {args.data} in {time.perf_counter() - began:.2f} s: {count(n_rows, 'row')} on "
        f"{ranks.size} ranks, {count(X.shape[1], 'feature')}, {len(classes)} classes"
    )
    agreed(ranks, lambda: check_labels(args.data, classes))
    agreed(ranks, lambda: weigh_classes(model, args, classes))
    if args.formulation != LOGISTIC:
        agreed(ranks, lambda: take_costs(model, args, classes))
    agreed(ranks, lambda: take_offsets(model, args, classes))
    seconds = timed(args, lambda: model.fit(X, y))
    agreed(ranks, lambda: save_model(args.model, model) if ranks.rank == 0 else None)
    log_proof(model, seconds, log)
    log(f"saved {args.model}")


def _check(args: argparse.Namespace, ranks: Communicator) -> None:
    """Refuse what is known to fail before the data are read."""
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


def _read(args: argparse.Namespace, ranks: Communicator, log: Say) -> tuple[CsrArray, Array]:
    """Read the data file on all ranks together, and log its size."""
    began = time.perf_counter()
    agreed(ranks, lambda: check_converted(args))
    explain_bus_errors(args.data)
    dtype, options = np.dtype(args.dtype), format_options(args)
    X, y = load_shared(ranks, args.data, args.n_features, dtype, args.jobs, **options)
    log_size(args, X, y, time.perf_counter() - began, log)
    return X, y
