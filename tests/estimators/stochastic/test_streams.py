"""StochasticClassifier goes on: pieces of a stream, blocks, warm starts, copies, Ctrl-C."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from manyclass import StochasticClassifier, save_model
from manyclass.solvers.sgd import STOCHASTIC_LOSSES, Stochastic
from manyclass.solvers.sgd_storage import DenseAccumulator
from tests.helpers.cases import each
from tests.helpers.digits import FIRST, REST, contents, fitted, refused


@pytest.mark.parametrize("loss", STOCHASTIC_LOSSES)
@pytest.mark.parametrize("weights", ["dense", "sparse"])
@each("average", [False, True, 200])
@each("batch_size", [1, 5])
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


def test_warm_start_and_partial_fit_go_on():
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


def test_assigned_and_sparsified_coefficients_go_on():
    model = StochasticClassifier(random_state=0).partial_fit(*FIRST, classes=range(10))
    model.coef_ = np.zeros((10, 64))
    model.intercept_ = np.arange(10.0)
    assert (model.predict(REST[0]) == 9).all()
    model.partial_fit(*FIRST)
    assert model.score(*REST) > 0.5
    model = StochasticClassifier(random_state=0).partial_fit(*FIRST, classes=range(10))
    model.sparsify(0.1)
    assert sp.issparse(model.coef_)
    model.partial_fit(*FIRST)
    assert model.score(*REST) > 0.8


class Rows:
    """Passed on where an array is asked for, with Ctrl-C after some blocks."""

    def __init__(self, stop_after):
        self.stop_after = stop_after

    def __iter__(self):
        for begin in range(0, 600, 100):
            if begin == 100 * self.stop_after:
                raise KeyboardInterrupt
            yield FIRST[0][begin : begin + 100], FIRST[1][begin : begin + 100]


def test_ctrl_c_leaves_the_model_and_where_to_go_on_with_warm_start():
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
    model = fitted(max_iter=1, tol=None)
    state = contents(model)
    with pytest.raises(KeyboardInterrupt):
        model.fit_blocks(Rows(2), range(10), 64, np.float64)
    assert contents(model) == state


def test_ctrl_c_within_an_epoch(ctrl_c_in):
    """The compiled steps look at the signals: an epoch of some seconds is left in its middle."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20000, 500)), rng.integers(0, 400, 20000)
    model = StochasticClassifier(loss="log_loss", max_iter=10**6, tol=None, random_state=0)
    runs = ctrl_c_in(Stochastic, "epoch")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 0 < runs[0].clock.steps < len(X)
    assert vars(model) == vars(clone(model))


@pytest.mark.parametrize("params", [{"early_stopping": True}, {"class_weight": "balanced"}])
def test_what_needs_all_rows_is_refused_for_streams(params):
    model = StochasticClassifier(**params)
    refused(ValueError, "partial_fit", lambda: model.partial_fit(*FIRST, classes=range(10)))
    refused(ValueError, "fit_blocks", lambda: model.fit_blocks([FIRST], range(10), 64))


def test_blocks_are_checked_and_a_run_refuses_sparse_weights_of_the_logistic_loss():
    model = StochasticClassifier(max_iter=2)
    refused(ValueError, "iterator", lambda: model.fit_blocks(iter([FIRST]), range(10), 64))
    refused(ValueError, "features", lambda: model.fit_blocks([FIRST], range(10), 65))
    refused(ValueError, "none of the classes", lambda: model.fit_blocks([FIRST], range(9), 64))
    refused(ValueError, "no rows", lambda: model.fit_blocks([], range(9), 64))
    assert "n_features_in_" not in vars(model)
    model = StochasticClassifier(loss="log_loss").partial_fit(*FIRST, classes=range(10))
    model.set_params(weights="sparse")
    refused(ValueError, "changes the weights of all", lambda: model.partial_fit(*FIRST))


def test_a_first_piece_that_overflows_changes_nothing():
    model = StochasticClassifier()
    refused(FloatingPointError, "scale", lambda: model.partial_fit([[1e200]], [0], classes=[0, 1]))
    assert vars(model) == vars(clone(model))
    model.partial_fit([[1.0, 2.0]], ["a"], classes=["a", "b"])
    assert model.n_features_in_ == 2


