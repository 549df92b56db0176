"""Corpora of any arguments, in blocks, and in the shapes of real ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from manyclass import load_svmlight
from manyclass.datasets import documents as module
from manyclass.datasets.synthetic import corpus_shape, iter_text_corpus, make_text_corpus
from tests.helpers.memory import peak_of


@st.composite
def corpora(draw):
    n_classes = draw(st.integers(2, 30))
    return {
        "n_examples": draw(st.integers(n_classes, 150)),
        "n_features": draw(st.integers(1, 2000)),
        "n_classes": n_classes,
        "words_per_example": draw(st.floats(1, 40)),
        "topic_share": draw(st.floats(0.01, 0.99)),
        "label_noise": draw(st.floats(0, 1)),
        "random_state": draw(st.integers(0, 2**32 - 1)),
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
    }


@given(corpora())
def test_any_corpus_keeps_its_promises(arguments):
    X, y = make_text_corpus(**arguments)
    n, k = arguments["n_examples"], arguments["n_classes"]
    assert X.shape == (n, arguments["n_features"])
    X.check_format(full_check=True)
    assert X.dtype == arguments["dtype"]
    assert np.diff(X.indptr).min() >= 1
    assert X.data.min() > 0
    np.testing.assert_allclose(X.power(2).sum(axis=1), 1, rtol=1e-5)
    assert np.bincount(y, minlength=k).min() >= min(2, n // k)
    assert y.max() == k - 1


@settings(max_examples=40)
@given(corpora(), st.integers(1, 2000))
def test_blocks_are_the_rows_of_the_whole_corpus(arguments, words_at_a_time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WORDS_AT_A_TIME", words_at_a_time)
        X, y = make_text_corpus(**arguments)
        parts, labels = zip(*iter_text_corpus(**arguments), strict=True)
    joined = sp.vstack(parts, format="csr")
    np.testing.assert_array_equal(joined.indptr, X.indptr)
    np.testing.assert_array_equal(joined.indices, X.indices)
    np.testing.assert_array_equal(joined.data, X.data)
    np.testing.assert_array_equal(np.concatenate(labels), y)
    assert all(part.dtype == X.dtype and part.has_canonical_format for part in parts)


def test_blocks_hold_as_many_words_as_they_should(monkeypatch):
    monkeypatch.setattr(module, "WORDS_AT_A_TIME", 1000)
    parts = [X for X, _ in iter_text_corpus(500, 10**5, 5, words_per_example=20, random_state=0)]
    assert 9 <= len(parts) <= 12
    assert max(part.nnz for part in parts) < 1100


def test_a_generator_moves_on_while_blocks_are_taken():
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    make_text_corpus(100, 200, 5, random_state=first)
    list(iter_text_corpus(100, 200, 5, random_state=second))
    assert first.random() == second.random()


def test_a_file_written_in_parts_holds_the_corpus(tmp_path):
    path = tmp_path / "corpus.svm"
    with path.open("wb") as file:
        for X, y in iter_text_corpus(100, 200, 5, random_state=0):
            dump_svmlight_file(X, y, file, zero_based=False)
    X, y = make_text_corpus(100, 200, 5, random_state=0)
    read, labels = load_svmlight(path, n_features=200)
    np.testing.assert_allclose(read.toarray(), X.toarray(), rtol=1e-6)
    np.testing.assert_array_equal(labels, y)


def test_shapes_are_those_of_the_paper():
    sizes = [list(corpus_shape(name).values())[:3] for name in ("lshtc-small", "lshtc-2011")]
    assert sizes == [[4_463, 51_033, 1_139], [394_754, 594_158, 27_875]]


@pytest.mark.parametrize(
    ("name", "sizes", "length"),
    [
        ("rcv1-4", (665_265, 47_236, 4), 73),
        ("rcv1-53", (518_571, 47_236, 53), 65),
        ("odp", (569_068, 61_016, 11), 190),
    ],
)
def test_corpora_of_few_classes_have_rows_as_long_as_the_real_ones(name, sizes, length):
    shape = corpus_shape(name)
    assert tuple(shape.values())[:3] == sizes
    X, _ = make_text_corpus(**shape | {"n_examples": 2000}, random_state=0)
    assert X.nnz / 2000 == pytest.approx(length, rel=0.03)


@pytest.mark.parametrize("name", ["lshtc-small", "lshtc-large", "lshtc-2012", "lshtc-2011"])
def test_a_scaled_shape_is_a_corpus_of_short_rows_and_small_classes(name):
    X, y = make_text_corpus(**corpus_shape(name, scale=0.02), random_state=0)
    shape = corpus_shape(name)
    assert X.shape == (round(0.02 * shape["n_examples"]), round(0.02 * shape["n_features"]))
    assert 60 < X.nnz / X.shape[0] < 95
    sizes = np.bincount(y)
    assert len(sizes) == round(0.02 * shape["n_classes"])
    assert np.median(sizes) < 0.5 * sizes.mean() + 2


def test_the_smallest_scale_still_makes_a_corpus():
    X, y = make_text_corpus(**corpus_shape("lshtc-small", scale=1e-9), random_state=0)
    assert X.shape == (2, 2)
    assert sorted(y) == [0, 1]


@pytest.mark.parametrize(
    ("name", "scale", "message"),
    [
        ("news20", 1.0, "name must be one of lshtc-small, .*; got 'news20'"),
        ("lshtc-small", 0.0, "scale must be a positive number, got 0.0"),
        ("lshtc-small", np.nan, "scale must be a positive number, got nan"),
        ("lshtc-small", np.inf, "scale must be a positive number, got inf"),
    ],
)
def test_shapes_that_do_not_exist(name, scale, message):
    with pytest.raises(ValueError, match=message):
        corpus_shape(name, scale)


@pytest.mark.slow
def test_blocks_need_little_memory():
    blocks = iter_text_corpus(60_000, 50_000, 1000, random_state=0)
    n_nonzeros, peak = peak_of(lambda: sum(X.nnz for X, _ in blocks))
    assert n_nonzeros > 2e6
    assert peak < 1.5e8
