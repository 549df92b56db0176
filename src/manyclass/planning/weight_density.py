"""Which share of W is not 0, from the sizes of the data: for text, and relative margins.

Features are used as often as Zipf's law says, u_j = min(n, c / j) times in sum nnz. Each use brings
weights for the classes in which its example has a z that is not 0, s of k, as if drawn anew:

    share of k in which feature j has a weight  =  1 - exp(-u_j s / k)

Measured on eight corpora of 105 to 3,000 classes: with s from the densities of W, s was 0.6 to 1.1
times the number of z (docs/plan.md).
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from functools import lru_cache

STEPS = 200  # of the sum over features
HALVINGS = 50  # of the interval in which c is looked for


@dataclass(frozen=True, slots=True)
class Filling:
    """What W holds.

    Attributes
    ----------
    density : float
        Share of W that is not 0.
    fill : float
        The same share where features count as often as X has them: frequent ones have weights
        for more classes.
    packed : float
        Mean over the features of that share twice, but 1 at most: a weight that is not 0 travels
        with its class, or all of a feature's travel without.
    """

    density: float
    fill: float
    packed: float


def filling(n_examples: int, n_features: int, n_nonzero: int, classes: float) -> Filling:
    """Return what W holds.

    Parameters
    ----------
    n_examples, n_features, n_nonzero : int
    classes : float
        s / k: the share of the classes in which an example has a z that is not 0.

    Returns
    -------
    Filling

    Examples
    --------
    >>> from manyclass.planning.weight_density import filling
    >>> found = filling(10_000, 30_000, 800_000, 0.03)
    >>> 0 < found.density < found.fill < 1
    True
    """
    counts, uses = _uses(n_examples, n_features, n_nonzero)
    shares = [-math.expm1(-use * classes) for use in uses]
    of_uses = [count * use for count, use in zip(counts, uses, strict=True)]
    return Filling(
        density=_dot(counts, shares) / n_features,
        fill=_dot(of_uses, shares) / sum(of_uses),
        packed=_dot(counts, [min(1.0, 2 * share) for share in shares]) / n_features,
    )


def share_of_uses(n_examples: int, n_features: int, n_nonzero: int, first: float) -> float:
    """Return the share of the non-zeros of X that the `first` most frequent features have."""
    counts, uses = _uses(n_examples, n_features, n_nonzero)
    of_uses = [count * use for count, use in zip(counts, uses, strict=True)]
    # Of the run of features that is cut, its part.
    begins = itertools.accumulate(counts, initial=0.0)
    parts = [min(1.0, max(0.0, (first - b) / c)) for b, c in zip(begins, counts, strict=False)]
    return min(1.0, _dot(of_uses, parts) / sum(of_uses))


@lru_cache(maxsize=16)
def _uses(n: int, d: int, nnz: int) -> tuple[list[float], list[float]]:
    """Numbers of features, the most frequent first, and how often each of them is used."""
    edges = sorted({round(d ** (step / STEPS)) for step in range(STEPS + 1)} | {0})
    pairs = list(itertools.pairwise(edges))
    counts = [float(high - low) for low, high in pairs]
    places = [math.sqrt(max(1, low) * high) for low, high in pairs]

    def uses(c: float) -> list[float]:
        return [min(float(n), c / place) for place in places]

    low, high = 0.0, float(n) * d
    for _ in range(HALVINGS):  # sum_j min(n, c / j) = nnz
        c = (low + high) / 2
        low, high = (c, high) if _dot(counts, uses(c)) < nnz else (low, c)
    return counts, uses(high)


def _dot(a: list[float], b: list[float]) -> float:
    return math.fsum(map(operator.mul, a, b))