def test_pieces_that_ctrl_c_cuts_count(tmp_path, ctrl_c_in):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20000, 300)), rng.integers(0, 200, 20000)
    model = StochasticClassifier(loss="log_loss", random_state=0)

    def pieces():
        model.partial_fit(X, y, classes=range(200))
        ctrl_c_in(Stochastic, "epoch")
        while True:
            model.partial_fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        pieces()
    assert model.n_steps_ > 0
    assert model.n_features_in_ == 300
    save_model(tmp_path / "m", model)
    refused(ValueError, "features", lambda: model.partial_fit(X[:5, :7], y[:5]))


def test_small_pieces_do_not_put_coefficients_together(monkeypatch):
    model = StochasticClassifier().partial_fit(*FIRST, classes=range(10))
    calls = []
    monkeypatch.setattr(DenseAccumulator, "weights", lambda *_: calls.append(1))
    model.partial_fit(FIRST[0][:5], FIRST[1][:5])
    assert not calls


def test_class_weights_of_some_classes_in_pieces():
    weights = {0: 2.0, 1: 3.0}
    whole = fitted(class_weight=weights, shuffle=False, max_iter=1, tol=None)
    pieces = StochasticClassifier(class_weight=weights, shuffle=False)
    for i in range(0, 600, 3):
        pieces.partial_fit(FIRST[0][i : i + 3], FIRST[1][i : i + 3], classes=range(10))
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_piece_without_weight_changes_nothing(is_sparse):
    X = sp.csr_array(FIRST[0]) if is_sparse else FIRST[0]
    y = FIRST[1]
    model = StochasticClassifier(random_state=0).partial_fit(X, y, classes=np.unique(y))
    before = contents(model)
    model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    model.set_params(class_weight=dict.fromkeys(range(10), 0.0)).partial_fit(X, y)
    model.set_params(class_weight=None)
    assert contents(model) == before
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X, y, sample_weight=np.zeros(3))


def test_a_first_piece_without_weight_leaves_weights_of_zero():
    X, y = FIRST
    model = StochasticClassifier(random_state=0)
    model.partial_fit(X, y, classes=np.unique(y), sample_weight=np.zeros(len(y)))
    assert model.n_steps_ == 0
    assert not model.coef_.any()
    model.partial_fit(X, y)
    wanted = StochasticClassifier(random_state=0).partial_fit(X, y, classes=np.unique(y))
    np.testing.assert_array_equal(model.coef_, wanted.coef_)


def test_a_stream_of_dense_and_sparse_pieces_is_one_run_and_keeps_no_rows():
    mixed, dense = (StochasticClassifier(average=True, shuffle=False) for _ in range(2))
    for i in range(0, 600, 100):
        X, y = FIRST[0][i : i + 100], FIRST[1][i : i + 100]
        dense.partial_fit(X, y, classes=range(10))
        mixed.partial_fit(sp.csr_array(X) if i % 200 else X, y, classes=range(10))
    np.testing.assert_array_equal(mixed.coef_, dense.coef_)
    model = StochasticClassifier().partial_fit(*FIRST, classes=range(10))
    assert len(pickle.dumps(model)) < 20_000
    assert model._running.run._trainer is None


def test_fewer_max_steps_than_were_made():
    model = fitted(warm_start=True, max_steps=100, tol=None)
    before = model.coef_.copy()
    model.set_params(max_steps=50).fit(*FIRST)
    np.testing.assert_array_equal(model.coef_, before)
    assert (model.n_steps_, model.n_iter_, model.history_) == (100, 0, [])


@pytest.mark.parametrize(
    ("n_features", "dtype", "match"),
    [(0, np.float32, "n_features"), (2**31, np.float32, "n_features"), (64, np.int32, "dtype")],
)
def test_what_blocks_are_to_be_is_checked(n_features, dtype, match):
    model = StochasticClassifier()
    refused(ValueError, match, lambda: model.fit_blocks([FIRST], range(10), n_features, dtype))
