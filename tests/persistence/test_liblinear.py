"""LIBLINEAR predicts from our files what we predict, and we from its own what it does."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_liblinear,
    load_model,
    save_liblinear,
    save_model,
)
from tests.helpers.iris import IRIS
from tests.helpers.liblinear_files import predicted, trained

X, Y = IRIS
STEPS = {"max_steps": 2000, "tol": None, "random_state": 0}
MODELS = {
    "crammer_singer": MulticlassSVC(random_state=0),
    "no intercept": MulticlassSVC(formulation="ww", fit_intercept=False, random_state=0),
    "one_vs_rest": MulticlassSVC(formulation="ovr", random_state=0),
    "squared_hinge": MulticlassSVC(formulation="ovr", loss="squared_hinge", random_state=0),
    "logistic": MultinomialLogisticRegression(random_state=0),
    "stochastic": StochasticClassifier(loss="perceptron", **STEPS),
    "log_loss": StochasticClassifier(loss="log_loss", **STEPS),
}
JOINT, ONE, TWO = "MCSVM_CS", "L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVC_DUAL"
SOLVERS = {
    "crammer_singer": (JOINT, JOINT),
    "no intercept": (JOINT, JOINT),
    "one_vs_rest": (ONE, ONE),
    "squared_hinge": (TWO, TWO),
    "logistic": (JOINT, "L2R_LR"),
    "stochastic": (JOINT, JOINT),
    "log_loss": (JOINT, "L2R_LR"),
}
LABELS = {
    "multi": np.array([7, -3, 20])[Y],
    "binary": np.array([5, -1, -1])[Y],
    "whole floats": np.array([2.0, 1.0, 3.0])[Y],
    "bool": Y > 0,
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", MODELS)
def test_liblinear_predicts_the_same(name, labels, path):
    y = LABELS[labels]
    model = MODELS[name].fit(X, y)
    save_liblinear(path, model)
    binary = len(model.classes_) == 2
    assert path.read_text().splitlines()[0] == f"solver_type {SOLVERS[name][binary]}"
    predictions, values, order = predicted(path, X)
    assert (predictions == model.predict(X)).all()
    ours = model.decision_function(X)
    if binary and SOLVERS[name][binary] == JOINT:
        values = -2 * values[:, 0]  # LIBLINEAR's Python gives the first label's alone
    elif binary:
        assert order == [int(c) for c in model.classes_[::-1]]
        values = values[:, 0]
    np.testing.assert_allclose(values, ours, rtol=1e-9, atol=1e-9)


def test_probabilities_of_two_classes_are_the_same_and_others_refused(path):
    model = MODELS["logistic"].fit(X, Y > 0)
    save_liblinear(path, model)
    _, chances, order = predicted(path, X, "-q -b 1")
    assert order == [1, 0]
    np.testing.assert_allclose(chances[:, ::-1], model.predict_proba(X), rtol=1e-8)
    save_liblinear(path, MODELS["logistic"].fit(X, Y))
    with pytest.raises(TypeError, match="probability"):
        predicted(path, X, "-q -b 1")


@pytest.mark.parametrize("labels", ["multi", "binary"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_comes_back_predicts_the_same(name, labels, dtype, path):
    model = MODELS[name].fit(X.astype(dtype), LABELS[labels])
    save_liblinear(path, model)
    back = load_liblinear(path)
    assert back.coef_.dtype == np.float64
    np.testing.assert_array_equal(back.coef_, model.coef_)  # every digit
    np.testing.assert_array_equal(back.intercept_, model.intercept_)
    np.testing.assert_array_equal(back.classes_, model.classes_)
    if SOLVERS[name][labels == "binary"] == "L2R_LR":
        np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_sparse_weights_and_extreme_labels(path):
    model = MODELS["crammer_singer"].fit(X, Y).sparsify(0.3)
    save_liblinear(path, model)
    np.testing.assert_array_equal(load_liblinear(path).coef_, model.coef_.toarray())
    for label in (-(2**31), 2**31 - 1):
        model = MulticlassSVC(tol=0.1).fit(X, np.where(Y == 0, label, Y))
        save_liblinear(path, model)
        np.testing.assert_array_equal(load_liblinear(path).classes_, model.classes_)


def test_names_as_numbers(path):
    names = np.array(["setosa", "versicolor", "virginica"])
    model = MODELS["crammer_singer"].fit(X, names[Y])
    with pytest.raises(ValueError, match=r"unlike the class 'setosa'; use encode_labels=True"):
        save_liblinear(path, model)
    assert not path.exists()
    save_liblinear(path, model, encode_labels=True)
    assert (names[load_liblinear(path).predict(X)] == model.predict(X)).all()


@pytest.mark.parametrize("solver", range(8))
@pytest.mark.parametrize("bias", [-1, 0, 2.5])
@pytest.mark.parametrize("labels", ["multi", "binary"])
def test_models_that_liblinear_trained(solver, bias, labels, path):
    order = np.random.default_rng(0).permutation(len(X))  # so that no label comes first
    rows, y = X[order] - X.mean(axis=0), LABELS[labels][order]
    trained(path, rows, y, f"-s {solver} -B {bias} -e 0.1")
    model = load_liblinear(path)
    predictions, values, order = predicted(path, rows)
    assert (model.predict(rows) == predictions).all()
    ours = model.decision_function(rows)
    if labels == "multi":
        np.testing.assert_allclose(ours, values[:, np.argsort(order)], rtol=1e-9, atol=1e-9)
    elif solver != 4:  # whose second value LIBLINEAR's Python does not give
        sign = 1 if order[0] > order[1] else -1
        np.testing.assert_allclose(sign * ours, values[:, 0], rtol=1e-9, atol=1e-9)
    assert hasattr(model, "predict_proba") == (solver in (0, 6, 7) and labels == "binary")
    assert model.fit_intercept == (bias > 0)


def test_an_imported_model_can_be_saved_and_trained(path, tmp_path):
    trained(path, X, Y, "-s 1 -B 1 -e 0.1")
    model = load_liblinear(path)
    assert (model.formulation, model.loss) == ("one_vs_rest", "squared_hinge")
    assert model.certificate_ is None
    save_model(tmp_path / "model", model)
    assert (load_model(tmp_path / "model").predict(X) == model.predict(X)).all()
    assert model.fit(X, Y).certificate_.relative_gap <= 1e-3


def test_a_model_whose_c_was_chosen(path, tmp_path):
    search = MulticlassSVCCV(Cs=[1.0], cv=2).fit(X, Y)
    save_liblinear(path, search)
    save_liblinear(tmp_path / "best", search.best_estimator_)
    assert path.read_bytes() == (tmp_path / "best").read_bytes()


def test_what_cannot_be_exported(path, monkeypatch):
    with pytest.raises(TypeError, match="not GridSearchCV; give its best_estimator_"):
        save_liblinear(path, GridSearchCV(MulticlassSVC(), {"C": [1.0]}).fit(X, Y))
    with pytest.raises(TypeError, match="not LinearSVC"):
        save_liblinear(path, LinearSVC().fit(X, Y))
    with pytest.raises(NotFittedError):
        save_liblinear(path, MulticlassSVC())
    model = MulticlassSVC(tol=0.1).fit(X, Y * 2**30)
    with pytest.raises(ValueError, match=r"32-bit integers"):
        save_liblinear(path, model)
    model = MulticlassSVC(tol=0.1).fit(X, Y)
    model.intercept_[0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        save_liblinear(path, model)
    monkeypatch.setattr("manyclass.persistence.liblinear.MAX_WEIGHTS", 14)
    with pytest.raises(ValueError, match=r"3 classes and 4 features are more weights"):
        save_liblinear(path, model)
    assert not path.exists()
