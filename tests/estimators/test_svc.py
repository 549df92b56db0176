"""MulticlassSVC as a user meets it."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, MulticlassSVCCV
from manyclass.problem import objective
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS, SHORT_NAMES
from manyclass.problem.problem import Problem
from tests.helpers.catalog import PAIRS
from tests.helpers.iris import IRIS, fitted, tight
from tests.helpers.model_files import stored


# LinearSVC of scikit-learn 1.6 may stop at its limit; what it found by then is compared.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_agrees_with_linear_svc():
    X, y = IRIS
    settings = {"multi_class": "crammer_singer", "tol": 1e-7, "max_iter": 10**6, "random_state": 0}
    peer = LinearSVC(C=0.5, fit_intercept=False, **settings).fit(X, y)
    ours = tight(C=0.5, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    assert (ours.predict(X) == peer.predict(X)).all()


def test_certificate_holds_for_the_attributes():
    """From coef_ and intercept_ alone: the objective is what the certificate says."""
    X, y = IRIS
    model = tight(intercept_scaling=2.0, class_weight={0: 1, 1: 2, 2: 0.5}).fit(X, y)
    weights = np.vstack([model.coef_.T, model.intercept_ / 2.0])
    data = Dataset.from_matrix(X, y, n_classes=3, weights=np.array([1, 2, 0.5])[y], bias=2.0)
    problem = Problem(data, FORMULATIONS["crammer_singer"], 1.0)
    certificate = model.certificate_
    assert objective.primal(problem, weights) == pytest.approx(certificate.primal_objective)
    assert certificate.relative_gap <= 1e-10
    assert certificate.gap == pytest.approx(
        certificate.primal_objective - certificate.dual_objective, abs=1e-12
    )


def test_intercept_equals_an_appended_column():
    X, y = IRIS
    implicit = tight(intercept_scaling=3.0).fit(X, y)
    explicit = tight(fit_intercept=False).fit(np.column_stack([X, np.full(len(X), 3.0)]), y)
    np.testing.assert_allclose(implicit.coef_, explicit.coef_[:, :-1], atol=1e-6)
    np.testing.assert_allclose(implicit.intercept_, 3 * explicit.coef_[:, -1], atol=1e-6)
    assert (explicit.intercept_ == 0).all()


@pytest.mark.parametrize("name", list(FORMULATIONS))
def test_sample_weights_are_copies_and_zeros_are_absent(name):
    X, y = IRIS
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    # Rounding ends the other five at gaps of some 1e-9 on these unscaled features.
    exact = name in ("crammer_singer", "weston_watkins", "reinforced", "mmr")
    tol, digits = (1e-10, 1e-6) if exact else (1e-8, 1e-3)
    for class_weight in (None, "balanced", {0: 1, 1: 2, 2: 0.5}):
        model = tight(formulation=name, class_weight=class_weight, tol=tol)
        weighted = clone(model).fit(X, y, sample_weight=weights)
        repeated = clone(model).fit(X.repeat(weights, axis=0), y.repeat(weights))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=digits)


def test_a_class_of_weight_zero_is_absent():
    X, y = IRIS
    assert fitted(class_weight={0: 1, 1: 0, 2: 1}).classes_.tolist() == [0, 2]
    model = tight().fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1]


# For two classes every formulation is the binary machine min 1/2 ||w||^2 + C' sum loss(y w.x): by
# w_1 = -w_0 = u and v = w_1 - w_0 = 2u, 1/2 ||W||^2 is ||v||^2 / 4 = ||u||^2, the loss that of v
# (relative margins, C' = 2C) or of u (absolute ones, C' = C / 2; twice that where both classes are
# targets whose losses are added). One-vs-rest trains the binary machine itself. C' / C, coef_ / w.
BINARY = {
    "crammer_singer": (2, 1),
    "weston_watkins": (2, 1),
    "lee_lin_wahba": (0.5, 2),
    "adm": (0.5, 2),
    "atm": (0.5, 2),
    "mmr": (0.5, 2),
    "ats": (1, 2),
    "reinforced": (1, 2),
    "one_vs_rest": (1, 1),
}


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_binary_is_the_ordinary_svm(name, loss):
    X, y = IRIS[0][IRIS[1] > 0], IRIS[1][IRIS[1] > 0]
    peer = LinearSVC(loss=loss, dual=True, C=0.2, fit_intercept=False, tol=1e-9, max_iter=10**6)
    peer.fit(X, y)
    cost, stretch = BINARY[name]
    model = tight(formulation=name, loss=loss, fit_intercept=False, C=0.2 / cost).fit(X, y)
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.coef_, stretch * peer.coef_, atol=1e-4)
    assert model.decision_function(X).shape == (100,)
    assert (model.predict(X) == peer.predict(X)).all()


@pytest.mark.parametrize(("short", "full"), SHORT_NAMES.items())
def test_short_names_train_the_same(short, full):
    model, same = (fitted(formulation=name, tol=1e-3, warm_start=True) for name in (short, full))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.get_params()["formulation"] == short
    np.testing.assert_array_equal(stored(model).coef_, model.coef_)
    assert model.fit(*IRIS).certificate_.relative_gap <= 1e-3
    assert MulticlassSVCCV(formulation=short, Cs=[0.1], cv=2).fit(*IRIS).C_ == 0.1


def test_top_k_begins_with_the_prediction():
    model = fitted()
    X = IRIS[0]
    scores = model.decision_function(X)
    for k in (1, 2, 3):
        top = model.predict_top_k(X, k)
        assert top.shape == (150, k)
        assert (top[:, 0] == model.predict(X)).all()
        assert (top == model.classes_[np.argsort(-scores, axis=1, kind="stable")[:, :k]]).all()
    binary = tight().fit(X[:100], IRIS[1][:100])
    assert (binary.predict_top_k(X, 2)[:, 0] == binary.predict(X)).all()
    for k in (0, 4, -1):
        with pytest.raises(ValueError, match="k must be from 1 to 3"):
            model.predict_top_k(X, k)


def test_sparsify_and_back(monkeypatch):
    model = fitted()
    scores = model.decision_function(IRIS[0])
    assert sp.issparse(model.sparsify().coef_)
    for X in (IRIS[0], sp.csr_array(IRIS[0])):
        np.testing.assert_allclose(model.decision_function(X), scores)
        assert (model.predict(X) == scores.argmax(axis=1)).all()
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(IRIS[0]), scores)


def test_prediction_in_parts_and_threads(monkeypatch):
    model = fitted()
    whole = model.decision_function(IRIS[0])
    monkeypatch.setattr("manyclass.prediction.scoring.WORK_AT_A_TIME", 20)
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs)
        np.testing.assert_allclose(model.decision_function(IRIS[0]), whole)
        assert (model.predict(sp.csr_array(IRIS[0])) == whole.argmax(axis=1)).all()
        assert (model.predict_top_k(IRIS[0], 1)[:, 0] == whole.argmax(axis=1)).all()


def test_warning_tells_the_gap_and_what_to_do():
    message = r"after 1 epoch.* at relative gap .*raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = MulticlassSVC(tol=1e-9, max_iter=1).fit(*IRIS)
    assert caught[0].filename == __file__
    assert model.certificate_.relative_gap > 1e-9
    assert model.n_iter_ == len(model.history_) == 1


def test_lines_and_history_are_of_epochs(capsys):
    model = MulticlassSVC(verbose=1, random_state=0).fit(*IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("epoch    1 ")
    for word in ("primal", "gap", "active", " s "):
        assert word in lines[0]
    history = fitted().history_
    assert [record.epoch for record in history] == list(range(1, len(history) + 1))
    assert all(b.seconds >= a.seconds for a, b in pairwise(history))
    assert all(0 <= record.active_share <= 1 for record in history)
    assert history[-1].relative_gap <= 1e-9


def test_in_the_tools_of_scikit_learn():
    X, y = IRIS
    scaled = make_pipeline(StandardScaler(), MulticlassSVC(random_state=0))
    search = GridSearchCV(scaled, {"multiclasssvc__C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(MulticlassSVC(random_state=0), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)
    model = fitted()
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (twin.predict(X) == model.predict(X)).all()
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_class_weights_of_one_vs_rest_weigh_rows_by_their_own_class(loss):
    """LinearSVC and LIBLINEAR weigh the positive rows of each binary problem instead."""
    X, y = IRIS
    weights, settings = {0: 1.0, 1: 3.0, 2: 7.0}, {"C": 0.2, "fit_intercept": False}

    def binary(c, sample_weight):
        return tight(loss=loss, formulation="ovr", **settings).fit(X, y == c, sample_weight)

    own = np.vectorize(weights.get)(y)
    model = tight(loss=loss, formulation="ovr", class_weight=weights, **settings).fit(X, y)
    own_settings = {"loss": loss, "class_weight": weights, "tol": 1e-9, "max_iter": 10**6}
    peer = LinearSVC(dual=True, **own_settings, **settings).fit(X, y)
    for c in range(3):
        np.testing.assert_allclose(model.coef_[c], binary(c, own).coef_[0], atol=1e-5)
        theirs = binary(c, np.where(y == c, weights[c], 1.0)).coef_[0]
        np.testing.assert_allclose(peer.coef_[c], theirs, atol=1e-3)
    assert np.abs(model.coef_ - peer.coef_).max() > 0.1
