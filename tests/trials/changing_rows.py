"""Trial: sequences of fits with ``warm_start=True`` while rows, classes and columns come and go.

Every fit of a sequence is compared with one that starts cold: neither may prove a D above the P of
the other. Certificates of ``MulticlassSVC`` are judged exactly as well (judging.py). Nothing may
be left of rows that are gone. Prints what differs, and ends with 1 if something does.

    python -m tests.trials.changing_rows --sequences 300 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import MultinomialLogisticRegression
from tests.trials.judging import Keeper, verdict_of
from tests.trials.random_problems import RandomProblem
from tests.trials.warm_starts import differs, parameters, plain

FITS = 7  # in a sequence
NAMES = np.array(["ash", "birch", "cedar", "elm", "fir", "larch", "oak", "yew"])


class Data(NamedTuple):
    """Rows, the numbers of their classes, their weights."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    weights: NDArray[np.float64]

    def some(self, rows: NDArray[np.intp]) -> Data:
        """Return some rows, in this order."""
        return Data(self.X[rows], self.y[rows], self.weights[rows])

    def with_rows(self, X: NDArray[Any], y: NDArray[np.int64]) -> Data:
        """Return these and more rows."""
        weights = np.append(self.weights, np.ones(len(y)))
        return Data(np.vstack([self.X, X.astype(self.X.dtype)]), np.append(self.y, y), weights)


def drawn(rng: np.random.Generator, n: int, d: int, k: int) -> Data:
    """Return rows of overlapping classes."""
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[y] * (rng.random((n, d)) < 0.7)
    X[rng.random((n, d)) < 0.3] = 0
    return Data(X, y, np.ones(n))


def added(data: Data, rng: np.random.Generator) -> Data:
    """Add rows that look like those that are there."""
    like = rng.integers(0, len(data.y), rng.integers(1, 6))
    noise = rng.normal(size=(len(like), data.X.shape[1]))
    return data.with_rows(data.X[like] + noise, data.y[like])


def removed(data: Data, rng: np.random.Generator) -> Data:
    """Remove rows."""
    return data.some(np.flatnonzero(rng.random(len(data.y)) < rng.choice([0.5, 0.9, 0.99])))


def doubled(data: Data, rng: np.random.Generator) -> Data:
    """Repeat rows."""
    again = rng.integers(0, len(data.y), 4)
    return data.with_rows(data.X[again], data.y[again])


def reordered(data: Data, rng: np.random.Generator) -> Data:
    """Change the order of the rows."""
    return data.some(rng.permutation(len(data.y)))


def reweighted(data: Data, rng: np.random.Generator) -> Data:
    """Change some weights, or all alike; 0 drops a row."""
    factors = rng.choice([1.0, 1.0, 1.0, 0.0, 1e-3, 1e3, 1.1], len(data.y))
    if rng.random() < 0.3:
        factors = np.full(len(data.y), 10.0 ** rng.uniform(-2, 2))
    weights = np.clip(np.where(data.weights == 0, 1.0, data.weights) * factors, 0, 1e6)
    return data._replace(weights=weights)


def relabelled(data: Data, rng: np.random.Generator) -> Data:
    """Correct some labels."""
    y = data.y.copy()
    y[rng.integers(0, len(y), 3)] = rng.choice(y, 3)
    return data._replace(y=y)


def with_class(data: Data, rng: np.random.Generator) -> Data:
    """Add a class, which may stand between others."""
    missing = np.setdiff1d(np.arange(len(NAMES)), data.y)
    if not len(missing):
        return data
    X = rng.normal(size=(3, data.X.shape[1])) + rng.normal(size=data.X.shape[1])
    return data.with_rows(X, np.full(3, rng.choice(missing)))


def without_class(data: Data, rng: np.random.Generator) -> Data:
    """Remove all rows of a class."""
    return data.some(np.flatnonzero(data.y != rng.choice(data.y)))


def widened(data: Data, rng: np.random.Generator) -> Data:
    """Append columns, zeros for the rows that are there."""
    zeros = np.zeros((len(data.y), int(rng.integers(1, 3))), data.X.dtype)
    wide = data._replace(X=np.hstack([data.X, zeros]))
    return added(wide, rng)


def narrowed(data: Data, _rng: np.random.Generator) -> Data:
    """Remove the last column, and the rows that have it."""
    if data.X.shape[1] < 2:
        return data
    kept = data.some(np.flatnonzero(data.X[:, -1] == 0))
    return kept._replace(X=kept.X[:, :-1].copy())


def nothing(data: Data, _rng: np.random.Generator) -> Data:
    """Change nothing."""
    return data


