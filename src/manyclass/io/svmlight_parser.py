"""Parse text in svmlight format by pieces, in threads, and number its labels."""

from __future__ import annotations

import operator
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from manyclass import _core
from manyclass.io.stored_rows import StoredLabelSets, canonical_label_sets
from manyclass.io.svmlight_pieces import CorruptInputError, Piece
from manyclass.utils.labels import LabelError, labels_of_text, number_of
from manyclass.utils.types import Array, Settings

THREAD_NAME = "svmlight"
R = TypeVar("R")


class Chunk(NamedTuple):
    """Parsed rows of a piece."""

    indices: Array
    values: Array
    row_ends: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]
    labels: list[bytes]
    label_lines: npt.NDArray[np.int64]
    n_lines: int
    max_index: int


class Placed(NamedTuple):
    """A chunk, the number of lines before it, and the `share` of its piece."""

    chunk: Chunk
    n_lines: int
    share: float


class LineError(ValueError):
    """Malformed line of a file."""

    def __init__(self, name: str, line: int, words: str) -> None:
        super().__init__(name, line, words)

    def __str__(self) -> str:
        return "{}:{}: {}".format(*self.args)

    def behind(self, n_lines: int) -> LineError:
        """Return the same error with its line number increased."""
        name, line, words = self.args
        return LineError(name, line + n_lines, words)


class Parser:
    """The compiled parser with its options, checked."""

    def __init__(
        self,
        n_features: int | None,
        dtype: npt.DTypeLike,
        *,
        zero_based: bool,
        sort: bool,
        sum_duplicates: bool,
        label_sets: bool = False,
    ) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64 (found {self.dtype})")
        # 0: the largest index plus 1
        self.n_features = 0 if n_features is None else operator.index(n_features)
        if n_features is not None and not 1 <= self.n_features < 2**63:
            raise ValueError(f"n_features must be from 1 to 2**63 - 1 (found {n_features})")
        self._options: Settings = {
            "float64": self.dtype == np.float64,
            "n_features": self.n_features,
            "zero_based": bool(zero_based),
            "sort": bool(sort),
            "sum_duplicates": bool(sum_duplicates),
            "label_sets": label_sets,
        }

    def __call__(self, piece: Piece) -> Chunk:
        """Parse a piece; ValueError(line, problem, found, advice) if it is malformed."""
        return Chunk(*_core.parse_svmlight(piece.text, **self._options))


def read_chunks(
    name: str, parts: Iterable[Piece], parse: Callable[[Piece], Chunk], n_jobs: int
) -> Generator[Placed]:
    """Yield the parsed pieces of the file `name`, in order; a ValueError names the line."""
    n_lines = 0
    try:
        with closing(_in_order(partial(_as_far_as_good, parse), parts, n_jobs)) as chunks:
            for (chunk, error), share in chunks:
                yield Placed(chunk, n_lines, share)
                n_lines += chunk.n_lines
                if error is not None:
                    raise error
    except CorruptInputError as error:
        fail(name, n_lines + 1, str(error), None, error.advice)
    except ValueError as error:
        if len(error.args) != 4:  # not an error of the core
            raise
        _, problem, found, advice = error.args
        fail(name, n_lines + 1, problem, found, advice)


def fail(name: str, line: int, problem: str, found: bytes | str | None, advice: str) -> NoReturn:
    """Raise the error of a line."""
    shown = "" if found is None else f" (found {_abbreviated(found)})"
    raise LineError(name, line, f"{problem}{shown}; {advice}") from None


def fail_without_examples(name: str, n_lines: int) -> NoReturn:
    """Raise the error of a file without rows."""
    fail(name, max(n_lines, 1), "no examples", None, "is this the right file?")


def _abbreviated(found: bytes | str) -> str:
    text = found if isinstance(found, str) else found.decode(errors="backslashreplace")
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"


def _as_far_as_good(
    parse: Callable[[Piece], Chunk], piece: Piece
) -> tuple[Chunk, ValueError | None]:
    """Parse the lines before the first malformed one, whose labels may be bad; and its error."""
    try:
        return parse(piece), None
    except ValueError as error:
        if len(error.args) != 4:  # not an error of the core
            raise
        lines = bytes(piece.text).split(b"\n", error.args[0] - 1)[:-1]
        before = b"".join(line + b"\n" for line in lines)
        return parse(Piece(before, piece.share)), error


