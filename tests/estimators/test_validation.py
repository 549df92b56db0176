"""What MulticlassSVC takes, what it refuses, and what a refusal leaves."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs

from manyclass import MulticlassSVC
from tests.helpers.cases import each
from tests.helpers.iris import IRIS, fitted, tight

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.mark.parametrize(
    "container", [sp.csr_matrix, sp.csr_array, sp.csc_array, np.asfortranarray]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_kinds_of_input(container, dtype):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200].astype(dtype), y[:200]
    model = MulticlassSVC(C=1e-3, tol=1e-5, random_state=0).fit(container(X), y)
    assert model.coef_.dtype == (np.float32 if dtype == np.float32 else np.float64)
    reference = MulticlassSVC(C=1e-3, tol=1e-5, random_state=0).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-3)
    assert (model.predict(container(X)) == reference.predict(X)).mean() > 0.99


def test_int64_indices():
    X = sp.csr_array(IRIS[0])
    wide = sp.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model = tight().fit(wide, IRIS[1])
    np.testing.assert_allclose(model.coef_, fitted().coef_, atol=1e-8)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_feature_names(frame):
    names = ["a", "b", "c", "d"]
    table = frame(dict(zip(names, IRIS[0].T, strict=True)))
    model = MulticlassSVC().fit(table, IRIS[1])
    assert model.feature_names_in_.tolist() == names
    assert model.predict(table).shape == (150,)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict.fromkeys("wxyz", IRIS[0][:, 0])))


@pytest.mark.parametrize(
    "classes", [["no", "yes", "maybe"], [-1, 0, 7], [1.0, 2.0, 3.0], [True, False, True]]
)
def test_kinds_of_classes(classes):
    y = np.array(classes)[IRIS[1]]
    if len(set(classes)) == 2:
        y = y.astype(bool)
    model = MulticlassSVC(random_state=0).fit(IRIS[0], y)
    assert model.classes_.tolist() == sorted(set(classes))
    assert model.score(IRIS[0], y) > 0.6


@pytest.mark.parametrize(
    ("X", "y", "weights", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], None, "NaN"),
        ([[1.0], [np.inf]], [0, 1], None, "infinity"),
        ([[1.0], [2.0]], [0, 0], None, "at least two classes"),
        ([[1.0], [2.0]], [0, 1], [1, 0], "one class, .*0"),
        ([[1.0], [2.0]], [0, 1], [0, 0], "no row|non-zero"),
        ([[1.0], [2.0]], [0, 1], [1, -1], "[Nn]egative"),
        ([[1.0], [2.0]], [0, 1, 2], None, "inconsistent"),
        ([[1.0], [2.0]], [0.3, 1.7], None, "[Uu]nknown label type"),
        ([1.0, 2.0], [0, 1], None, "2D array"),
        (np.empty((0, 2)), [], None, "0 sample"),
        (np.eye(3), ["a", None, "b"], None, "row 1 of y is missing; every row needs a class"),
        ([["a"], ["b"]], [0, 1], None, r"X holds text \('a'\), but rows must be numbers; put"),
        (pl.LazyFrame({"a": [1.0, 2.0]}), [0, 1], None, r"give X.collect\(\)"),
    ],
)
def test_bad_input_is_one_clear_error(X, y, weights, message):
    model = MulticlassSVC()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "coef_")


def test_a_failed_fit_leaves_the_model_whole():
    model = MulticlassSVC(random_state=0).fit(pd.DataFrame(IRIS[0], columns=list("abcd")), IRIS[1])
    with pytest.raises(ValueError, match="two classes"):
        model.fit(IRIS[0][:, :2], np.zeros(150))
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list("abcd")
    fresh = MulticlassSVC()
    with pytest.raises(ValueError, match="two classes"):
        fresh.fit(IRIS[0], np.zeros(150))
    assert not hasattr(fresh, "n_features_in_")
    model = fitted()
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="two classes"):
        model.fit(IRIS[0], np.zeros(150))
    with pytest.raises(FloatingPointError, match="scale"):
        model.fit(IRIS[0] * 1e300, IRIS[1])
    assert (model.coef_ == before).all()
    assert model.predict(IRIS[0]).shape == (150,)


def test_tiny_features_are_no_obstacle():
    """Scores then differ by less than float32 or float64 can show beside 1."""
    X = np.random.default_rng(0).normal(size=(100, 5))
    for dtype in (np.float32, np.float64):
        for scale in (1e-6, 1e-9, 1e-15):
            rows = (X * scale).astype(dtype)
            model = MulticlassSVC(fit_intercept=False, random_state=0).fit(rows, np.arange(100) % 4)
            assert model.certificate_.relative_gap <= 1e-3


@each(
    ("name", "value"),
    [
        *(("C", 0), ("C", "1"), ("tol", 0.0), ("formulation", "unknown"), ("loss", "squared")),
        *(("stopping", "never"), ("max_iter", 0), ("weights", "diagonal"), ("n_jobs", 1.5)),
        *(("class_weight", "unbalanced"), ("intercept_scaling", 0)),
    ],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        MulticlassSVC(**{name: value}).fit(*IRIS)


@each(
    ("weights", "message"),
    [
        ({"b": 2, "bb": 3}, "'bb' is not a class of y, whose classes are 'a', 'b'; did you mean"),
        ({0: 2}, "0 is not a class of y, whose classes are 'a', 'b'"),
        ({"a": -1.0}, "class weights must be numbers and not negative"),
    ],
)
def test_class_weights_that_cannot_be(weights, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MulticlassSVC(class_weight=weights).fit([[0.0], [1.0]], ["a", "b"])


def test_few_rows_of_many_features_and_as_many_classes_as_rows():
    X = sp.random_array((20, 100_000), density=1e-4, random_state=np.random.default_rng(0)).tocsr()
    model = MulticlassSVC(random_state=0).fit(X, np.arange(20) % 4)
    assert model.coef_.shape == (4, 100_000)
    assert model.certificate_.relative_gap <= 1e-3
    X, _ = make_blobs(n_samples=60, centers=60, n_features=20, random_state=0)
    model = MulticlassSVC(random_state=0).fit(X, np.arange(60))  # and no word about regression
    assert model.score(X, np.arange(60)) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"formulation": "crammer-singr"}, "Did you mean 'crammer_singer'?"),
        ({"loss": "squared"}, "must be a str among {'hinge', 'squared_hinge'}. Got 'squared'"),
        ({"weights": "dens"}, "Did you mean 'dense'?"),
    ],
)
def test_values_that_are_misspelt(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MulticlassSVC(**params).fit(*IRIS)


def test_names_that_are_misspelt():
    with pytest.raises(TypeError, match="'formualtion'; did you mean 'formulation'"):
        MulticlassSVC(formualtion="ww")


def test_a_certificate_is_shown_with_four_digits():
    shown = repr(MulticlassSVC(random_state=0).fit(*IRIS).certificate_)
    assert re.fullmatch(r"Certificate\((\w+=[\d.e+-]{1,9}(, )?){6}\)", shown)
