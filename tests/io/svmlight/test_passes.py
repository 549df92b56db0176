"""Passes over a file in blocks: it may change, be left early, and takes little memory."""

import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from manyclass.io import svmlight_pieces, svmlight_stream
from manyclass.io.svmlight import CsrBuilder
from tests.helpers.svmlight_files import LINES, reader_threads

# --- a file that does not stay the same ---------------------------------------------------------


def rewrite(path, text):
    """Write other text, as of the same time."""
    status = path.stat()
    path.write_bytes(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a 1:1\nb 2:1\n \n", "its size or modification time"),
        (b"a 1:1\nc 2:1\n", "a new label in line 2"),
        (b"a 1:1\nb 3:1\n", "an index beyond the largest"),
        (b"a 1:1 2:1\n\n\n", "the number of rows or values"),
        (b"a 1:1\nb 2:x\n", r"data.txt:2: a feature's value is not a number \(found '2:x'\); "),
        (b"#########\n##", "the number of rows or values"),
    ],
)
def test_a_changed_file(blocks_of, tmp_path, text, reason, n_jobs):
    before = b"a 1:1\nb 2:1\n"
    blocks = blocks_of(before, n_jobs=n_jobs)
    rewrite(tmp_path / "data.txt", text)
    message = rf"data.txt: the file has changed since reading it began \(.*{reason}.*\); make Svm"
    with pytest.raises(ValueError, match=message):
        list(blocks)
    rewrite(tmp_path / "data.txt", before)
    assert len(list(blocks)) == 1
    os.utime(tmp_path / "data.txt", ns=(0, 0))
    with pytest.raises(ValueError, match="its size or modification time"):
        next(iter(blocks))


