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

from manyclass import MulticlassSVC, StochasticClassifier, _core, save_data
from manyclass.solvers.solver_choice import SOLVERS
from manyclass.solvers.weights.dense import allocate_weights
from manyclass.utils.instruction_sets import instruction_set

BATCH = 250
SECONDS = 120  # for a batch, most of which take two
MEMORY = 8 << 30
REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, FloatingPointError)
SIZES = [-(2**63), -(2**31), -1, 0, 1, 2, 31, 2**31 - 1, 2**31, 2**62, 2**63 - 1]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e30, 1e300]


class Hostile:
    """Draws arrays and numbers, some of which are wrong."""

    def __init__(self, seed, call):
        self.rng = np.random.default_rng([seed, call])
        self.level = self.pick([0.1, 0.3, 1.0])  # less that is wrong reaches more

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, right, share=0.05, choices=SIZES):
        """Return the right number, mostly."""
        return self.pick(choices) if self.chance(self.level * share) else right

    def array(self, right, share=0.12):
        """Return the right array, mostly; else one of other numbers or length."""
        if not self.chance(self.level * share):
            return right
        array = right.copy()
        if self.chance(0.4):
            return np.resize(array, self.pick([0, 1, len(array) // 2, len(array) + 1, 3000]))
        odd = NUMBERS if array.dtype.kind == "f" else SIZES + list(range(-3, len(array) + 3))
        with np.errstate(all="ignore"):
            for _ in range(self.rng.integers(1, 4)):
                if len(array):
                    value = np.array(self.pick(odd)).astype(array.dtype)
                    array[self.rng.integers(len(array))] = value
        return array

    def csr(self, n_rows, n_columns, dtype, density=0.4):
        X = sp.random_array((n_rows, n_columns), density=density, rng=self.rng, format="csr")
        return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(dtype)

    def rows(self, n):
        right = np.flatnonzero(self.rng.random(n) < 0.9).astype(np.int32)
        return self.array(right)

    def weights(self, n_rows, n_columns, dtype):
        shape = max(0, n_rows + int(self.number(0, 0.1, [-1, 1]))), n_columns
        stride = int(self.number(shape[1], 0.1, [0, 1, 16, 64, 128]))
        W = allocate_weights(shape[0], stride, dtype)[1]
        return W[:, 1:].copy() if self.chance(0.02) else W


class CoreCall:
    """A trainer of the core, and what is called on it."""

    def __init__(self, hostile):
        self.h = h = hostile
        self.dtype = np.dtype(h.pick([np.float32, np.float64]))
        self.bits = 8 * self.dtype.itemsize
        self.n, self.d = int(h.rng.integers(0, 30)), int(h.rng.integers(0, 20))
        self.k = int(h.rng.integers(1, 12))
        self.labels = h.rng.integers(0, self.k, self.n).astype(np.int32)
        indptr, indices, values = h.csr(self.n, self.d, self.dtype)
        self.problem = (
            *(h.array(indptr), h.array(indices), h.array(values), h.number(self.d)),
            *(h.number(1.0, 0.05, NUMBERS), h.array(self.labels), h.number(self.k)),
            *(h.array(h.rng.random(self.n) + 0.1), instruction_set()),
        )

    def core(self, name):
        return getattr(_core, f"{name}{self.bits}")

    def formulation(self, *, relative):
        h, right = self.h, {"relative": relative, "others": True, "own": not relative}
        flags = ("maximum", "centred", "squared")
        right.update({name: not relative and h.chance(0.4) for name in flags})
        right["maximum"] = h.chance(0.3) and not right["squared"]
        for name in right:
            if h.chance(0.03):
                right[name] = not right[name]
        margins = (h.number(1.0, 0.03, NUMBERS) for _ in range(2))
        return _core.Formulation(*right.values(), *margins, shifted=h.chance(0.05))

    def duals(self, kind, n_columns):
        """Return z with entries, perhaps of other classes, or twice."""
        h = self.h
        z = self.core(kind)(h.number(self.n, 0.03), h.number(n_columns, 0.03), h.chance(0.03))
        if h.chance(0.5):
            arrays = h.csr(self.n, n_columns, self.dtype)
            z.from_csr(*(h.array(part) for part in arrays))
        if kind == "Duals" and h.chance(0.2):
            size = int(h.rng.integers(0, 20))
            sizes = self.n + 1, self.k + 1
            rows, labels = (h.rng.integers(0, m, size).astype(np.int32) for m in sizes)
            columns = np.arange(self.k + 1, dtype=np.int32)
            entries = rows, labels, h.rng.random(size).astype(self.dtype), columns
            z.add_entries(*(h.array(part) for part in entries))
        return z

    def seed(self):
        return int(self.h.rng.integers(2**32))

    def goal(self):
        h = self.h
        limits = (h.number(1e-3, 0.1, NUMBERS) for _ in range(2))
        return _core.ShrunkGoal(*limits, h.number(500, 0.1, [-1, 0, 1, 5000]), -np.inf)

    def loops(self, trainer, weights, z, *at):
        """Loops over all examples, then the active ones, then the certificate's pass."""
        h = self.h
        rows = h.rows(self.n)
        active = np.zeros(max(0, len(rows) + h.number(0, 0.1, [-1, 5])), np.int32)
        trainer.full_loop(weights, z, rows, active, -np.inf, self.seed())
        some = h.rows(self.n)
        trainer.shrunk_loops(weights, z, some, h.number(len(some)), self.goal(), self.seed())
        norm = h.number(1.0, 0.1, NUMBERS)
        trainer.inspect(weights, z, *at, norm, h.number(0), h.number(self.n))

    def dense(self):
        """Dense weights, by lists or in lanes."""
        h, kind = self.h, self.h.pick(["", "Lane"])
        trainer = self.core(f"{kind}Trainer")(
            self.formulation(relative=h.chance(0.5)), *self.problem
        )
        z = self.duals(f"{kind}Duals", self.k)
        weights = h.weights(self.d + 1, self.k + 1, self.dtype)
        common = h.array(h.pick([np.empty(0), np.zeros(self.d + 1)]))
        trainer.rebuild(weights, z, common)
        self.loops(trainer, weights, z, common)
        rows, sums = h.rows(self.n), np.zeros(self.n)
        moved, active = np.zeros(len(rows)), h.array(np.ones(self.n, np.uint8))
        trainer.visit(weights, z, rows, h.chance(0.5), active, h.array(sums), h.array(moved))
        trainer.row_sums(z, h.rows(self.n), h.array(sums))
        if kind:
            self.newton(trainer, z)
        else:
            self.mean(trainer, weights, z, rows, moved)

    def newton(self, trainer, z):
        h = self.h
        newton = trainer.newton(z, h.number(2, 0.2))
        weights = h.weights(self.d + 1, self.k, self.dtype)
        newton.rebuild(h.chance(0.5))
        newton.round(h.number(1.0, 0.1, NUMBERS), h.number(1000, 0.1))
        newton.read_weights(weights)
        newton.write_weights(weights)
        newton.gradient_at(weights, 1.0, h.weights(self.d + 1, self.k, self.dtype))

    def mean(self, trainer, weights, z, rows, moved):
        h = self.h
        mean = _core.MeanFollower(h.number(self.d, 0.1))
        mean.restart(h.array(np.zeros(self.d + 1)))
        trainer.follow_mean(weights, z, rows, moved, h.array(moved), 1.0, mean)
        trainer.settle_mean(weights, z, mean)
        trainer.sum_of_rows(h.array(np.ones(self.n)))

    def tables(self):
        """W in tables, in threads."""
        h = self.h
        trainer = self.core("SparseTrainer")(self.formulation(relative=True), *self.problem)
        z = self.duals("Duals", self.k)
        sizes = h.number(self.d + 1), h.number(self.k), h.number(int(h.rng.integers(1, 4)))
        weights = self.core("WeightTables").zeros(*sizes, h.number(4))
        trainer.rebuild(weights, z)
        self.loops(trainer, weights, z)
        names = h.array(h.rng.permutation(self.k).astype(np.int32))
        arrays = weights.to_csr(names)
        weights.load_csr(*(h.array(part) for part in arrays), names)

    def pairs(self):
        """Two class blocks that meet."""
        h = self.h
        trainer = self.core("PairTrainer")(self.formulation(relative=True), *self.problem)
        width = h.number(64 // self.dtype.itemsize)
        labels = h.array(h.rng.integers(-1, 2 * max(1, width % 64), self.n).astype(np.int32))
        counts = (h.number(int(h.rng.integers(0, 5))) for _ in range(2))
        meeting = _core.ClassPair(width, *counts, labels, h.chance(0.5))
        if h.chance(0.5):
            weights = h.weights(self.d + 1, 2 * width, self.dtype)
        else:
            weights = self.core("PairTables")(h.number(self.d + 1), h.number(width), h.number(4))
        z, scores = self.duals("Duals", 2 * width), np.zeros(self.n)
        totals, scale = (h.array(np.ones(self.n)) for _ in range(2))
        trainer.rebuild(meeting, weights, z, totals, scale)
        rows = h.array(np.flatnonzero(labels >= 0).astype(np.int32))
        trainer.own_scores(meeting, weights, rows, scores)
        end = self.seed()
        scored = h.array(np.zeros(self.n, np.uint8))
        if h.chance(0.5):
            trainer.loop(meeting, weights, z, rows, rows.copy(), h.chance(0.5), -np.inf, end)
        else:
            trainer.trade(meeting, weights, z, h.rows(self.n), rows.copy(), scored, end)
        trainer.inspect(meeting, weights, z, h.array(scores), h.number(1.0, 0.1, NUMBERS))
        sums = (h.array(np.zeros(self.n)) for _ in range(3))
        trainer.survey(meeting, weights, z, h.array(scores), *sums)
        self.travel(weights)

    def travel(self, weights):
        h = self.h
        slot, begin, end = h.number(0, 0.1), h.number(0), h.number(self.d)
        parts = _core.read_rows(weights, slot, begin, end, h.chance(0.5))
        _core.put_rows(weights, slot, h.number(begin), *(h.array(part) for part in parts))

    def stochastic(self):
        """Stochastic steps on both kinds of weights."""
        h = self.h
        trainer = self.core("StochasticTrainer")(*self.problem)
        clock = _core.StochasticClock()
        for name, value in {"alpha": 1e-2, "seen": 0.0, "average_from": np.inf}.items():
            setattr(clock, name, h.number(value, 0.1, NUMBERS))
        loss = h.pick(list(_core.StochasticLoss.__members__.values()))
        sizes = h.number(int(h.rng.integers(1, 9))), h.number(int(h.rng.integers(1, 3)), 0.03)
        passage = _core.Passage(loss, *(max(0, size) for size in sizes))
        rows = h.array(h.rng.permutation(self.n).astype(np.int32))
        averages = h.chance(0.5)
        if h.chance(0.6):
            tables = [h.weights(self.d + 1, self.k, self.dtype) for _ in range(2)]
            moved = h.array(np.zeros(self.n, np.int32)) if h.chance(0.3) else None
            trainer.steps(tables[0], tables[1] if averages else None, clock, passage, rows, moved)
        else:
            zeros = self.core("WeightTables").zeros
            shape = h.number(self.d + 1), h.number(self.k)
            tables = [zeros(*shape, int(h.rng.integers(1, 3)), 4) for _ in range(2)]
            trainer.table_steps(tables[0], tables[1] if averages else None, clock, passage, rows)


def broken_csr(h):
    """Return CSR, its classes, and whether it is no valid matrix."""
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
    way = int(h.rng.integers(6))
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
        target = CoreCall(h)
        h.pick([target.dense, target.dense, target.tables, target.pairs, target.stochastic])()
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
        command = [sys.executable, __file__, "--seed", str(seed), "--log", str(log)]
        try:
            done = subprocess.run(
                [*command, "--first", str(first), "--last", str(last)],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
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
