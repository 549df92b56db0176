"""The bounds of the optimum, from models at some C."""

import numpy as np
import pytest

from manyclass.model_selection.path import Envelope
from tests.helpers.cases import each

WORST = 1e9  # loss of W = 0: so large that gaps are compared with the optimum


def lines(seed, n):
    """Penalties and losses of models, each the best one somewhere: P* is their minimum."""
    rng = np.random.default_rng(seed)
    penalties = np.sort(rng.exponential(5.0, n)) + 0.1
    losses = np.sort(rng.exponential(3.0, n))[::-1]
    return penalties, losses


@each("seed", range(20))
def test_the_optimum_is_between_the_bounds(seed):
    penalties, losses = lines(seed, 40)
    optimum = lambda C: (penalties[:, None] + losses[:, None] * C).min(axis=0)  # noqa: E731
    Cs = np.sort(np.exp(np.random.default_rng(seed).uniform(-4, 4, 6)))
    best = np.argmin(penalties[:, None] + losses[:, None] * Cs, axis=0)
    duals = optimum(Cs) * np.random.default_rng(seed).uniform(0.9, 1.0, 6)
    envelope = Envelope(Cs, penalties[best], losses[best], duals, np.full(6, WORST))
    C = np.geomspace(Cs[0], Cs[-1], 500)
    assert (envelope.lower(C) <= optimum(C) * (1 + 1e-12)).all()
    assert (envelope.upper(C) >= optimum(C) * (1 - 1e-12)).all()
    where, gap = envelope.widest(Cs[0], Cs[-1])
    assert gap >= envelope.gap(C).max() * (1 - 1e-12)
    assert envelope.gap(where) == pytest.approx(gap)


def test_by_hand():
    # Two models: 1 + 4 C, trained at 1 (P* = 5), and 4 + C, trained at 4 (P* = 8).
    envelope = Envelope(*np.array([[1.0, 4], [1, 4], [4, 1], [5, 8], [WORST] * 2]))
    assert envelope.widest(1, 4) == pytest.approx((1.0, 0.0))
    envelope = Envelope(*np.array([[1.0, 4], [1, 4], [4, 1], [4.5, 7], [WORST] * 2]))
    C, gap = envelope.widest(1, 4)
    assert (C, gap) == pytest.approx((4.0, 1 / 7))
    assert envelope.upper(2.5) == pytest.approx(6.5)
    assert envelope.lower(2.5) == pytest.approx(5.75)
    assert envelope.best([1.0, 4.0]).tolist() == [0, 1]


def test_a_gap_is_compared_with_what_there_was_to_gain():
    # W = 0 loses 5 C: at C = 4, P(0) = 20; at C = 1 there is P(0) - P = 0.2 to gain.
    envelope = Envelope(*np.array([[1.0, 4], [0.8, 4], [4, 1], [4.7, 7.9], [5, 5]]))
    assert envelope.gap(1.0) == pytest.approx(0.1 / 0.2)
    assert envelope.gap(4.0) == pytest.approx(0.1 / 7.9)
    # The lines cross at C = 3.2 / 3.
    C, gap = envelope.widest(1, 4)
    assert pytest.approx(3.2 / 3) == C
    assert gap == pytest.approx((4 + C - 4.7 - 3.2 * (C - 1) / 3) / (5 * C - 4 - C))
    # Where W = 0 is as good as any model known, nothing is proven.
    assert Envelope(*np.array([[1.0], [1.0], [4.0], [4.9], [5.0]])).gap(1.0) == np.inf


def test_bounds_are_widened_by_rounding_and_do_not_fall_beyond_the_last_model():
    envelope = Envelope(*np.array([[1.0], [1.0], [1.0], [2.0], [WORST]]))
    assert envelope.lower(1.0) < 2.0 < envelope.upper(1.0)
    assert 0 < envelope.gap(1.0) < 1e-14
    envelope = Envelope(*np.array([[1.0, 4], [1, 4], [4, 0], [5, 4], [WORST] * 2]))
    assert envelope.lower(100.0) == pytest.approx(5.0)
    assert envelope.upper(100.0) == pytest.approx(4.0)
    assert envelope.gap(100.0) == 0
