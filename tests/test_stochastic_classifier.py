"""StochasticClassifier: fits, streams, blocks, probabilities, and what it refuses."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from manyclass import MulticlassSVC, StochasticClassifier, save_model
from manyclass.solvers.stochastic import LOSSES
from manyclass.solvers.sums import DenseSums
from manyclass.stochastic_objective import losses

DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS = DIGITS / 16
FIRST = DIGITS[:600], LABELS[:600]
REST = DIGITS[600:], LABELS[600:]


def fitted(X=FIRST[0], y=FIRST[1], **params):
    return StochasticClassifier(**{"random_state": 0, **params}).fit(X, y)


def contents(model):
    """All that a model holds."""
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


@pytest.mark.parametrize("loss", LOSSES)
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
        model.predict_proba(FIRST[0]),
        peer.predict_proba(np.hstack([FIRST[0], ones])),
        atol=5e-3,
    )
    assert (
        model.predict(FIRST[0]) == model.classes_[model.predict_proba(FIRST[0]).argmax(1)]
    ).all()


def test_log_probabilities():
    model = fitted(100 * FIRST[0], loss="log_loss")
    shares, logs = model.predict_proba(100 * REST[0]), model.predict_log_proba(100 * REST[0])
    assert (shares == 0).any()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(logs, np.log(shares), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_probabilities_need_the_logistic_loss(loss):
    model = fitted(loss=loss, max_iter=1, tol=None)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(FIRST[0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", ["dense", "sparse"])
@pytest.mark.parametrize("average", [False, True, 200])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_pieces_give_what_the_whole_gives(loss, weights, average, batch_size):
    if loss == "log_loss" and weights == "sparse":
        pytest.skip("log_loss moves all classes")
    params = {
        "loss": loss, "weights": weights, "average": average, "batch_size": batch_size,
        "shuffle": False, "random_state": 0,
    }  # fmt: skip
    whole = StochasticClassifier(max_iter=1, tol=None, **params).fit(*FIRST)
    pieces = StochasticClassifier(**params)
    for begin, end in [(0, 5), (5, 200), (200, 215), (215, 600)]:
        pieces.partial_fit(FIRST[0][begin:end], FIRST[1][begin:end], classes=range(10))
    for model in (whole, pieces):
        model.densify()
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    np.testing.assert_array_equal(pieces.intercept_, whole.intercept_)
    assert pieces.n_steps_ == whole.n_steps_


def test_blocks_give_what_the_whole_gives():
    blocks = [(FIRST[0][a:b], FIRST[1][a:b]) for a, b in [(0, 100), (100, 600)]]
    params = {"shuffle": False, "max_iter": 3, "tol": None}
    whole = fitted(compute_objective=True, **params)
    apart = StochasticClassifier(compute_objective=True, **params)
    apart.fit_blocks(blocks, range(10), 64, np.float64)
    np.testing.assert_array_equal(apart.coef_, whole.coef_)
    assert apart.objective_ == pytest.approx(whole.objective_, rel=1e-12)
    assert [r.loss for r in apart.history_] == pytest.approx([r.loss for r in whole.history_])


def test_blocks_of_float64_train_in_float32():
    model = StochasticClassifier(average=True, max_iter=3, tol=None, random_state=0)
    model.fit_blocks([FIRST], range(10), 64)
    assert model.coef_.dtype == np.float32
    assert model.score(*REST) > 0.8


def test_warm_start_goes_on():
    params = {"shuffle": False, "tol": None}
    twice = fitted(max_iter=2, warm_start=True, **params)
    twice.fit(*FIRST)
    at_once = fitted(max_iter=4, **params)
    np.testing.assert_array_equal(twice.coef_, at_once.coef_)
    assert twice.n_steps_ == 2400
    assert twice.n_iter_ == 2
    again = fitted(max_iter=2, **params)
    again.fit(*FIRST)
    assert again.n_steps_ == 1200  # without warm_start


def test_partial_fit_goes_on_after_fit():
    model = fitted(max_iter=2, tol=None, shuffle=False)
    model.partial_fit(*FIRST)
    whole = fitted(max_iter=3, tol=None, shuffle=False)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8, atol=1e-8)
    assert model.n_steps_ == 1800


@pytest.mark.parametrize("change", [{"alpha": 1e-3}, {"average": True}, {"intercept_scaling": 2.0}])
def test_partial_fit_with_other_parameters_goes_on_from_the_model(change):
    model = StochasticClassifier(random_state=0).partial_fit(*FIRST, classes=range(10))
    before = model.decision_function(REST[0])
    model.set_params(**change)
    model.partial_fit(FIRST[0][:1] * 0, FIRST[1][:1])
    after = model.decision_function(REST[0])
    assert np.abs(after - before).max() < 0.2 * np.abs(before).max()
    assert model.n_steps_ == 601


@pytest.mark.parametrize("weights", ["dense", "sparse"])
@pytest.mark.parametrize("average", [False, True])
def test_copies_go_on_alike(weights, average):
    params = {"weights": weights, "average": average, "random_state": 0}
    model = StochasticClassifier(**params).partial_fit(*FIRST, classes=range(10))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(REST[0]), model.predict(REST[0]))
    for one in (model, copy):
        one.partial_fit(*REST).densify()
    np.testing.assert_array_equal(copy.coef_, model.coef_)


def test_assigned_coefficients_count():
    model = StochasticClassifier(random_state=0).partial_fit(*FIRST, classes=range(10))
    model.coef_ = np.zeros((10, 64))
    model.intercept_ = np.arange(10.0)
    assert (model.predict(REST[0]) == 9).all()
    model.partial_fit(*FIRST)
    assert model.score(*REST) > 0.5


def test_sparsified_models_go_on():
    model = StochasticClassifier(random_state=0).partial_fit(*FIRST, classes=range(10))
    model.sparsify(0.1)
    assert sp.issparse(model.coef_)
    model.partial_fit(*FIRST)
    assert model.score(*REST) > 0.8


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


def test_weights():
    weights = np.ones(600)
    weights[::2] = 0
    without = fitted(FIRST[0][1::2], FIRST[1][1::2], shuffle=False)
    model = StochasticClassifier(shuffle=False).fit(*FIRST, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, without.coef_)
    heavy = StochasticClassifier(shuffle=False).fit(*FIRST, sample_weight=np.full(600, 3.0))
    np.testing.assert_allclose(heavy.coef_, fitted(shuffle=False).coef_, rtol=1e-6, atol=1e-9)


def test_class_weight():
    lean = fitted(loss="log_loss", alpha=0.1, class_weight={3: 30.0})
    plain = fitted(loss="log_loss", alpha=0.1)
    assert (lean.predict(REST[0]) == 3).sum() > (plain.predict(REST[0]) == 3).sum()
    balanced = fitted(class_weight="balanced")
    assert balanced.score(*REST) > 0.85


def test_the_rows_are_shuffled():
    one, same, other = (fitted(random_state=s, max_iter=1, tol=None) for s in (0, 0, 1))
    assert (one.coef_ == same.coef_).all()
    assert (one.coef_ != other.coef_).any()


def test_max_steps():
    model = fitted(max_steps=700)
    assert (model.n_steps_, model.n_iter_) == (700, 2)
    model = fitted(max_steps=7, batch_size=100)
    assert (model.n_steps_, model.weight_seen_) == (7, 700)


def test_lines(capsys):
    fitted(verbose=1, max_iter=2, tol=None, early_stopping=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("epoch    2 ")
    assert "loss" in lines[1]
    assert "validation" in lines[1]


def test_a_warning_says_that_the_loss_still_fell():
    with pytest.warns(ConvergenceWarning, match=r"2 epoch.*raise max_iter") as caught:
        fitted(max_iter=2)
    assert caught[0].filename == __file__


class Rows:
    """Passed on where an array is asked for, with Ctrl-C after some blocks."""

    def __init__(self, stop_after):
        self.stop_after = stop_after

    def __iter__(self):
        for begin in range(0, 600, 100):
            if begin == 100 * self.stop_after:
                raise KeyboardInterrupt
            yield FIRST[0][begin : begin + 100], FIRST[1][begin : begin + 100]


def test_ctrl_c_leaves_the_model_and_where_to_go_on():
    params = {"shuffle": False, "tol": None, "warm_start": True, "max_iter": 2}
    model = StochasticClassifier(**params)
    with pytest.raises(KeyboardInterrupt):
        model.fit_blocks(Rows(3), range(10), 64, np.float64)
    with pytest.raises(NotFittedError):
        model.predict(FIRST[0])
    blocks = [(FIRST[0][300:], FIRST[1][300:])]
    model.set_params(max_iter=1).fit_blocks(blocks, range(10), 64, np.float64)
    whole = fitted(shuffle=False, tol=None, max_iter=1)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    before = model.coef_.copy()
    with pytest.raises(KeyboardInterrupt):
        model.fit_blocks(Rows(2), range(10), 64, np.float64)
    np.testing.assert_array_equal(model.coef_, before)


def test_ctrl_c_within_an_epoch():
    """The compiled steps look at the signals, and the fit ends soon."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 500)), rng.integers(0, 200, 2000)
    model = StochasticClassifier(loss="log_loss", max_iter=10**6, tol=None, random_state=0)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    began = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - began < 10
    assert vars(model) == vars(clone(model))


