"""StochasticClassifier: fits, probabilities, parameters, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from manyclass import MulticlassSVC, StochasticClassifier
from manyclass.solvers.sgd import STOCHASTIC_LOSSES
from manyclass.solvers.sgd_objective import losses
from tests.helpers.cases import each
from tests.helpers.digits import FIRST, REST, contents, fitted, refused


@pytest.mark.parametrize("loss", STOCHASTIC_LOSSES)
@pytest.mark.parametrize("average", [False, True, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accuracy(loss, average, dtype):
    model = fitted(FIRST[0].astype(dtype), loss=loss, average=average)
    assert model.score(*REST) > 0.88
    assert model.coef_.dtype == dtype
    assert model.coef_.shape == (10, 64)
    assert model.n_steps_ == 600 * model.n_iter_ == model.weight_seen_
    assert len(model.history_) == model.n_iter_
    assert [record.epoch for record in model.history_] == list(range(1, model.n_iter_ + 1))


def test_hinge_comes_near_the_exact_machine():
    exact = MulticlassSVC(C=1 / (600 * 0.02), tol=1e-5).fit(*FIRST)
    alpha = 0.02
    model = fitted(alpha=alpha, average=True, max_iter=300, tol=None, compute_objective=True)
    optimum = alpha * exact.certificate_.primal_objective
    assert optimum < model.objective_ < 1.01 * optimum
    assert (model.predict(REST[0]) == exact.predict(REST[0])).mean() > 0.99


def test_probabilities_are_those_of_logistic_regression():
    alpha = 0.01
    model = fitted(loss="log_loss", alpha=alpha, fit_intercept=False, max_iter=300, tol=None)
    peer = LogisticRegression(C=1 / (600 * alpha), fit_intercept=False, tol=1e-8, max_iter=5000)
    peer.fit(*FIRST)
    np.testing.assert_allclose(model.predict_proba(REST[0]), peer.predict_proba(REST[0]), atol=5e-3)
    np.testing.assert_allclose(model.predict_proba(REST[0]).sum(axis=1), 1)
    expected = log_loss(REST[1], model.predict_proba(REST[0]))
    scores = model.decision_function(REST[0])
    assert losses("log_loss", REST[1], scores).mean() == pytest.approx(expected, rel=1e-6)


def test_binary_probabilities():
    y = np.where(FIRST[1] % 2, "odd", "even")
    alpha = 0.01
    model = fitted(y=y, loss="log_loss", alpha=alpha, max_iter=300, tol=None)
    # Half of ||w_1 - w_0||^2 is ||w_0||^2 + ||w_1||^2.
    peer = LogisticRegression(C=2 / (600 * alpha), fit_intercept=False, tol=1e-8, max_iter=5000)
    ones = np.ones((600, 1))
    peer.fit(np.hstack([FIRST[0], ones]), y)
    assert model.coef_.shape == (1, 64)
    np.testing.assert_allclose(
        model.predict_proba(FIRST[0]), peer.predict_proba(np.hstack([FIRST[0], ones])), atol=5e-3
    )
    assert (
        model.predict(FIRST[0]) == model.classes_[model.predict_proba(FIRST[0]).argmax(1)]
    ).all()


def test_log_probabilities_and_scores_that_overflow():
    model = fitted(100 * FIRST[0], loss="log_loss")
    shares, logs = model.predict_proba(100 * REST[0]), model.predict_log_proba(100 * REST[0])
    assert (shares == 0).any()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(logs, np.log(shares), rtol=1e-6, atol=1e-12)
    model = fitted(loss="log_loss")
    refused(FloatingPointError, "overflow", lambda: model.predict_proba(FIRST[0] * 1e307))


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_probabilities_need_the_logistic_loss(loss):
    model = fitted(loss=loss, max_iter=1, tol=None)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(FIRST[0])


def test_early_stopping():
    model = fitted(early_stopping=True, validation_fraction=0.2, average=True)
    scores = [record.validation_score for record in model.history_]
    assert all(0 <= score <= 1 for score in scores)
    assert model.weight_seen_ == 480 * model.n_iter_
    best = max(scores[:-5])
    assert all(score < best + 1e-3 for score in scores[-5:])


def test_held_out_rows_leave_every_class_a_row():
    y = np.arange(60)
    y[30:] = 0
    X = np.eye(60)
    model = fitted(X, y, early_stopping=True, validation_fraction=0.4, max_iter=2, tol=None)
    assert (model.classes_ == np.arange(30)).all()
    with pytest.raises(ValueError, match="two rows at least"):
        fitted(X, np.arange(60), early_stopping=True)


def test_weights_of_rows_and_classes():
    weights = np.ones(600)
    weights[::2] = 0
    without = fitted(FIRST[0][1::2], FIRST[1][1::2], shuffle=False)
    model = StochasticClassifier(shuffle=False).fit(*FIRST, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, without.coef_)
    heavy = StochasticClassifier(shuffle=False).fit(*FIRST, sample_weight=np.full(600, 3.0))
    np.testing.assert_allclose(heavy.coef_, fitted(shuffle=False).coef_, rtol=1e-6, atol=1e-9)
    lean = fitted(loss="log_loss", alpha=0.1, class_weight={3: 30.0})
    plain = fitted(loss="log_loss", alpha=0.1)
    assert (lean.predict(REST[0]) == 3).sum() > (plain.predict(REST[0]) == 3).sum()
    balanced = fitted(class_weight="balanced")
    assert balanced.score(*REST) > 0.85


def test_order_steps_and_averages():
    one, same, other = (fitted(random_state=s, max_iter=1, tol=None) for s in (0, 0, 1))
    assert (one.coef_ == same.coef_).all()
    assert (one.coef_ != other.coef_).any()
    model = fitted(max_steps=700)
    assert (model.n_steps_, model.n_iter_) == (700, 2)
    model = fitted(max_steps=7, batch_size=100)
    assert (model.n_steps_, model.weight_seen_) == (7, 700)
    one, other = (fitted(average=a, max_iter=2, tol=None) for a in (True, np.True_))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_lines(capsys):
    fitted(verbose=1, max_iter=2, tol=None, early_stopping=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("epoch    2 ")
    assert "loss" in lines[1]
    assert "validation" in lines[1]


def test_a_warning_says_that_the_loss_still_fell_and_leaves_a_whole_model():
    with pytest.warns(ConvergenceWarning, match=r"2 epoch.*raise max_iter") as caught:
        StochasticClassifier(max_iter=2).fit(*FIRST)
    assert caught[0].filename == __file__
    model = StochasticClassifier(max_iter=1)
    refused(ConvergenceWarning, "max_iter", lambda: model.fit(*FIRST))
    assert model.predict(REST[0]).shape == (1197,)
    assert model.n_features_in_ == 64


@pytest.mark.parametrize("loss", STOCHASTIC_LOSSES)
def test_rows_of_zeros_and_missing_classes(loss):
    X = np.zeros((4, 3))
    model = fitted(X, [0, 1, 2, 2], loss=loss, max_iter=5, tol=None)
    assert np.isfinite(model.coef_).all()
    stream = StochasticClassifier(loss=loss).partial_fit(np.eye(3), [0, 1, 1], classes=range(5))
    assert stream.coef_.shape == (5, 3)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"loss": "squared_hinge"}, "loss"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1}, "alpha"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_steps": 0}, "max_steps"),
        ({"average": -1}, "average"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"loss": "log_loss", "weights": "sparse"}, "changes the weights of all"),
    ],
)
def test_parameters_are_checked(params, match):
    refused(ValueError, match, lambda: fitted(**params))


def test_input_is_checked_and_nothing_is_changed():
    model = fitted(max_iter=1, tol=None)
    state = contents(model)
    nan = FIRST[0].copy()
    nan[3, 3] = np.nan
    refused(ValueError, "NaN", lambda: model.fit(nan, FIRST[1]))
    refused(ValueError, "NaN", lambda: model.partial_fit(nan, FIRST[1]))
    refused(ValueError, "features", lambda: model.partial_fit(FIRST[0][:, :5], FIRST[1]))
    refused(ValueError, "two classes", lambda: model.fit(FIRST[0], np.zeros(600)))
    refused(ValueError, "none of the classes", lambda: model.partial_fit(FIRST[0], FIRST[1] + 1))
    refused(
        ValueError, "differ from the first call", lambda: model.partial_fit(*FIRST, classes=[0, 1])
    )
    refused(ValueError, "Negative", lambda: model.fit(*FIRST, sample_weight=np.full(600, -1.0)))
    huge = FIRST[0] * 1e200
    refused(FloatingPointError, "scale the features", lambda: model.fit(huge, FIRST[1]))
    refused(FloatingPointError, "scale the features", lambda: model.partial_fit(huge, FIRST[1]))
    assert contents(model) == state
    new = clone(model)
    refused(ValueError, "classes must be passed", lambda: new.partial_fit(*FIRST))
    refused(ValueError, "two classes", lambda: new.partial_fit(*FIRST, classes=[1]))
    refused(ValueError, "NaN", lambda: new.partial_fit(nan, FIRST[1], classes=range(10)))
    assert vars(new) == vars(clone(model))


def test_weights_and_scores_of_a_batch_need_memory(monkeypatch):
    monkeypatch.setattr("manyclass.solvers.sgd_storage.available_memory", lambda: 1000)
    refused(MemoryError, r"need 0\.00528 MB", lambda: fitted(loss="log_loss", weights="dense"))
    assert sp.issparse(fitted().coef_)  # "auto" takes what fits
    # 5,200 bytes of weights, and 48,000 of a batch.
    monkeypatch.setattr("manyclass.solvers.sgd_storage.available_memory", lambda: 20_000)
    assert fitted(loss="log_loss", max_iter=1, tol=None).n_iter_ == 1
    refused(MemoryError, "a batch of 600", lambda: fitted(loss="log_loss", batch_size=10**6))
    assert fitted(batch_size=10**6, max_iter=1, tol=None).n_iter_ == 1


def test_the_intercept_is_scaled_for_sparse_rows():
    params = {"shuffle": False, "max_iter": 2, "tol": None}
    sparse_rows = sp.csr_array(FIRST[0])
    for X, scaling in [(FIRST[0], 1.0), (sparse_rows, 0.1)]:
        auto, given = fitted(X, **params), fitted(X, intercept_scaling=scaling, **params)
        np.testing.assert_array_equal(auto.intercept_, given.intercept_)
    blocks = StochasticClassifier(**params).fit_blocks(
        [(sparse_rows, FIRST[1])], range(10), 64, np.float64
    )
    np.testing.assert_array_equal(blocks.intercept_, auto.intercept_)


@pytest.mark.parametrize("size", [1e-300, 1e-25, 1e25, 1e300])
@each("dtype", [np.float32, np.float64])
@each("average", [False, True])
def test_the_size_of_sample_weights_does_not_matter(size, dtype, average):
    params = {"average": average, "max_iter": 2, "tol": None, "shuffle": False}
    X = FIRST[0].astype(dtype)
    size = 2.0 ** np.round(np.log2(size))
    plain = fitted(X, **params)
    scaled = StochasticClassifier(**params).fit(X, FIRST[1], sample_weight=np.full(600, size))
    np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [2**31, 2**63, 10**400])
def test_enormous_integers(size):
    model = fitted(batch_size=size, max_iter=1, tol=None)
    assert model.n_steps_ == 1
    assert np.isfinite(fitted(average=size, max_iter=1, tol=None).coef_).all()


def test_dense_rows_of_many_classes_have_dense_weights():
    X = np.random.default_rng(0).normal(size=(2100, 3))
    model = StochasticClassifier(max_iter=1, tol=None)
    assert isinstance(model.fit(X, np.arange(2100)).coef_, np.ndarray)
    assert sp.issparse(model.fit(sp.eye_array(2100, format="csr"), np.arange(2100)).coef_)
