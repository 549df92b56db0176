"""Data that several ranks read together: what one process would read, once on each machine."""

from __future__ import annotations

import bz2
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import load_svmlight
from manyclass.distributed import shared_arrays as shared
from manyclass.distributed.consensus import OtherRankError
from manyclass.distributed.data import load_shared
from manyclass.io.dataset_writer import save_blocks
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.cases import each
from tests.helpers.mapped_files import mapped
from tests.helpers.ranks import caught, on_ranks

LINES = [f"{'abc'[i % 3]} {i % 7 + 1}:{i}.5 9:1\n" for i in range(60)]
# The first rank of the machine of each.
MACHINES = {1: [[0]], 2: [[0, 0], [0, 1]], 4: [[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 2]]}


@pytest.fixture(name="folder")
def folder_fixture(tmp_path, monkeypatch):
    """An empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def check(path, size, machines=None, **options):
    X, y = load_svmlight(path, **options)
    for rows, labels in on_ranks(size, lambda rank: load_shared(rank, path, **options), machines):
        assert rows.shape == X.shape
        assert rows.dtype == X.dtype
        assert rows.has_canonical_format
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(rows, part), getattr(X, part))
        assert labels.dtype == y.dtype
        np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", ["".join(LINES), "\n# c\n".join(LINES), "".join(LINES)[:-1]])
def test_ranks_read_what_one_process_reads(tmp_path, folder, size, text):
    path = tmp_path / "data"
    path.write_text(text)
    check(path, size)
    assert not any(folder.iterdir())


@pytest.mark.parametrize("size", MACHINES)
def test_ranks_of_several_machines(tmp_path, folder, monkeypatch, size):
    monkeypatch.setattr(shared, "PIECE", 64)
    path = tmp_path / "data"
    path.write_text("".join(LINES))
    for machines in MACHINES[size]:
        check(path, size, machines, dtype=np.float64)
    assert not any(folder.iterdir())


def test_the_ranks_of_a_machine_have_one_copy(tmp_path):
    path = tmp_path / "data"
    path.write_text("".join(LINES))
    X, _ = on_ranks(2, lambda rank: load_shared(rank, path))[1]
    assert mapped(X.data)
    assert mapped(X.indices)
    assert not X.data.flags.writeable


LABELS = {
    "whole numbers": ["3", "1", "03", "+1", "-2"],
    "numbers": ["1", "1.0", "2.5", "1e2", "7"],
    "text in one part": ["1", "2", "3", "4", "x"],
    "text": ["猫", "chien", "1", "01", "dog"],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("size", [2, 4])
def test_labels_of_all_kinds(tmp_path, labels, size):
    path = tmp_path / "data"
    path.write_text("".join(f"{label} {i + 1}:1\n" for i, label in enumerate(labels)))
    check(path, size)


def test_options(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"\xef\xbb\xbfa 0:1 5:2\r\nb 1:1\r\nc\r\n")
    check(path, 3, zero_based=True, n_features=11, dtype=np.float64, n_jobs=2)
    check(path, 2, zero_based=True)


def test_compressed_files_are_read_by_the_first(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bz2.compress("".join(LINES).encode()))
    for size, machines in [(1, None), (3, None), (2, [0, 1])]:
        check(path, size, machines)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(-3, 12),
            st.sets(st.integers(1, 9), max_size=4),
            st.sampled_from(["\n", "\n\n", "  # comment\n", "\r\n"]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(2, 5),
    st.booleans(),
)
def test_any_file_on_any_number_of_ranks(rows, size, cut):
    text = "".join(
        f"{label} {' '.join(f'{j}:{j}.5' for j in sorted(features))}{end}"
        for label, features, end in rows
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        path.write_bytes((text[:-1] if cut else text).encode())
        check(path, size, [rank % 2 for rank in range(size)])


@each("line", [0, 17, 30, 59])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("a 3:x", "a feature's value is not a number"),
        ("1,2 1:1", "several labels in one row"),
    ],
)
def test_an_error_has_its_line_in_the_whole_file(tmp_path, folder, line, wrong, message):
    path = tmp_path / "data"
    lines = [*LINES[:line], wrong + "\n", *LINES[line + 1 :]]
    path.write_text("".join(lines))
    with pytest.raises(ValueError) as alone:
        load_svmlight(path)
    if line < 50:  # one more, for another rank
        path.write_text("".join([*lines[:-1], "a 3:3:3\n"]))
    errors = on_ranks(4, caught(lambda rank: load_shared(rank, path)))
    told = [error for error in errors if not isinstance(error, OtherRankError)]
    assert [str(error) for error in told] == [str(alone.value)]
    assert f"data:{line + 1}: {message}" in str(told[0])
    assert {error.reported_by for error in errors} == {errors.index(told[0])}
    assert not any(folder.iterdir())


def test_labels_that_only_all_ranks_together_refuse(tmp_path):
    path = tmp_path / "data"
    path.write_text("1 1:1\n2 1:1\n" + "9" * 20 + " 1:1\n4 1:1\n")
    with pytest.raises(ValueError) as alone:
        load_svmlight(path)
    assert [str(e) for e in on_ranks(3, caught(lambda rank: load_shared(rank, path)))] == [
        str(alone.value)
    ] * 3
    path.write_text("1 1:1\n2 1:1\n" + "9" * 20 + " 1:1\nx 1:1\n")
    check(path, 3)


@pytest.mark.parametrize("content", ["", "# nothing\n\n\n"])
def test_files_without_a_row(tmp_path, content):
    path = tmp_path / "data"
    path.write_text(content)
    with pytest.raises(ValueError) as alone:
        load_svmlight(path)
    for error in on_ranks(2, caught(lambda rank: load_shared(rank, path))):
        assert str(error) == str(alone.value)


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        first, second = on_ranks(2, caught(lambda rank, path=path: load_shared(rank, path)))
        assert isinstance(first, OSError)
        assert isinstance(second, OtherRankError)


def test_ranks_that_see_other_files(tmp_path):
    for name, n_rows in [("a", 20), ("b", 30)]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "text").write_text("".join(LINES[:n_rows]))
        save_blocks(folder / "converted", SvmlightBlocks(folder / "text"))
    for kind in ("text", "converted"):
        errors = on_ranks(
            2, caught(lambda rank, kind=kind: load_shared(rank, tmp_path / "ab"[rank.rank] / kind))
        )
        for error in errors:
            assert "is a different file on rank 1 than on rank 0" in str(error)


def test_a_full_disk_for_temporary_files(tmp_path, folder, monkeypatch):
    path = tmp_path / "data"
    path.write_text("".join(LINES))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shared, "reserve", full)
    first, second = on_ranks(2, caught(lambda rank: load_shared(rank, path)))
    assert (first.errno, first.filename) == (28, str(folder))
    assert isinstance(second, OtherRankError)
    monkeypatch.setattr(os, "pwrite", full)
    monkeypatch.setattr(shared, "reserve", lambda *_: None)
    for error in on_ranks(2, caught(lambda rank: load_shared(rank, path))):
        assert (error.errno, error.filename) == (28, str(folder))
    assert not any(folder.iterdir())


def test_converted_files_are_mapped_by_all(tmp_path, monkeypatch):
    text, path = tmp_path / "text", tmp_path / "data"
    text.write_text("".join(LINES))
    save_blocks(path, SvmlightBlocks(text))
    looked = []
    monkeypatch.setattr("manyclass.io.dataset_file.check_contents", lambda *_: looked.append(1))
    X, y = load_svmlight(text)
    for machines in ([0, 0, 0], [0, 1, 1]):
        looked.clear()
        for rows, labels in on_ranks(3, lambda rank: load_shared(rank, path), machines):
            assert (rows != X).nnz == 0
            np.testing.assert_array_equal(labels, y)
        assert len(looked) == len(set(machines))  # once on each machine