def test_ctrl_c_without_warm_start_changes_nothing():
    model = fitted(max_iter=1, tol=None)
    state = contents(model)
    with pytest.raises(KeyboardInterrupt):
        model.fit_blocks(Rows(2), range(10), 64, np.float64)
    assert contents(model) == state


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_zeros_and_missing_classes(loss):
    X = np.zeros((4, 3))
    model = fitted(X, [0, 1, 2, 2], loss=loss, max_iter=5, tol=None)
    assert np.isfinite(model.coef_).all()
    stream = StochasticClassifier(loss=loss).partial_fit(np.eye(3), [0, 1, 1], classes=range(5))
    assert stream.coef_.shape == (5, 3)


def refused(error, match, call):
    with pytest.raises(error, match=match):
        call()


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
        ({"loss": "log_loss", "weights": "sparse"}, "moves the weights of all"),
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
    refused(ValueError, "not those of before", lambda: model.partial_fit(*FIRST, classes=[0, 1]))
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


@pytest.mark.parametrize("params", [{"early_stopping": True}, {"class_weight": "balanced"}])
def test_what_needs_all_rows_is_refused_for_streams(params):
    model = StochasticClassifier(**params)
    refused(ValueError, "partial_fit", lambda: model.partial_fit(*FIRST, classes=range(10)))
    refused(ValueError, "fit_blocks", lambda: model.fit_blocks([FIRST], range(10), 64))


