"""Files of pipelines that are damaged or hostile: a ValueError that names the file, no harm."""

import contextlib
import operator
import os
import zipfile
from functools import partial

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from manyclass import load_model, save_model
from manyclass.persistence import model_file
from manyclass.persistence.composites import Placeholder
from tests.helpers.model_files import refused, rewritten, with_tensors
from tests.helpers.pipelines import UNSEEN, scaled, text_pipeline

skops_io = pytest.importorskip("skops.io")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, m: h.update(format_version="5", version="9"), "of format 5.*upgrade"),
        (lambda h, m: m.pop("classifiers"), "no estimator that"),
        (lambda h, m: m.update(classifiers=[]), "do not match the placeholders"),
        (lambda h, m: m["classifiers"][0].update(estimator="Pipeline"), "Pipeline"),
        (lambda h, m: m["classifiers"][0].update(fitted=False), "no fitted classifier"),
        (
            lambda h, m: m["classifiers"].append(m["classifiers"][0]),
            "do not match the placeholders",
        ),
        (lambda h, m: m.update(estimator="GridSearchCV"), "are not a GridSearchCV"),
        (lambda h, m: m.update(classifiers=7), "(inconsistent|do not match)"),
        (lambda h, m: m["classifiers"][0].update(estimator="os.system"), "os.system"),
    ],
)
def test_hostile_headers(change, message, path):
    save_model(path, text_pipeline())
    rewritten(path, change)
    refused(path, message)


def bytes_of(content):
    return np.frombuffer(content, np.uint8)


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


class Nested(StandardScaler):
    """A type that is not scikit-learn's own."""


def line(*steps, **params):
    return Pipeline([*make_pipeline(*steps).steps, ("svm", Placeholder())], **params)


VECTORIZER = TfidfVectorizer().fit(["a text"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (line(FunctionTransformer(os.system)), "posix.system"),
        (line(FunctionTransformer(eval)), "builtins.eval"),
        (line(FunctionTransformer(partial(os.system, "touch evil"))), "partial"),
        (line(FunctionTransformer(operator.methodcaller("tofile", "evil"))), "methodcaller"),
        (line(StandardScaler().set_params(copy=Evil())), "Evil"),
        (line(Nested()), "Nested"),
        (line(TfidfVectorizer(input="filename")), "TfidfVectorizer that would read files"),
        (Pipeline([("a__b", StandardScaler()), ("svm", Placeholder())]), "a__b"),
        (Pipeline([("svm", StandardScaler()), ("svm", Placeholder())]), "unique"),
        (Pipeline([("a", 7), ("svm", Placeholder())]), "fit"),
        (line(StandardScaler(), Placeholder(1)), "do not match the placeholders"),
        (line(StandardScaler(), Placeholder("0")), "do not match the placeholders"),
        (GridSearchCV(Placeholder(), {}), "not a Pipeline"),
        (Pipeline([]), "(inconsistent|do not match)"),
        (Pipeline(7), "(inconsistent|do not match)"),
        ([1, 2], "not a Pipeline"),
        (line(VECTORIZER), "terms.0"),
    ],
)
def test_hostile_steps(content, message, path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    save_model(path, scaled())
    with_tensors(path, {"around": bytes_of(skops_io.dumps(content))})
    refused(path, message)
    assert not (tmp_path / "evil").exists()


def test_compressed_steps_are_refused_before_they_are_unpacked(path):
    """A file of some kilobytes could take gigabytes."""
    save_model(path, scaled())
    dumped = skops_io.dumps(line(StandardScaler()), compression=zipfile.ZIP_DEFLATED)
    with_tensors(path, {"around": bytes_of(dumped)})
    refused(path, "entries of the archive are compressed")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"around": None}, "around"),
        ({"around": bytes_of(b"")}, "steps cannot be read"),
        ({"around": bytes_of(b"PK\x03\x04")}, "steps cannot be read"),
        ({"terms.0": None}, "terms.0"),
        ({"term_ends.0": None}, "term_ends.0"),
        ({"terms.0": bytes_of(b"aab")}, "are inconsistent"),
        ({"terms.0": bytes_of(b"a\xff")}, "decode"),
        ({"terms.0": bytes_of(b"aa")}, "twice"),
        ({"terms.0": bytes_of(b"ab").view(np.int8)}, "different type"),
        ({"terms.0": bytes_of(b"ab").reshape(1, 2)}, "different type"),
        ({"term_ends.0": np.array([1, 2], np.int32)}, "different type"),
        ({"term_ends.0": np.array([2, 1])}, "are inconsistent"),
        ({"term_ends.0": np.array([-1, 2])}, "are inconsistent"),
        ({"term_ends.0": np.zeros(0, np.int64)}, "are inconsistent"),
    ],
)
def test_hostile_tensors(changes, message, path):
    vectorizer = TfidfVectorizer(vocabulary=["a", "b"], token_pattern=r"\w")
    save_model(path, text_pipeline(vectorizer))
    with_tensors(path, changes)
    refused(path, message)


def test_altered_steps_do_no_harm(path):
    """Any bytes of the steps may be others: an error, or some model."""
    save_model(path, text_pipeline())
    content = model_file.read_parts(path)[0]["around"]
    rng = np.random.default_rng(0)
    loaded = 0
    for _ in range(60):
        altered = content.copy()
        altered[rng.integers(len(content), size=rng.integers(1, 3))] = rng.integers(256)
        with_tensors(path, {"around": altered})
        with contextlib.suppress(ValueError):
            assert len(load_model(path).predict(UNSEEN)) == len(UNSEEN)
            loaded += 1
    assert loaded < 60
