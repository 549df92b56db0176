"""Pipelines in model files: what comes back predicts the same bits, and what cannot is refused."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_model,
    save_model,
)
from manyclass.persistence.model_file import describe_model
from tests.helpers.model_files import stored
from tests.helpers.pipelines import TEXTS, TOPICS, UNSEEN, X, Y, scaled, text_pipeline

pd = pytest.importorskip("pandas")


TEXT_STEPS = {
    "tfidf": [TfidfVectorizer()],
    "n-grams": [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=0.9, norm="l1")],
    "characters": [TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), dtype=np.float32)],
    "no idf": [TfidfVectorizer(use_idf=False, strip_accents="unicode", lowercase=False)],
    "stop words": [TfidfVectorizer(stop_words=["the", "and"], token_pattern=r"(?u)\b\w+\b")],
    "english": [CountVectorizer(stop_words="english", binary=True, dtype=np.int32)],
    "fixed": [CountVectorizer(vocabulary={"dog": 1, "cat": 0, "stocks": 2, "ruh": 3})],
    "counts and tfidf": [CountVectorizer(), TfidfTransformer(smooth_idf=False)],
    "counts, no idf": [CountVectorizer(), TfidfTransformer(use_idf=False), Normalizer("l1")],
    "truth values of NumPy": [TfidfVectorizer(use_idf=np.False_, sublinear_tf=np.True_)],
    "hashed": [HashingVectorizer(n_features=256, alternate_sign=False), TfidfTransformer()],
    "scaled": [TfidfVectorizer(), StandardScaler(with_mean=False), MaxAbsScaler()],
}


@pytest.mark.parametrize("steps", TEXT_STEPS.values(), ids=TEXT_STEPS)
def test_text_gives_the_same_bits(steps):
    pipeline = text_pipeline(*map(clone, steps))
    loaded = stored(pipeline)
    for texts in (TEXTS, UNSEEN):
        before, after = pipeline[:-1].transform(texts), loaded[:-1].transform(texts)
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before.toarray(), after.toarray())
        np.testing.assert_array_equal(
            pipeline.decision_function(texts), loaded.decision_function(texts)
        )
        assert (pipeline.predict(texts) == loaded.predict(texts)).all()
    assert list(loaded.named_steps) == list(pipeline.named_steps)
    for ours, theirs in zip(loaded[:-1], pipeline[:-1], strict=True):
        mine, others = ours.get_params(), theirs.get_params()
        if others.pop("vocabulary", None):
            assert mine.pop("vocabulary") == ["cat", "dog", "stocks", "ruh"]
        assert others == {key: value for key, value in mine.items() if key in others}
    if hasattr(pipeline[0], "vocabulary_"):
        assert loaded[0].vocabulary_ == pipeline[0].vocabulary_
        assert (loaded[0].get_feature_names_out() == pipeline[0].get_feature_names_out()).all()


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MaxAbsScaler(),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-1, 2), clip=True),
    Normalizer("max"),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_give_the_same_bits(scaler, dtype):
    rows = X.astype(dtype)
    pipeline = scaled(clone(scaler), X=rows)
    loaded = stored(pipeline)
    far = 3 * rows - 1
    np.testing.assert_array_equal(pipeline[:-1].transform(far), loaded[:-1].transform(far))
    np.testing.assert_array_equal(pipeline.decision_function(far), loaded.decision_function(far))
    assert loaded.n_features_in_ == 4
    for name, value in vars(pipeline[0]).items():
        np.testing.assert_array_equal(getattr(loaded[0], name), value)
    if hasattr(loaded[0], "partial_fit"):
        np.testing.assert_array_equal(
            pipeline[0].partial_fit(far).transform(far), loaded[0].partial_fit(far).transform(far)
        )


@pytest.mark.parametrize(
    "classifier",
    [
        MultinomialLogisticRegression(),
        StochasticClassifier(loss="log_loss", random_state=0),
        MulticlassSVC(weights="dense"),
    ],
)
def test_every_classifier(classifier):
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    pipeline = scaled(StandardScaler(), MinMaxScaler(), y=names, classifier=classifier)
    loaded = stored(pipeline)
    assert type(loaded[-1]) is type(classifier)
    assert (loaded.predict(X) == pipeline.predict(X)).all()
    if hasattr(pipeline, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), pipeline.predict_proba(X))


def test_names_of_features_and_of_steps():
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = Pipeline([("scale", StandardScaler()), ("svm", MulticlassSVC())]).fit(frame, Y)
    loaded = stored(pipeline)
    assert list(loaded.named_steps) == ["scale", "svm"]
    assert loaded.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("dcba")])


def test_weights_with_missing_values_and_sample_weights():
    """What StandardScaler counts is then an array, or no integer."""
    rows = X.copy()
    rows[0, 0] = np.nan
    scaler = StandardScaler().fit(rows)
    pipeline = Pipeline([("a", scaler), ("b", MulticlassSVC().fit(scaler.transform(X), Y))])
    np.testing.assert_array_equal(stored(pipeline)[0].n_samples_seen_, [149, *[150] * 3])
    scaler.fit(X, sample_weight=np.full(len(X), 0.3))
    assert stored(pipeline)[0].n_samples_seen_ == scaler.n_samples_seen_


def test_sparse_rows_of_float32():
    """What StandardScaler counts is then of float32."""
    pipeline = scaled(StandardScaler(with_mean=False), X=sp.csr_array(X.astype(np.float32)))
    loaded = stored(pipeline)
    assert loaded[0].n_samples_seen_ == pipeline[0].n_samples_seen_
    assert (loaded.predict(X) == pipeline.predict(X)).all()


def test_sparse_weights_and_a_classifier_alone():
    pipeline = text_pipeline()
    pipeline[-1].sparsify(0.1)
    loaded = stored(pipeline)
    assert sp.issparse(loaded[-1].coef_)
    assert (loaded.predict(UNSEEN) == pipeline.predict(UNSEEN)).all()
    alone = make_pipeline(MulticlassSVC()).fit(X, Y)
    assert (stored(alone).predict(X) == alone.predict(X)).all()


def test_a_loaded_pipeline_can_be_trained_and_saved_again():
    again = stored(text_pipeline()).fit(TEXTS[::-1], TOPICS[::-1])
    assert (stored(again).predict(TEXTS) == again.predict(TEXTS)).all()


@pytest.mark.parametrize("idle", ["passthrough", None])
def test_steps_that_do_nothing_are_left_out(idle):
    pipeline = scaled(idle, StandardScaler(), idle)
    loaded = stored(pipeline)
    assert list(loaded.named_steps) == ["standardscaler", "multiclasssvc"]
    np.testing.assert_array_equal(pipeline.decision_function(X), loaded.decision_function(X))
    alone = stored(scaled(idle))
    assert list(alone.named_steps) == ["multiclasssvc"]


def test_terms_in_no_text_weigh_infinitely_without_smoothing():
    steps = CountVectorizer(vocabulary=["cat", "dog", "stocks", "zebra"]), TfidfTransformer
    with np.errstate(divide="ignore"):
        pipeline = text_pipeline(steps[0], steps[1](smooth_idf=False))
    assert np.isinf(pipeline[1].idf_).any()
    loaded = stored(pipeline)
    np.testing.assert_array_equal(loaded[1].idf_, pipeline[1].idf_)
    assert (loaded.predict(TEXTS) == pipeline.predict(TEXTS)).all()


def test_description(path):
    save_model(path, text_pipeline(TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32)))
    about = json.loads(json.dumps(describe_model(path)))
    assert (about["estimator"], about["n_classes"]) == ("MulticlassSVC", 3)
    params = {"ngram_range": [1, 2], "dtype": "float32"}
    assert about["steps"] == [
        {"name": "tfidfvectorizer", "kind": "TfidfVectorizer", "params": params}
    ]
    save_model(path, MulticlassSVC().fit(X, Y))
    assert describe_model(path)["steps"] == []


def words(text):
    return text.split()


class Scaler(StandardScaler):
    """Not what a file would bring back."""


class Line(Pipeline):
    """Not what a file would bring back."""


FITTED = MulticlassSVC().fit(X, Y)
FRAME = pd.DataFrame({"text": TEXTS, "number": range(6), "kind": list("aabbcc")})


@pytest.mark.parametrize(
    ("steps", "rows"),
    [
        ([TfidfVectorizer(), TruncatedSVD(2, random_state=0)], TEXTS),
        ([make_union(TfidfVectorizer(), CountVectorizer(analyzer="char"))], TEXTS),
        ([TfidfVectorizer(), SelectKBest(chi2, k=3)], TEXTS),
        ([FunctionTransformer(np.log1p), PCA(2, random_state=0)], np.arange(24.0).reshape(6, 4)),
        (
            [
                make_column_transformer(
                    (make_pipeline(TfidfVectorizer(vocabulary=["cat", "dog"])), "text"),
                    (CountVectorizer(), "text"),
                    (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
                    (StandardScaler(), make_column_selector(dtype_include=np.number)),
                )
            ],
            FRAME,
        ),
    ],
    ids=["svd", "union", "best", "function", "columns"],
)
def test_steps_of_scikit_learn(steps, rows, path):
    pipeline = make_pipeline(*steps, MulticlassSVC(random_state=0)).fit(rows, TOPICS)
    save_model(path, pipeline)
    loaded = load_model(path)
    np.testing.assert_array_equal(pipeline.decision_function(rows), loaded.decision_function(rows))
    described = json.loads(json.dumps(describe_model(path)))["steps"]
    outer = [step["kind"] for step in described if "columns" not in step]
    assert outer == [type(step).__name__ for step in steps]
    inner = [(step["kind"], step["columns"]) for step in described if "columns" in step]
    assert ("OneHotEncoder", ["kind"]) in inner or rows is not FRAME


def test_what_memory_names_is_not_kept(tmp_path):
    steps = [("scale", StandardScaler()), ("svm", MulticlassSVC())]
    pipeline = Pipeline(steps, memory=str(tmp_path)).fit(X, Y)
    assert stored(pipeline).memory is None
    assert pipeline.memory == str(tmp_path)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ([TfidfVectorizer(tokenizer=words, token_pattern=None)], "'tfidfvectorizer': it holds .*"),
        ([CountVectorizer(preprocessor=str.lower)], "'countvectorizer': it holds builtins.method"),
        ([HashingVectorizer(analyzer=words, n_features=8)], "types and functions of scikit-learn"),
        ([TfidfVectorizer(input="filename")], "with input='filename': a model file must not"),
        ([Scaler()], "the step 'scaler': it holds .*Scaler"),
        ([FunctionTransformer(lambda x: x)], "'functiontransformer': it holds .*<lambda>"),
        ([StandardScaler().set_params(copy=open)], "'standardscaler': it holds _?io.open"),
    ],
)
def test_steps_that_cannot_be_stored(pipeline, message, path):
    with pytest.raises(TypeError, match=message) as caught:
        save_model(path, Pipeline([*make_pipeline(*pipeline).steps, ("svm", FITTED)]))
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_skops_is_needed(path, monkeypatch):
    pipeline = scaled()
    save_model(path, pipeline)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for use in (lambda: save_model(path, pipeline), lambda: load_model(path)):
        with pytest.raises(ImportError, match="pip install skops"):
            use()


def test_pipelines_that_cannot_be_stored(path):
    cases = [
        (make_pipeline(StandardScaler(), LinearSVC()), "with one of them, not Pipeline of LinearS"),
        (Line([("a", MulticlassSVC())]), "scikit-learn's own Pipeline.* not Line"),
    ]
    for pipeline, message in cases:
        with pytest.raises(TypeError, match=message):
            save_model(path, pipeline)
    with pytest.raises(NotFittedError):
        save_model(path, make_pipeline(TfidfVectorizer(), MulticlassSVC()))
    assert not path.exists()


def test_terms_that_are_no_unicode(path):
    pipeline = text_pipeline()
    pipeline[0].vocabulary_["\ud800"] = pipeline[0].vocabulary_.pop("cat")
    with pytest.raises(ValueError, match=r"vocabulary of a TfidfVectorizer: .*surrog"):
        save_model(path, pipeline)
    assert not path.exists()