def test_blocks_are_checked():
    model = StochasticClassifier(max_iter=2)
    refused(ValueError, "iterator", lambda: model.fit_blocks(iter([FIRST]), range(10), 64))
    refused(ValueError, "features", lambda: model.fit_blocks([FIRST], range(10), 65))
    refused(ValueError, "none of the classes", lambda: model.fit_blocks([FIRST], range(9), 64))
    refused(ValueError, "no rows", lambda: model.fit_blocks([], range(9), 64))
    assert "n_features_in_" not in vars(model)


def test_dense_weights_that_do_not_fit(monkeypatch):
    monkeypatch.setattr("manyclass.solvers.stochastic_choice.available_memory", lambda: 1000)
    refused(MemoryError, r"need 0\.00528 MB", lambda: fitted(loss="log_loss", weights="dense"))
    assert sp.issparse(fitted().coef_)  # "auto" takes what fits


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


# First pieces of a stream that go wrong


def test_a_first_piece_that_overflows_changes_nothing():
    model = StochasticClassifier()
    refused(FloatingPointError, "scale", lambda: model.partial_fit([[1e200]], [0], classes=[0, 1]))
    assert vars(model) == vars(clone(model))
    model.partial_fit([[1.0, 2.0]], ["a"], classes=["a", "b"])
    assert model.n_features_in_ == 2


def test_pieces_that_ctrl_c_cuts_count(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20000, 300)), rng.integers(0, 200, 20000)
    model = StochasticClassifier(loss="log_loss", random_state=0)

    def pieces():
        while True:
            model.partial_fit(X, y, classes=range(200))

    timer = threading.Timer(0.25, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # in the first piece, or one of the next
        pieces()
    assert model.n_steps_ > 0
    assert model.n_features_in_ == 300
    save_model(tmp_path / "m", model)
    refused(ValueError, "features", lambda: model.partial_fit(X[:5, :7], y[:5]))


def test_small_pieces_do_not_put_coefficients_together(monkeypatch):
    model = StochasticClassifier().partial_fit(*FIRST, classes=range(10))
    calls = []
    monkeypatch.setattr(DenseSums, "weights", lambda *_: calls.append(1))
    model.partial_fit(FIRST[0][:5], FIRST[1][:5])
    assert not calls


def test_class_weights_of_some_classes_in_pieces():
    weights = {0: 2.0, 1: 3.0}
    whole = fitted(class_weight=weights, shuffle=False, max_iter=1, tol=None)
    pieces = StochasticClassifier(class_weight=weights, shuffle=False)
    for i in range(0, 600, 3):
        pieces.partial_fit(FIRST[0][i : i + 3], FIRST[1][i : i + 3], classes=range(10))
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)


