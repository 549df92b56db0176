"""Prediction: the kernels against NumPy, kinds of coefficients, refusals.

Rows and weights are small whole numbers, so that every sum is exact in any order and many scores
are equal.
"""

import copy
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.utils.validation import validate_data

from manyclass import MulticlassSVC, _core
from manyclass.prediction.scoring import _for_each, best_classes, scores_of
from tests.helpers.cases import each
from tests.helpers.whole_numbers import DTYPES, INSTRUCTION_SETS, best, csr_of, whole_numbers, wide


def predictor(weights, intercepts, instruction_set=INSTRUCTION_SETS[-1]):
    single = weights.dtype == np.float32
    return (_core.Predictor32 if single else _core.Predictor64)(
        weights, intercepts, instruction_set
    )


def check(X, W, intercepts, tops, instruction_set):
    """Scores and labels of dense and CSR rows are those of NumPy."""
    expected = X @ W + intercepts
    core = predictor(W, intercepts, instruction_set)
    for scores, labels, rows in (
        (core.csr_scores, core.csr_labels, csr_of(X)),
        (core.dense_scores, core.dense_labels, (X,)),
    ):
        out = np.full_like(expected, np.nan)
        scores(*rows, out)
        np.testing.assert_array_equal(out, expected)
        for top in tops:
            found = np.full((len(X), top), -1, np.int64)
            labels(*rows, found)
            np.testing.assert_array_equal(found, best(expected, top))


# The cases of packed_columns.hpp: narrow vectors, every number of vectors, several runs of them.
@each("k", [*range(1, 41), 64, 65, 127, 129, 255, 257, 300])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@settings(max_examples=4)
@given(data=st.data())
def test_kernels_agree_with_numpy(k, dtype, instruction_set, data):
    n, d = data.draw(st.integers(0, 20)), data.draw(st.integers(1, 70))
    seed, density = data.draw(st.integers(0, 2**32)), data.draw(st.sampled_from([0.0, 0.1, 1.0]))
    top = data.draw(st.integers(1, k))
    check(*whole_numbers(n, d, k, dtype, seed=seed, density=density), {1, top, k}, instruction_set)


@pytest.mark.parametrize("k", [3, 400])
@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_more_rows_than_are_scored_at_once(k, instruction_set):
    n = 100 if k == 400 else 6000
    check(*whole_numbers(n, 5, k, np.float32), {1, 2}, instruction_set)


@each("dtype", DTYPES)
@each("k", [1, 3, 20, 50])
def test_scores_that_are_no_numbers_still_give_labels(k, dtype, instruction_set):
    X, W, intercepts = whole_numbers(30, 6, k, dtype)
    for value in (np.nan, np.inf, -np.inf):
        core = predictor(np.full_like(W, value), intercepts, instruction_set)
        for top in {1, 2, k} & set(range(1, k + 1)):
            labels = np.full((30, top), -1, np.int64)
            core.dense_labels(X, labels)
            assert labels.min() >= 0
            assert labels.max() < k
            assert all(len(set(row)) == top for row in labels.tolist())


def test_rows_and_weights_may_be_read_only():
    X, W, intercepts = whole_numbers(4, 3, 5, np.float64)
    rows = csr_of(X)
    for array in (X, W, intercepts, *rows):
        array.flags.writeable = False
    check(X, W, intercepts, {2}, INSTRUCTION_SETS[-1])


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("work", [1, 500, 1 << 22])
def test_parts_and_threads_change_nothing(n_jobs, work, monkeypatch):
    monkeypatch.setattr("manyclass.prediction.scoring.WORK_AT_A_TIME", work)
    X, W, intercepts = whole_numbers(37, 6, 9, np.float64)
    for rows in (X, sp.csr_array(X), np.asfortranarray(X), X[::2], sp.csr_matrix(X)[5:]):
        expected = rows @ W + intercepts
        np.testing.assert_array_equal(scores_of(rows, W.T, intercepts, n_jobs), expected)
        found = best_classes(rows, W.T, intercepts, 4, n_jobs)
        np.testing.assert_array_equal(found, best(expected, 4))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_ctrl_c_ends_all_threads_between_parts(n_jobs):
    """The signal's handler runs in the main thread, in the middle of some part."""
    filled, over = [], threading.Event()

    class Parts(list):
        """Sets `over` when all have been taken, by the main thread: the others wait for it."""

        def __iter__(self):
            parts = super().__iter__()
            return iter(lambda: next(parts, None) or over.set(), None)

    def fill(part):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        assert over.wait(600)
        filled.append(part)

    with pytest.raises(KeyboardInterrupt):
        _for_each(Parts(slice(i, i + 1) for i in range(1000)), fill, n_jobs)
    assert len(filled) < n_jobs


@pytest.mark.parametrize("rows_type", DTYPES)
@each("coef_type", [*DTYPES, np.float16, np.int32, np.longdouble])
@each("kind", ["F", "C"])
def test_kinds_of_coefficients(rows_type, coef_type, kind):
    """Whatever the user has put into coef_ is used, in NumPy's common type."""
    X, W, intercepts = whole_numbers(12, 6, 9, rows_type)
    coef = np.array(W.T, coef_type, order=kind)
    for intercept in (intercepts, intercepts.astype(np.float64), 2.0):
        expected = X @ W + intercept
        for rows in (X, sp.csr_array(X)):
            scores = scores_of(rows, coef, intercept, 1)
            np.testing.assert_array_equal(scores, expected)
            assert scores.dtype == np.result_type(rows_type, coef_type)
            for top in (1, 3, 9):
                found = best_classes(rows, coef, intercept, top, 1)
                np.testing.assert_array_equal(found, best(expected, top))


