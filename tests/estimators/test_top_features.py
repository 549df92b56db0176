"""The features of the largest weights of every class."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.estimators import coefficients as top_features
from manyclass.estimators.coefficients import largest_weights
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from tests.helpers.cases import each
from tests.helpers.model_files import X, Y


def reference(weights, n):
    """By sorting everything."""
    order = sorted(range(len(weights)), key=lambda j: (-weights[j], j))
    return [j for j in order if weights[j] > 0][:n]


@pytest.mark.parametrize("n", [1, 3, 10, 100])
@pytest.mark.parametrize("at_a_time", [1, 1 << 20])
def test_dense_and_sparse_agree_with_sorting(monkeypatch, n, at_a_time):
    monkeypatch.setattr(top_features, "WEIGHTS_AT_A_TIME", at_a_time)
    rng = np.random.default_rng(0)
    coef = rng.integers(-3, 4, (20, 30)).astype(np.float32)  # with many ties
    coef[3] = -1
    coef[4] = 2
    for given in (coef, np.asfortranarray(coef), SparseCoefficients.from_dense(coef)):
        found = list(largest_weights(given, n))
        assert [best.tolist() for best, _ in found] == [reference(row, n) for row in coef]
        for (best, weights), row in zip(found, coef, strict=True):
            np.testing.assert_array_equal(weights, row[best])


def test_two_classes_share_a_row():
    model = MulticlassSVC(random_state=0).fit(X[Y > 0], Y[Y > 0])
    best = model.top_features(4)
    assert list(best) == [1, 2]
    row = model.coef_[0]
    assert [j for j, _ in best[2]] == reference(row, 4)
    assert [j for j, _ in best[1]] == reference(-row, 4)
    assert len(best[1]) + len(best[2]) == np.count_nonzero(row)


def test_names():
    pd = pytest.importorskip("pandas")

    frame = pd.DataFrame(X, columns=list("abcd"))
    model = MultinomialLogisticRegression().fit(frame, Y)
    known, given = model.top_features(2), model.top_features(2, ["e", "f", "g", "h"])
    turned = dict(zip("abcd", "efgh", strict=True))
    assert {c: [(turned[name], w) for name, w in of] for c, of in known.items()} == given
    numbered = MultinomialLogisticRegression().fit(X, Y).top_features(2)
    assert {type(j) for of in numbered.values() for j, _ in of} == {int}


@each("n", [0, True, 2.5, "x", None])
def test_numbers_that_are_none(n):
    with pytest.raises(ValueError, match=f"n must be an integer of at least 1, not {n!r}"):
        MulticlassSVC().fit(X, Y).top_features(n)


def test_names_that_do_not_fit_and_unfitted_models():
    for names in (["a", "b"], "abcd"):
        with pytest.raises(ValueError, match="feature_names must hold 4 names"):
            MulticlassSVC().fit(X, Y).top_features(2, names)
    with pytest.raises(NotFittedError):
        MulticlassSVC().top_features()


def test_many_classes_are_not_made_dense():
    """As a dense array, the weights would take 40 GB."""
    k, d = 50_000, 100_000
    model = MulticlassSVC().fit(X, Y)
    model.coef_ = sp.csr_array((np.arange(1.0, k + 1), (np.arange(k), np.arange(k))), shape=(k, d))
    model.classes_, model.n_features_in_ = np.arange(k), d
    assert model.top_features(3)[49_999] == [(49_999, 50_000.0)]
