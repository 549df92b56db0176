"""The svmlight reader of blocks: the same rows as at once, the same errors, little memory."""

import gzip
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import _core
from manyclass.io import svmlight_pieces
from manyclass.io.svmlight import CsrBuilder, load_svmlight
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.cases import each
from tests.helpers.svmlight_files import COMPRESSORS, LINES


def assert_same(blocks, X, y):
    """One pass over the blocks gives X and y, and what was counted is right."""
    parts = list(blocks)
    for part, codes in parts:
        assert part.has_canonical_format
        assert (part.dtype, part.shape[1]) == (X.dtype, X.shape[1])
        assert part.indices.dtype == part.indptr.dtype == X.indices.dtype
        assert codes.dtype == np.int32
        assert 0 < part.shape[0] == len(codes)
    for name in ("indices", "data"):
        whole = np.concatenate([getattr(part, name) for part, _ in parts])
        np.testing.assert_array_equal(whole, getattr(X, name))
    lengths = np.concatenate([np.diff(part.indptr) for part, _ in parts])
    np.testing.assert_array_equal(lengths, np.diff(X.indptr))
    np.testing.assert_array_equal(blocks.classes[np.concatenate([c for _, c in parts])], y)
    classes, counts = np.unique(y, return_counts=True)
    np.testing.assert_array_equal(blocks.classes, classes)
    np.testing.assert_array_equal(blocks.class_counts, counts)
    assert (blocks.classes.dtype, blocks.class_counts.dtype) == (y.dtype, np.int64)
    assert (blocks.n_rows, blocks.n_features, blocks.n_nonzero) == (*X.shape, X.nnz)
    assert blocks.largest_block == max(part.shape[0] for part, _ in parts)


# --- the same as at once ------------------------------------------------------------------------

LABELS = {
    "integers": ["3", "-1", "+3", "007", "12"],
    "numbers": ["1", "1.0", "-2e3", ".5"],
    "text": ["cat", "Straße", "1", "01"],
}


@st.composite
def files(draw):
    """Random text in svmlight format: rows of all lengths, comments, blank lines, line ends."""
    labels = st.sampled_from(LABELS[draw(st.sampled_from(list(LABELS)))])
    row = st.dictionaries(st.integers(1, 30), st.floats(-9, 9, width=32), max_size=8)
    behind = st.sampled_from(["", " # c", "\n", "\n# between\n", "\r"])
    lines = draw(st.lists(st.tuples(labels, row, behind), min_size=1, max_size=40))
    text = "\n".join(
        f"{label} {' '.join(f'{j}:{v!r}' for j, v in sorted(row.items()))}{end}"
        for label, row, end in lines
    )
    return (text + draw(st.sampled_from(["", "\n", "\n\n"]))).encode()


@settings(max_examples=80)
@given(
    text=files(),
    compress=st.sampled_from(list(COMPRESSORS.values())),
    block_bytes=st.sampled_from([1, 2, 30, 100, 1000, 2**26, 2**40]),
    n_features=st.sampled_from([None, 30, 2**35]),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_jobs=st.sampled_from([1, 2, 3]),
)
def test_blocks_put_together_are_the_file(
    tmp_path_factory, text, compress, block_bytes, n_jobs, **options
):
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    path.write_bytes(compress(text))
    blocks = SvmlightBlocks(path, n_jobs=n_jobs, block_bytes=block_bytes, **options)
    X, y = load_svmlight(path, **options)
    assert_same(blocks, X, y)
    assert_same(blocks, X, y)  # a second time


@each("compress", COMPRESSORS.values())
@each("block_bytes", [1, 200, 2**26])
def test_any_size_of_pieces(blocks_of, load, chunked, compress, block_bytes):
    text = compress(b"\xef\xbb\xbf# head\n" + LINES[: LINES.index(b"\n", 1000)])
    expected = load(text)
    assert_same(blocks_of(text, n_jobs=chunked, block_bytes=block_bytes), *expected)


def test_block_bytes_is_the_size_of_blocks(blocks_of, monkeypatch):
    def sizes(**options):
        return [len(codes) for _, codes in blocks_of(LINES, **options)]

    n_lines = LINES.count(b"\n")
    assert blocks_of(LINES, block_bytes=1).largest_block == 1
    assert sizes() == [n_lines]
    wanted = n_lines * 1000 / len(LINES)
    assert all(0.5 * wanted < size < 1.5 * wanted for size in sizes(block_bytes=1000)[:-1])
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", 100)  # many pieces in a block
    of_pieces = sizes(block_bytes=1000, n_jobs=2)
    assert all(0.9 * wanted < size < 1.1 * wanted for size in of_pieces[:-1])


