"""The choice of C by cross-validation, for both estimators."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, make_scorer, recall_score, top_k_accuracy_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
)
from manyclass.model_selection.scorers import top_k_scorer
from tests.helpers.iris import IRIS

X, y = load_digits(return_X_y=True)
X, y = X[:300] / 16, y[:300]
GRID = [0.01, 0.1, 1.0]
BOTH = pytest.mark.parametrize("kind", [MulticlassSVCCV, MultinomialLogisticRegressionCV])
PLAIN = {
    MulticlassSVCCV: MulticlassSVC,
    MultinomialLogisticRegressionCV: MultinomialLogisticRegression,
}


def made(kind, **parameters):
    return kind(**({"Cs": GRID, "cv": 3, "random_state": 0} | parameters))


@pytest.fixture(scope="module")
def fitted():
    return made(MulticlassSVCCV).fit(X[:, :40], y)


@BOTH
def test_scores_are_those_of_cold_fits(kind):
    model = made(kind, tol=1e-7).fit(X, y)
    fine = (model.gaps_ <= 1e-7).all(axis=0)
    assert fine.any()
    for j in np.flatnonzero(fine):
        cold = PLAIN[kind](C=model.Cs_[j], tol=1e-7, random_state=5)
        wanted = cross_val_score(cold, X, y, cv=3)
        np.testing.assert_allclose(model.scores_[:, j], wanted, atol=1.01 / 100)  # a row in a fold
        assert np.abs(model.scores_[:, j] - wanted).sum() <= 1.01 / 100
    best = list(model.Cs_).index(model.C_)
    assert fine[best]
    assert model.best_score_ == np.nanmax(model.scores_[:, fine].mean(axis=0))
    alone = PLAIN[kind](C=model.C_, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-3)
    assert model.certificate_.relative_gap <= 1e-7
    assert model.certificates_[0, best].relative_gap == model.gaps_[0, best]
    assert model.best_estimator_.C == model.C_
    assert model.score(X, y) == model.best_estimator_.score(X, y)


@BOTH
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_random_state_reproduces(kind, n_jobs):
    first, again = (made(kind, n_jobs=n_jobs).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.scores_, again.scores_)
    np.testing.assert_array_equal(first.gaps_, again.gaps_)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert first.C_ == again.C_


@BOTH
def test_path(kind):
    model = made(kind, Cs="path", C_range=(0.01, 1.0), epsilon=0.05, n_jobs=2).fit(X, y)
    assert model.Cs_[[0, -1]].tolist() == [0.01, 1.0]
    assert (model.gaps_ <= 0.05).all()
    assert model.scores_.shape == (3, len(model.Cs_))
    assert model.best_score_ == model.scores_.mean(axis=0).max()
    assert model.C_ in model.Cs_


@BOTH
def test_mean_of_the_folds(kind):
    model = made(kind, Cs=[0.1], tol=1e-9, refit=False).fit(X, y)
    folds = [
        PLAIN[kind](C=0.1, tol=1e-9).fit(X[train], y[train])
        for train, _ in StratifiedKFold(3).split(X, y)
    ]
    np.testing.assert_allclose(model.coef_, np.mean([f.coef_ for f in folds], axis=0), atol=1e-4)
    assert model.certificate_ is None
    assert model.predict(X).shape == y.shape


def test_smallest_c_within_one_standard_error():
    best = made(MulticlassSVCCV).fit(X, y)
    careful = made(MulticlassSVCCV, one_standard_error=True).fit(X, y)
    assert careful.C_ <= best.C_
    column = careful.scores_[:, list(careful.Cs_).index(careful.C_)]
    top = careful.scores_[:, np.nanargmax(careful.scores_.mean(axis=0))]
    assert column.mean() >= top.mean() - top.std(ddof=1) / np.sqrt(3)


def test_the_climb_ends_where_scores_fall():
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(300) < 0.3, rng.integers(10, size=300), y)
    Cs = np.logspace(-3, 4, 8)
    model = made(MulticlassSVCCV, Cs=Cs, cv=5).fit(X, noisy)
    assert np.isnan(model.scores_[:, -1]).all()
    assert np.isnan(model.gaps_[:, -1]).all()
    assert model.certificates_[0, -1] is None
    assert model.C_ < 1e4


def test_a_model_that_is_good_enough_serves_larger_c():
    far = np.repeat(np.eye(3) * 10, 6, axis=0)
    labels = np.repeat([0, 1, 2], 6)
    model = made(MulticlassSVCCV, Cs=[1.0, 10.0, 100.0], tol=0.01).fit(far, labels)
    assert (model.fit_times_[:, 1:] == 0).all()
    assert (model.gaps_ <= 0.01).all()


@BOTH
@pytest.mark.parametrize("scoring", ["f1_macro", make_scorer(recall_score, average="macro")])
def test_scoring(kind, scoring):
    model = made(kind, scoring=scoring, tol=1e-7, Cs=[0.1]).fit(X, y)
    wanted = cross_val_score(PLAIN[kind](C=0.1, tol=1e-7), X, y, cv=3, scoring=scoring)
    np.testing.assert_allclose(model.scores_[:, 0], wanted, atol=0.02)
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    assert model.score(X, y) == scorer(model, X, y)


def test_log_loss_of_probabilities():
    model = made(MultinomialLogisticRegressionCV, scoring="neg_log_loss").fit(X, y)
    assert (model.scores_[~np.isnan(model.scores_)] < 0).all()
    with pytest.raises(ValueError, match="fold 1: scoring failed"):
        made(MulticlassSVCCV, scoring="neg_log_loss").fit(X, y)
    with pytest.raises(ValueError, match=r"scoring='acuracy' .*; did you mean 'accuracy'"):
        made(MulticlassSVCCV, scoring="acuracy").fit(X, y)


def test_sample_weights_are_those_of_training_and_scores():
    weights = np.where(np.arange(300) % 3, 1.0, 0.0)
    used = weights > 0
    splits = list(StratifiedKFold(3).split(X, y))
    model = made(MulticlassSVCCV, Cs=[0.1], tol=1e-8, cv=splits).fit(X, y, sample_weight=weights)
    for f, (train, test) in enumerate(splits):
        kept = train[used[train]]
        fold = MulticlassSVC(C=0.1, tol=1e-8).fit(X[kept], y[kept])
        judged = test[used[test]]
        wanted = fold.score(X[judged], y[judged])
        assert model.scores_[f, 0] == pytest.approx(wanted, abs=1.5 / len(judged))


def test_groups_go_to_the_splitter():
    groups = np.arange(300) % 7
    model = made(MulticlassSVCCV, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert model.scores_.shape == (3, 3)
    with pytest.raises(ValueError, match="groups"):
        made(MulticlassSVCCV, cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(TypeError, match="no parameter 'group'"):
        made(MulticlassSVCCV).fit(X, y, group=groups)


def test_metadata_routing():
    groups, weights = np.arange(300) % 7, np.ones(300)
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = made(MulticlassSVCCV, cv=GroupKFold(3), scoring=scorer)
        model.set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=weights, groups=groups)
        assert model.score(X, y, sample_weight=weights) == model.score(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("parameters", "data", "match"),
    [
        ({"cv": [(range(10), [])]}, (X, y), "fold 1 has no row to test"),
        ({"cv": []}, (X, y), "no fold"),
        ({"cv": [([0, 1, 300], [2])]}, (X, y), "fold 1 has no rows of 300"),
        ({"cv": 1000}, (X, y), "n_splits=1000"),
        ({"Cs": []}, (X, y), "at least one"),
        ({"Cs": [1, -1]}, (X, y), "positive"),
        ({"Cs": [1, np.nan]}, (X, y), "positive"),
        ({"Cs": 0}, (X, y), "Cs"),
        ({"Cs": "paths"}, (X, y), "Cs"),
        ({"C_range": (1, 1)}, (X, y), "C_min must be less"),
        ({"C_range": (1, 2, 3)}, (X, y), "C_range"),
        ({"scoring": "nonsense"}, (X, y), "nonsense"),
        ({"scoring": lambda *_: np.nan}, (X, y), "fold 1: the score is nan"),
        ({"tol": 0}, (X, y), "tol"),
        ({}, (np.where(X[3, 3] == X, np.nan, X), y), "NaN"),
        ({}, (X, np.zeros(300)), "class"),
        ({}, (X[:5], y), "inconsistent"),
    ],
)
def test_bad_input_changes_nothing(fitted, n_jobs, parameters, data, match):
    model = copy.copy(fitted)
    before = dict(vars(model))
    model.set_params(n_jobs=n_jobs, **parameters)
    with pytest.raises(ValueError, match=match):
        model.fit(*data)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert all(after[name] is before[name] for name in after)
    assert set(after) == {name for name in before if name.endswith("_")}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_in_a_score_changes_nothing(n_jobs):
    calls = []

    def interrupt(model, rows, labels):
        calls.append(0)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return 0.5

    model = made(MulticlassSVCCV, scoring=interrupt, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_names_of_columns_and_sparse_rows():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"pixel{c}" for c in range(X.shape[1])])
    model = made(MulticlassSVCCV).fit(frame, y)
    assert model.feature_names_in_[0] == "pixel0"
    assert model.best_estimator_.feature_names_in_[0] == "pixel0"
    same = made(MulticlassSVCCV).fit(sp.csr_array(X), y)
    assert np.nanmax(np.abs(model.scores_ - same.scores_)) <= 0.03


def test_lines_copies_and_representation(capsys):
    made(MulticlassSVCCV, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("C ") for line in lines) >= 3
    model = made(MulticlassSVCCV, Cs="path")
    assert clone(model).get_params() == model.get_params()
    assert "Cs='path'" in repr(model)


@BOTH
def test_sparsify_drops_the_certificate(kind):
    model = made(kind).fit(X, y)
    proof = model.best_estimator_.certificate_
    assert model.sparsify(0.0).certificate_ is proof
    assert model.sparsify(0.1).certificate_ is None
    assert model.best_estimator_.certificate_ is proof


def test_folds_that_stop_early_are_told():
    model = made(MulticlassSVCCV, max_iter=1, refit=False)
    with pytest.warns(ConvergenceWarning, match="the folds' fits stopped at relative gaps up to"):
        model.fit(X, y)


def test_results_as_grid_search_has_them():
    model = made(MulticlassSVCCV, Cs=[1e-3, 0.1, 10.0]).fit(*IRIS)
    found = model.cv_results_
    assert [entry["C"] for entry in found["params"]] == model.Cs_.tolist()
    theirs = GridSearchCV(MulticlassSVC(), {"C": [1.0]}, cv=3).fit(*IRIS).cv_results_
    assert set(theirs) - set(found) == {"mean_score_time", "std_score_time"}
    best = int(np.flatnonzero(found["rank_test_score"] == 1)[0])
    assert found["mean_test_score"][best] == np.nanmax(model.scores_.mean(axis=0))
    np.testing.assert_array_equal(found["split1_test_score"], model.scores_[1])


@BOTH
def test_labels_among_the_best_classes_are_a_score(kind):
    search = made(kind, Cs=[1e-3, 0.1], scoring="top_3_accuracy").fit(X, y)
    weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    known = [
        top_k_accuracy_score(y, search.decision_function(X), k=3, sample_weight=w)
        for w in (None, weights)
    ]
    assert search.score(X, y) == pytest.approx(known[0])
    assert top_k_scorer("top_3_accuracy")(search, X, y, weights) == pytest.approx(known[1])
    first = made(kind, Cs=[1e-3], tol=1e-6).fit(X, y).scores_[:, 0]
    assert (search.scores_[:, 0] >= first).all()


def test_folds_that_lack_classes_have_best_ones():
    labels = np.array(["a", "b", "c"])[y % 3]
    labels[:5] = "rare"
    folds = [(np.arange(5, 300), np.arange(10)), (np.arange(300), np.arange(5))]
    search = made(MulticlassSVCCV, Cs=[1.0], scoring="top_3_accuracy", cv=folds)
    assert search.fit(X, labels).scores_[0, 0] == 1.0
    with pytest.raises(ValueError, match="is 1 for every model of 4 classes"):
        made(MulticlassSVCCV, scoring="top_4_accuracy").fit(X, labels)
    for wrong in ("top_0_accuracy", "top_x_accuracy"):
        with pytest.raises(ValueError, match="is not a score of scikit-learn"):
            made(MulticlassSVCCV, scoring=wrong).fit(X, labels)
