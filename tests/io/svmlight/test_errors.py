"""The svmlight reader: what it says about files that it refuses."""

import bz2
import gzip
import itertools
import os
import re
import threading

import numpy as np
import pytest

from manyclass import _core
from manyclass.io import svmlight, svmlight_pieces
from manyclass.io.svmlight import load_svmlight
from manyclass.io.svmlight_parser import THREAD_NAME
from manyclass.io.svmlight_stream import SvmlightBlocks
from tests.helpers.cases import each
from tests.helpers.svmlight_files import CHUNKS, COMPRESSORS, MALFORMED

READERS = ["load", "blocks_of"]


@pytest.fixture
def read(request, reader):
    return request.getfixturevalue(reader)


def error_of(load, text, **options):
    with pytest.raises(ValueError) as raised:
        load(text, **options)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 1000
    return message


@each("n_jobs", [1, 3])
@each(
    ("text", "message"),
    [
        (b"\xff 1:1\n1 1:x\n", ":1: the label is not UTF-8"),
        (b"1 1:1\n\nnan 1:1\n1 1:x\n", ":3: the label is 'nan', which is not a class"),
        (b"1 1:1\n1 1:x\nnan 1:1\n", ":2: a feature's value is not a number"),
    ],
)
def test_the_first_bad_line_is_named_whatever_is_bad_in_it(load, blocks_of, text, message, n_jobs):
    for read in (load, blocks_of):
        assert f"data.txt{message}" in error_of(read, text, n_jobs=n_jobs)


@pytest.mark.parametrize("case", MALFORMED)
@each(("chunk_bytes", "n_jobs"), CHUNKS)
@each("before", ["", "# c\n\n1 1:2\r\n2 # c\n 3 1:2 2:0.3333\n"])
@each("behind", ["", "\n", "\n1 1:y\n" + "1 1:2\n" * 20])
def test_malformed(load, blocks_of, monkeypatch, case, chunk_bytes, n_jobs, before, behind):
    """The message is the same when a file is loaded at once and in blocks."""
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", chunk_bytes)
    line, options, problem = MALFORMED[case]
    if "label" in case:  # what labels mean is judged after their chunk's syntax
        behind = behind.replace("y", "0")
    text = before.encode() + line + behind.encode()
    message = error_of(load, text, n_jobs=n_jobs, **options)
    assert f"data.txt:{1 + before.count(chr(10))}: {problem}" in message
    if before and "y" not in behind:
        assert error_of(blocks_of, text, n_jobs=n_jobs, block_bytes=50, **options) == message


@each("text", [b"", b"\n\n", b"# only\n# comments", b"\xef\xbb\xbf", b"  \r\n"])
@each("compress", COMPRESSORS.values())
def test_no_examples(load, chunked, text, compress):
    message = error_of(load, compress(text), n_jobs=chunked)
    assert re.search(r"data.txt:[12]: no examples; is this the right file\?$", message)


def test_malformed_long_line(load):
    text = b"1 1:2\n1 " + b"1:1 " * 2_500_000 + b"\n"
    assert "data.txt:2: a row holds an index twice" in error_of(load, text)
    text = b"1 1:2\n" + b"a" * 10_000_000 + b"\n"
    assert "data.txt:2: the label is too long" in error_of(load, text)


@pytest.mark.parametrize("reader", READERS)
@each("n_jobs", [1, 2])
@each("kind", ["gzip", "bzip2", "xz"])
def test_a_compressed_line_without_end(read, monkeypatch, kind, n_jobs):
    monkeypatch.setattr(svmlight_pieces, "_MAX_LINE_BYTES", 100_000)
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", 1000)
    text = b"1 1:2\n# c\n" + b"1" * 1_000_000
    message = error_of(read, COMPRESSORS[kind](text), n_jobs=n_jobs)
    assert message.endswith("data.txt:3: the line is too long; is this an svmlight file?")
    read(COMPRESSORS[kind](b"1 1:2\n# " + b"c" * 90_000 + b"\n2 2:1\n"), n_jobs=n_jobs)
    read(b"1 1:2\n# " + b"c" * 200_000, n_jobs=n_jobs)  # no longer than the file itself


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_lack_of_memory_names_the_file(load, monkeypatch, n_jobs):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(_core, "parse_svmlight", fail)
    with pytest.raises(MemoryError, match=r"data.txt: the data do not fit into the memory; "):
        load("1 1:1\n", n_jobs=n_jobs)