def test_a_new_index_where_there_was_none_and_a_file_that_goes_away(blocks_of, tmp_path):
    blocks = blocks_of(b"1    \n")
    rewrite(tmp_path / "data.txt", b"1 1:1\n")
    with pytest.raises(ValueError, match="an index beyond the largest"):
        list(blocks)
    blocks = blocks_of(LINES)
    (tmp_path / "data.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"data.txt"):
        next(iter(blocks))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_that_is_cut_short_during_a_pass(blocks_of, tmp_path, n_jobs):
    blocks = blocks_of(LINES * 100, n_jobs=n_jobs, block_bytes=10_000)
    passing = iter(blocks)
    next(passing)
    os.truncate(tmp_path / "data.txt", 4 * len(LINES) - 3)
    with pytest.raises(ValueError, match=r"data.txt: the file has changed since reading it"):
        list(passing)


def test_a_file_that_grows_during_the_first_pass(blocks_of, tmp_path, monkeypatch):
    def growing(*parts):
        with (tmp_path / "data.txt").open("ab") as file:
            file.write(b"a 1:1\n")
        return read_chunks(*parts)

    read_chunks = svmlight_stream.read_chunks
    monkeypatch.setattr(svmlight_stream, "read_chunks", growing)
    with pytest.raises(ValueError, match=r"has changed since reading it began \(its size"):
        blocks_of(LINES)


# --- file and threads ---------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch):
    """The files that a reader of blocks opens, in small pieces."""
    files = []

    def pieces(file, *args, **options):
        files.append(file)
        return svmlight_pieces.pieces(file, *args, **options)

    monkeypatch.setattr(svmlight_pieces, "_CHUNK_BYTES", 50)
    monkeypatch.setattr(svmlight_stream, "pieces", pieces)
    return files


def leave_by_break(blocks):
    for _ in blocks:
        assert bool(reader_threads()) == (blocks._n_jobs > 1)
        break


def leave_by_close(blocks):
    passing = iter(blocks)
    next(passing)
    next(passing)
    passing.close()
    with pytest.raises(StopIteration):
        next(passing)


def leave_by_interrupt(blocks):
    def work():
        for _ in blocks:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()


LEAVE = [leave_by_break, leave_by_close, leave_by_interrupt, lambda blocks: iter(blocks).close()]


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("leave", LEAVE)
def test_leaving_a_pass_releases_file_and_threads(blocks_of, opened, leave, n_jobs):
    blocks = blocks_of(LINES, n_jobs=n_jobs, block_bytes=200)
    leave(blocks)
    assert all(file.closed for file in opened)
    assert not reader_threads()
    assert sum(len(codes) for _, codes in blocks) == 300  # and the next pass is whole


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_interrupt_during_the_first_pass(blocks_of, opened, monkeypatch, n_jobs):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(svmlight_stream.Survey, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        blocks_of(LINES, n_jobs=n_jobs)
    assert opened[0].closed
    assert not reader_threads()


def test_an_interrupt_while_waiting_for_a_block(blocks_of, opened, monkeypatch):
    """The block that is being made is given up at the next piece, not made to its end."""
    blocks = blocks_of(LINES * 20, n_jobs=2)
    stop_reached, n_appended = threading.Event(), 0

    def append(*args):
        nonlocal n_appended
        n_appended += 1
        assert stop_reached.wait(600)

    def result(future):
        if threading.current_thread() is not threading.main_thread():
            return original(future)
        raise KeyboardInterrupt

    def shutdown(*args, **options):
        stop_reached.set()
        shut(*args, **options)

    original, shut = Future.result, ThreadPoolExecutor.shutdown
    monkeypatch.setattr(CsrBuilder, "append", append)
    monkeypatch.setattr(Future, "result", result)
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shutdown)
    with pytest.raises(KeyboardInterrupt):
        next(iter(blocks))
    assert n_appended < 10
    assert all(file.closed for file in opened)
    assert not reader_threads()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_next_block_is_made_meanwhile(blocks_of, monkeypatch, n_jobs):
    second = threading.Event()
    blocks = blocks_of(LINES, n_jobs=n_jobs, block_bytes=200)
    n_made = 0

    def finish(*args):
        nonlocal n_made
        n_made += 1
        if n_made == 2:
            second.set()
        return original(*args)

    original = CsrBuilder.finish
    monkeypatch.setattr(CsrBuilder, "finish", finish)
    passing = iter(blocks)
    next(passing)
    assert second.wait(60 if n_jobs > 1 else 0) == (n_jobs > 1)
    assert n_made <= 2  # and no further
    passing.close()


PEAK_OF_TWO_PASSES = """
import re, sys
from pathlib import Path
from manyclass import StochasticClassifier
from manyclass.io.svmlight import load_svmlight
from manyclass.io.svmlight_stream import SvmlightBlocks
path, n_jobs, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
before = peak()
if what == "load":
    load_svmlight(path, n_jobs=n_jobs)
elif what == "train":
    blocks = SvmlightBlocks(path, n_jobs=n_jobs, block_bytes=1 << 20)
    model = StochasticClassifier(loss="log_loss", average=True, max_iter=2, tol=None)
    model.fit_blocks(blocks.labelled(), blocks.classes, blocks.n_features)
    assert model.n_steps_ == 2 * blocks.n_rows
else:
    blocks = SvmlightBlocks(path, n_jobs=n_jobs, block_bytes=1 << 20)
    assert sum(len(codes) for _, codes in blocks) == blocks.n_rows
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
@pytest.mark.parametrize(("what", "n_jobs"), [("read", 2), ("train", 1)])
def test_memory_does_not_grow_with_the_rows(tmp_path, what, n_jobs):
    def peak(n_rows, what=what):
        """Megabytes that two passes take, training on the blocks, or loading the file."""
        features = " ".join(f"{j}:0.12345" for j in range(100, 120))
        part = "".join(f"{i % 50} {features}\n" for i in range(1000))
        with path.open("w") as file:
            file.writelines(part for _ in range(n_rows // 1000))
        arguments = [sys.executable, "-c", PEAK_OF_TWO_PASSES, path, str(n_jobs), what]
        # What is freed goes back to the system at once.
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
        done = subprocess.run(
            arguments, capture_output=True, text=True, check=True, env=environment
        )
        return float(done.stdout)

    path = tmp_path / "long.txt"
    few, many = peak(50_000), peak(200_000)
    assert many < few + 10
    if what == "read":
        assert peak(200_000, "load") > many + 30  # what the line above would not let pass


def test_a_program_may_end_within_a_pass(blocks_of, tmp_path):
    blocks_of(LINES)
    code = (
        "import sys; from manyclass.io.svmlight_stream import SvmlightBlocks\n"
        "passing = iter(SvmlightBlocks(sys.argv[1], n_jobs=2, block_bytes=100))\n"
        "next(passing); print('ends')"
    )
    arguments = [sys.executable, "-W", "error", "-c", code, tmp_path / "data.txt"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")