def _in_order(
    parse: Callable[[Piece], R], parts: Iterable[Piece], n_jobs: int
) -> Generator[tuple[R, float]]:
    """Parse the pieces and yield the results in order; few are in memory at a time."""
    if n_jobs == 1:
        for piece in parts:
            yield parse(piece), piece.share
        return
    under_way: deque[tuple[Future[R], float]] = deque()
    executor = ThreadPoolExecutor(n_jobs, thread_name_prefix=THREAD_NAME)
    try:
        damage = None
        try:
            for piece in parts:
                under_way.append((executor.submit(parse, piece), piece.share))
                if len(under_way) > 2 * n_jobs:
                    future, share = under_way.popleft()
                    yield future.result(), share
                    del future
        except CorruptInputError as error:  # after the previous lines, which may have errors
            damage = error
        while under_way:
            future, share = under_way.popleft()
            yield future.result(), share
        if damage is not None:
            raise damage
    finally:
        executor.shutdown(cancel_futures=True)


class Labels:
    """Distinct labels of the file `name`, with the first line of each."""

    def __init__(self, name: str, *, are_sets: bool = False) -> None:
        self._are_sets = are_sets
        self._codes: dict[bytes, int] = {}
        self._words: dict[bytes, int] = {}  # labels in the sets
        self._entries: list[int] = []  # codes of the labels of all sets
        self._ends = [0]  # end of each set in them
        self._n_words = 0  # number of labels that are checked
        self._lines: list[int] = []
        self.name = name

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def lines(self) -> npt.NDArray[np.int64]:
        """First line of each label, by code."""
        return np.array(self._lines, np.int64)

    def merge(self, labels: list[bytes], lines: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the codes of distinct labels, from 0 in the order of appearance."""
        known, n_known = self._codes, len(self._codes)
        codes = np.array([known.setdefault(label, len(known)) for label in labels], np.int32)
        for i in np.flatnonzero(codes >= n_known).tolist():
            label, line = labels[i], int(lines[i])
            if self._are_sets:
                self._add_set(label, line)
            elif not label.isdigit():
                self._check(label, line)
            self._lines.append(line)
        return codes

    def as_written(self) -> list[bytes]:
        """Return the labels, by their codes."""
        return list(self._codes)

    def decode(self) -> Array:
        """Return the labels by their codes, with a dtype that fits all labels."""
        n_known = self._n_words if self._are_sets else len(self._lines)
        known = list(islice(self._words if self._are_sets else self._codes, n_known))
        try:
            return labels_of_text([label.decode() for label in known])
        except LabelError as error:
            line = self._line_of(known[error.position or 0])
            raise LineError(self.name, line, f"the label {error.words}") from None

    def decode_sets(self) -> tuple[StoredLabelSets, Array]:
        """Return the label sets by their codes, and the classes, ascending."""
        # Labels that are written differently may be equal: 1, +1 and 1.0.
        classes, inverse = np.unique(self.decode(), return_inverse=True)
        places = inverse.astype(np.int32)[np.array(self._entries, np.int32)]
        return canonical_label_sets(np.array(self._ends, np.int64), places, len(classes)), classes

    @contextmanager
    def first_error(self) -> Iterator[None]:
        """Raise the error of a label if its line precedes the line of an error."""
        try:
            yield
        except LineError:
            self.decode()  # label error in the lines so far
            raise

    def _line_of(self, label: bytes) -> int:
        """Return the first line with a label."""
        return next(
            line
            for written, line in zip(self._codes, self._lines, strict=False)
            if label in (written.split(b",") if self._are_sets else (written,))
        )

    def _add_set(self, label: bytes, line: int) -> None:
        """Add the labels of a set."""
        words, known = label.split(b",") if label else [], self._words
        if not all(words):
            self._fail(line, "one of several labels is empty", label, "write 3,7,12 without blanks")
        self._entries += [known.setdefault(word, len(known)) for word in words]
        self._ends.append(len(self._entries))
        for word in islice(known, self._n_words, None):
            self._check(word, line)
        self._n_words = len(known)

    def _check(self, label: bytes, line: int) -> None:
        """Refuse a label that is not UTF-8, or that holds several numbers."""
        try:
            text = label.decode()
        except UnicodeDecodeError:
            self._fail(line, "the label is not UTF-8", label, "convert the file to UTF-8")
        self._refuse_several(label, text, line)

    def _refuse_several(self, label: bytes, text: str, line: int) -> None:
        """Refuse several numbers: separated by commas in a label, by other characters in a set."""
        parts = re.split("[;|]" if self._are_sets else ",", text)
        if len(parts) == 1 or None in map(number_of, parts):
            return
        if self._are_sets:
            problem = "labels are not separated by commas"
            advice = "write 3,7,12 without blanks"
        else:
            problem = "several labels in one row"
            advice = (
                "load_svmlight(multilabel=True) and train, cv or convert --multilabel read sets"
            )
        self._fail(line, problem, label, advice)

    def _fail(self, line: int, problem: str, label: bytes, advice: str) -> NoReturn:
        fail(self.name, line, problem, label, advice)
