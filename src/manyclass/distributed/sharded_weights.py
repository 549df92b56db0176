"""W with classes partitioned over ranks: gathered on all ranks, or sent to one in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.distributed.communicator import Communicator, exchange_lists
from manyclass.problem.solution import Weights
from manyclass.utils.types import Array, CsrArray, DType

# Elements of W per message, and elements searched for non-zeros at a time.
MESSAGE_ELEMENTS = 1 << 20
LOOK = 1 << 24


class Block(NamedTuple):
    """W of some classes, on one rank."""

    root: int
    classes: Array
    weights: Weights | None  # shape (d + 1, number of classes); None on the other ranks


def weight_blocks(classes: list[slice], rank: int, weights: Weights | None) -> list[Block]:
    """Return a block for each rank with classes, given W of the classes of this rank."""
    return [
        Block(root, np.arange(some.start, some.stop), weights if root == rank else None)
        for root, some in enumerate(classes)
        if some.stop > some.start
    ]


class SparseWeightRows(NamedTuple):
    """Rows of W: number of non-zeros per row, their classes (ascending per row) and values."""

    counts: NDArray[np.int64]
    classes: NDArray[np.int32]
    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class ShardedWeights:
    """W, shape (n_rows, k). Every rank calls the same methods in the same order."""

    communicator: Communicator
    blocks: list[Block]  # with every class once; the same on all ranks, but for the weights
    n_rows: int
    dtype: DType
    sparse: bool  # whether W is to be sparse; the blocks may be either

    @property
    def n_classes(self) -> int:
        """Number of columns of W."""
        return sum(len(block.classes) for block in self.blocks)

    def gather(self) -> Weights:
        """Return W on every rank: an ndarray or, with ``sparse``, a CSR array."""
        shape = self.n_rows, self.n_classes
        if not self.sparse:
            W = np.empty(shape, self.dtype)
            begin = 0
            for rows in self.dense_parts():
                W[begin : begin + len(rows)] = rows
                begin += len(rows)
            return W
        counts = self.row_counts()
        indptr = np.concatenate([[0], np.cumsum(counts)])
        classes, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], self.dtype)
        begin = 0
        for part in self.sparse_parts(counts):
            end = begin + len(part.classes)
            classes[begin:end], values[begin:end] = part.classes, part.values
            begin = end
        return sp.csr_array((values, classes, indptr), shape=shape)

    def dense_parts(self, to: int | None = None) -> Iterator[Array]:
        """Yield W in runs of rows, on one rank or, if `to` is None, on all ranks.

        The other ranks must iterate, too, and get nothing.
        """
        step = max(1, MESSAGE_ELEMENTS // self.n_classes)
        order = [self._classes_of(rank) for rank in range(self.communicator.size)]
        for begin in range(0, self.n_rows, step):
            n_rows = min(step, self.n_rows - begin)
            mine = [_dense(W[begin : begin + n_rows]) for W in self._held()]
            columns = [np.empty(0, self.dtype), *(W.T.reshape(-1) for W in mine)]
            received = self._gathered([np.concatenate(columns)], to)
            rows = np.empty((n_rows if received else 0, self.n_classes), self.dtype)
            for classes, (values,) in zip(order, received, strict=bool(received)):
                rows[:, classes] = values.reshape(-1, n_rows).T
            yield rows

    def row_counts(self) -> NDArray[np.int64]:
        """Return the number of non-zero entries of every row."""
        counts = np.zeros(self.n_rows, np.int64)
        for W in self._held():
            for begin, end in self._steps():
                rows, _, _ = _entries(W[begin:end])
                counts[begin:end] += np.bincount(rows, minlength=end - begin)
        return self.communicator.all_sum(counts)

    def sparse_parts(
        self, counts: NDArray[np.int64], to: int | None = None
    ) -> Iterator[SparseWeightRows]:
        """Yield W in runs of sparse rows, like ``dense_parts``, given ``row_counts``."""
        for begin, end in self._runs(counts):
            found = []
            for block in self.blocks:
                if block.weights is not None:
                    rows, columns, values = _entries(block.weights[begin:end])
                    found.append((rows, block.classes[columns].astype(np.int32), values))
            kinds = np.dtype(np.int32), np.dtype(np.int32), self.dtype
            received = self._gathered(_joined(found, kinds), to)
            rows, classes, values = _joined(received, kinds)
            order = np.lexsort((classes, rows))
            some = counts[begin:end] if received else counts[:0]
            yield SparseWeightRows(some, classes[order], values[order])

    def _held(self) -> list[Weights]:
        return [block.weights for block in self.blocks if block.weights is not None]

    def _classes_of(self, rank: int) -> Array:
        some = [block.classes for block in self.blocks if block.root == rank]
        return np.concatenate(some) if some else np.empty(0, np.int64)

    def _steps(self) -> Iterator[tuple[int, int]]:
        step = max(1, LOOK // self.n_classes)
        for begin in range(0, self.n_rows, step):
            yield begin, min(begin + step, self.n_rows)

    def _runs(self, counts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Divide the rows into runs of at most ``MESSAGE_ELEMENTS`` entries, or of one row."""
        ends = np.cumsum(counts)
        for first, last in self._steps():
            begin = first
            while begin < last:
                before = ends[begin - 1] if begin else 0
                end = int(np.searchsorted(ends, before + MESSAGE_ELEMENTS, side="right"))
                end = min(last, max(begin + 1, end))
                yield begin, end
                begin = end

    def _gathered(self, mine: list[Array], to: int | None) -> list[list[Array]]:
        """Return the arrays of every rank, of equal length; none except on rank `to`, if given."""
        ranks = self.communicator
        if to is None:
            received = [ranks.all_gather(array) for array in mine]
            return [list(arrays) for arrays in zip(*received, strict=True)]
        kinds = [array.dtype for array in mine]
        if ranks.rank != to:
            exchange_lists(ranks, mine, to, kinds, None)
            return []
        return [
            mine if rank == to else exchange_lists(ranks, [], None, kinds, rank)
            for rank in range(ranks.size)
        ]


