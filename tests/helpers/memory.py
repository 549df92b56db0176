"""Memory that a call takes."""

import tracemalloc


def peak_of(call):
    """What a call returns, and the largest number of bytes that it held at once."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
