"""Rows to be cut into parts, their optimum by NumPy, and faults at a question of the training."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

from manyclass import MultinomialLogisticRegression
from manyclass.distributed.clusters.cluster import RemoteParts
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.objective import primal as primal_of
from manyclass.problem.problem import Problem

N, D, K = 160, 7, 5
RNG = np.random.default_rng(0)
Y = np.concatenate([np.arange(K), RNG.integers(0, K, N - K)])
X = RNG.normal(size=(N, D)) + 0.7 * RNG.normal(size=(K, D))[Y]
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
WIDE = sp.random_array((N, 900), density=0.02, random_state=RNG, format="csr")
DATA = {
    "dense": X,
    "sparse": sp.csr_array(X * (RNG.random(X.shape) < 0.3)),
    "wide": WIDE,
    "float32": X.astype(np.float32),
}


def ends(size, n=N):
    """Uneven parts; with seven, one has no row and one has one."""
    cuts = {2: [50], 3: [20, 90], 7: [1, 1, 30, 60, 90, 130]}[size]
    return [0, *cuts, n]


def check_certificate(model, X, y, C=1.0, *, free=True):
    """P in NumPy on all rows, and D <= the optimum, as P at any W is at least it."""
    W = np.asarray(model.coef_, np.float64)
    scores = np.asarray(X @ W.T) + model.intercept_
    codes = np.searchsorted(model.classes_, y)
    P = 0.5 * (W**2).sum() + 0.5 * (0 if free else (model.intercept_**2).sum())
    P -= C * log_softmax(scores, axis=1)[np.arange(len(y)), codes].sum()
    assert model.certificate_.primal_objective == pytest.approx(P, rel=1e-6)
    best = MultinomialLogisticRegression(
        C=C, tol=1e-9, regularize_intercept=not free, fit_intercept=bool(model.intercept_.any())
    ).fit(sp.csr_array(X, dtype=np.float64), y)
    assert model.certificate_.dual_objective <= best.certificate_.primal_objective * (1 + 1e-12)


def primal(model, X, y, weights=None):
    """P of a support vector machine at its weights, in NumPy."""
    codes = np.searchsorted(model.classes_, y)
    weights = np.ones(len(y)) if weights is None else weights
    data = Dataset.from_matrix(
        X, codes, n_classes=len(model.classes_), weights=weights, bias=float(model.fit_intercept)
    )
    problem = Problem(data, named(model.formulation), model.C, model.loss)
    coef, intercept = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
        if problem.formulation.is_separable:
            coef, intercept = 2 * coef, 2 * intercept
    W = np.vstack([coef.T, intercept]).astype(np.float64)
    return primal_of(problem, W)


def at_question(monkeypatch, number, action):
    """Take an action, given the parts, before a question of the training; the questions so far."""
    asked, original = [], RemoteParts.add

    def add(self, *arguments):
        asked.append(len(asked))
        if len(asked) == number:
            action(self)
        original(self, *arguments)

    monkeypatch.setattr(RemoteParts, "add", add)
    return asked
