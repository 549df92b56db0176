"""Steps of pipelines from files: what each accepted type is checked for, and what is refused."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectPercentile, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, LinearSVC

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.persistence import composites
from manyclass.persistence.step_checks import check_steps
from tests.helpers.model_files import stored as round_trip
from tests.helpers.pipelines import TEXTS, TOPICS, X, Y

SVM = MulticlassSVC(random_state=0)
BINS = np.floor(X)
ONE_HOT = [
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
    OneHotEncoder(max_categories=2, drop="first"),
]
STEPS = [
    [KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), SVM],
    [SimpleImputer(add_indicator=True), OrdinalEncoder(), SVM],
    [PolynomialFeatures(2), PowerTransformer(), RobustScaler(), PCA(3, random_state=0), SVM],
    [QuantileTransformer(n_quantiles=10), Nystroem(n_components=5, random_state=0), SVM],
    [RBFSampler(n_components=5, random_state=0), VarianceThreshold(), SVM],
    [SparseRandomProjection(3, random_state=0), SelectPercentile(), SVM],
    [SelectFromModel(LinearSVC(random_state=0)), SVM],
    [RFE(RidgeClassifier(), n_features_to_select=2), SVM],
    [OneVsOneClassifier(SVM)],
    [VotingClassifier([("a", SVM), ("b", GaussianNB()), ("c", LogisticRegression(max_iter=1000))])],
    [StackingClassifier([("a", SVM), ("b", MultinomialNB())], SVM, cv=2)],
]


@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_accepted_types_come_back(steps):
    if sklearn.__version__ < "1.7" and isinstance(steps[0], KBinsDiscretizer):
        pytest.skip("an older scikit-learn has no quantile_method")
    model = make_pipeline(*steps).fit(X, Y)
    np.testing.assert_array_equal(round_trip(model).predict(X), model.predict(X))


@pytest.mark.parametrize("step", ONE_HOT, ids=str)
def test_categories_come_back(step):
    names = np.array(["a", "b", "c"])[BINS.astype(int) % 3].astype(object)
    for rows in (BINS, names, np.where(BINS == 5, np.nan, BINS)):
        model = make_pipeline(step, SVM).fit(rows, Y)
        np.testing.assert_array_equal(round_trip(model).predict(rows), model.predict(rows))


@pytest.mark.parametrize("step", [DictVectorizer(), FeatureHasher(16)], ids=str)
def test_rows_as_dicts(step):
    rows = [{"length": float(row[0]), "kind": str(int(row[1]))} for row in X]
    model = make_pipeline(step, SVM).fit(rows, Y)
    np.testing.assert_array_equal(round_trip(model).predict(rows), model.predict(rows))


@pytest.mark.parametrize(
    "other", [SVC(), RandomForestClassifier(2, random_state=0), KNeighborsClassifier()], ids=str
)
def test_types_that_cannot_be_checked_are_not_saved(other):
    model = VotingClassifier([("a", SVM), ("b", other)]).fit(X, Y)
    with pytest.raises(TypeError, match=f"it holds .*{type(other).__name__}.*can be checked"):
        save_model(io.BytesIO(), model)
    with pytest.raises(TypeError, match=r"'knnimputer': it holds .*KNNImputer"):
        save_model(io.BytesIO(), make_pipeline(KNNImputer(), SVM).fit(X, Y))


def test_types_that_cannot_be_checked_are_not_loaded(monkeypatch):
    model = VotingClassifier([("a", SVM), ("b", SVC())]).fit(X, Y)
    file = io.BytesIO()
    with monkeypatch.context() as other_program:
        other_program.setattr(composites, "_check_types", lambda *_: None)
        other_program.setattr(composites, "refused_types", lambda _: set())
        save_model(file, model)
    file.seek(0)
    with pytest.raises(ValueError, match=r"steps cannot be read: they hold sklearn.svm.*SVC"):
        load_model(file)


def one_hot(**changes):
    step = OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist", drop="first")
    step.fit(BINS)
    for name, change in changes.items():
        setattr(step, name, change(getattr(step, name)))
    return step


def with_first(change):
    """Change the first entry of a list or array that is not None."""

    def changed(values):
        found = [np.copy(v) if isinstance(v, np.ndarray) else v for v in values]
        i = next(i for i, v in enumerate(found) if v is not None)
        found[i] = change(found[i])
        return found

    return changed


@pytest.mark.parametrize(
    "changes",
    [
        {"_n_features_outs": lambda n: [2**24, *n[1:]]},
        {"_n_features_outs": lambda n: n[:-1]},
        {"_n_features_outs": lambda n: 7},
        {"n_features_in_": lambda n: n + 1},
        {"categories_": with_first(lambda c: c[::-1])},
        {"categories_": with_first(lambda c: c[:0])},
        {"categories_": with_first(lambda c: np.append(c, 1e9))},
        {"categories_": lambda c: [c[0][None], *c[1:]]},
        {"categories_": lambda c: c[:-1]},
        {"categories_": lambda c: 5},
        {"_default_to_infrequent_mappings": with_first(lambda m: m + 2**30)},
        {"_default_to_infrequent_mappings": with_first(lambda m: m[:-1])},
        {"_default_to_infrequent_mappings": lambda m: [None] * len(m)},
        {"_default_to_infrequent_mappings": lambda m: m[:1]},
        {"_infrequent_indices": with_first(lambda m: m + 2**30)},
        {"_infrequent_indices": with_first(lambda m: -m - 1)},
        {"_infrequent_indices": lambda m: [None] * len(m)},
        {"_drop_idx_after_grouping": with_first(lambda m: 2**30)},
        {"_drop_idx_after_grouping": with_first(lambda m: -1)},
        {"_drop_idx_after_grouping": lambda m: m[:-1]},
        {"_drop_idx_after_grouping": lambda m: None},
        {"_infrequent_enabled": lambda m: False},
    ],
)
def test_categories_that_do_not_fit_together(changes):
    check_steps([one_hot()])
    with pytest.raises(ValueError, match="a OneHotEncoder with inconsistent contents"):
        check_steps([one_hot(**changes)])


def test_equal_categories_are_refused():
    """A search among categories that are not ascending may end behind the last one."""
    step = OneHotEncoder().fit(BINS)
    step.categories_[0][:] = step.categories_[0][0]
    with pytest.raises(ValueError, match="not ascending"):
        check_steps([step])


def changed(step, **attributes):
    vars(step).update(attributes)
    return step


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (changed(DictVectorizer(), vocabulary_={"a": 0, "b": 2**30}), "columns are not 0, 1, 2"),
        (changed(DictVectorizer(), vocabulary_={"a": 0, "b": 0}), "columns are not 0, 1, 2"),
        (changed(DictVectorizer(), vocabulary_={"a": -1}), "columns are not 0, 1, 2"),
        (changed(DictVectorizer(), vocabulary_=[0]), "columns are not 0, 1, 2"),
        (HashingVectorizer(n_features=0), "n_features"),
        (FeatureHasher(n_features=0), "n_features"),
        (changed(StackingClassifier([]), stack_method_=["fit"]), "does not predict"),
        (changed(StandardScaler(), transform=np.log1p), "'transform' instead of its method"),
        (
            changed(
                VotingClassifier([]),
                le_=changed(GaussianNB(), classes_=np.arange(2)),
                estimators_=[changed(GaussianNB(), classes_=np.array([0, 2**40]))],
            ),
            "a classifier with different classes",
        ),
    ],
)
def test_contents_that_do_not_fit_together(value, message):
    with pytest.raises(ValueError, match=message):
        check_steps([value])


def test_sparse_arrays_within_steps_are_checked():
    model = make_pipeline(SparseRandomProjection(3, random_state=0), SVM).fit(X, Y)
    wrong = sp.csr_array(model[0].components_)
    wrong.indices[:] = 2**30
    model[0].components_ = wrong
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        save_model(io.BytesIO(), model)


def test_parameters_of_a_run_are_not_taken_from_a_file():
    union = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())])
    svm = MulticlassSVC(n_jobs=2, verbose=0, random_state=0)
    model = Pipeline([("union", union), ("svm", svm)], memory=None).fit(X, Y)
    expected = model.predict(X)
    model.set_params(union__n_jobs=40, union__verbose=True, verbose=True, memory="folder")
    loaded = round_trip(model)
    assert (loaded[0].n_jobs, loaded[0].verbose) == (None, False)
    assert (loaded.memory, loaded.verbose) == (None, False)
    assert loaded[-1].n_jobs is None
    assert model[0].n_jobs == 40
    np.testing.assert_array_equal(loaded.predict(X), expected)


def test_functions_of_numpy_are_kept():
    model = make_pipeline(FunctionTransformer(np.log1p), SVM).fit(X, Y)
    np.testing.assert_array_equal(round_trip(model).predict(X), model.predict(X))
    truncated = make_pipeline(HashingVectorizer(n_features=64), TruncatedSVD(2), SVM)
    assert round_trip(truncated.fit(TEXTS, TOPICS)).predict(TEXTS).shape == (6,)
