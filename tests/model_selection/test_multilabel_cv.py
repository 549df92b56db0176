"""MultilabelSVCCV: the grid, folds and scores of scikit-learn's search, and its refusals."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold

from manyclass import MultilabelSVC, MultilabelSVCCV, load_model, save_model
from tests.helpers.cases import each

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 8))
Y = (X @ RNG.normal(size=(8, 5)) + RNG.normal(size=(120, 5)) > 1.5).astype(int)
NAMES = np.array(list("abcde"))
CS = [0.001, 0.03, 1.0]
FOLDS = KFold(3, shuffle=True, random_state=0)


def made(**params):
    return MultilabelSVCCV(**{"Cs": CS, "cv": FOLDS, "random_state": 0, "tol": 1e-8, **params})


@pytest.mark.parametrize("scoring", ["f1_micro", "f1_macro", "accuracy"])
def test_scores_are_those_of_a_grid_search(scoring):
    model = made(scoring=scoring, tol=1e-11).fit(X, Y)
    plain = MultilabelSVC(tol=1e-11, random_state=0)
    search = GridSearchCV(plain, {"C": CS}, cv=FOLDS, scoring=scoring).fit(X, Y)
    n_tried = int(np.isfinite(model.scores_).all(axis=0).sum())
    for fold, row in enumerate(model.scores_[:, :n_tried]):
        expected = search.cv_results_[f"split{fold}_test_score"][:n_tried]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    assert model.best_score_ == pytest.approx(np.nanmax(model.scores_.mean(axis=0)))
    assert CS[int(np.nanargmax(model.scores_.mean(axis=0)))] == model.C_
    assert (model.gaps_[:, :n_tried] <= 1e-11).all()


def test_the_model_is_that_of_all_rows():
    model = made().fit(X, Y)
    best = model.best_estimator_
    assert type(best) is MultilabelSVC
    assert best.get_params()["C"] == model.C_
    again = MultilabelSVC(C=model.C_, tol=1e-8, random_state=best.random_state).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert model.score(X, Y) == again.score(X, Y)
    assert model.certificate_ is best.certificate_
    twin = made().fit(X, Y)
    np.testing.assert_array_equal(model.scores_, twin.scores_)


@each("threshold", ["zero", "tuned"])
def test_kinds_of_labels(threshold):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("stuvwxyz"))
    sets = [set(NAMES[row.astype(bool)].tolist()) for row in Y]
    for y in (sets, sp.csr_array(Y), pd.DataFrame(Y, columns=NAMES)):
        model = made(Cs=CS[1:], threshold=threshold, tol=1e-2).fit(frame, y)
        assert model.classes_.tolist() in (NAMES.tolist(), list(range(5)))
        assert model.feature_names_in_.tolist() == list("stuvwxyz")
        assert sp.issparse(model.predict(frame)) == (not isinstance(y, pd.DataFrame))


def test_weights_count_in_training_alone():
    weight = RNG.integers(0, 3, len(X)).astype(float)
    model = made(Cs=[1.0]).fit(X, Y, sample_weight=weight)
    train, test = next(FOLDS.split(X))
    plain = MultilabelSVC(tol=1e-8).fit(X[train], Y[train], sample_weight=weight[train])
    expected = f1_score(Y[test], plain.predict(X[test]), average="micro")
    assert model.scores_[0, 0] == pytest.approx(expected)


def test_the_search_ends_where_larger_C_are_worse():
    calls = []

    def scoring(model, rows, indicator):
        calls.append(model.C)
        return -model.C - 1e-3 * len(calls) % 3e-3

    model = made(Cs=[1e-3, 1e-2, 1e-1, 1.0, 10.0], scoring=scoring).fit(X, Y)
    assert max(calls) < 10.0
    assert np.isnan(model.scores_[:, -1]).all()
    assert model.C_ == 1e-3


def test_labels_of_few_rows_give_no_warning_for_each_fold():
    rare = Y.copy()
    rare[:, 0] = 0
    rare[3, 0] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(tol=1e-2).fit(X, rare)


def test_lines_and_standard_error(capsys):
    model = made(verbose=1, one_standard_error=True, tol=1e-3).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == np.isfinite(model.scores_[0]).sum()
    assert lines[0].startswith("C 0.001  score ")
    assert model.C_ <= made(tol=1e-3).fit(X, Y).C_


def test_other_forms(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    from manyclass.onnx import to_onnx

    model = made(tol=1e-3).fit(X, Y)
    plain = model.to_sklearn()
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    session = onnxruntime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels = session.run(None, {"X": X.astype(np.float32)})[0]
    assert (labels == model.predict(X)).mean() > 0.99
    save_model(tmp_path / "model", model)
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(NotFittedError):
        made().to_sklearn()


BAD = [
    ({"Cs": [0.0, 1.0]}, "Cs must be positive"),
    ({"Cs": []}, "Cs must be positive"),
    ({"scoring": "f1_mirco"}, "did you mean 'f1_micro'"),
    ({"scoring": lambda *_: np.nan}, "fold 1: the score is nan"),
    ({"cv": []}, "cv gives no fold"),
    ({"cv": [([0, 1], [500])]}, "fold 1 has no rows of 120"),
    ({"cv": 1000}, "there are 120 rows, fewer than cv=1000 folds"),
    ({"loss": "hinged"}, "loss"),
]


@pytest.mark.parametrize(("params", "message"), BAD)
def test_bad_arguments(params, message):
    with pytest.raises(ValueError, match=message):
        made(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X[1:], Y, "inconsistent numbers"),
        (np.full_like(X, np.nan), Y, "NaN"),
        (X, Y * 2, "must hold only 0 and 1"),
    ],
)
def test_bad_data(rows, y, message):
    with pytest.raises(ValueError, match=message):
        made().fit(rows, y)


def test_names_of_other_parameters():
    with pytest.raises(TypeError, match="formulation"):
        MultilabelSVCCV(formulation="ovr")
