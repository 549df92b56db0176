"""MultilabelSVC: one binary machine for each label, exactly; kinds of input; refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC, MultilabelSVC
from manyclass.multilabel.groups import groups_of
from manyclass.multilabel.training import Labelled
from manyclass.problem.dataset import Dataset

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAMES = np.array(["a", "b", "c", "d", "e", "f", "g"])


@pytest.fixture(scope="module", name="data")
def data_fixture():
    """Rows with up to all of seven labels, some with none."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 8))
    Y = (X @ rng.normal(size=(8, 7)) + rng.normal(size=(120, 7)) > 1.5).astype(int)
    assert Y.sum(axis=1).min() == 0
    assert Y.sum(axis=1).max() > 2
    return X, Y


def sets_of(Y):
    return [set(NAMES[row.astype(bool)].tolist()) for row in Y]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weights", ["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_each_label_is_the_binary_machine_of_one_vs_rest(data, loss, weights, fit_intercept):
    X, Y = data
    common = {"loss": loss, "tol": 1e-12, "fit_intercept": fit_intercept, "random_state": 0}
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = MultilabelSVC(C=0.7, weights=weights, **common).fit(X, Y, sample_weight=weight)
    assert sp.issparse(model.coef_) == (weights == "sparse")
    coef = model.coef_.toarray() if weights == "sparse" else model.coef_
    primal = 0.0
    for c in range(Y.shape[1]):
        alone = MulticlassSVC(formulation="one_vs_rest", C=0.7, **common)
        alone.fit(X, Y[:, c], sample_weight=weight)
        np.testing.assert_allclose(coef[c], alone.coef_[0], atol=1e-5)
        np.testing.assert_allclose(model.intercept_[c], alone.intercept_[0], atol=1e-5)
        primal += alone.certificate_.primal_objective / 2  # of two machines, w and -w
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-10)
    assert model.certificate_.relative_gap < 1e-10


def test_certificate_is_that_of_the_weights(data):
    X, Y = data
    model = MultilabelSVC(C=2.0, tol=1e-2, random_state=0).fit(X, Y)
    sign = 2 * Y - 1
    slacks = np.maximum(0, 1 - sign * model.decision_function(X))
    penalty = (model.coef_**2).sum() + (model.intercept_**2).sum()
    assert model.certificate_.primal_objective == pytest.approx(penalty / 2 + 2.0 * slacks.sum())
    exact = MultilabelSVC(C=2.0, tol=1e-9, random_state=0).fit(X, Y).certificate_
    assert model.certificate_.dual_objective <= exact.primal_objective
    assert model.certificate_.relative_gap <= 1e-2


