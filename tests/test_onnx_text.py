"""Pipelines of text as graphs of ONNX."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import MulticlassSVC, MultinomialLogisticRegression

pd = pytest.importorskip("pandas")
onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("manyclass.onnx", exc_type=ImportError)

SAID = [
    "The card was charged twice, twice! TWICE",
    "Parcel is late: é été naïve",
    "refund it, don't",
    "no parcel, NO parcel here a b parcel",
    "",
    "ÜBER x1 y_2 foo-bar Straße 你好 世界 x² ½ ٣٤",
]
FRAME = pd.DataFrame({"said": SAID, "title": SAID[::-1], "days": np.arange(6.0)})
TOPICS = list("abcdef")
NGRAMS = [(1, 1), (1, 2), (2, 3), (1, 4)]


def scores(model, **inputs):
    """Scores of the graph of a model."""
    graph = onnx.to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert {given.name for given in session.get_inputs()} == set(inputs)
    given = {name: np.array(texts, object)[:, None] for name, texts in inputs.items()}
    return session.run(None, given)


@pytest.mark.parametrize("ngrams", NGRAMS, ids=str)
@pytest.mark.parametrize("sublinear", [False, True])
def test_words_are_those_of_the_vectorizer(ngrams, sublinear):
    words = TfidfVectorizer(ngram_range=ngrams, sublinear_tf=sublinear)
    model = make_pipeline(words, MultinomialLogisticRegression(C=10)).fit(SAID, TOPICS)
    labels, found = scores(model, text=SAID)
    np.testing.assert_allclose(found, model.predict_proba(SAID), atol=1e-5)
    assert labels.tolist() == model.predict(SAID).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sublinear_counts(dtype):
    rows = np.random.default_rng(0).poisson(1.0, (30, 6)).astype(dtype)
    rows[0] = [0, 0.5, 0, 2, 0, 1]
    step = TfidfTransformer(sublinear_tf=True, norm=None)
    model = make_pipeline(step, MulticlassSVC(random_state=0)).fit(rows, rows.argmax(axis=1))
    graph = onnx.to_onnx(model, dtype).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": rows})[1]
    np.testing.assert_allclose(found, model.decision_function(rows), atol=1e-4)


def test_columns_are_inputs():
    words = ColumnTransformer(
        [
            ("one", TfidfVectorizer(sublinear_tf=True, dtype=np.float32), "said"),
            ("two", CountVectorizer(ngram_range=(1, 9)), "title"),
            ("three", "drop", ["days"]),
        ]
    )
    model = make_pipeline(words, MulticlassSVC(C=10, random_state=0)).fit(FRAME, TOPICS)
    labels, found = scores(model, said=FRAME["said"], title=FRAME["title"])
    np.testing.assert_allclose(found, model.decision_function(FRAME), atol=1e-5)
    assert labels.tolist() == model.predict(FRAME).tolist()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (TfidfVectorizer(analyzer="char"), "the vectorizer of 'text', with analyzer='char'"),
        (TfidfVectorizer(stop_words="english"), "with stop_words='english': .*stop_words=None"),
        (CountVectorizer(token_pattern=r"\w+"), "with token_pattern="),
        (TfidfVectorizer(strip_accents="unicode"), "with strip_accents='unicode'"),
    ],
)
def test_other_words_are_refused(step, message):
    model = make_pipeline(step, MulticlassSVC()).fit(SAID, TOPICS)
    with pytest.raises(ValueError, match=message):
        onnx.to_onnx(model)


def test_what_cannot_be_converted_is_refused():
    model = make_pipeline(TfidfVectorizer(), MulticlassSVC()).fit(SAID, TOPICS)
    with pytest.raises(ValueError, match="words are counted in float32 in ONNX; use float32"):
        onnx.to_onnx(model, np.float64)
    columns = make_column_transformer((TfidfVectorizer(), "said"), (StandardScaler(), ["days"]))
    model = make_pipeline(columns, MulticlassSVC()).fit(FRAME, TOPICS)
    with pytest.raises(ValueError, match="a ColumnTransformer with text is converted if all"):
        onnx.to_onnx(model)