def long_text():
    rng = np.random.default_rng(0)
    return "".join(f"{i % 3} {i + 1}:{rng.random()}\n" for i in range(3000)).encode()


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
@each("n_jobs", [1, 2])
@each("share", [0.2, 0.6, 0.999])
def test_truncated_compressed_file(load, kind, n_jobs, share):
    packed = COMPRESSORS[kind](long_text())
    message = error_of(load, packed[: int(share * len(packed))], n_jobs=n_jobs)
    cut = r"data.txt:\d+: the compressed data are truncated after this line; get the file again$"
    assert re.search(cut, message)


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
@each("n_jobs", [1, 2])
def test_corrupt_compressed_file(load, kind, n_jobs):
    packed = bytearray(COMPRESSORS[kind](long_text()))
    packed[len(packed) // 2] ^= 0xFF
    packed[len(packed) // 2 + 1] ^= 0xFF
    assert re.search(r"data.txt:\d+: .*; ", error_of(load, bytes(packed), n_jobs=n_jobs))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damage_is_placed_behind_what_was_read(load, monkeypatch, n_jobs):
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", 500)
    packed = gzip.compress(long_text())
    line = int(re.search(r":(\d+):", error_of(load, packed[:-9], n_jobs=n_jobs))[1])
    assert 2950 < line <= 3001
    text = b"1 1:x\n" + long_text()  # an error in a line before it comes first
    message = error_of(load, gzip.compress(text)[:-9], n_jobs=n_jobs)
    assert "data.txt:1: a feature's value is not a number" in message


@each("read", [load_svmlight, SvmlightBlocks])
def test_unreadable(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="absent"):
        read(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match=re.escape(tmp_path.name)):
        read(tmp_path)
    with pytest.raises(TypeError):
        read(0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_no_permission(tmp_path):
    path = tmp_path / "secret"
    path.write_text("1 1:1\n")
    path.chmod(0)
    with pytest.raises(PermissionError, match="secret"):
        load_svmlight(path)


def test_failure_of_the_disk_stays_an_os_error(load, monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(gzip.GzipFile, "read", fail)
    with pytest.raises(OSError, match="Input/output error"):
        load(gzip.compress(b"1 1:1\n"))


@pytest.mark.parametrize("reader", READERS)
@each(
    ("options", "problem"),
    [
        ({"dtype": np.int32}, r"dtype must be float32 or float64 \(found int32\)"),
        ({"n_features": 0}, r"n_features must be from 1 to 2\*\*63 - 1 \(found 0\)"),
        ({"n_features": 2**63}, "n_features must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_arguments(read, options, problem):
    with pytest.raises(ValueError, match=problem):
        read("1 1:1\n", **options)
    with pytest.raises(TypeError):
        read("1 1:1\n", n_features=2.5)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_interrupt(load, monkeypatch, n_jobs):
    """Ctrl-C between two chunks ends the threads and passes through."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", 10)
    monkeypatch.setattr(svmlight.GrowingArray, "append", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load("1 1:1\n" * 100, n_jobs=n_jobs)
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD_NAME)]


LINES = {
    "integer": b"1 1:1",
    "wide": b"99999999999999999999 1:1",
    "number": b"1.5 1:1",
    "text": b"a 1:1",
    "not finite": b"nan 1:1",
    "not UTF-8": b"\xff 1:1",
    "no value": b"3 1:x",
}


def first_bad_line(kinds):
    """Wide integers and NaN are words, not bad, where a label before the first bad line is text."""
    bad = [i for i, kind in enumerate(kinds) if kind in ("not UTF-8", "no value")]
    good = kinds[: bad[0]] if bad else kinds
    lost = [i for i, kind in enumerate(good) if kind in ("wide", "not finite")]
    first = bad if "text" in good else lost or bad
    return first[0] + 1 if first else None


@pytest.mark.parametrize(("reader", "n_lines"), [("load", 3), ("blocks_of", 2)])
@each(("chunk_bytes", "n_jobs"), CHUNKS[::2])
def test_the_first_bad_line_is_named(read, n_lines, monkeypatch, chunk_bytes, n_jobs):
    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", chunk_bytes)
    for kinds in itertools.permutations(LINES, n_lines):
        text = b"".join(LINES[kind] + b"\n" for kind in kinds)
        line = first_bad_line(kinds)
        if line is None:
            read(text, n_jobs=n_jobs)
        else:
            assert f"data.txt:{line}: " in error_of(read, text, n_jobs=n_jobs), kinds


def test_a_csv_file_is_no_file_of_labels(load):
    message = error_of(load, b"height,width,label\n1,2,tall\n3,4,wide\n")
    assert re.search("data.txt:1: no row has a feature, .* a CSV file; save", message)
    assert load("London,GB\nParis\n")[1].tolist() == ["London,GB", "Paris"]  # labels alone


def test_damaged_first_stream_with_more_behind_it(load):
    """The error of the first look at the data is the one that is shown: they are not read again."""
    first = bytearray(bz2.compress(b"0 1:1\n1 1:2\n"))
    first[-2] ^= 255  # of its checksum
    more = bz2.compress(b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(5000)))
    message = error_of(load, bytes(first) + more)
    assert "the compressed data are damaged: Invalid data stream" in message
