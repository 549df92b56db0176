"""Data files read by ranks: each rank parses a part, and gets its own rows or all of X."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from manyclass.distributed.communicator import Communicator, as_communicator
from manyclass.distributed.consensus import abort_others, agreed, of_first
from manyclass.distributed.shared_arrays import SharedArrays
from manyclass.io.dataset_file import fingerprint, open_data
from manyclass.io.file_signatures import looks_like_data
from manyclass.io.stored_rows import MAX_SIZE, StoredRows, StoredSparseRows
from manyclass.io.svmlight import lack_of_memory, read_rows
from manyclass.io.svmlight_parser import Labels, LineError, Parser, fail_without_examples
from manyclass.io.svmlight_pieces import can_be_cut, pieces, pieces_of_part
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.types import Array, CsrArray, DType

CONVERTED, CUT, WHOLE = range(3)  # ways of reading a file


class _Part(NamedTuple):
    """Part of the data that a rank has read."""

    rows: CsrArray
    codes: NDArray[np.int32]  # codes of the labels, in order of occurrence in this part
    labels: Labels
    n_lines: int

    def counts(self) -> list[int]:
        """Rows, non-zeros, lines, columns."""
        return [len(self.codes), self.rows.nnz, self.n_lines, self.rows.shape[1]]


def load_shared(
    communicator: object,
    path: str | os.PathLike[str],
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    n_jobs: int | None = None,
    *,
    zero_based: bool = False,
    sort: bool = False,
    sum_duplicates: bool = False,
) -> tuple[CsrArray, Array]:
    r"""Load a data file on several ranks, with one copy of X for all ranks of a machine.

    Each rank parses a part of a text file. The rows are collected in an unnamed file in the
    temporary folder (TMPDIR) of each machine, which its ranks memory-map. Compressed files cannot
    be divided, so rank 0 reads them alone. Files of ``manyclass convert`` are memory-mapped
    directly.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        All ranks call this function with the same arguments.
    path, n_features, dtype, n_jobs, zero_based, sort, sum_duplicates
        See ``load_svmlight`` and ``load_data``.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n, d)
        Memory-mapped, read-only; the same on every rank.
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError, OSError, MemoryError
        As in ``load_svmlight`` and ``load_data``, on the first rank with an error.
    OtherRankError
        On the other ranks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass.distributed import load_shared
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data")
    ...     _ = path.write_text("cat 1:1\ndog 2:1\n")
    ...     X, y = load_shared(None, path)  # a single process
    >>> y
    array(['cat', 'dog'], dtype='<U3')
    """
    ranks, name = as_communicator(communicator), os.fspath(path)
    layout = {"zero_based": zero_based, "sort": sort, "sum_duplicates": sum_duplicates}
    with abort_others(ranks):
        kind, parser, threads = _how(ranks, name, n_features, dtype, n_jobs, layout)
        if kind == CONVERTED:
            rows = _mapped(ranks, name, n_features, dtype)
        else:
            rows = _put_together(ranks, name, parser, _read(ranks, name, parser, kind, threads))
        return rows.matrix(), rows.targets()


def load_partition(
    communicator: object,
    path: str | os.PathLike[str],
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    n_jobs: int | None = None,
    *,
    zero_based: bool = False,
    sort: bool = False,
    sum_duplicates: bool = False,
) -> tuple[CsrArray, Array, Array]:
    r"""Load a data file on several ranks, with a part of the rows on each rank.

    Each rank parses a part of a text file. Compressed files cannot be divided, so rank 0 gets all
    of their rows. For a file of ``manyclass convert``, each rank memory-maps an equal number of
    rows.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        All ranks call this function with the same arguments.
    path, n_features, dtype, n_jobs, zero_based, sort, sum_duplicates
        See ``load_svmlight`` and ``load_data``.

    Returns
    -------
    X : scipy.sparse.csr_array
        The rows of this rank; there may be none.
    y : ndarray
    classes : ndarray
        Classes of all ranks, ascending.

    Raises
    ------
    ValueError, OSError, MemoryError
        As in ``load_svmlight`` and ``load_data``, on the first rank with an error.
    OtherRankError
        On the other ranks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass.distributed import load_partition
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data")
    ...     _ = path.write_text("cat 1:1\ndog 2:1\n")
    ...     X, y, classes = load_partition(None, path)  # a single process
    >>> X.shape
    (2, 2)
    """
    ranks, name = as_communicator(communicator), os.fspath(path)
    layout = {"zero_based": zero_based, "sort": sort, "sum_duplicates": sum_duplicates}
    with abort_others(ranks):
        kind, parser, threads = _how(ranks, name, n_features, dtype, n_jobs, layout)
        if kind == CONVERTED:
            rows = _mapped(ranks, name, n_features, dtype)
            n = len(rows.labels)
            rows = rows.between(n * ranks.rank // ranks.size, n * (ranks.rank + 1) // ranks.size)
            return rows.matrix(), rows.targets(), rows.classes
        part = _read(ranks, name, parser, kind, threads)
        width, counts = _checked_sizes(ranks, name, parser, part)
        classes, labels = _common_labels(ranks, name, part, counts)
        X = part.rows.copy()
        X.resize((len(labels), width))
        return X, np.asarray(classes[labels]), classes


def _how(
    ranks: Communicator,
    name: str,
    n_features: int | None,
    dtype: DTypeLike,
    n_jobs: int | None,
    layout: Mapping[str, bool],
) -> tuple[int, Parser, int]:
    """Return the way of reading (such as CUT), the parser, and the number of threads."""

    def options() -> tuple[int, Parser, int]:
        parser = Parser(n_features, dtype, **layout)
        return _kind(name) if ranks.rank == 0 else WHOLE, parser, effective_n_jobs(n_jobs)

    seen, parser, threads = agreed(ranks, options)
    return of_first(ranks, seen), parser, threads


def _kind(path: str) -> int:
    if looks_like_data(path):
        return CONVERTED
    file = Path(path)
    if not file.exists() or file.is_file():  # opening a pipe may wait
        with file.open("rb") as opened:
            return CUT if can_be_cut(opened) else WHOLE
    return WHOLE


def _mapped(ranks: Communicator, name: str, n_features: int | None, dtype: DTypeLike) -> StoredRows:
    """Map a converted file, which one rank of each machine checks."""
    mark, status = agreed(ranks, lambda: (fingerprint(name), Path(name).stat()))
    marks = [one.tobytes() for one in ranks.all_gather(np.frombuffer(mark, np.uint8))]
    stamps = ranks.all_gather(np.array([status.st_dev, status.st_ino], np.uint64))
    seen = list(zip(ranks.first_on_machine(), [one.tobytes() for one in stamps], strict=True))
    trusted = seen[ranks.rank] in seen[: ranks.rank]

    def step() -> StoredRows:
        _check_same_file(name, marks)
        return open_data(name, trusted=trusted).wanted(name, n_features, dtype)

    return agreed(ranks, step)


def _check_same_file(name: str, seen: Sequence[object]) -> None:
    """Refuse ranks that see different files under one name."""
    other = next((rank for rank, one in enumerate(seen) if one != seen[0]), None)
    if other is not None:
        raise ValueError(
            f"{name}: is a different file on rank {other} than on rank 0; give every machine the "
            "same one"
        )


def _read(ranks: Communicator, name: str, parser: Parser, kind: int, n_jobs: int) -> _Part:
    """Read the part of this rank; errors name lines of the whole file."""

    def read() -> _Part | LineError:
        try:
            return _read_part(ranks, name, parser, kind, n_jobs)
        except LineError as error:  # its line depends on the number of lines of the previous ranks
            return error

    if kind == CUT:
        sizes = ranks.all_gather(agreed(ranks, lambda: np.array([Path(name).stat().st_size])))
        agreed(ranks, lambda: _check_same_file(name, np.concatenate(sizes).tolist()))
    part = agreed(ranks, read)
    failed = isinstance(part, LineError)
    n_lines = 0 if isinstance(part, LineError) else part.n_lines
    outcomes = ranks.all_gather(np.array([failed, n_lines], np.int64))
    first = next((rank for rank, (wrong, _) in enumerate(outcomes) if wrong), None)

    def check() -> None:
        if isinstance(part, LineError) and first == ranks.rank:
            raise part.behind(sum(int(n) for _, n in outcomes[:first]))

    agreed(ranks, check)
    return cast(_Part, part)


def _read_part(ranks: Communicator, name: str, parser: Parser, kind: int, n_jobs: int) -> _Part:
    labels = Labels(name)
    if kind == WHOLE and ranks.rank > 0:
        rows, n_lines = read_rows(labels, [], parser, 1)
    else:
        with lack_of_memory(name), Path(name).open("rb") as file:
            text = pieces(file)
            if kind == CUT:
                text = pieces_of_part(file, ranks.rank, ranks.size)
            rows, n_lines = read_rows(labels, text, parser, n_jobs)
    X, codes = rows.finish(parser.n_features)
    return _Part(X, codes, labels, n_lines)


def _checked_sizes(
    ranks: Communicator, name: str, parser: Parser, part: _Part
) -> tuple[int, NDArray[np.int64]]:
    """Return the number of features, and the counts of every part; refuse invalid sizes."""
    counts = np.array(ranks.all_gather(np.array(part.counts(), np.int64)))
    n_rows, _, n_lines, _ = counts.sum(axis=0).tolist()
    n_features = parser.n_features or int(counts[:, 3].max())

    def check() -> None:
        if not n_rows:
            fail_without_examples(name, n_lines)
        if max(n_rows, n_features) >= MAX_SIZE:
            raise ValueError(
                f"{name}: {n_rows} rows, {n_features} features: must be less than 2^31 - 1"
            )

    agreed(ranks, check)
    return n_features, counts


def _put_together(ranks: Communicator, name: str, parser: Parser, part: _Part) -> StoredSparseRows:
    """Write the parts of all ranks to a file on each machine, and map it."""
    n_features, counts = _checked_sizes(ranks, name, parser, part)
    n_rows, n_nonzero, _, _ = counts.sum(axis=0).tolist()
    classes, labels = _common_labels(ranks, name, part, counts)
    int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
    lengths: dict[str, tuple[int, DType]] = {
        "indptr": (n_rows + 1, int64),
        "indices": (n_nonzero, int32),
        "values": (n_nonzero, parser.dtype),
        "labels": (n_rows, int32),
    }
    first_row, first_entry = (_begins(counts[:, column]) for column in (0, 1))
    indptr = first_entry[ranks.rank] + part.rows.indptr[1:].astype(np.int64)
    with SharedArrays(ranks, lengths) as file:
        file.put("indptr", [1 + row for row in first_row], indptr)
        file.put("indices", first_entry, part.rows.indices)
        file.put("values", first_entry, part.rows.data)
        file.put("labels", first_row, labels)
        return StoredSparseRows(**file.map(), n_features=n_features, classes=classes)


def _begins(lengths: NDArray[np.int64]) -> list[int]:
    return [0, *accumulate(lengths[:-1].tolist())]


def _common_labels(
    ranks: Communicator, name: str, part: _Part, counts: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int32]]:
    """Return the classes of all ranks, ascending, and the class indices of this rank's labels."""
    mine = part.labels
    texts = ranks.all_gather(np.frombuffer(b"\n".join(mine.as_written()), np.uint8))
    lines = ranks.all_gather(mine.lines + counts[: ranks.rank, 2].sum())
    everything = Labels(name)

    def merge() -> list[NDArray[np.int32]]:
        written = [text.tobytes().split(b"\n") if len(text) else [] for text in texts]
        return [everything.merge(*one) for one in zip(written, lines, strict=True)]

    codes = agreed(ranks, merge)[ranks.rank]
    # Labels that are written differently may be equal: 1, 01 and +1.
    classes, places = np.unique(agreed(ranks, everything.decode), return_inverse=True)
    return classes, places.astype(np.int32)[codes[part.codes]] if len(codes) else codes
