"""Data files read by ranks: each reads a part, and has that share or maps a copy of all of X."""

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

CONVERTED, CUT, WHOLE = range(3)  # how a file is read


class _Part(NamedTuple):
    """Part of the data that a rank has read."""

    rows: CsrArray
    codes: NDArray[np.int32]  # of the rows' labels, by their order in this part
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

    Of a text file, each rank parses its part; the rows are collected in a file without a name
    in the folder for temporary files (TMPDIR) of each machine, which its ranks map. Compressed
    files cannot be cut: rank 0 reads them alone. A file of ``manyclass convert`` is mapped as it
    is.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        All its ranks call this function with the same arguments.
    path, n_features, dtype, n_jobs, zero_based, sort, sum_duplicates
        As for ``load_svmlight`` and ``load_data``.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n, d)
        Mapped, read-only; the same on every rank.
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError, OSError, MemoryError
        As ``load_svmlight`` and ``load_data``, on the first rank with an error.
    OtherRankError
        On the others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass.distributed import load_shared
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data")
    ...     _ = path.write_text("cat 1:1\ndog 2:1\n")
    ...     X, y = load_shared(None, path)  # one process alone
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
    r"""Load rows of a data file on several ranks, a share of them on each.

    Of a text file, each rank parses its part. Compressed files cannot be cut: rank 0 has all of
    their rows. Of a file of ``manyclass convert``, each rank maps as many rows.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        All its ranks call this function with the same arguments.
    path, n_features, dtype, n_jobs, zero_based, sort, sum_duplicates
        As for ``load_svmlight`` and ``load_data``.

    Returns
    -------
    X : scipy.sparse.csr_array
        The rows of this rank; there may be none.
    y : ndarray
    classes : ndarray
        Of all ranks, ascending.

    Raises
    ------
    ValueError, OSError, MemoryError
        As ``load_svmlight`` and ``load_data``, on the first rank with an error.
    OtherRankError
        On the others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass.distributed import load_partition
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data")
    ...     _ = path.write_text("cat 1:1\ndog 2:1\n")
    ...     X, y, classes = load_partition(None, path)  # one process alone
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
    """Return how a file is read, by what and by how many threads."""

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
    """Map a converted file, which one rank of each machine looks through."""
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
            f"{name}: is another file for rank {other} than for rank 0; give every machine the "
            "same one"
        )


def _read(ranks: Communicator, name: str, parser: Parser, kind: int, n_jobs: int) -> _Part:
    """Read the part of this rank, with the errors of the whole file."""

    def read() -> _Part | LineError:
        try:
            return _read_part(ranks, name, parser, kind, n_jobs)
        except LineError as error:  # its line depends on the lines of the ranks before
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
    """Return the number of features, and the counts of every part; refuse odd sizes."""
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
    """Put the parts of all ranks into a file for each machine, and map it."""
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
    """Return the classes of all ranks, ascending, and the places of this rank's labels in them."""
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
