"""Read files in svmlight / LIBSVM format in blocks of rows, for data larger than the memory.

The first pass checks and counts the file. Each later pass parses it again and checks that it has
not changed.
"""

from __future__ import annotations

import operator
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import IO, TypeVar

import numpy as np
import numpy.typing as npt

from manyclass.io.stored_rows import StoredLabelSets
from manyclass.io.svmlight import CsrBuilder
from manyclass.io.svmlight_parser import (
    THREAD_NAME,
    Labels,
    Parser,
    Placed,
    fail_without_examples,
    read_chunks,
)
from manyclass.io.svmlight_pieces import Piece, pieces, seen
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.progress import Seen, reading
from manyclass.utils.types import Array, CsrArray

__all__ = ["SvmlightBlocks"]
MAX_BLOCK_BYTES = 1 << 40
Block = tuple[CsrArray, npt.NDArray[np.int32]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LabelledBlocks:
    """Blocks with labels instead of codes."""

    blocks: SvmlightBlocks

    def __iter__(self) -> Iterator[tuple[CsrArray, Array]]:
        """Make one pass; closing the generator releases the file and the threads."""
        with closing(iter(self.blocks)) as blocks:
            for X, codes in blocks:
                yield X, self.blocks.classes[codes]


class SvmlightBlocks:
    r"""A file in svmlight / LIBSVM format, read in blocks of rows, repeatedly.

    The constructor reads the file once, to check it and to count rows, features and labels. Each
    iteration makes one more pass and yields pairs ``(X, codes)`` in the order of the file, where
    ``classes[codes]`` are the labels. Concatenated, they are the result of ``load_svmlight``. About
    two blocks are in memory at a time. With several threads, the next block is read while the
    current one is used.

    Parameters
    ----------
    path : str or os.PathLike
        The file, as in ``load_svmlight``. It must be a regular file, as a pipe cannot be read
        twice.
    n_features, dtype, n_jobs, zero_based, sort, sum_duplicates, multilabel
        See ``load_svmlight``.
    block_bytes : int, default=2**26
        Approximate number of bytes of decompressed text in a block, which holds whole lines, at
        least one.
    verbose : int, default=0
        1: show the progress of the first pass, if standard error is a terminal.

    Attributes
    ----------
    name : str
        Name of the file, as given.
    dtype : numpy.dtype
        Type of the values of every block.
    n_rows : int
        Number of examples.
    n_features : int
        Number of columns of every block.
    n_nonzero : int
        Number of stored values of all blocks, including explicit zeros.
    classes : ndarray of shape (n_classes,)
        The distinct labels, ascending: int64, float64 or text, as in ``load_svmlight``.
    class_counts : ndarray of shape (n_classes,), int64
        Number of examples of each class.
    sets : StoredLabelSets or None
        With `multilabel`, the distinct label sets, as indices of `classes`; the codes of a block
        are then numbers of these sets. All distinct sets are in memory.
    largest_block : int
        Number of rows of the largest block.

    Raises
    ------
    ValueError
        If the file is malformed, as in ``load_svmlight``, or can be read only once; if an argument
        is out of range. During iteration: if the file has changed.
    OSError
        If the file cannot be read, at any time.
    MemoryError
        If a block does not fit into memory; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyclass.io import SvmlightBlocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.txt"
    ...     _ = path.write_text("cat 1:0.5 3:2\ndog 2:1\ncat 1:4\n")
    ...     blocks = SvmlightBlocks(path, block_bytes=20)
    ...     for X, codes in blocks:
    ...         print(X.shape, blocks.classes[codes])
    (1, 3) ['cat']
    (2, 3) ['dog' 'cat']
    >>> blocks.class_counts
    array([2, 1])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        n_features: int | None = None,
        dtype: npt.DTypeLike = np.float32,
        n_jobs: int | None = None,
        *,
        zero_based: bool = False,
        sort: bool = False,
        sum_duplicates: bool = False,
        multilabel: bool = False,
        block_bytes: int = 1 << 26,
        verbose: int = 0,
    ) -> None:
        self._parser = Parser(
            n_features,
            dtype,
            zero_based=zero_based,
            sort=sort,
            sum_duplicates=sum_duplicates,
            label_sets=multilabel,
        )
        self.dtype = self._parser.dtype
        self._block_bytes = operator.index(block_bytes)
        if not 1 <= self._block_bytes <= MAX_BLOCK_BYTES:
            raise ValueError(f"block_bytes must be from 1 to 2**40 (found {block_bytes})")
        self._n_jobs = n_jobs
        self.name = os.fspath(path)
        self._path = Path(path).absolute()  # the working directory may change between the passes
        self._stamp: tuple[int, int] | None = None
        with reading(verbose, self.name) as see:
            survey = self._survey(see, are_sets=multilabel)
        self.n_rows = survey.n_rows
        self.n_features = self._parser.n_features or survey.max_index + 1
        self.n_nonzero = survey.n_nonzero
        self.largest_block = survey.largest_block
        self.sets: StoredLabelSets | None = None
        self._take_labels(survey, are_sets=multilabel)

    def __iter__(self) -> Generator[Block]:
        """Make one pass; closing the generator, or leaving its loop, releases file and threads."""
        n_jobs = effective_n_jobs(self._n_jobs)
        blocks = partial(self._blocks, n_jobs)
        return blocks(Event()) if n_jobs == 1 else prefetched(blocks, THREAD_NAME)

    def labelled(self) -> LabelledBlocks:
        """Return the same blocks with labels instead of codes, for ``fit_blocks``.

        Returns
        -------
        iterable of (X, y)
            Each iteration is one more pass over the file.

        Raises
        ------
        ValueError
            If rows have label sets.
        """
        if self.sets is not None:
            raise ValueError(
                f"{self.name}: rows have label sets, which can be trained on only in memory"
            )
        return LabelledBlocks(self)

    def _take_labels(self, survey: Survey, *, are_sets: bool) -> None:
        labels = survey.labels
        counts = survey.label_counts[: len(labels)]
        if are_sets:
            self.sets, self.classes = labels.decode_sets()
            codes = np.arange(len(labels))
            places, counts = self.sets.places, np.repeat(counts, np.diff(self.sets.indptr))
        else:
            # Labels that are written differently may be equal: 1, 01 and +1.
            self.classes, codes = np.unique(labels.decode(), return_inverse=True)
            places = codes.astype(np.int32)
        self.class_counts = np.zeros(len(self.classes), np.int64)
        np.add.at(self.class_counts, places, counts)
        self._codes = dict(zip(labels.as_written(), codes.tolist(), strict=True))

    def _survey(self, see: Seen, *, are_sets: bool) -> Survey:
        survey = Survey(Labels(self.name, are_sets=are_sets))
        try:
            chunks = self._read(effective_n_jobs(self._n_jobs), Event(), see)
            with closing(chunks), survey.labels.first_error():
                for placed in chunks:
                    survey.add(placed)
        except MemoryError:
            raise self._memory_error() from None
        if survey.n_rows == 0:
            fail_without_examples(self.name, survey.n_lines)
        return survey

    def _blocks(self, n_jobs: int, stopped: Event) -> Generator[Block]:
        """Make a later pass, where any error in the text means that the file has changed."""
        try:
            with closing(self._read(n_jobs, stopped)) as chunks:
                yield from self._filled(chunks)
        except MemoryError:
            raise self._memory_error() from None
        except _ChangedError:
            raise
        except ValueError as error:
            raise self._changed(str(error)) from None

    def _filled(self, chunks: Iterable[Placed]) -> Generator[Block]:
        n_rows = n_nonzero = 0
        rows = CsrBuilder(self._parser.dtype)
        for placed in chunks:
            rows.append(placed.chunk, self._codes_of(placed), placed.share)
            is_full = placed.share == 1.0
            del placed  # free the chunk before the caller gets its block
            if is_full and len(rows):
                n_rows, n_nonzero = n_rows + len(rows), n_nonzero + rows.n_stored
                yield rows.finish(self.n_features)
                rows = CsrBuilder(self._parser.dtype)
        if (n_rows + len(rows), n_nonzero + rows.n_stored) != (self.n_rows, self.n_nonzero):
            raise self._changed("the number of rows or values")
        if len(rows):
            yield rows.finish(self.n_features)

    def _codes_of(self, placed: Placed) -> npt.NDArray[np.int32]:
        chunk = placed.chunk
        if chunk.max_index >= self.n_features:
            raise self._changed("an index beyond the largest")
        codes = [self._codes.get(label, -1) for label in chunk.labels]
        if -1 in codes:
            line = placed.n_lines + int(chunk.label_lines[codes.index(-1)])
            raise self._changed(f"a new label in line {line}")
        return np.array(codes, np.int32)[chunk.codes]

    def _read(self, n_jobs: int, stopped: Event, see: Seen | None = None) -> Generator[Placed]:
        """Parse the file, until `stopped`; a share of 1 ends a block."""
        with self._open() as file:
            self._check_stamp(file)
            parts = pieces(file, self._block_bytes, may_map=False)
            parts = parts if see is None else seen(parts, see)
            shared = _with_shares(parts, self._block_bytes, stopped)
            with (
                closing(parts),
                closing(read_chunks(self.name, shared, self._parser, n_jobs)) as chunks,
            ):
                yield from chunks
            self._check_stamp(file)

    def _open(self) -> IO[bytes]:
        mode = self._path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe might wait forever
            raise ValueError(
                f"{self.name}: a pipe or device can't be read twice; write it to a file first"
            )
        return self._path.open("rb")

    def _check_stamp(self, file: IO[bytes]) -> None:
        status = os.fstat(file.fileno())
        stamp = status.st_size, status.st_mtime_ns
        if self._stamp is None:
            self._stamp = stamp
        elif stamp != self._stamp:
            raise self._changed("its size or modification time")

    def _changed(self, reason: str) -> _ChangedError:
        return _ChangedError(
            f"{self.name}: the file has changed since reading it began ({reason}); "
            "make SvmlightBlocks of it again and leave it alone meanwhile"
        )

    def _memory_error(self) -> MemoryError:
        advice = "use float32 or a smaller block_bytes"
        return MemoryError(f"{self.name}: a block does not fit into the memory; {advice}")


class _ChangedError(ValueError):
    """The file has changed since the first pass."""


def _with_shares(parts: Iterable[Piece], block_bytes: int, stopped: Event) -> Generator[Piece]:
    """Set the share of each piece in its block; 1 ends a block."""
    n_bytes = 0
    for text, _ in parts:
        if stopped.is_set():
            return
        n_bytes += len(text)
        # The next piece would exceed the goal by more.
        is_last = n_bytes + len(text) / 2 >= block_bytes
        yield Piece(text, 1.0 if is_last else n_bytes / block_bytes)
        if is_last:
            n_bytes = 0


class Survey:
    """Counts of the first pass: rows, features, labels; only labels need memory."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.label_counts = np.zeros(0, np.int64)  # may be longer than the number of labels
        self.n_rows = self.n_nonzero = self.n_lines = self.largest_block = 0
        self.max_index = -1
        self._block = 0  # rows of the current block

    def add(self, placed: Placed) -> None:
        """Add the counts of a chunk."""
        chunk = placed.chunk
        codes = self.labels.merge(chunk.labels, placed.n_lines + chunk.label_lines)
        if len(self.labels) > len(self.label_counts):
            self.label_counts.resize(2 * len(self.labels), refcheck=False)
        self.label_counts[codes] += np.bincount(chunk.codes, minlength=len(codes))
        self.n_rows += len(chunk.codes)
        self.n_nonzero += len(chunk.indices)
        self.n_lines += chunk.n_lines
        self.max_index = max(self.max_index, chunk.max_index)
        self._block += len(chunk.codes)
        self.largest_block = max(self.largest_block, self._block)
        if placed.share == 1.0:
            self._block = 0


def prefetched(make: Callable[[Event], Generator[T]], thread_name: str) -> Generator[T]:
    """Yield the items of a generator, each computed in a thread while the previous is used."""
    stopped = Event()
    source = make(stopped)
    executor = ThreadPoolExecutor(1, thread_name_prefix=thread_name)
    try:
        future = executor.submit(next, source, None)
        while (item := future.result()) is not None:
            future = executor.submit(next, source, None)
            yield item
            del item
    finally:
        stopped.set()
        executor.shutdown(cancel_futures=True)
        source.close()
