"""Prediction by sparse weights: the kernels against NumPy, refusals.

Rows and weights are small whole numbers, as in test_scoring.py.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import MulticlassSVC, _core
from manyclass.prediction.scoring import best_classes, scores_of
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from tests.helpers.cases import each
from tests.helpers.whole_numbers import DTYPES, INSTRUCTION_SETS, best, csr_of, whole_numbers, wide

KINDS = [
    (_core.SparsePredictor32, np.float32, np.float32),
    (_core.SparsePredictor64, np.float64, np.float64),
    (_core.SparsePredictor64Of32, np.float64, np.float32),
]


def sparse_numbers(n, d, k, dtype, *, seed=0, density=0.5, share=0.4):
    """X, W with many zeros, intercepts."""
    X, W, intercepts = whole_numbers(n, d, k, dtype, seed=seed, density=density)
    return X, W * (np.random.default_rng(seed).random(W.shape) < share), intercepts


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0].__name__)
@each("k", [1, 2, 3, 8, 17, 64, 300])
@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@settings(max_examples=6)
@given(data=st.data())
def test_kernels_agree_with_numpy(kind, k, instruction_set, data):
    predictor_of, dtype, weight_type = kind
    n, d = data.draw(st.integers(0, 70)), data.draw(st.integers(1, 40))
    seed, top = data.draw(st.integers(0, 2**32)), data.draw(st.integers(1, k))
    share = data.draw(st.sampled_from([0.0, 0.1, 0.9, 1.0]))
    X, W, intercepts = sparse_numbers(n, d, k, dtype, seed=seed, share=share)
    coef = SparseCoefficients.from_dense(W.T.astype(weight_type))
    core = predictor_of(coef.core, intercepts, instruction_set)
    out = np.full((n, k), np.nan, dtype)
    core.csr_scores(*csr_of(X), out)
    np.testing.assert_array_equal(out, X @ W + intercepts)
    for n_best in {1, top, k}:
        found = np.full((n, n_best), -1, np.int64)
        core.csr_labels(*csr_of(X), found)
        np.testing.assert_array_equal(found, best(X @ W + intercepts, n_best))


@pytest.mark.parametrize("rows_type", DTYPES)
@pytest.mark.parametrize("coef_type", DTYPES)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_kinds_of_rows_and_threads(rows_type, coef_type, n_jobs, monkeypatch):
    monkeypatch.setattr("manyclass.prediction.scoring.WORK_AT_A_TIME", 100)
    X, W, intercepts = sparse_numbers(37, 6, 9, rows_type)
    coef = SparseCoefficients.from_dense(W.T.astype(coef_type))
    for rows in (X, sp.csr_array(X), np.asfortranarray(X), X[::2], sp.csr_matrix(X)[5:], wide(X)):
        expected = rows @ W + intercepts
        scores = scores_of(rows, coef, intercepts, n_jobs)
        assert scores.dtype == np.result_type(rows_type, coef_type)
        np.testing.assert_array_equal(scores, expected)
        for top in (1, 4):
            found = best_classes(rows, coef, intercepts, top, n_jobs)
            np.testing.assert_array_equal(found, best(expected, top))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_still_give_labels(value):
    X, W, intercepts = sparse_numbers(30, 6, 20, np.float64)
    coef = SparseCoefficients.from_dense(np.where(W, value, 0.0).T)
    for top in (1, 2, 20):
        labels = best_classes(X, coef, intercepts, top, 1)
        assert 0 <= labels.min() <= labels.max() < 20
        assert all(len(set(row)) == top for row in labels.tolist())


@pytest.mark.parametrize("index", [-1, 6, 2**31 - 1, 2**32 + 1])
def test_an_index_out_of_range_is_one_clear_error(index):
    X, _, _ = sparse_numbers(12, 6, 9, np.float64, density=1.0)
    model = MulticlassSVC(random_state=0).fit(X, np.arange(12) % 3).sparsify()
    broken = wide(X) if abs(index) >= 2**31 else sp.csr_array(X)
    broken.indices[7] = index
    for predict in (model.decision_function, model.predict, lambda X: model.predict_top_k(X, 2)):
        with pytest.raises(ValueError, match=r"not a valid CSR matrix: an index is out of range"):
            predict(broken)


def test_arrays_of_a_wrong_shape_are_refused():
    X, W, intercepts = sparse_numbers(4, 3, 5, np.float64)
    coef = SparseCoefficients.from_dense(W.T)
    core = _core.SparsePredictor64(coef.core, intercepts, INSTRUCTION_SETS[-1])
    rows = csr_of(X)
    with pytest.raises(ValueError, match="scores must be of shape"):
        core.csr_scores(*rows, np.empty((4, 4)))
    with pytest.raises(ValueError, match="labels must be of shape"):
        core.csr_labels(*rows, np.empty((4, 6), np.int64))
    with pytest.raises(ValueError, match="one intercept"):
        _core.SparsePredictor64(coef.core, intercepts[1:], INSTRUCTION_SETS[-1])
    with pytest.raises(ValueError, match="mmx"):
        _core.SparsePredictor64(coef.core, intercepts, "mmx")
    with pytest.raises(TypeError):
        _core.SparsePredictor32(coef.core, intercepts, INSTRUCTION_SETS[-1])