def _dense(some: Weights) -> Array:
    return some if isinstance(some, np.ndarray) else some.toarray()


def _entries(some: Weights) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
    """Return rows, columns and values of the non-zero entries."""
    if isinstance(some, np.ndarray):
        rows, columns = np.nonzero(some)
        values = some[rows, columns]
    else:
        entries = some.tocoo()
        there = entries.data != 0
        rows, columns, values = entries.row[there], entries.col[there], entries.data[there]
    return rows.astype(np.int32), columns.astype(np.int32), values


def _joined(lists: Sequence[Sequence[Array]], kinds: tuple[DType, ...]) -> list[Array]:
    return [
        np.concatenate([np.empty(0, kind), *(arrays[at] for arrays in lists)])
        for at, kind in enumerate(kinds)
    ]


Part: TypeAlias = "ShardedWeights | CsrArray"


class ShardedColumns:
    """Storage of W of one-vs-rest on ranks, by chunks of classes: sharded, or gathered as CSR."""

    def held(self, weights: Weights) -> Part:
        """Return the W of a finished chunk in the form that is kept."""
        return weights if isinstance(weights, ShardedWeights) else sp.csr_array(weights)

    def n_entries(self, part: Part) -> int:
        """Return the number of non-zero entries of W on all ranks."""
        return int(part.row_counts().sum() if isinstance(part, ShardedWeights) else part.nnz)

    def nbytes(self, part: Part) -> int:
        """Return the bytes of a gathered chunk."""
        if isinstance(part, ShardedWeights):
            return 0
        return int(part.nnz * (part.dtype.itemsize + 4))

    def zeros(self, parts: list[Part], W: CsrArray) -> Part:
        """Return W = 0 for the classes that are not trained yet; on the first rank, if sharded."""
        first = parts[0]
        if not isinstance(first, ShardedWeights):
            return W
        block = Block(0, np.arange(W.shape[1]), W if first.communicator.rank == 0 else None)
        return replace(first, blocks=[block])

    def joined(self, parts: list[Part]) -> Weights:
        """Join the classes of all chunks, without communication."""
        if not isinstance(parts[0], ShardedWeights):
            return sp.csr_array(sp.hstack(parts, format="csr"))
        first, blocks = 0, []
        for part in parts:
            blocks += [block._replace(classes=block.classes + first) for block in part.blocks]
            first += part.n_classes
        return replace(parts[0], blocks=blocks)

    def gathered(self, part: Part) -> CsrArray:
        """Return a chunk as a CSR array, on every rank."""
        return sp.csr_array(part.gather()) if isinstance(part, ShardedWeights) else part
