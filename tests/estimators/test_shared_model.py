"""One StochasticClassifier that threads share: no step is lost, and no prediction is torn."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from manyclass import StochasticClassifier
from manyclass.estimators.stochastic import classifier, fit

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["x", "y", "z", "w"])
SECONDS = 600  # until what takes some milliseconds is said to hang


def model(**options):
    return StochasticClassifier(random_state=0, tol=None, max_iter=2, **options)


def test_steps_of_all_threads_count():
    shared = model()
    with ThreadPoolExecutor(4) as threads:
        for _ in range(40):
            threads.submit(shared.partial_fit, X, Y, classes=[0, 1, 2])
    assert shared.n_steps_ == 40 * len(X)
    assert shared.weight_seen_ == 40 * len(X)


@pytest.mark.parametrize("warm_start", [False, True])
def test_predictions_during_a_fit_are_those_of_the_old_model(monkeypatch, warm_start):
    """The new rows have other features and classes."""
    shared = model(warm_start=warm_start).fit(X, Y)
    before, seen = shared.predict(X), []

    def spy(original):
        def spying(*arguments, **options):
            seen.append(shared.predict(X))
            seen.append(shared.predict_top_k(X, 1)[:, 0])
            found = original(*arguments, **options)
            seen.append(shared.predict(X))
            return found

        return spying

    monkeypatch.setattr(classifier, "training_data", spy(classifier.training_data))
    monkeypatch.setattr(fit, "train_stochastic", spy(fit.train_stochastic))
    shared.fit(np.eye(4)[:, :3], NAMES)
    assert len(seen) == 6
    assert all((found == before).all() for found in seen)
    assert set(shared.predict(np.eye(4)[:, :3])) <= set(NAMES)


def test_predictions_between_fits_are_of_one_model():
    """Fits with other classes, again and again, while others predict."""
    shared, ended = model().fit(X, Y), threading.Event()

    def predict():
        kinds = set()
        while not ended.is_set():
            kinds.add(shared.predict(X).dtype.kind)
            shared.decision_function(X[:2])
        return kinds

    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(predict) for _ in range(2)]
        try:
            for _ in range(15):
                shared.fit(X[Y > 0], NAMES[Y[Y > 0]])
                shared.fit(X, Y)
        finally:
            ended.set()
        assert all(one.result(SECONDS) <= {"i", "U"} for one in found)


def test_a_reader_waits_for_the_steps_under_way(monkeypatch):
    shared = model().partial_fit(X, Y, classes=[0, 1, 2])
    run = shared._running.run
    began, go_on, epoch = threading.Event(), threading.Event(), type(run).epoch

    def slow(*arguments, **options):
        began.set()
        assert go_on.wait(SECONDS)
        return epoch(*arguments, **options)

    monkeypatch.setattr(type(run), "epoch", slow)
    with ThreadPoolExecutor(2) as threads:
        training = threads.submit(shared.partial_fit, X, Y)
        assert began.wait(SECONDS)
        reading = threads.submit(lambda: shared.coef_)
        assert not reading.done()
        go_on.set()
        training.result(SECONDS)
        assert (reading.result(SECONDS) == shared.coef_).all()


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_train_by_themselves(copied):
    shared = model().partial_fit(X, Y, classes=[0, 1, 2])
    other = copied(shared)
    assert (other.predict(X) == shared.predict(X)).all()
    if copied is not copy.copy:
        other.partial_fit(X, Y)
        assert (other.n_steps_, shared.n_steps_) == (300, 150)


def test_clones_are_not_fitted_and_a_refused_fit_leaves_the_model():
    shared = model().partial_fit(X, Y, classes=[0, 1, 2])
    assert not {"_running", "classes_"} & set(clone(shared).__dict__)
    shared = model().fit(X, Y)
    before = shared.predict(X)
    with pytest.raises(ValueError, match="weight"):
        shared.fit(np.eye(3), [0, 1, 2], sample_weight=[-1.0, 1.0, 1.0])
    assert shared.n_features_in_ == 4
    assert (shared.predict(X) == before).all()