def test_threads_train_the_same(data):
    X, Y = data[0], np.hstack([data[1]] * 6)  # of several groups
    one, two = (MultilabelSVC(n_jobs=n, random_state=0).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(
    ("given", "classes", "is_dense"),
    [
        (np.asarray, range(7), True),
        (lambda Y: Y.astype(bool), range(7), True),
        (lambda Y: Y.tolist(), range(7), True),
        (sp.csr_array, range(7), False),
        (sp.coo_matrix, range(7), False),
        (lambda Y: pd.DataFrame(Y, columns=NAMES), NAMES, True),
        (sets_of, NAMES, False),
        (lambda Y: [tuple(row) for row in sets_of(Y)], NAMES, False),
        (lambda Y: [list(np.flatnonzero(row) + 10) for row in Y], range(10, 17), False),
        (lambda Y: [np.flatnonzero(row) + 10 for row in Y], range(10, 17), False),
        (lambda Y: pd.Series([np.array(NAMES)[row == 1] for row in Y]), NAMES, False),
        (lambda Y: pl.Series([sorted(row) for row in sets_of(Y)]), NAMES, False),
        (lambda Y: pa.array([sorted(row) for row in sets_of(Y)]), NAMES, False),
        (lambda Y: pl.Series(Y.tolist()), range(7), True),
    ],
    ids=[
        "array",
        "bool",
        "lists",
        "csr",
        "coo",
        "frame",
        "sets",
        "tuples",
        "numbers",
        "arrays",
        "pandas",
        "polars",
        "arrow",
        "vectors",
    ],
)
def test_kinds_of_labels(data, given, classes, is_dense):
    X, Y = data
    model = MultilabelSVC(random_state=0).fit(X, given(Y))
    assert model.classes_.tolist() == list(classes)
    expected = MultilabelSVC(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    found = model.predict(X)
    assert isinstance(found, np.ndarray) == is_dense
    dense = found if is_dense else found.toarray()
    np.testing.assert_array_equal(dense, model.decision_function(X) > 0)
    named = [{classes[c] for c in np.flatnonzero(row)} for row in dense]
    assert model.predict_labels(X) == named
    assert model.score(X, given(Y)) == (dense == Y).all(axis=1).mean()


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.arange(12) % 3, "use MulticlassSVC"),
        (["a;b"] * 12, r"text for every row \(a;b\), not a label set; split them, .*split\(';'\)"),
        (np.full((12, 2), 2), "only 0 and 1 .* it holds 2"),
        (np.full((12, 2), 0.5), "continuous values such as 0.5"),
        (np.full((12, 2), "x"), "only 0 and 1"),
        (np.full((12, 2), 1j), "only 0 and 1 .* it is complex128"),
        (np.zeros((12, 2), "datetime64[s]"), "it is datetime64"),
        (pd.DataFrame(np.eye(12, 3), columns=["a", "a", "b"]), "the column 'a' twice"),
        (pd.DataFrame(np.eye(12, 2), columns=["a", 1]), "numbers and by text"),
        ([{np.nan}, {1.0}] * 6, "Y holds NaN"),
        (np.zeros((12, 0), int), "no column"),
        ([set()] * 12, "all label sets are empty"),
        ([{1}, {"a"}] * 6, "row 1 of y .* is text, and previous labels are not; labels must be"),
        ([{(1, 2)}, {(3, 4)}] * 6, r"numbers or text, not \(1, 2\)"),
        ([[[1]], [[2], [3]]] * 6, "all numbers or all text"),
        ([{10**30}, {1}] * 6, "row 0 of y .* does not fit in 64 bits"),
        ([{2**53 + 1}, {0.5}] * 6, "row 0 of y .* floats of that size skip whole numbers"),
        ([{"a"}, {""}] * 6, "row 1 of y has an empty label, .* give such rows an empty set"),
        ([{"a"}, None] * 6, "Y holds None for row 1; a row without labels has an empty set"),
        (pd.Series(["a;b", None] * 6).str.split(";"), "Y holds nan for row 1"),
        (pd.Series(["a;b", ""] * 6).str.get_dummies(";"), "a column without a name"),
        (np.ones((11, 2), int), "inconsistent numbers of samples"),
        (sp.csr_array(np.full((12, 2), -1)), "it holds -1"),
    ],
    ids=[
        "1d",
        "texts",
        "twos",
        "halves",
        "words",
        "complex",
        "dates",
        "twice",
        "kinds",
        "nan",
        "no-column",
        "no-label",
        "mixed",
        "pairs",
        "nested",
        "wide",
        "coarse",
        "empty",
        "none",
        "gaps",
        "dummies",
        "rows",
        "sparse",
    ],
)
def test_refuses_other_labels(Y, message):
    X = np.random.default_rng(0).normal(size=(12, 3))
    model = MultilabelSVC()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")


def test_labels_of_two_kinds_in_sets_are_refused(data):
    sets = [{True}, {1}, {0}] * 20
    with pytest.raises(ValueError, match="all numbers, all text or all booleans"):
        MultilabelSVC().fit(data[0][:60], sets)


def test_refuses_unknown_labels_in_score(data):
    X, Y = data
    model = MultilabelSVC().fit(X, sets_of(Y))
    with pytest.raises(ValueError, match="'z', which is not a label of fit"):
        model.score(X[:1], [{"z"}])


@pytest.mark.parametrize("threshold", ["zero", "tuned", 3.0])
def test_labels_of_all_rows_or_none_are_constant(data, threshold):
    X, Y = data
    Y = np.hstack([np.ones((len(Y), 1), int), Y, np.zeros((len(Y), 1), int)])
    model = MultilabelSVC(threshold=threshold, random_state=0)
    with pytest.warns(UserWarning, match="2 of 9 labels occur in all rows or in none"):
        model.fit(X, Y)
    assert not model.coef_[[0, -1]].any()
    assert model.intercept_[[0, -1]].tolist() == [1, -1]
    assert model.predict(X)[:, 0].all()
    assert not model.predict(X)[:, -1].any()


def test_warns_where_the_tolerance_is_not_reached(data):
    with pytest.warns(ConvergenceWarning, match="requested: 1e-09"):
        MultilabelSVC(tol=1e-9, max_iter=1).fit(*data)


def test_one_label(data):
    X, Y = data
    model = MultilabelSVC(random_state=0).fit(X, Y[:, :1])
    assert model.decision_function(X).shape == model.predict(X).shape == (len(X), 1)
    assert model.predict_top_k(X, 1).tolist() == [[0]] * len(X)