def test_comments_labels_in_two_spellings_and_rows_without_features(blocks_of):
    blocks = blocks_of("# c\n" * 100 + "1 1:1\n" + "# c\n" * 100 + "2 1:1\n#\n", block_bytes=8)
    assert [X.shape for X, _ in blocks] == [(1, 1), (1, 1)]
    blocks = blocks_of("+2 1:1\n1 1:1\n2.0 1:1\n2 1:1\n", block_bytes=1)
    assert blocks.classes.tolist() == [1, 2]
    assert blocks.class_counts.tolist() == [1, 3]
    assert [codes.tolist() for _, codes in blocks] == [[1], [0], [1], [1]]
    blocks = blocks_of("1\n2\n", block_bytes=1)
    assert (blocks.n_features, blocks.n_nonzero) == (0, 0)
    assert [X.shape for X, _ in blocks] == [(1, 0), (1, 0)]


@each("n_jobs", [1, 2])
@each(
    ("text", "options"),
    [
        (f"1 1:1 2:5\n2 {2**40}:3\n1 7:2\n", {}),
        ("1 3:1 0:2 3:5\n2 1:1\n", {"zero_based": True, "sort": True, "sum_duplicates": True}),
    ],
)
def test_wide_indices_and_options(blocks_of, load, text, options, n_jobs):
    expected = load(text, **options)
    assert_same(blocks_of(text, block_bytes=1, n_jobs=n_jobs, **options), *expected)


def test_long_line(blocks_of):
    n = 50_000
    text = "1 " + " ".join(f"{j}:1" for j in range(1, n + 1)) + "\n2 1:3\n"
    blocks = blocks_of(text, block_bytes=100)
    assert [X.nnz for X, _ in blocks] == [n, 1]


def test_two_passes_side_by_side_and_in_another_process(blocks_of):
    blocks = blocks_of(LINES, block_bytes=500, n_jobs=2)
    for (X, codes), (Z, others) in zip(blocks, blocks, strict=True):
        assert (X != Z).nnz == 0
        np.testing.assert_array_equal(codes, others)
    blocks = pickle.loads(pickle.dumps(blocks_of(LINES, n_jobs=2)))
    assert sum(len(codes) for _, codes in blocks) == blocks.n_rows == 300


def test_the_working_directory_may_change(blocks_of, tmp_path, monkeypatch):
    blocks_of("1 1:1\n")
    monkeypatch.chdir(tmp_path)
    blocks = SvmlightBlocks("data.txt")
    monkeypatch.chdir("/")
    assert sum(len(codes) for _, codes in blocks) == 1


def test_real_data(shared_data):
    path = shared_data("letter.scale")
    blocks = SvmlightBlocks(path, block_bytes=100_000, n_jobs=2)
    assert_same(blocks, *load_svmlight(path))


# --- what is refused ----------------------------------------------------------------------------


@each("n_jobs", [1, 2])
@each(
    "text",
    [
        b"",
        b"\n\n# c\n",
        gzip.compress(b""),
        gzip.compress(LINES)[:-9],
        gzip.compress(LINES)[:-200] + b"x" * 200,
        b"1 1:1\n9223372036854775808 1:1\n",
    ],
)
def test_files_that_the_reader_refuses(blocks_of, load, text, n_jobs):
    with pytest.raises(ValueError) as expected:
        load(text)
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        blocks_of(text, n_jobs=n_jobs)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_can_be_read_only_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):  # nobody writes: opening it would wait
        with pytest.raises(ValueError, match=f"{path}: a pipe or device can't be read twice; wr"):
            SvmlightBlocks(path)


def test_bad_sizes_of_blocks(blocks_of):
    for size, found in ((0, r" \(found 0\)"), (2**40 + 1, "")):
        with pytest.raises(ValueError, match=rf"block_bytes must be from 1 to 2\*\*40{found}"):
            blocks_of("1 1:1\n", block_bytes=size)
    with pytest.raises(TypeError):
        blocks_of("1 1:1\n", block_bytes=1e6)


@each("n_jobs", [1, 2])
def test_a_lack_of_memory_names_the_file(blocks_of, monkeypatch, n_jobs):
    def fail(*_, **__):
        raise MemoryError

    blocks = blocks_of("1 1:1\n", n_jobs=n_jobs)
    message = r"data.txt: a block does not fit into the memory; use float32 or a smaller block_by"
    with monkeypatch.context() as patch:
        patch.setattr(CsrBuilder, "append", fail)
        with pytest.raises(MemoryError, match=message):
            next(iter(blocks))
        patch.setattr(_core, "parse_svmlight", fail)
        with pytest.raises(MemoryError, match=message):
            blocks_of("1 1:1\n", n_jobs=n_jobs)


def test_blocks_with_labels(blocks_of):
    labelled = blocks_of("b 1:1\na 2:1\nb 1:2\n", block_bytes=1).labelled()
    for _ in range(2):
        assert np.concatenate([y for _, y in labelled]).tolist() == ["b", "a", "b"]
