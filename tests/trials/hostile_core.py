"""Calls of the compiled core's trainers with hostile arrays."""

from __future__ import annotations

import numpy as np

from manyclass import _core
from manyclass.utils.machine import instruction_set
from tests.trials.hostile_arrays import NUMBERS

# Methods of CoreCall that a trial makes, and how often.
CALLS = ("engine", "engine", "mean", "tables", "pairs", "stochastic", "logistic")


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

    def formulation(self, *, relative, mean=False):
        h, right = self.h, {"relative": relative, "others": True, "own": not relative}
        loss = "squared_hinge" if not relative and h.chance(0.4) else "hinge"
        right["maximum"] = not mean and h.chance(0.3) and loss == "hinge"
        right["centred"] = not relative and not mean and h.chance(0.4)
        for name in right:
            if h.chance(0.03):
                right[name] = not right[name]
        if h.chance(0.03):
            loss = h.pick(["hinge", "squared_hinge", "", "log_loss"])
        margins = (h.number(1.0, 0.03, NUMBERS) for _ in range(2))
        return _core.Formulation(*right.values(), loss, *margins)

    def trainer(self, kind, *, relative):
        problem = self.core("Problem")(self.formulation(relative=relative), *self.problem)
        return self.core(kind)(problem)

    def duals(self, kind, n_columns):
        """Return z with entries, perhaps of other classes, or twice."""
        h = self.h
        z = self.core(kind)(h.number(self.n, 0.03), h.number(n_columns, 0.03))
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

    def engine(self):
        """W and z of an engine, in any layout."""
        h, storage = self.h, self.h.pick(["dense", "dense", "class_major", "tables"])
        relative = storage == "tables" or h.chance(0.5)
        problem = self.core("Problem")(self.formulation(relative=relative), *self.problem)
        order = h.array(h.rng.permutation(self.k).astype(np.int32))
        options = {"lists": h.chance(0.3), "order": order, "dense_from": h.number(4)}
        # As many threads as a hostile number asks for would be started.
        engine = _core.Engine(problem, storage, h.number(2, 0.1, [-1, 0, 1, 3]), **options)
        indptr, labels, values = h.csr(self.n, self.k, self.dtype)
        engine.set_duals(h.array(indptr), h.array(labels), h.array(values.astype(np.float64)))
        engine.rebuild()
        rows = h.rows(self.n)
        active = np.zeros(max(0, len(rows) + h.number(0, 0.1, [-1, 5])), np.int32)
        engine.full_loop(rows, active, -np.inf, self.seed())
        some = h.rows(self.n)
        engine.shrunk_loops(some, h.number(len(some)), self.goal(), self.seed())
        common = np.empty(0) if storage == "tables" else h.pick([np.empty(0), np.zeros(self.d + 1)])
        engine.gap_sums(h.array(common), h.number(1.0, 0.1, NUMBERS))
        if engine.few_classes:
            self.newton(engine)
        engine.export_duals(), engine.copy_weights(), engine.release_weights()
        engine.full_loop(rows, active, -np.inf, self.seed())  # refused where W is dense

    def newton(self, engine):
        h, newton, weights = self.h, engine.newton(), engine.new_weights()
        newton.rebuild(h.chance(0.5))
        newton.advance(h.number(1.0, 0.1, NUMBERS))  # nothing was found
        newton.respond(h.number(1.0, 0.1, NUMBERS))
        newton.direction(h.number(1000, 0.1))
        newton.slopes([h.number(1.0, 0.1, NUMBERS)])
        newton.advance(h.number(1.0, 0.1, NUMBERS))
        newton.move(h.number(1.0, 0.1, NUMBERS))
        newton.read_weights(weights)
        newton.write_weights(weights)
        newton.read_gradient(weights)

    def mean(self):
        """W of some classes, less a mean that ranks share."""
        h, formulation = self.h, self.formulation(relative=False, mean=not self.h.chance(0.05))
        problem = self.core("Problem")(formulation, *self.problem)
        engine = _core.MeanEngine(problem)
        engine.rebuild_less(h.array(np.zeros(self.d + 1)))
        engine.restart_mean(h.array(np.zeros(self.d + 1)))
        engine.drift(h.number(0.0, 0.1, NUMBERS))
        rows, sums = h.rows(self.n), np.zeros(self.n)
        moved, active = np.zeros(len(rows)), h.array(np.ones(self.n, np.uint8))
        engine.visit(rows, h.chance(0.5), active, h.array(sums), h.array(moved))
        engine.row_sums(h.rows(self.n), h.array(sums))
        engine.follow_mean(rows, moved, h.array(moved), 1.0)
        engine.settle_mean()
        problem.sum_of_rows(h.array(np.ones(self.n)))
        engine.gap_sums(h.array(np.zeros(self.d + 1)), h.number(1.0, 0.1, NUMBERS))

    def tables(self):
        """W in tables."""
        h = self.h
        sizes = h.number(self.d + 1), h.number(self.k), h.number(int(h.rng.integers(1, 4)))
        weights = self.core("ShardedWeights").zeros(*sizes, h.number(4))
        names = h.array(h.rng.permutation(self.k).astype(np.int32))
        arrays = weights.to_csr(names)
        weights.load_csr(*(h.array(part) for part in arrays), names)

    def pairs(self):
        """Two class blocks that meet."""
        h = self.h
        trainer = self.trainer("PairTrainer", relative=True)
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
        trainer = self.core("StochasticTrainer")(self.core("Problem")(None, *self.problem))
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
            zeros = self.core("ShardedWeights").zeros
            shape = h.number(self.d + 1), h.number(self.k)
            tables = [zeros(*shape, int(h.rng.integers(1, 3)), 4) for _ in range(2)]
            trainer.table_steps(tables[0], tables[1] if averages else None, clock, passage, rows)

    def logistic(self):
        """Visits and passes of logistic regression, in both layouts of W."""
        h = self.h
        trainer = self.trainer("LogisticTrainer", relative=True)
        trainer.use_threads(h.number(int(h.rng.integers(1, 4)), 0.05, [-1, 0]))
        class_major = h.chance(0.5)

        def like_w(dtype=None):
            shape = (self.k, self.d + 1) if class_major else (self.d + 1, self.k)
            return h.weights(*shape, dtype or self.dtype)

        W, v = like_w(), h.weights(self.n, self.k, self.dtype)
        trainer.visit(W, v, True, class_major, self.seed())
        trainer.visit(W, v, h.chance(0.2), class_major != h.chance(0.05), self.seed())
        share = h.pick([np.empty(0), np.full(self.k, 0.1)])
        shares = h.array(share), h.array(share)
        sums = like_w(np.dtype(np.float64)) if h.chance(0.5) else None
        of_classes = h.array(h.pick([np.empty(0), np.zeros(self.k)]))
        trainer.dual_sums(v, *shares, sums, of_classes, class_major)
        duals = v if h.chance(0.5) else None
        largest = h.array(np.ones(self.d + 1))
        wide = like_w(np.dtype(np.float64))
        trainer.inspect(wide, largest, duals, *shares, sums, of_classes, class_major)
        trainer.inspect_held(W, v, *shares)
        trainer.gradient(W, like_w(), class_major)
        trainer.curvature(W, like_w(), like_w(), class_major)
        trainer.log_softmax(W, v, class_major)
