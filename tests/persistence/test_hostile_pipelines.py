"""Files of pipelines that are damaged or hostile: a ValueError that names the file, no harm."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from manyclass import load_model, save_model
from manyclass.io.tensors import write_tensors
from manyclass.persistence import model_file
from manyclass.persistence.model_file import describe_model
from tests.helpers.damaged_files import check_truncations
from tests.helpers.model_files import rewritten
from tests.helpers.pipelines import UNSEEN, X, scaled, text_pipeline


def refused(path, message):
    for read in (load_model, describe_model):
        with pytest.raises(ValueError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 1000


def set_params(**params):
    return lambda h, m: m["steps"][0]["params"].update(params)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, m: h.update(format_version="5", version="9"), "of format 5.*upgrade"),
        (lambda h, m: m.update(steps={"a": 1}), "do not fit"),
        (lambda h, m: m.update(steps=[1]), "do not fit"),
        (lambda h, m: m.update(steps=[]), None),  # a pipeline of rows of counts
        (lambda h, m: m.pop("classifier"), "classifier"),
        (lambda h, m: m.update(classifier=[]), "do not fit"),
        (lambda h, m: m["classifier"].update(estimator="Pipeline"), "Pipeline"),
        (lambda h, m: m["classifier"].update(estimator="os.system"), "os.system"),
        (lambda h, m: m.update(name=7), "names of the steps"),
        (lambda h, m: m.update(name="a__b"), "names of the steps"),
        (lambda h, m: m.update(name="memory"), "names of the steps"),
        (lambda h, m: m.update(name="tfidfvectorizer"), "names of the steps"),
        (lambda h, m: m["steps"][0].update(kind="FunctionTransformer"), "FunctionTransformer"),
        (lambda h, m: m["steps"][0].update(kind=["a"]), "do not fit"),
        (lambda h, m: m["steps"][0].update(kind="StandardScaler"), "do not fit"),
        (lambda h, m: m["steps"][0].update(kind="TfidfTransformer"), "do not fit"),
        (lambda h, m: m["steps"][0].update(params=3), "do not fit"),
        (lambda h, m: m["steps"].append(m["steps"][0]), "do not fit"),
        (lambda h, m: m["steps"].insert(0, {"name": "n", "kind": "Normalizer", "params": {}}),
         "do not fit"),
        (set_params(evil=1), "evil"),
        (set_params(tokenizer="os.system"), "tokenizer"),
        (set_params(preprocessor=["a"]), "preprocessor"),
        (set_params(analyzer="evil"), "analyzer"),
        (set_params(input="filename"), "would read files"),
        (set_params(input="file"), "would read files"),
        (set_params(encoding="no_such"), "encoding 'no_such' is unknown"),
        (set_params(encoding="zip"), "encoding 'zip' is unknown"),
        (set_params(encoding="\0"), "do not fit"),
        (set_params(encoding=7), "encoding"),
        (set_params(token_pattern="("), "no regular expression"),
        (set_params(token_pattern="(" * 900 + ")" * 100), "no regular expression"),
        (set_params(token_pattern="a{99999999999}"), "do not fit"),
        (set_params(token_pattern="(a)(b)"), "More than 1 capturing group"),
        (set_params(token_pattern="a" * 1001), "at most 1000 characters"),
        (set_params(token_pattern=7), "token_pattern"),
        (set_params(token_pattern=None), "do not fit"),
        (set_params(ngram_range=[1]), "two integers"),
        (set_params(ngram_range=[0, 1]), "ascending, from 1"),
        (set_params(ngram_range=[2, 1]), "ascending, from 1"),
        (set_params(ngram_range="ab"), "two integers"),
        (set_params(ngram_range=7), "do not fit"),
        (set_params(stop_words=[1, 2]), "stop words must be a list of strings"),
        (set_params(stop_words="klingon"), "stop_words"),
        (set_params(dtype="object"), "dtype must be one of"),
        (set_params(dtype=["f8"]), "dtype must be one of"),
        (set_params(norm="l3"), "norm"),
        (set_params(use_idf="yes"), "use_idf"),
        (set_params(vocabulary=["a"]), None),  # the one that is stored counts
    ],
)  # fmt: skip
def test_hostile_headers(change, message, path):
    save_model(path, text_pipeline())
    rewritten(path, change)
    if message is None:
        load_model(path)
        describe_model(path)
    else:
        refused(path, message)


def with_tensors(path, **changes):
    """Change tensors of the first step, or leave them out where they are None."""
    tensors, _, metadata = model_file._read(path)
    for name, value in changes.items():
        tensors[f"steps.0.{name}"] = value
    tensors = {name: value for name, value in tensors.items() if value is not None}
    write_tensors(path, tensors, metadata)


def bytes_of(text):
    return np.frombuffer(text, np.uint8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"idf_": None}, "idf_"),
        ({"idf_": np.ones(3)}, "shape"),
        ({"idf_": np.ones((2, 1))}, "shape"),
        ({"idf_": np.ones(2, np.int64)}, "type int64"),
        ({"idf_": np.array([1.0, np.inf])}, "not finite"),
        ({"terms": None}, "vocabulary of another size"),
        ({"term_ends": None}, "term_ends"),
        ({"terms": bytes_of(b"aab")}, "do not fit together"),
        ({"terms": bytes_of(b"a\xff")}, "decode"),
        ({"terms": bytes_of(b"aa")}, "twice"),
        ({"terms": bytes_of(b"ab").view(np.int8)}, "another type"),
        ({"terms": bytes_of(b"ab").reshape(1, 2)}, "another type"),
        ({"term_ends": np.array([1, 2], np.int32)}, "another type"),
        ({"term_ends": np.array([2, 1])}, "do not fit together"),
        ({"term_ends": np.array([-1, 2])}, "do not fit together"),
        ({"term_ends": np.array([1, 1, 2])}, "another size"),
        ({"term_ends": np.zeros(0, np.int64)}, "do not fit together"),
    ],
)
def test_hostile_tensors(changes, message, path):
    vectorizer = TfidfVectorizer(vocabulary=["a", "b"], token_pattern=r"\w")
    save_model(path, text_pipeline(vectorizer))
    with_tensors(path, **changes)
    refused(path, message)


@pytest.mark.parametrize(
    ("scaler", "changes", "message"),
    [
        (StandardScaler(), {"mean_": None}, "mean_"),
        (StandardScaler(), {"scale_": None}, "scale_"),
        (StandardScaler(), {"scale_": np.zeros(4)}, "scale_ is not positive"),
        (StandardScaler(), {"n_samples_seen_": np.array(-1)}, "counts"),
        (StandardScaler(), {"n_samples_seen_": np.array([1, 2])}, "counts"),
        (MinMaxScaler(), {"min_": None}, "min_"),
        (MinMaxScaler(), {"data_min_": np.zeros(5)}, "shape"),
    ],
)
def test_hostile_scalers(scaler, changes, message, path):
    save_model(path, scaled(scaler))
    with_tensors(path, **changes)
    refused(path, message)


@pytest.mark.parametrize("bounds", [[1], ["a", "b"], [1, 10**400], None])
def test_hostile_ranges(bounds, path):
    save_model(path, scaled(MinMaxScaler(clip=True)))
    rewritten(path, set_params(feature_range=bounds))
    refused(path, "do not fit")


def test_names_of_features_that_do_not_fit(path):
    save_model(path, scaled())
    for names in (["a"], "abcd", [1, 2, 3, 4]):
        rewritten(path, lambda h, m, names=names: m["steps"][0].update(feature_names=names))
        refused(path, "do not fit")


def test_hashed_features_of_another_number(path):
    save_model(path, text_pipeline(HashingVectorizer(n_features=16)))
    rewritten(path, set_params(n_features=17))
    refused(path, "17 hashed features before weights of 16")


def test_every_truncation_is_one_clear_error(path):
    save_model(path, text_pipeline())
    check_truncations(path)


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_altered_headers_do_no_harm(kind, path):
    """Any character of the header's model may be another: an error, or some model."""
    pipeline, rows = (text_pipeline(CountVectorizer()), UNSEEN) if kind == "text" else (scaled(), X)
    save_model(path, pipeline)
    tensors, model, metadata = model_file._read(path)
    text = json.dumps(model)
    rng = np.random.default_rng(0)
    loaded = 0
    for _ in range(150):
        altered = list(text)
        for place in rng.integers(len(text), size=rng.integers(1, 3)):
            altered[place] = chr(rng.integers(32, 127))
        write_tensors(path, tensors, {**metadata, "model": "".join(altered)})
        with contextlib.suppress(ValueError):
            assert len(load_model(path).predict(rows)) == len(rows)
            loaded += 1
    assert 0 < loaded < 150
