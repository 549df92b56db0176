"""Arrays that change places between ranks: whole, or only what is not zero where that is less."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyclass.parallel.communicator import Communicator

WHOLE = -1  # sent instead of the number of entries that are not zero


def exchange(
    communicator: Communicator,
    outgoing: NDArray[Any] | None,
    destination: int | None,
    incoming: NDArray[Any] | None,
    source: int | None,
) -> int:
    """Send an array, and fill another with what comes.

    Parameters
    ----------
    communicator : Communicator
    outgoing : ndarray of shape (m,) or None
        Sent to `destination`, contiguous.
    destination : int or None
    incoming : ndarray of shape (m',) or None
        Filled with what `source` sends, contiguous; as long as that.
    source : int or None

    Returns
    -------
    int
        Bytes that were sent.
    """
    found = _positions(outgoing) if outgoing is not None else None
    sent = np.array([WHOLE if found is None else len(found)], np.int64)
    received = np.array([WHOLE], np.int64)
    communicator.send_receive(sent, destination, received, source)
    n_bytes = 0 if outgoing is None else sent.nbytes

    places = None
    if incoming is not None and received[0] != WHOLE:
        places = np.empty(int(received[0]), position_type(incoming))
    communicator.send_receive(
        found,
        None if found is None else destination,
        places,
        None if places is None else source,
    )
    values = outgoing if found is None or outgoing is None else outgoing[found]
    if incoming is None or places is None:
        communicator.send_receive(values, destination, incoming, source)
    else:
        some = np.empty(len(places), incoming.dtype)
        communicator.send_receive(values, destination, some, source)
        incoming.fill(0)
        incoming[places] = some
    n_bytes += 0 if found is None else found.nbytes
    return n_bytes + (0 if values is None else values.nbytes)


def position_type(values: NDArray[Any]) -> np.dtype[Any]:
    """Return the smallest type for the positions in an array."""
    return np.dtype(np.uint32 if values.size < 2**32 else np.int64)


def _positions(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return where an array is not zero, unless sending the whole array is less."""
    kind = position_type(values)
    found = values != 0
    if np.count_nonzero(found) * (kind.itemsize + values.itemsize) >= values.nbytes:
        return None
    return np.flatnonzero(found).astype(kind)


def exchange_lists(
    communicator: Communicator,
    outgoing: Sequence[NDArray[Any]],
    destination: int | None,
    kinds: Sequence[np.dtype[Any]],
    source: int | None,
) -> list[NDArray[Any]]:
    """Send 1-D arrays of one length, and receive others.

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
    sent, received = np.zeros(1, np.int64), np.zeros(1, np.int64)
    if destination is not None:
        sent[0] = len(outgoing[0])
    communicator.send_receive(sent, destination, received, source)
    came = [np.empty(int(received[0]), kind) for kind in kinds]
    for at, array in enumerate(came):
        mine = outgoing[at] if destination is not None else None
        communicator.send_receive(mine, destination, array, source)
    return came


def broadcast_arrays(
    communicator: Communicator, arrays: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
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
