"""Parts of the rows on the executors of Spark.

A task writes each partition once to a file on its executor, and later tasks memory-map the file.
Spark caches the name of the file. If an executor is lost, the cached names are lost, too, so that
Spark reads its partitions again. Dual variables are in files in the same folder (spark_state.py). W
is broadcast; sums are added in groups of parts, in their order.
"""

from __future__ import annotations

import contextlib
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import ArrayLike
from py4j.protocol import Py4JJavaError
from pyspark import SparkFiles, StorageLevel, TaskContext
from pyspark.errors import PySparkException

from manyclass.distributed.clusters.mapped import dump, load
from manyclass.distributed.clusters.part import Answers, ArraySpec, Part, added, called
from manyclass.distributed.clusters.spark_state import CACHED, answer_of, states
from manyclass.utils.types import Array, Rows

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast
    from pyspark.sql import DataFrame, Row

MOST_LOSSES = 5  # lost files, during one call
ADDED_AT_ONCE = 8  # number of parts up to which sums go directly to the driver
Sums: TypeAlias = tuple[int, list[Array]]  # sums of a part or of a group, by its number
PARTS: dict[str, Part] = {}  # parts in this process of an executor, by file


class SparkParts:
    """Parts on executors; rows have columns X (numbers, or fields of a vector), y and perhaps w."""

    asks_slowly = True

    def __init__(self, rows: DataFrame) -> None:
        self.rows, self.session = rows, rows.sparkSession
        self.name = f"manyclass-{uuid.uuid4().hex}"  # of the files
        self.n_parts = 0
        self.files: RDD | None = None
        self.sent: list[Broadcast] = []

    def load(self) -> None:
        """Write each partition to a file on its executor, unless it exists."""
        if self.files is not None:
            self.files.unpersist()
        name = self.name

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return written(batches, name)

        files = self.rows.mapInArrow(write, "number int, file string").rdd
        self.files = files.persist(StorageLevel.MEMORY_AND_DISK)
        self.n_parts = self.files.count()
        if not self.n_parts:
            raise ValueError("the DataFrame has no rows")

    def call(self, method: str, *arguments: object) -> Answers:
        """Call a method of every part."""

        def ask(files: Iterator[Row]) -> Iterator[tuple[int, object]]:
            return ((row.number, called(opened(row), method, *arguments)) for row in files)

        found = self._collected(lambda files: files.mapPartitions(ask))
        return [result for _, result in sorted(found, key=_first)]

    def send(self, value: object) -> object:
        """Broadcast a value."""
        self.sent.append(self.session.sparkContext.broadcast(value))
        return self.sent[-1]

    def drop(self, sent: Broadcast) -> None:
        """Remove a broadcast value from the executors."""
        self.sent = [one for one in self.sent if one is not sent]
        sent.destroy()

    def total(
        self, question: str, plan: object, like: Sequence[ArraySpec], given: Sequence[object]
    ) -> list[Array]:
        """Add the sums of neighboring parts on executors, if there are many, then here."""
        told: list[Any] = [plan, *given]
        there = [any(one is sent for sent in self.sent) for one in told]

        def ask(files: Iterator[Row]) -> Iterator[Sums]:
            of_all, *rest = (one.value if b else one for one, b in zip(told, there, strict=True))
            for row in files:
                yield row.number, answer_of(opened(row), row.file, question, like, of_all, *rest)

        def summed(files: RDD) -> RDD:
            sums = files.mapPartitions(ask)
            if self.n_parts <= ADDED_AT_ONCE:
                return sums
            size = math.isqrt(self.n_parts)
            return sums.map(lambda one: (one[0] // size, one)).groupByKey(size).mapValues(in_order)

        total: list[Array] = in_order(self._collected(summed))
        return total

    def _collected(self, make: Callable[[RDD], RDD]) -> Answers:
        """Return the results of the parts; read parts again if their files are lost."""
        for left in reversed(range(MOST_LOSSES)):
            try:
                return list(make(self.files).collect())
            except (PySparkException, Py4JJavaError) as error:
                if not left or "FileNotFoundError" not in str(error):
                    raise
            self.load()
        raise AssertionError  # the last one returns or raises

    def close(self) -> None:
        """Remove files and broadcast values."""
        with contextlib.suppress(Exception):  # the context may have ended
            if self.files is not None:
                self.files.foreach(removed)
                self.files.unpersist()
            for sent in self.sent:
                sent.destroy()
        self.files, self.sent = None, []


def written(batches: Iterator[pa.RecordBatch], name: str) -> Iterator[pa.RecordBatch]:
    """Load the part of a task, and write it to a file on the executor, unless it exists."""
    context = TaskContext.get()
    assert context is not None
    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return
    number = context.partitionId()
    file = Path(SparkFiles.getRootDirectory(), f"{name}-{number}")
    if not file.exists():
        whole = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
        with whole.open("wb") as opened_file:
            dump(Part(number, filled, read=rows_of), opened_file)
        whole.replace(file)
    yield pa.RecordBatch.from_pydict(
        {"number": pa.array([number], pa.int32()), "file": [str(file)]}
    )


def opened(row: Row) -> Part:
    """Return the memory-mapped part of a file."""
    if row.file not in PARTS:
        for old in [file for file in PARTS if not Path(file).exists()]:
            del PARTS[old]
        with Path(row.file).open("rb") as file:
            PARTS[row.file] = load(file)
    return PARTS[row.file]


def removed(row: Row) -> None:
    """Remove the files of a part."""
    PARTS.pop(row.file, None)
    CACHED.release()
    for file in (Path(row.file), *states(Path(row.file))):
        file.unlink(missing_ok=True)


def rows_of(batches: list[pa.RecordBatch]) -> tuple[ArrayLike, ...]:
    """Return X, y and perhaps weights of the batches of a partition."""
    table = pa.Table.from_batches(batches)
    columns = [table[name].combine_chunks() for name in table.column_names]
    X = matrix_of(columns[0])
    return X, *(column.to_numpy(zero_copy_only=False) for column in columns[1:])


def matrix_of(column: pa.Array) -> Rows:
    """Return a column of arrays, or of fields of vectors, as a matrix."""
    if column.null_count:
        raise ValueError("the column of features holds null")
    if hasattr(column.type, "fields") and column.type.num_fields == 4:
        return _matrix_of_vectors(column)
    lengths = np.diff(column.offsets.to_numpy())
    if len(lengths) and lengths.min() != lengths.max():
        raise ValueError(
            f"vectors have {lengths.min()} to {lengths.max()} elements; give all rows one length"
        )
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(lengths), -1)


def _matrix_of_vectors(column: pa.Array) -> Rows:
    """Return vectors of pyspark.ml, dense (type 1) or sparse, as a matrix."""
    kinds, sizes, indices, values = column.flatten()
    is_dense = kinds.to_numpy(zero_copy_only=False) == 1
    counts = values.value_lengths().to_numpy(zero_copy_only=False)
    lengths = np.where(is_dense, counts, sizes.fill_null(0).to_numpy(zero_copy_only=False))
    if lengths.min() != lengths.max():
        raise ValueError(
            f"vectors have {lengths.min()} to {lengths.max()} elements; give all rows one length"
        )
    numbers = values.flatten().to_numpy(zero_copy_only=False)
    if is_dense.all():
        return np.asarray(numbers).reshape(len(counts), -1)
    own = indices.flatten().to_numpy(zero_copy_only=False)
    columns = np.empty(len(numbers), np.int32)
    of_dense = np.repeat(is_dense, counts)
    columns[~of_dense] = own
    columns[of_dense] = np.tile(np.arange(lengths[0]), int(is_dense.sum()))
    ends = np.concatenate([[0], np.cumsum(counts)])
    return sp.csr_array((numbers, columns, ends), shape=(len(counts), int(lengths[0])))


def in_order(sums: Iterable[Sums]) -> list[Array]:
    """Add sums in the order of their numbers."""
    first, *rest = [arrays for _, arrays in sorted(sums, key=_first)]
    for arrays in rest:
        first = added(first, arrays)
    return first


def _first(pair: tuple[int, object]) -> int:
    return pair[0]
