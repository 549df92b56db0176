"""Folds that lack classes: all of them are trained with the classes of all rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
)
from manyclass.model_selection.cv_fit import fit_with_maker
from manyclass.model_selection.folds import TrainingRows, fit
from manyclass.problem.formulations import FORMULATIONS
from tests.helpers.cases import each

rng = np.random.default_rng(0)
LABELS = np.array(["a", "b", "c", "rare"])
y = LABELS[np.r_[np.arange(57) % 3, 3, 3, 3]]
X = rng.normal(size=(60, 4)) + 2 * np.eye(4)[np.searchsorted(LABELS, y)]
FOLDS = list(KFold(3).split(X))  # the last rows are tested in fold 3
FIRST = FOLDS[2][0]  # and it trains without them
HALF = pytest.warns(UserWarning, match=r"fold 3 lack class 'rare': the free intercept")


def dense_or_sparse(rows, is_sparse):
    return sp.csr_array(np.where(np.abs(rows) > 0.5, rows, 0)) if is_sparse else rows


@each("is_sparse", [False, True])
@each("present", [1, 2])
@each("formulation", FORMULATIONS)
def test_a_class_without_rows_has_the_weights_of_one_with_a_row_of_no_weight(
    formulation, present, is_sparse
):
    rows, labels, classes = X[:30], np.arange(30) % present, np.arange(present + 1)
    settings = {"formulation": formulation, "tol": 1e-8, "max_iter": 10_000, "random_state": 0}
    model = MulticlassSVC(**settings)
    fit(model, TrainingRows(dense_or_sparse(rows, is_sparse), labels, None, classes))
    more = dense_or_sparse(np.vstack([rows, rows[:1]]), is_sparse)
    weights = np.append(np.ones(30), 1e-9)
    wanted = MulticlassSVC(**settings).fit(more, np.append(labels, present), weights)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-3)
    assert model.classes_.tolist() == classes.tolist()
    assert model.certificate_.relative_gap <= 1e-8


@each("is_sparse", [False, True])
@each("present", [1, 3])
def test_a_free_intercept_without_rows_is_that_of_half_a_row(present, is_sparse):
    """Half a row of mean weight, without features: its loss is in P, and the proof holds."""
    rows, labels, classes = X[:30], np.arange(30) % present, np.arange(present + 2)
    own = rng.random(30) + 0.5
    model = MultinomialLogisticRegression(tol=1e-10, random_state=0)
    fit(model, TrainingRows(dense_or_sparse(rows, is_sparse), labels, own, classes))
    more = dense_or_sparse(np.vstack([rows, np.zeros((2, 4))]), is_sparse)
    weights = np.append(own, [own.mean() / 2] * 2)
    wanted = MultinomialLogisticRegression(tol=1e-10, random_state=0)
    wanted.fit(more, np.append(labels, classes[-2:]), weights)
    np.testing.assert_allclose(model.intercept_, wanted.intercept_, atol=1e-4)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-4)
    scores = more @ model.coef_.T + model.intercept_
    losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(32), [*labels, *classes[-2:]]]
    primal = 0.5 * np.square(model.coef_).sum() + weights @ losses
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-12)


@each("regularized", [False, True])
def test_log_loss_is_finite_and_of_all_classes(regularized):
    settings = {"regularize_intercept": regularized, "tol": 1e-8, "random_state": 0}
    search = MultinomialLogisticRegressionCV(Cs=[0.1], cv=FOLDS, scoring="neg_log_loss", **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    names = [w for w in caught if "'rare'" in str(w.message)]
    assert len(caught) == len(names) == (0 if regularized else 1)
    model = MultinomialLogisticRegression(C=0.1, **settings)
    train, test = FOLDS[2]
    fit(model, TrainingRows(X[train], y[train], None, LABELS))
    wanted = -log_loss(y[test], model.predict_proba(X[test]), labels=LABELS)
    assert np.isfinite(search.scores_).all()
    assert search.scores_[2, 0] == pytest.approx(wanted, rel=1e-4)


def test_test_rows_may_lack_classes():
    search = MultinomialLogisticRegressionCV(Cs=[0.1], cv=FOLDS, scoring="neg_log_loss")
    train, test = FOLDS[0]
    with HALF:
        search.fit(X, y)
    model = MultinomialLogisticRegression(C=0.1).fit(X[train], y[train])
    wanted = -log_loss(y[test], model.predict_proba(X[test]), labels=LABELS)
    assert search.scores_[0, 0] == pytest.approx(wanted, rel=1e-2)


@each("kind", [MulticlassSVCCV, MultinomialLogisticRegressionCV])
@each("Cs", ["path", [0.1, 1.0]])
def test_the_mean_of_the_folds_has_all_classes(kind, Cs):
    search = kind(Cs=Cs, C_range=(0.1, 1.0), cv=FOLDS, refit=False, epsilon=0.1, random_state=0)
    with HALF if kind is MultinomialLogisticRegressionCV else warnings.catch_warnings():
        search.fit(X, y)
    assert search.coef_.shape == (4, 4)
    assert search.classes_.tolist() == LABELS.tolist()
    assert np.isfinite(search.intercept_).all()


@each("formulation", FORMULATIONS)
def test_a_fold_may_hold_one_class(formulation):
    labels = np.repeat(["a", "b"], 30)
    search = MulticlassSVCCV(formulation=formulation, Cs=[1.0], cv=KFold(2), random_state=0)
    assert search.fit(X, labels).scores_.tolist() == [[0.0], [0.0]]


@each(
    "settings",
    [
        {"class_weight": {"rare": 3.0}},
        {"class_weight": "balanced"},
        {"class_offset": "logit_adjustment"},
        {"class_offset": [0.0, 0.0, 0.0, 1.0]},
        {"class_offset": {"rare": 1.0}},
        {"costs": 2 - 2 * np.eye(4)},
        {"costs": {"rare": {"a": 5.0}}},
    ],
)
def test_parameters_by_class_fit_all_folds(settings):
    search = MulticlassSVCCV(Cs=[0.1], cv=FOLDS, random_state=0, **settings).fit(X, y)
    assert np.isfinite(search.scores_).all()
    model = MulticlassSVC(C=0.1, random_state=0, **settings)
    fit(model, TrainingRows(X[FIRST], y[FIRST], None, LABELS))
    assert model.coef_.shape == (4, 4)


def test_half_a_row_is_its_class_in_the_adjustment_of_logits():
    search = MultinomialLogisticRegressionCV(
        Cs=[1.0], cv=FOLDS, class_offset="logit_adjustment", scoring="neg_log_loss"
    )
    with HALF:
        search.fit(X, y)
    assert np.isfinite(search.scores_).all()


def test_a_class_whose_rows_weigh_nothing_is_in_no_fold():
    weights = np.where(y == "rare", 0.0, 1.0)
    search = MultinomialLogisticRegressionCV(
        Cs=[0.1], cv=FOLDS, scoring="neg_log_loss", tol=1e-8, random_state=0
    )
    search.fit(X, y, sample_weight=weights)
    kept = weights > 0
    splits = [(a[kept[a]], b[kept[b]]) for a, b in FOLDS]
    alone = MultinomialLogisticRegressionCV(
        Cs=[0.1], cv=splits, scoring="neg_log_loss", tol=1e-8, random_state=0
    )
    np.testing.assert_allclose(alone.fit(X, y, weights).scores_, search.scores_, rtol=1e-5)
    assert search.classes_.tolist() == ["a", "b", "c"]


def test_labels_that_the_training_rows_of_a_fold_lack():
    indicator = (y[:, None] == LABELS).astype(int)
    search = MultilabelSVCCV(Cs=[0.1, 1.0], cv=FOLDS, random_state=0).fit(X, indicator)
    assert search.scores_.shape == (3, 2)
    assert np.isfinite(search.scores_).all()
    assert len(search.classes_) == 4


@each("Cs", ["path", [0.1]])
def test_one_class_is_an_error(Cs):
    search = MulticlassSVCCV(Cs=Cs, C_range=(0.1, 1.0), cv=KFold(2))
    with pytest.raises(ValueError, match=r"at least two classes .* there is one class, 'a'"):
        search.fit(X, np.full(60, "a"))


@each("Cs", [[0.01, 1.0], "path"])
def test_features_that_a_fold_makes_by_its_training_rows(Cs):
    """Columns scaled by the training rows of each fold, as in a search over a pipeline."""
    shifted, labels, seen = X * [1, 10, 100, 1000] + 5, np.arange(60) % 3, []

    def maker(rows):
        seen.append(len(rows))
        return StandardScaler().fit(shifted[rows]).transform(shifted)

    model = MulticlassSVCCV(Cs=Cs, C_range=(0.1, 1.0), cv=KFold(3), tol=1e-6, random_state=0)
    fit_with_maker(model, StandardScaler().fit_transform(shifted), labels, maker)
    assert seen == [40, 40, 40]  # once for each fold
    line = make_pipeline(StandardScaler(), MulticlassSVC(tol=1e-6, random_state=0))
    grid = {"multiclasssvc__C": model.Cs_ if Cs == "path" else Cs}
    theirs = GridSearchCV(line, grid, cv=KFold(3)).fit(shifted, labels).cv_results_
    found = [model.cv_results_[f"split{i}_test_score"] for i in range(3)]
    expected = [theirs[f"split{i}_test_score"] for i in range(3)]
    np.testing.assert_allclose(found, expected, atol=0.06 if Cs == "path" else 1e-9)
    assert model.n_features_in_ == 4