def test_rows_of_another_type_and_wide_indices():
    X, W, intercepts = whole_numbers(12, 6, 9, np.float32)
    tiny = (W + 1e-12).astype(np.float64)
    scores = scores_of(sp.csr_array(X), tiny.T, intercepts, 1)
    np.testing.assert_allclose(scores, X.astype(np.float64) @ tiny + intercepts, rtol=1e-15)
    X, W, intercepts = whole_numbers(12, 6, 9, np.float64)
    np.testing.assert_array_equal(scores_of(wide(X), W.T, intercepts, 1), X @ W + intercepts)


@pytest.mark.parametrize("index", [-1, 6, 2**31 - 1, 2**31, 2**32 + 1, -(2**32) + 1])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_index_out_of_range_is_one_clear_error(index, n_jobs, monkeypatch):
    monkeypatch.setattr("manyclass.prediction.scoring.WORK_AT_A_TIME", 20)
    X, _, _ = whole_numbers(12, 6, 9, np.float64, density=1.0)
    model = MulticlassSVC(n_jobs=n_jobs, random_state=0).fit(X, np.arange(12) % 3)
    broken = wide(X) if abs(index) >= 2**31 else sp.csr_array(X)
    broken.indices[7] = index
    for predict in (model.decision_function, model.predict, lambda X: model.predict_top_k(X, 2)):
        with pytest.raises(ValueError, match=r"not a valid CSR matrix: an index is out of range"):
            predict(broken)


@pytest.mark.parametrize(
    ("indptr", "message"),
    [
        ([0, 2, 1, 3], "indptr is inconsistent"),
        ([0, 1, 2, 9], "indptr is inconsistent"),
        ([-1, 1, 2, 3], "indptr is inconsistent"),
        ([], "not a valid CSR"),
        ([0, 1], "shape"),
    ],
)
def test_kernels_refuse_what_is_no_csr(indptr, message):
    _, W, intercepts = whole_numbers(1, 4, 5, np.float64)
    rows = np.array(indptr, np.int64), np.zeros(3, np.int32), np.ones(3)
    core = predictor(W, intercepts)
    with pytest.raises(ValueError, match=message):
        core.csr_scores(*rows, np.empty((3, 5)))
    with pytest.raises(ValueError, match=message):
        core.csr_labels(*rows, np.empty((3, 1), np.int64))


def test_arrays_of_a_wrong_shape_are_refused():
    X, W, intercepts = whole_numbers(4, 3, 5, np.float64)
    core = predictor(W, intercepts)
    for shape in [(4, 4), (3, 5), (4, 6)]:
        with pytest.raises(ValueError, match="scores must be of shape"):
            core.dense_scores(X, np.empty(shape))
    for shape in [(4, 0), (4, 6), (5, 1)]:
        with pytest.raises(ValueError, match="labels must be of shape"):
            core.dense_labels(X, np.empty(shape, np.int64))
    with pytest.raises(ValueError, match="number of features"):
        core.dense_scores(np.ones((4, 2)), np.empty((4, 5)))
    with pytest.raises(ValueError, match="one intercept"):
        predictor(W, intercepts[1:])
    with pytest.raises(ValueError, match="a class"):
        predictor(W[:, :0], intercepts[:0])
    with pytest.raises(ValueError, match="mmx"):
        predictor(W, intercepts, "mmx")


def refusal(call, *arguments, **options):
    with pytest.raises(ValueError) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def models():
    """With three classes and two, W dense and sparse, float32 and float64."""
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60)
    kinds = [(dtype, k) for dtype in DTYPES for k in (2, 3)]
    fits = [MulticlassSVC(random_state=0).fit(X.astype(dtype), y % k) for dtype, k in kinds]
    return [*fits, *(copy.deepcopy(model).sparsify() for model in fits)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("value", "n_jobs"), [(np.nan, 1), (np.nan, 2), (np.inf, 1), (-np.inf, 2)])
def test_rows_that_are_not_finite_are_refused_as_by_scikit_learn(
    value, dtype, n_jobs, models, monkeypatch
):
    """Wherever they are, though only scores are looked at."""
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("manyclass.prediction.scoring.WORK_AT_A_TIME", 100)
    for model in models:
        model.set_params(n_jobs=n_jobs)
        for place in ((0, 0), (57, 3)):
            X = np.zeros((60, 4), dtype)
            X[place] = value
            theirs = refusal(validate_data, model, X, reset=False).partition("\n")[0].rstrip(".")
            expected = f"{theirs}: row {place[0]}, column {place[1]}; "
            for rows in (X, sp.csr_array(X), pd.DataFrame(X)):
                assert refusal(model.decision_function, rows).startswith(expected)
                assert refusal(model.predict, rows).startswith(expected)
                assert refusal(model.predict_top_k, rows, 2).startswith(expected)


def test_scores_that_overflow_are_no_error(models):
    """X is finite; so is what scikit-learn is told to take for finite."""
    X = np.full((3, 4), 3e38, np.float32)
    for model in models:
        with np.errstate(over="ignore", invalid="ignore"):
            model.decision_function(X)
            assert model.predict(X).shape == (3,)
            with config_context(assume_finite=True):
                assert model.predict(X * np.float32(np.nan)).shape == (3,)
