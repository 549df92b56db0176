"""Models with weights partitioned over ranks: training, and writing a file in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import input_restored
from manyclass.io.atomic import replacement
from manyclass.io.tensors import Shapes, TensorWriter
from manyclass.parallel.communicator import as_communicator
from manyclass.parallel.consensus import abort_others, agreed
from manyclass.persistence.model_file import metadata_of, save_model
from manyclass.persistence.model_schema import SPARSE, pack_facts
from manyclass.solvers.weights.sharded import ShardedWeights
from manyclass.utils.types import Array, DType


class SpreadTraining:
    """The training of a model on all ranks of its communicator, which call the same methods.

    What ``MulticlassSVC.fit`` and ``save_model`` do, but that no rank has more of W than its own
    share and a few rows.

    Parameters
    ----------
    model : MulticlassSVC
    """

    def __init__(self, model: MulticlassSVC) -> None:
        self.model = model
        self._weights: ShardedWeights | None = None  # None where the model has them

    def fit(self, X: ArrayLike, y: ArrayLike) -> None:
        """Train the model, which then has all but ``coef_`` and ``intercept_``.

        With two classes, or one rank, it has these as well.

        Parameters
        ----------
        X, y
            As for ``MulticlassSVC.fit``.

        Raises
        ------
        ValueError, FloatingPointError, MemoryError
            As there.
        """
        if as_communicator(self.model.communicator).size == 1:
            self.model.fit(X, y)
            return
        with input_restored(self.model):
            W = self.model._fit(X, y, None, gathers=False).weights
        self._weights = W if isinstance(W, ShardedWeights) else None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file on rank 0; an error during the transfer aborts all ranks.

        Parameters
        ----------
        path : str or path-like
            Where to; an existing file is replaced.

        Raises
        ------
        ValueError, OSError
            As ``save_model``, on rank 0.
        OtherRankError
            On the others, unless they have returned.
        """
        if self._weights is not None:
            _save(path, self.model, self._weights)
        elif as_communicator(self.model.communicator).rank == 0:
            save_model(path, self.model)


def _save(path: str | os.PathLike[str], model: MulticlassSVC, W: ShardedWeights) -> None:
    ranks = W.communicator
    with abort_others(ranks):  # the partial file is removed
        counts = W.row_counts() if W.sparse else None
        with ExitStack() as stack:

            def begin() -> TensorWriter | None:
                if ranks.rank > 0:
                    return None
                tensors, metadata, shapes = _layout(model, W, counts)
                new = stack.enter_context(replacement(os.fspath(path)))
                file = TensorWriter(new, shapes, metadata)
                _append(file, tensors)
                return file

            def end() -> None:
                if file is not None:
                    file.finish()
                stack.close()  # replaces the file

            file = agreed(ranks, begin)
            for part in _parts(W, counts, model._bias):
                _append(file, part)
            agreed(ranks, end)


def _append(file: TensorWriter | None, tensors: dict[str, Array]) -> None:
    if file is not None:
        for name, values in tensors.items():
            file.append(name, values)


def _layout(
    model: MulticlassSVC, W: ShardedWeights, counts: NDArray[np.int64] | None
) -> tuple[dict[str, Array], dict[str, str], Shapes]:
    """Return the tensors that are known, the metadata, and the shapes of all tensors."""
    tensors, facts = pack_facts(model)
    d, k = W.n_rows - 1, W.n_classes
    shapes: dict[str, tuple[DType, tuple[int, ...]]] = {
        name: (values.dtype, values.shape) for name, values in tensors.items()
    }
    shapes["intercept"] = W.dtype, (k,)
    if counts is None:
        shapes["weights"] = W.dtype, (d, k)
    else:
        indptr = np.concatenate([[0], np.cumsum(counts[:-1])])
        shapes["weights.indptr"] = np.dtype(np.int64), (d + 1,)
        shapes["weights.classes"] = np.dtype(np.int32), (int(indptr[-1]),)
        shapes["weights.values"] = W.dtype, (int(indptr[-1]),)
    # What is written can be read: tried with weights that are all zero.
    zero = np.zeros(d + 1, np.int64), np.empty(0, np.int32), np.empty(0, W.dtype)
    tried: dict[str, Array] = dict(zip(SPARSE, zero, strict=True))
    metadata = metadata_of({**tried, **tensors, "intercept": np.zeros(k, W.dtype)}, facts)
    return tensors if counts is None else {**tensors, SPARSE[0]: indptr}, metadata, shapes


def _parts(
    W: ShardedWeights, counts: NDArray[np.int64] | None, bias: float
) -> Iterator[dict[str, Array]]:
    """Yield what belongs to the tensors, on rank 0, in the order of the rows.

    The last row of W is that of the intercepts.
    """
    left = W.n_rows - 1
    if counts is None:
        for rows in W.dense_parts(to=0):
            yield {"weights": rows[:left], "intercept": bias * rows[left:]}
            left = max(0, left - len(rows))
        return
    for part in W.sparse_parts(counts, to=0):
        n = int(part.counts[:left].sum())
        last = np.zeros(W.n_classes if len(part.counts) > left else 0, W.dtype)
        last[part.classes[n:]] = bias * part.values[n:]
        yield {SPARSE[1]: part.classes[:n], SPARSE[2]: part.values[:n], "intercept": last}
        left = max(0, left - len(part.counts))