def test_a_stream_of_dense_and_sparse_pieces_is_one_run():
    mixed, dense = (StochasticClassifier(average=True, shuffle=False) for _ in range(2))
    for i in range(0, 600, 100):
        X, y = FIRST[0][i : i + 100], FIRST[1][i : i + 100]
        dense.partial_fit(X, y, classes=range(10))
        mixed.partial_fit(sp.csr_array(X) if i % 200 else X, y, classes=range(10))
    np.testing.assert_array_equal(mixed.coef_, dense.coef_)


def test_fewer_max_steps_than_were_made():
    model = fitted(warm_start=True, max_steps=100, tol=None)
    before = model.coef_.copy()
    model.set_params(max_steps=50).fit(*FIRST)
    np.testing.assert_array_equal(model.coef_, before)
    assert (model.n_steps_, model.n_iter_, model.history_) == (100, 0, [])


@pytest.mark.parametrize("size", [1e-300, 1e-25, 1e25, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [False, True])
def test_the_size_of_sample_weights_does_not_matter(size, dtype, average):
    params = {"average": average, "max_iter": 2, "tol": None, "shuffle": False}
    X = FIRST[0].astype(dtype)
    size = 2.0 ** np.round(np.log2(size))
    plain = fitted(X, **params)
    scaled = StochasticClassifier(**params).fit(X, FIRST[1], sample_weight=np.full(600, size))
    np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-6, atol=1e-9)


def test_averages_by_numpy_booleans():
    one, other = (fitted(average=a, max_iter=2, tol=None) for a in (True, np.True_))
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("size", [2**31, 2**63, 10**400])
def test_enormous_integers(size):
    model = fitted(batch_size=size, max_iter=1, tol=None)
    assert model.n_steps_ == 1
    assert np.isfinite(fitted(average=size, max_iter=1, tol=None).coef_).all()


@pytest.mark.parametrize(
    ("n_features", "dtype", "match"),
    [(0, np.float32, "n_features"), (2**31, np.float32, "n_features"), (64, np.int32, "dtype")],
)
def test_what_blocks_are_to_be_is_checked(n_features, dtype, match):
    model = StochasticClassifier()
    refused(ValueError, match, lambda: model.fit_blocks([FIRST], range(10), n_features, dtype))


def test_probabilities_of_scores_that_overflow():
    model = fitted(loss="log_loss")
    refused(FloatingPointError, "overflow", lambda: model.predict_proba(FIRST[0] * 1e307))


def test_a_warning_that_is_an_error_leaves_a_whole_model():
    model = StochasticClassifier(max_iter=1)
    refused(ConvergenceWarning, "max_iter", lambda: model.fit(*FIRST))
    assert model.predict(REST[0]).shape == (1197,)
    assert model.n_features_in_ == 64


def test_dense_rows_of_many_classes_have_dense_weights():
    X = np.random.default_rng(0).normal(size=(2100, 3))
    model = StochasticClassifier(max_iter=1, tol=None)
    assert isinstance(model.fit(X, np.arange(2100)).coef_, np.ndarray)
    assert sp.issparse(model.fit(sp.eye_array(2100, format="csr"), np.arange(2100)).coef_)


def test_a_run_refuses_sparse_weights_of_the_logistic_loss():
    model = StochasticClassifier(loss="log_loss").partial_fit(*FIRST, classes=range(10))
    model.set_params(weights="sparse")
    refused(ValueError, "moves the weights of all", lambda: model.partial_fit(*FIRST))


def test_the_scores_of_a_batch_take_memory(monkeypatch):
    """5,200 bytes of weights, and 48,000 of a batch."""
    monkeypatch.setattr("manyclass.solvers.stochastic_choice.available_memory", lambda: 20_000)
    assert fitted(loss="log_loss", max_iter=1, tol=None).n_iter_ == 1
    refused(MemoryError, "a batch of 600", lambda: fitted(loss="log_loss", batch_size=10**6))
    assert fitted(batch_size=10**6, max_iter=1, tol=None).n_iter_ == 1


def test_a_stream_keeps_no_rows():
    model = StochasticClassifier().partial_fit(*FIRST, classes=range(10))
    assert len(pickle.dumps(model)) < 20_000
    assert model._running.run._trainer is None
