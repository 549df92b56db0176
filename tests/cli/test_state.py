"""``train --start OLD --state FILE``: from one day to the next."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from manyclass import load_model, load_state
from manyclass.datasets import make_text_corpus

LOGISTIC = "--formulation", "logistic"


@pytest.fixture(name="days")
def days_fixture(here):
    """A folder with rows of two days."""
    X, y = make_text_corpus(220, 200, 5, random_state=0)
    for name, rows in {"old": slice(0, 200), "new": slice(10, 220)}.items():
        dump_svmlight_file(X[rows], y[rows], str(here / name), zero_based=False)
    return here


@pytest.mark.parametrize("given", [(), LOGISTIC, ("--multilabel",)])
def test_training_continues(run, days, given):
    run.works("train", "old", "m.old", "--state", "s", "--quiet", *given)
    assert load_state("s").get_params()["warm_start"]
    lines = run.works("train", "new", "m.new", "--start", "s", "--state", "s", *given)
    assert lines[0] == "s: the state of 200 rows, trained with C = 1"
    assert "saved s" in lines
    if given != ("--multilabel",):
        assert "warm start: 190 rows kept, 20 new, 10 gone" in lines
        run.works("train", "new", "again", "--start", "s", "--quiet", *given)
        assert load_model("again").n_iter_ == 0
    np.testing.assert_array_equal(load_state("s").coef_, load_model("m.new").coef_)


def test_model_files_without_state(run, days):
    run.works("train", "old", "m", "--quiet")
    first = run.works("train", "new", "m.new", "--start", "m")[0]
    assert first == "m: a model file without state: dual variables start at 0, as in new training"
    run.works("train", "old", "l", "--quiet", *LOGISTIC)
    first = run.works("train", "new", "l", "--start", "l", *LOGISTIC)[0]
    assert first == "l: a model file without state: training starts from its weights"


def test_states_that_do_not_serve(run, days):
    run.works("train", "old", "m", "--state", "s", "--quiet")
    other = run.fails("train", "new", "m.new", "--start", "s", *LOGISTIC)
    assert other == (
        "s: is a model of MulticlassSVC, crammer_singer, hinge, not of "
        "MultinomialLogisticRegression"
    )
    assert "holds a model with its state" in run.fails("predict", "new", "s", "out")
    assert "is not a state file and would be" in run.fails("train", "new", "n", "--state", "m")
    assert "is not a manyclass model and would be" in run.fails("train", "new", "s")
    assert not (days / "m.new").exists()
