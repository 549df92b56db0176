"""Which values of C are dropped, and which one is chosen."""

import numpy as np
from scipy import stats

from manyclass.model_selection.search import chosen, has_passed, near_best, worse
from tests.helpers.cases import each


@each("seed", range(20))
def test_the_paired_test_is_that_of_scipy_but_for_its_variance(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.8, 0.05, (5, 1)) + rng.normal([0, -0.01, -0.03], 0.02, (5, 3))
    best = np.argmax(scores.mean(axis=0))
    # The usual t-test, with a share of 0 instead of n_test / n_train.
    with np.errstate(invalid="ignore"):
        p = stats.ttest_rel(scores[:, [best]], scores, alternative="greater").pvalue
    assert worse(scores, 0.0).tolist() == (np.nan_to_num(p, nan=1.0) < 0.05).tolist()
    assert not (worse(scores, 0.25) & ~worse(scores, 0.0)).any()


def test_by_hand_and_one_fold_drops_nothing():
    scores = np.array([[3.0, 2.0, -9], [4, 2, -9], [5, 2, -9]])
    assert worse(scores, 0.0).tolist() == [False, True, True]
    assert worse(scores, 0.5).tolist() == [False, False, True]
    assert not worse(np.array([[1.0, 0.0]]), 0.25).any()


def test_the_climb_ends_after_two_worse_ones():
    scores = np.tile([0.5, 0.9, 0.6, 0.5], (5, 1)) + np.linspace(0, 0.01, 5)[:, None]
    assert not has_passed(scores[:, :1], 0.25)
    assert not has_passed(scores[:, :3], 0.25)
    assert has_passed(scores, 0.25)


def test_one_standard_error_and_equal_scores():
    scores = np.array([[0.7, 0.80, 0.84], [0.7, 0.84, 0.86], [0.7, 0.82, 0.82]])
    assert near_best(scores).tolist() == [False, False, True]
    scores[:, 1] += 0.01
    assert near_best(scores).tolist() == [False, True, True]
    assert chosen(scores, one_standard_error=True) == 1
    assert chosen(scores, one_standard_error=False) == 2
    assert chosen(np.array([[0.5, 0.7, 0.7]]), one_standard_error=False) == 1
