"""Read files in svmlight / LIBSVM format.

The file is cut into chunks of whole lines, the compiled core parses each of them by itself, on
several threads if asked to, and what comes out is appended, in order, to the arrays of the result.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from manyclass.io.svmlight.chunks import Piece, pieces
from manyclass.io.svmlight.csr_builder import Rows
from manyclass.io.svmlight.labels import Labels
from manyclass.io.svmlight.parser import Parser, fail_without_examples, read_chunks
from manyclass.utils.threads import effective_n_jobs
from manyclass.utils.types import Array, CsrArray

__all__ = ["load_svmlight"]


def load_svmlight(
    path: str | os.PathLike[str],
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
    n_jobs: int | None = None,
    *,
    zero_based: bool = False,
    sort: bool = False,
    sum_duplicates: bool = False,
) -> tuple[CsrArray, Array]:
    r"""Load a file in svmlight / LIBSVM format, plain or compressed.

    A line holds an example: ``LABEL INDEX:VALUE INDEX:VALUE ...``, in UTF-8. Behind a ``#`` comes
    a comment; blank lines and ``qid:N`` are skipped. Files that gzip, bzip2 or xz compressed are
    recognised by their content, whatever they are called.

    Parameters
    ----------
    path : str or os.PathLike
        The file. It must not be cut short while it is being read.
    n_features : int, default=None
        Number of columns of `X`; None: as many as the largest index asks for. Give the training
        data's number when loading test data.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the values of `X`.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 one per core.
    zero_based : bool, default=False
        Whether the file's indices count from 0 instead of 1.
    sort : bool, default=False
        Whether to sort a row whose indices are not ascending; else it is an error.
    sum_duplicates : bool, default=False
        Whether to add up the values that a row gives for the same index; else it is an error.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n_samples, n_features)
        The examples, in the canonical format: indices strictly ascending in each row. Zeros that
        the file spells out are kept. Indices are int32 if the number of columns and the number
        of stored values allow it, else int64.
    y : ndarray of shape (n_samples,)
        The labels: int64 if all are written as integers, float64 if all are numbers, else text.

    Raises
    ------
    ValueError
        If the file is malformed; the message says where, as in ``FILE:LINE: what; what to do``.
        Also if an argument is out of range.
    OSError
        If the file can't be read: FileNotFoundError, IsADirectoryError, PermissionError.
    MemoryError
        If the data don't fit into the machine's memory; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyclass import load_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.txt"
    ...     _ = path.write_text("cat 1:0.5 3:2  # furry\ndog 2:1\n")
    ...     X, y = load_svmlight(path)
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]], dtype=float32)
    >>> y
    array(['cat', 'dog'], dtype='<U3')
    """
    parser = Parser(
        n_features, dtype, zero_based=zero_based, sort=sort, sum_duplicates=sum_duplicates
    )
    with lack_of_memory(os.fspath(path)):
        return _load(path, parser, effective_n_jobs(n_jobs))


@contextmanager
def lack_of_memory(name: str) -> Iterator[None]:
    """Let a lack of memory name the file that is read."""
    try:
        yield
    except MemoryError:
        raise MemoryError(
            f"{name}: the data do not fit into the memory; use float32 or fewer rows"
        ) from None


def _load(path: str | os.PathLike[str], parser: Parser, n_jobs: int) -> tuple[CsrArray, Array]:
    name = os.fspath(path)
    with Path(path).open("rb") as file:
        rows, labels, n_lines = read_rows(name, pieces(file), parser, n_jobs)
    if not len(rows):
        fail_without_examples(name, n_lines)
    X, codes = rows.finish(parser.n_features)
    return X, labels.decode()[codes]


def read_rows(
    name: str, parts: Iterable[Piece], parser: Parser, n_jobs: int
) -> tuple[Rows, Labels, int]:
    """Put the rows of a file together.

    Parameters
    ----------
    name : str
        The file, for errors.
    parts : iterable of Piece
        Its text.
    parser : Parser
    n_jobs : int
        Number of threads.

    Returns
    -------
    rows : Rows
        With the codes of their labels, by the order of appearance.
    labels : Labels
    n_lines : int
        How many lines there were.

    Raises
    ------
    LineError
        If a line is malformed.
    """
    rows, labels, n_lines = Rows(parser.dtype), Labels(name), 0
    with closing(read_chunks(name, parts, parser, n_jobs)) as chunks:
        for placed in chunks:
            chunk = placed.chunk
            codes = labels.merge(chunk.labels, placed.n_lines + chunk.label_lines)
            rows.append(chunk, codes[chunk.codes], placed.share)
            n_lines = placed.n_lines + chunk.n_lines
    return rows, labels, n_lines
