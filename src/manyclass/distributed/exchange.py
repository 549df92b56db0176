"""Exchange of arrays between ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from manyclass.distributed.communicator import Communicator
from manyclass.utils.types import Array, DType


def exchange_lists(
    communicator: Communicator,
    outgoing: Sequence[Array],
    destination: int | None,
    kinds: Sequence[DType],
    source: int | None,
) -> list[Array]:
    """Send 1-D arrays of any lengths, and receive others.

    Parameters
    ----------
    communicator : Communicator
    outgoing : sequence of ndarray
        One for each of `kinds`; empty where there is no destination.
    destination : int or None
    kinds : sequence of dtype
    source : int or None

    Returns
    -------
    list of ndarray
        What came: one for each of `kinds`, empty where there is no source.
    """
    sent, received = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), np.int64)
    if destination is not None:
        sent[:] = [len(array) for array in outgoing]
    communicator.send_receive(sent, destination, received, source)
    came = [np.empty(size, kind) for size, kind in zip(received.tolist(), kinds, strict=True)]
    for at, array in enumerate(came):
        mine = outgoing[at] if destination is not None else None
        communicator.send_receive(mine, destination, array, source)
    return came


def broadcast_arrays(communicator: Communicator, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays that rank 0 has, by name; what the others have does not matter."""
    if communicator.size == 1:
        return dict(arrays)
    about = [(name, str(array.dtype), array.shape) for name, array in arrays.items()]
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    told = communicator.all_gather(text)[0]
    came = {}
    for name, dtype, shape in json.loads(told.tobytes()):
        mine = arrays.get(name) if communicator.rank == 0 else None
        array = np.empty(shape, dtype) if mine is None else np.ascontiguousarray(mine)
        communicator.broadcast(array, 0)
        came[name] = array
    return came
