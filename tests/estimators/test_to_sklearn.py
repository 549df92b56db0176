"""Models as estimators of scikit-learn: the same predictions, scores and probabilities."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier
from tests.helpers.iris import IRIS

X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])
MODELS = [
    (MulticlassSVC(C=2.0, random_state=0), LinearSVC),
    (MulticlassSVC(formulation="ovr", loss="squared_hinge"), LinearSVC),
    (MulticlassSVC(formulation="ww", fit_intercept=False), LinearSVC),
    (MultinomialLogisticRegression(C=2.0), LogisticRegression),
    (StochasticClassifier(loss="log_loss", max_steps=2000, tol=None), LogisticRegression),
    (StochasticClassifier(loss="hinge", max_steps=2000, tol=None), SGDClassifier),
    (StochasticClassifier(loss="perceptron", max_steps=2000, tol=None), SGDClassifier),
]


def fitted(model, X=X, y=Y):
    return clone(model).set_params(random_state=0).fit(X, y)


@pytest.mark.parametrize(("model", "kind"), MODELS, ids=lambda p: getattr(p, "__name__", str(p)))
@pytest.mark.parametrize("classes", ["multi", "binary"])
@pytest.mark.parametrize("rows", ["dense", "sparse"])
def test_the_same_predictions(model, kind, classes, rows):
    y = Y if classes == "multi" else Y > 0
    ours = fitted(model, y=y)
    plain = ours.to_sklearn()
    assert type(plain) is kind
    asked = sp.csr_array(X) if rows == "sparse" else X
    np.testing.assert_allclose(
        plain.decision_function(asked), ours.decision_function(asked), rtol=1e-10, atol=1e-10
    )
    assert (plain.predict(asked) == ours.predict(asked)).all()
    assert plain.score(asked, y) == ours.score(asked, y)
    if kind is LogisticRegression:
        np.testing.assert_allclose(
            plain.predict_proba(asked), ours.predict_proba(asked), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("y", [NAMES[Y], NAMES[Y].astype(object), Y.astype(float), Y > 1])
def test_classes_of_every_kind(y):
    ours = fitted(MODELS[0][0], y=y)
    plain = ours.to_sklearn()
    assert plain.classes_.dtype == ours.classes_.dtype
    assert (plain.predict(X) == ours.predict(X)).all()


def test_what_is_kept():
    ours = fitted(MulticlassSVC(C=0.5, intercept_scaling=2.0, class_weight={0: 2.0}))
    plain = ours.to_sklearn()
    assert (plain.C, plain.intercept_scaling, plain.class_weight) == (0.5, 2.0, {0: 2.0})
    assert (plain.multi_class, plain.loss) == ("crammer_singer", "hinge")
    one_vs_rest = MulticlassSVC(formulation="ovr", class_weight={0: 2.0})
    assert fitted(one_vs_rest).to_sklearn().class_weight is None  # it means something else there
    assert fitted(one_vs_rest, y=(Y > 0) * 1).to_sklearn().class_weight == {0: 2.0}
    assert (plain.n_features_in_, plain.n_iter_) == (4, ours.n_iter_)
    assert fitted(MODELS[3][0]).to_sklearn().n_iter_.shape == (1,)


def test_names_of_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = fitted(MODELS[0][0], X=frame).to_sklearn()
    assert plain.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(frame[list("dcba")])


@pytest.mark.parametrize("classes", ["multi", "binary"])
def test_sparse_weights(classes):
    ours = fitted(MODELS[0][0], y=Y if classes == "multi" else Y > 0).sparsify(0.3)
    plain = ours.to_sklearn()
    assert sp.issparse(plain.coef_)
    for asked in (X, sp.csr_array(X), sp.csr_matrix(X)):
        np.testing.assert_allclose(plain.decision_function(asked), ours.decision_function(asked))
        assert (plain.predict(asked) == ours.predict(asked)).all()
    assert (plain.densify().predict(X) == ours.predict(X)).all()


def test_the_weights_are_copies_of_a_fitted_model():
    ours = fitted(MODELS[0][0])
    before = ours.coef_.copy()
    plain = ours.to_sklearn()
    plain.coef_[:] = 0
    plain.intercept_[:] = 0
    np.testing.assert_array_equal(ours.coef_, before)
    assert ours.intercept_.any()
    with pytest.raises(NotFittedError):
        MulticlassSVC().to_sklearn()


def test_it_can_be_pickled_and_trained():
    plain = pickle.loads(pickle.dumps(fitted(MODELS[3][0]).to_sklearn()))
    assert clone(plain).set_params(max_iter=2000).fit(X, Y).score(X, Y) > 0.9
    going_on = fitted(MODELS[5][0]).to_sklearn()
    before = going_on.coef_.copy()
    assert going_on.partial_fit(X, Y).score(X, Y) > 0.6
    assert (going_on.coef_ != before).any()
