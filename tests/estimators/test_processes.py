"""Training in worker and forked processes: no more threads than their share, none that are lost."""

import multiprocessing

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from manyclass import MulticlassSVC
from manyclass.solvers import newton_phase
from manyclass.solvers.newton_phase import Pace
from manyclass.utils.machine import effective_n_jobs
from tests.helpers.clusters import clusters

CORES = joblib.cpu_count()
X, Y = load_iris(return_X_y=True)


class Counting(MulticlassSVC):
    """Keeps the number of threads that it was granted."""

    def fit(self, X, y):
        self.threads_ = effective_n_jobs(self.n_jobs)
        return super().fit(X, y)


def iris_model(n_jobs):
    return Counting(formulation="one_vs_rest", n_jobs=n_jobs, random_state=0)


def fit_iris(n_jobs):
    return iris_model(n_jobs).fit(X, Y)


def test_outside_of_workers_threads_are_as_in_joblib(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for n_jobs in (None, 1, 3, -1):
        assert effective_n_jobs(n_jobs) == joblib.effective_n_jobs(n_jobs)


@pytest.mark.parametrize(("share", "expected"), [("1", 1), ("3", 3), ("9", 5), ("", 5), ("2,1", 5)])
def test_a_nested_call_takes_its_share(share, expected, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", share)
    inside = joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(effective_n_jobs)(n_jobs) for n_jobs in (5, None)
    )
    assert inside == [expected, 1]


@pytest.mark.slow
def test_workers_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    share = max(1, CORES // 2)
    wanted = [-1, 2, 1, None]
    inside = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(fit_iris)(n_jobs) for n_jobs in wanted
    )
    assert [model.threads_ for model in inside] == [share, min(2, share), 1, 1]
    for model in inside:
        assert (model.coef_ == fit_iris(model.threads_).coef_).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [-1, 2])
def test_a_grid_search_in_workers_equals_one_outside(n_jobs, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    grid = {"C": [0.01, 1.0]}
    search = GridSearchCV(iris_model(n_jobs), grid, cv=3, n_jobs=2).fit(X, Y)
    alone = GridSearchCV(iris_model(max(1, CORES // 2)), grid, cv=3).fit(X, Y)
    assert search.best_params_ == alone.best_params_
    for key in ("mean_test_score", "std_test_score"):
        assert (search.cv_results_[key] == alone.cv_results_[key]).all()


def train(name):
    rows, y = clusters(2000, 20, 5, dense=True)
    model = MulticlassSVC(formulation=name, n_jobs=2, tol=1e-4, random_state=0)
    return model.fit(rows.astype(np.float64), y)


def train_and_predict(name, queue):
    model = train(name)
    queue.put((model.coef_, model.predict(X=clusters(2000, 20, 5, dense=True)[0])))


@pytest.mark.parametrize("name", ["one_vs_rest", "crammer_singer"])
def test_a_forked_process_trains_in_threads_after_its_parent_did(name, monkeypatch):
    """Groups of classes in threads, and the team of the Newton phase."""
    monkeypatch.setattr(newton_phase, "START", 10.0)
    monkeypatch.setattr(Pace, "is_slow", lambda self, passes=0: True)
    model = train(name)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=train_and_predict, args=(name, queue))
    child.start()
    try:
        coef, labels = queue.get(timeout=600)
    finally:
        child.join(timeout=600)
    assert child.exitcode == 0
    assert (coef == model.coef_).all()
    assert (labels == model.predict(clusters(2000, 20, 5, dense=True)[0])).all()
