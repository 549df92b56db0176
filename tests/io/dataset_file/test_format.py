"""Converted data files: what goes in comes out, mapped, and nothing that comes in does harm."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import MulticlassSVC, StochasticClassifier, load_data, load_svmlight, save_data
from manyclass.datasets.synthetic import make_text_corpus
from manyclass.estimators.validation import training_data, validated
from manyclass.io import stored_rows
from manyclass.io.dataset_file import looks_like_data, save_blocks
from manyclass.io.stored_rows import StoredBlocks
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.mapped_files import converted, mapped


def same(first, second):
    (X, y), (Z, t) = first, second
    assert X.shape == Z.shape
    assert (X.dtype, y.dtype) == (Z.dtype, t.dtype)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(X, part), getattr(Z, part))
        assert getattr(X, part).dtype == getattr(Z, part).dtype
    np.testing.assert_array_equal(y, t)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block_bytes", [1, 20, 1000])
def test_a_converted_file_is_the_text(path, dtype, block_bytes):
    source = converted(path, dtype=dtype, block_bytes=block_bytes)
    X, y = load_data(path)
    same((X, y), load_svmlight(source, dtype=dtype))
    assert X.has_canonical_format
    assert mapped(X.data)
    assert mapped(X.indices)
    assert looks_like_data(path)
    assert not looks_like_data(source)
    assert not looks_like_data(path.parent)


LABELS = [[3, 1, -2], [0.5, 1e300, -1.0], ["é中", "b", ""], [2**62, -(2**63), 0]]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_all_kinds(path, labels):
    save_data(path, np.eye(3), labels)
    X, y = load_data(path)
    np.testing.assert_array_equal(X.toarray(), np.eye(3))
    assert y.tolist() == labels


def test_arrays_of_all_kinds(path):
    X = sp.random_array(
        (7, 5), density=0.5, random_state=np.random.default_rng(0), dtype=np.float64
    )
    for given_ in (X.toarray(), X.tocsr(), X.tocsc(), X.tocoo(), X.astype(np.float32)):
        save_data(path, given_, np.arange(7) % 3)
        np.testing.assert_array_equal(load_data(path)[0].toarray(), sp.csr_array(given_).toarray())
    twice = sp.csr_array((np.ones(3), [2, 0, 2], [0, 3]), shape=(1, 3))
    save_data(path, twice, [1])
    assert load_data(path)[0].indices.tolist() == [0, 2]
    assert twice.nnz == 3  # is as it was


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(2), [1], "2 rows, y the shape"),
        (np.zeros((0, 2)), [], "0 rows"),
        ([[np.nan]], [1], "NaN or infinity"),
        ([[1.0 + 2.0j]], [1], "complex numbers"),
        (sp.csr_array([[2.0j]]), [1], "complex numbers"),
        ([[1.0]], [(1, 2)], "y the shape"),
        ([[1.0]], [np.nan], "finite numbers"),
        ([[1.0]], np.array([2**64 - 1], np.uint64), "finite numbers of 64 bits"),
        ([[1.0]], [True], "numbers or text"),
        ([[1.0]], np.array([None], object), "numbers or text"),
    ],
)
def test_what_cannot_be_saved(path, X, y, message):
    with pytest.raises(ValueError, match=message):
        save_data(path, X, y)
    assert not any(path.parent.iterdir())


def test_more_features_and_another_type(path):
    source = converted(path)
    X, y = load_svmlight(source, 9)
    same(load_data(path, 9, np.float64), (X.astype(np.float64), y))
    with pytest.raises(ValueError, match="has 5 features, more than the 3"):
        load_data(path, 3)
    save_data(path, [[1e300]], [1])
    with pytest.raises(ValueError, match="too large for float32"):
        load_data(path, dtype=np.float32)


def test_it_trains_and_predicts_as_text_does(path, monkeypatch):
    X, y = make_text_corpus(300, 200, 12, random_state=0)
    save_data(path, X, y)
    models = [MulticlassSVC, StochasticClassifier]
    expected = [model(random_state=0).fit(X, y).coef_ for model in models]
    for narrow in (stored_rows.MAX_NARROW, 10):  # as if there were 2^31 non-zeros
        monkeypatch.setattr(stored_rows, "MAX_NARROW", narrow)
        Z, t = load_data(path)
        assert mapped(Z.indices)
        assert mapped(Z.data)
        assert Z.indices.dtype == np.int32
        assert (Z.indptr.dtype == np.int64) == (narrow == 10)
        dataset, _ = training_data(*validated(models[0](), Z, t), None, None, 1.0)
        assert mapped(dataset.values)
        assert mapped(dataset.indices)
        for model, coef in zip(models, expected, strict=True):
            fitted = model(random_state=0).fit(Z, t)
            np.testing.assert_array_equal(fitted.coef_, coef)
            np.testing.assert_array_equal(fitted.predict(Z), fitted.predict(X))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(1, 9))
def test_blocks_are_the_rows_in_order(lengths, block_values):
    rng = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([np.sort(rng.permutation(5)[:n]) for n in lengths]).astype(np.int32)
    labels = rng.integers(0, 3, len(lengths)).astype(np.int32)
    classes = np.array(["a", "b", "c"])
    rows = stored_rows.StoredRows(indptr, indices, rng.random(len(indices)), labels, 5, classes)
    blocks = StoredBlocks(rows, block_values)
    parts = list(blocks.labelled())
    same(
        (sp.vstack([X for X, _ in parts]).tocsr(), np.concatenate([y for _, y in parts])),
        (rows.matrix(), rows.targets()),
    )
    assert blocks.largest_block == max(len(y) for _, y in parts)
    assert (blocks.n_rows, blocks.n_features, blocks.n_nonzero) == (len(lengths), 5, len(indices))
    found, counts = np.unique(rows.targets(), return_counts=True)
    np.testing.assert_array_equal(blocks.classes, found)
    np.testing.assert_array_equal(blocks.class_counts, counts)


def test_converting_takes_the_memory_of_blocks(path):
    rows = (" ".join(f"{j}:{i + j}" for j in range(1, 40)) for i in range(9000))
    text = "".join(f"{i % 9} {row}\n" for i, row in enumerate(rows))
    source = path.with_name("text")
    source.write_text(text)
    blocks = SvmlightBlocks(source, block_bytes=1 << 16)
    tracemalloc.start()
    try:
        save_blocks(path, blocks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 2_500_000
    assert peak < 1_500_000
