"""Converted data files: what goes in comes out, mapped, and nothing that comes in does harm."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from manyclass import MulticlassSVC, StochasticClassifier, load_data, load_svmlight, save_data
from manyclass.datasets.synthetic import make_text_corpus
from manyclass.estimators.validation import training_data, validated
from manyclass.io import stored_rows
from manyclass.io.dataset_writer import save_blocks
from manyclass.io.file_signatures import looks_like_data
from manyclass.io.stored_rows import StoredBlocks
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.mapped_files import converted, mapped
from tests.helpers.memory import peak_of


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


LABELS = [
    [3, 1, -2],
    [0.5, 1e15, -1.0],
    ["é中", "b", "NA"],
    [True, False, True],
    [2**62, -(2**63), 0],
]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_all_kinds(path, labels):
    save_data(path, np.eye(3), labels)
    X, y = load_data(path)
    np.testing.assert_array_equal(X, np.eye(3))
    assert y.tolist() == labels


def test_arrays_of_all_kinds(path):
    X = sp.random_array(
        (7, 5), density=0.5, random_state=np.random.default_rng(0), dtype=np.float64
    )
    for given_ in (X.toarray(), X.tocsr(), X.tocsc(), X.tocoo(), X.astype(np.float32)):
        save_data(path, given_, np.arange(7) % 3)
        back = load_data(path)[0]
        assert sp.issparse(back) == sp.issparse(given_)
        assert back.dtype == given_.dtype
        np.testing.assert_array_equal(sp.csr_array(back).toarray(), sp.csr_array(given_).toarray())
    twice = sp.csr_array((np.ones(3), [2, 0, 2], [0, 3]), shape=(1, 3))
    save_data(path, twice, [1])
    assert load_data(path)[0].indices.tolist() == [0, 2]
    assert twice.nnz == 3  # is as it was


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(2), [1], "2 rows, y the shape"),
        (np.zeros((0, 2)), [], "X has no row"),
        ([[np.nan]], [1], "NaN or infinity"),
        ([[1.0 + 2.0j]], [1], "complex numbers"),
        (sp.csr_array([[2.0j]]), [1], "complex numbers"),
        ([[1.0]], [(1, 2)], "y the shape"),
        ([1.0, 2.0], [1, 2], "X has the shape"),
        ([["a"]], [1], "X holds text"),
        (np.eye(2), None, "y is missing"),
        (7, None, "y is missing"),
        ([[1.0]], [np.nan], "row 0 of y is missing"),
        (
            [[1.0]],
            np.array([2**64 - 1], np.uint64),
            "row 0 of y is 18446744073709551615, which does not fit in 64 bits",
        ),
        ([[1.0]], [""], "row 0 of y is empty"),
        ([[1.0]], np.array([None], object), "row 0 of y is missing"),
        ([[1.0]], np.array([np.inf]), "row 0 of y is inf, which is not finite"),
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_rows_stay_dense_and_are_not_copied(path, dtype):
    X, y = make_text_corpus(100, 30, 5, random_state=0)
    X = X.toarray().astype(dtype)
    save_data(path, X, y)
    Z, t = load_data(path)
    assert mapped(Z)
    assert path.stat().st_size < X.nbytes + 4 * len(y) + 2000
    np.testing.assert_array_equal(Z, X)
    np.testing.assert_array_equal(t, y)
    dataset, _ = training_data(*validated(MulticlassSVC(), Z, t), None, None, 1.0)
    assert mapped(dataset.values)
    for model in (MulticlassSVC(random_state=0), StochasticClassifier(random_state=0)):
        np.testing.assert_array_equal(model.fit(Z, t).coef_, clone(model).fit(X, y).coef_)


def test_columns_of_dense_rows(path):
    save_data(path, np.eye(3, dtype=np.float32), [1, 2, 3])
    assert load_data(path, 3, np.float64)[0].dtype == np.float64
    with pytest.raises(ValueError, match="dense rows of 3 features, not the 4 that n_features"):
        load_data(path, 4)


def test_types_that_float32_holds(path):
    pl = pytest.importorskip("polars")
    for X in (np.eye(2, dtype=np.float16), pl.DataFrame({"a": [1.0, 0.0]}).cast(pl.Float32)):
        save_data(path, X, [1, 2])
        assert load_data(path)[0].dtype == np.float32


BATCHES = {
    "dense": [
        (np.eye(3), ["b", "a", "c"]),
        (np.zeros((0, 3)), []),
        (2 * np.eye(3), ["a", "d", "b"]),
    ],
    "float32": [(np.eye(2, dtype=np.float32), [3, 1]), (np.ones((1, 2), np.float32), [2])],
    "sparse": [(sp.csr_array(np.eye(3)), [1, 2, 3]), (sp.csr_array(np.ones((2, 3))), [0.5, 2])],
}


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
def test_batches_are_the_rows_in_order(path, batches):
    stacked = sp.vstack if sp.issparse(batches[0][0]) else np.vstack
    X, y = stacked([X for X, _ in batches]), [label for _, y in batches for label in y]
    whole = path.with_name("whole")
    save_data(whole, sp.csr_array(X) if sp.issparse(X) else X, y)
    save_data(path, (batch for batch in batches))
    assert path.read_bytes() == whole.read_bytes()
    assert len([*path.parent.iterdir()]) == 2


def test_batches_of_many_blocks(path, monkeypatch):
    """Rows are written again in blocks, each of one row at least."""
    monkeypatch.setattr("manyclass.io.dataset_writer.PART", 64)
    X, y = make_text_corpus(200, 40, 5, random_state=0)
    for rows in (X, X.toarray()):
        save_data(path, ((rows[i : i + 7], y[i : i + 7]) for i in range(0, 200, 7)))
        back, labels = load_data(path)
        np.testing.assert_array_equal(sp.csr_array(back).toarray(), X.toarray())
        np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (None, "the batches have no rows"),
        ((np.eye(3), [1, 2, 3]), "batch 1: X has columns 3, in the batches before 2"),
        ((np.eye(2, dtype=np.float32), [1, 2]), "batch 1: X has dtype float32, in the .* float64"),
        ((sp.csr_array(np.eye(2)), [1, 2]), "batch 1: X has dense False, in the batches before Tr"),
        ((np.eye(2), ["a", "b"]), "batch 1: previous labels are numbers, these are text"),
        ((np.eye(2), [1]), "batch 1: X has 2 rows, y the shape"),
        ((np.full((1, 2), np.nan), [1]), "batch 1: X holds NaN or infinity"),
        (np.eye(2), "batch 1: must be a pair .X, y., not ndarray"),
    ],
)
def test_batches_that_do_not_fit(path, batch, message):
    with pytest.raises(ValueError, match=message):
        save_data(path, iter([] if batch is None else [(np.eye(2), [1, 2]), batch]))
    assert not any(path.parent.iterdir())


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
    rows = stored_rows.StoredSparseRows(
        indptr, indices, rng.random(len(indices)), labels, 5, classes
    )
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
    source = path.with_name("text")
    source.write_text("".join(f"{i % 9} {row}\n" for i, row in enumerate(rows)))
    blocks = SvmlightBlocks(source, block_bytes=1 << 16)
    _, peak = peak_of(lambda: save_blocks(path, blocks))
    assert path.stat().st_size > 2_500_000
    assert peak < 1_500_000