def test_groups_hold_labels_that_never_meet(data):
    indicator = sp.csr_array(data[1])
    groups = groups_of(indicator, np.arange(1, 7), 3, apart=True)
    assert sorted(np.concatenate(groups).tolist()) == list(range(1, 7))
    assert max(map(len, groups)) <= 3
    assert all(indicator[:, group].sum(axis=1).max() <= 1 for group in groups)
    apart = groups_of(sp.csr_array(np.eye(8, dtype=int)), np.arange(8), 4, apart=True)
    assert [len(group) for group in apart] == [4, 4]


def test_groups_hold_labels_of_like_frequency(data):
    indicator = sp.csr_array(data[1])
    counts = data[1].sum(axis=0)
    groups = groups_of(indicator, np.arange(1, 7), 4, apart=False)
    assert [len(group) for group in groups] == [4, 2]
    assert counts[groups[0]].min() >= counts[groups[1]].max()
    assert all((np.diff(group) > 0).all() for group in groups)


@pytest.mark.parametrize("kind", [lambda Y: Y, sp.csr_array], ids=["array", "csr"])
def test_multiclass_estimators_name_the_one_for_label_sets(data, kind):
    X, Y = data
    with pytest.raises(ValueError, match="use MultilabelSVC"):
        MulticlassSVC().fit(X, kind(Y))
    with pytest.raises(ValueError, match="use MultilabelSVC"):
        MulticlassSVC().fit(X, sets_of(Y))


def test_lists_are_sets_after_sets_in_fit():
    X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    model = MultilabelSVC(C=1e4, random_state=0).fit(X, [[0], [1], [0, 1], [1], [0], []])
    assert model.score(X[2:3], [[0, 1]]) == model.score(X[2:3], [{0, 1}]) == 1


def test_scaling_that_vanishes_in_float32():
    X = np.eye(3, dtype=np.float32)
    with pytest.raises(ValueError, match="intercept_scaling"):
        MultilabelSVC(intercept_scaling=1e-60).fit(X, np.eye(3))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rare_labels_equal_binary_machines(loss, dtype):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 12)).astype(dtype)
    scores = X @ rng.normal(size=(12, 9)) + 0.3 * rng.normal(size=(1500, 9))
    Y = (scores > np.quantile(scores, 0.985, axis=0)).astype(int)  # few free dual variables
    model = MultilabelSVC(C=5, loss=loss, tol=1e-5, random_state=0).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-5
    wide = np.hstack([X, np.ones((1500, 1))]).astype(np.float64)
    W = np.hstack([model.coef_, model.intercept_[:, None]]).astype(np.float64)
    xi = np.maximum(0, 1 - (2 * Y - 1) * (wide @ W.T))
    primal = 0.5 * (W**2).sum() + 5 * (xi if loss == "hinge" else xi**2).sum()
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-5)
    for c in range(9):
        one = MulticlassSVC(
            formulation="one_vs_rest", C=5, loss=loss, tol=1e-6, random_state=0
        ).fit(X.astype(np.float64), Y[:, c])
        np.testing.assert_allclose(model.coef_[c], one.coef_[0], atol=0.02 * abs(one.coef_).max())


def test_counts_in_float64_are_trained_in_float32():
    """Where float32 holds the rows exactly; W is float64, and the certificate is of its problem."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (60, 20)).astype(np.float64)
    Y = (X @ rng.normal(size=(20, 5)) > 0).astype(int)
    double, single = (
        MultilabelSVC(random_state=0).fit(rows, Y) for rows in (X, X.astype(np.float32))
    )
    assert double.coef_.dtype == np.float64
    np.testing.assert_array_equal(double.coef_, single.coef_)
    signs = 2 * Y - 1
    losses = np.maximum(0, 1 - signs * double.decision_function(X)).sum()
    squares = (double.coef_**2).sum() + (double.intercept_**2).sum()
    assert double.certificate_.primal_objective == pytest.approx(squares / 2 + losses, rel=1e-12)


@pytest.mark.parametrize(
    ("factor", "bias", "tol"),
    [(0.1, 1.0, 1e-3), (2.0**9, 1.0, 1e-3), (1.0, 1.0, 1e-6), (1.0, 0.1, 1e-3), (1.0, 3.0, 1e-3)],
)
def test_other_rows_are_trained_in_float64(factor, bias, tol):
    """Where float32 rounds them or intercepts, they are large, or the gap is out of its reach."""
    X = factor * np.arange(1.0, 13.0).reshape(4, 3)
    rows = Dataset.from_matrix(X, np.zeros(4, np.int32), n_classes=1, bias=bias)
    labelled = Labelled.from_rows(rows, sp.csr_array(np.eye(4, dtype=np.int8)), 1.0, "hinge")
    assert labelled.in_single(tol) is labelled
