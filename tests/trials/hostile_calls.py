"""Trial: hostile arrays end in an error or a result, never in a crash or a call that hangs.

Calls the compiled core's trainers directly, and the public estimators with CSR that fits nothing,
in batches, each in a process of its own. ``python -m tests.trials.hostile_calls --calls 5000``;
the exit code is 1 if a call crashed, hung, raised another error, or took invalid CSR.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    save_data,
)
from manyclass.training.train import SOLVERS
from tests.trials.hostile_arrays import Hostile
from tests.trials.hostile_core import CALLS, CoreCall

BATCH = 250
SECONDS = 120  # for a batch, most of which take two
MEMORY = 8 << 30
REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, FloatingPointError)


def broken_csr(h):
    """Return CSR, its classes, and whether it is not a valid matrix."""
    n, d = int(h.rng.integers(2, 25)), int(h.rng.integers(1, 15))
    indptr, indices, values = h.csr(n, d, h.pick([np.float32, np.float64]))
    kind = h.pick([sp.csr_array, sp.csr_matrix])
    X = kind((values, indices, indptr), shape=(n, d))
    for name in ("indptr", "indices", "data"):
        setattr(X, name, h.array(getattr(X, name), 0.3))
    if h.chance(0.5):
        X.has_canonical_format = h.chance(0.5)
    whole = len(X.indptr) == n + 1 and X.indptr[0] == 0 and (np.diff(X.indptr) >= 0).all()
    whole = whole and X.indptr[-1] <= min(len(X.indices), len(X.data))
    if whole:
        used = X.indices[: X.indptr[-1]]
        whole = bool(((used >= 0) & (used < d)).all())
    return X, np.arange(n) % 2 + (np.arange(n) % 5 == 0), not whole


def call_estimator(h):
    """Give broken CSR to a public function; returns whether it ought to have been refused."""
    X, y, broken = broken_csr(h)
    quick = {"max_iter": 3, "random_state": 0}
    way = int(h.rng.integers(7))
    if way == 0:
        name = h.pick(["crammer_singer", "one_vs_rest"])
        solver = h.pick(["auto", "cutting_plane"] if name == "one_vs_rest" else SOLVERS)
        MulticlassSVC(formulation=name, solver=solver, **quick).fit(X, y)
    elif way == 1:
        StochasticClassifier(early_stopping=h.chance(0.3), **quick).fit(X, y)
    elif way == 2:
        StochasticClassifier().partial_fit(X, y, classes=[0, 1, 2])
    elif way == 3:
        StochasticClassifier(**quick).fit_blocks([(X, y)], [0, 1, 2], X.shape[1])
    elif way == 4:
        with tempfile.TemporaryDirectory() as folder:
            save_data(Path(folder, "data"), X, y)
    elif way == 5:
        MultinomialLogisticRegression(n_jobs=h.pick([1, 2]), **quick).fit(X, y)
    else:
        whole = np.random.default_rng(0).random((6, X.shape[1]))
        MulticlassSVC(**quick).fit(whole, np.arange(6) % 3).predict(X)
    return broken


def make_call(seed, call):
    """Make one call; returns what became of it."""
    h = Hostile(seed, call)
    try:
        if call % 3 == 0:
            return "taken though invalid" if call_estimator(h) else "done"
        getattr(CoreCall(h), h.pick(CALLS))()
    except REFUSALS:
        return "refused"
    return "done"


def batch(seed, first, last, log):
    """Make some calls, each of which is noted before it begins."""
    if not os.environ.get("LD_PRELOAD"):  # sanitizers map terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with log.open("a") as file:
        for call in range(first, last):
            print(json.dumps([call, "begun"]), file=file, flush=True)
            try:
                found = make_call(seed, call)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            print(json.dumps([call, found]), file=file, flush=True)


def watched(seed, first, last, folder):
    """Make a batch of calls in processes of its own; yields calls and what became of them."""
    while first < last:
        log = Path(folder, f"log-{first}")
        log.touch()
        module = [sys.executable, "-m", "tests.trials.hostile_calls"]
        command = [*module, "--seed", str(seed), "--log", str(log)]
        try:
            done = subprocess.run(
                [*command, "--first", str(first), "--last", str(last)],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                cwd=Path(__file__).parents[2],
            )
            end = f"exit code {done.returncode}" + "".join(done.stderr.splitlines()[-3:])
        except subprocess.TimeoutExpired:
            end = f"no end after {SECONDS} s"
        found = dict(json.loads(line) for line in log.read_text().splitlines())
        if not found:
            raise SystemExit(f"the trial itself fails: {end}")
        first = max(found) + 1
        for call, what in found.items():
            yield call, end if what == "begun" else what


def main():
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help="the first call to make")
    parser.add_argument("--last", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.log:
        batch(args.seed, args.first, args.last, args.log)
        return 0
    began, counts, failures = time.perf_counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for first in range(args.first, args.first + args.calls, BATCH):
            last = min(first + BATCH, args.first + args.calls)
            for call, what in watched(args.seed, first, last, folder):
                kind = what if what in ("done", "refused") else "failed"
                counts[kind] += 1
                if kind == "failed":
                    failures.append(f"call {call} of seed {args.seed}: {what[:300]}")
    for failure in failures[:20]:
        print(failure)
    print(
        f"hostile calls: {sum(counts.values())}, {counts['done']} done, {counts['refused']} "
        f"refused, {counts['failed']} failed, {time.perf_counter() - began:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