CHANGES: list[Callable[[Data, np.random.Generator], Data]] = [
    *(added, removed, doubled, reordered, reweighted, relabelled),
    *(with_class, without_class, widened, narrowed, nothing),
]


def is_enough(data: Data) -> bool:
    """Whether two classes have a row with a weight."""
    return len(np.unique(data.y[data.weights > 0])) >= 2


def judged(model: Keeper, X: NDArray[Any], labels: NDArray[Any], data: Data) -> str | None:
    """Say whether the certificate is wrong, computed without rounding."""
    some = data.weights > 0
    y = np.searchsorted(model.classes_, labels[some])
    params = {**model.get_params(), "k": len(model.classes_)}
    problem = RandomProblem(0, X[some], y, data.weights[some], params, False, None)
    with np.errstate(all="ignore"):
        verdict = verdict_of(problem, model, [])
    return f"false claim: {verdict.cause}, excess {verdict.excess}" if verdict.is_false else None


def leftovers(model: Any, n: int) -> str | None:
    """Say whether the state for the next fit has anything of rows that are gone."""
    kept = model._warm_start
    sizes = {len(kept.labels), len(kept.costs), len(kept.prints), kept.start.duals.shape[0]}
    if kept.start.log_u is not None:
        sizes.add(len(kept.start.log_u))
    return None if sizes == {n} else f"state of {sizes} rows, and there are {n}"


def fitted(
    kind: type, warm: Any, chosen: dict[str, Any], data: Data, rng: np.random.Generator, seed: int
) -> str | None:
    """Fit the model again; return what is wrong, if something is."""
    labels = NAMES[data.y] if seed % 2 else data.y
    X = sp.csr_array(data.X) if rng.random() < 0.5 else data.X
    base = None
    k = len(np.unique(data.y[data.weights > 0]))
    if rng.random() < 0.2 and not (k == 2 and chosen.get("formulation") == "one_vs_rest"):
        base = rng.normal(size=(len(data.y), k))
    cold = kind(random_state=0, **chosen).fit(X, labels, data.weights, base_scores=base)
    warm.set_params(**chosen).fit(X, labels, data.weights, base_scores=base)
    n = len(warm._warm_start.labels)
    half_rows = kind is MultinomialLogisticRegression
    if n != np.count_nonzero(data.weights) and not half_rows:
        return f"{n} rows, and {np.count_nonzero(data.weights)} have a weight"
    wrong = differs(warm, cold, X) or leftovers(warm, n)
    if wrong or base is not None or kind is MultinomialLogisticRegression:
        return wrong
    return judged(warm, data.X, labels, data)


def sequence(seed: int, counts: Counter[str]) -> str | None:
    """Fit one model again and again; return what is wrong, if something is."""
    rng = np.random.default_rng(seed)
    kind = Keeper if rng.random() < 0.75 else MultinomialLogisticRegression
    warm, chosen = kind(warm_start=True, random_state=0), plain(parameters(rng, kind))
    n = int(rng.choice([15, 40, 200]))
    data = drawn(rng, n, int(rng.choice([1, 3, 6])), int(rng.integers(2, 6)))
    data = data._replace(X=data.X.astype(rng.choice([np.float32, np.float64])))
    for i in range(FITS):
        changes = [] if i == 0 else rng.choice(len(CHANGES), rng.integers(1, 4)).tolist()
        after = data
        for number in changes:
            after = CHANGES[number](after, rng) if len(after.y) else after
        data = after if is_enough(after) else data
        if i and rng.random() < 0.2:
            other = plain(parameters(rng, kind))
            kept = ("formulation", "loss", "weights") if rng.random() < 0.7 else ()
            chosen = {**other, **{name: chosen[name] for name in kept if name in chosen}}
        said = f"sequence {seed}, fit {i} of {kind.__name__}: {chosen} {data.X.shape}"
        names = ", ".join(CHANGES[number].__name__ for number in changes)
        try:
            wrong = fitted(kind, warm, chosen, data, rng, seed)
        except FloatingPointError:
            return None  # weights that overflow
        except Exception as error:
            return f"{said} after {names}: {type(error).__name__} {error}"
        if wrong:
            return f"{said} after {names}: {wrong}"
        counts.update(CHANGES[number].__name__ for number in changes)
    return None


def main() -> int:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began = time.perf_counter()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    found = [sequence(args.seed + i, counts) for i in range(args.sequences)]
    wrong = [what for what in found if what]
    for what in wrong[:20]:
        print(what)
    print(
        f"changing rows: {args.sequences} sequences of {FITS} fits, {len(wrong)} failed, "
        f"{time.perf_counter() - began:.0f} s; {dict(counts)}"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
