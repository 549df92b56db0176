"""Ctrl-C at a given call of a function, so that a test hits the same place every time."""

import sys
from contextlib import contextmanager


@contextmanager
def watched(act):
    """Call ``act`` with the number of each call of a function of manyclass, or by one."""
    n_calls = 0

    def watch(frame, event, arg):
        nonlocal n_calls
        if event in ("call", "c_call") and "/manyclass/" in frame.f_code.co_filename:
            n_calls += 1
            act(n_calls)

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def count_calls(work):
    """Return how many calls work makes."""
    counts = [0]
    with watched(counts.append):
        work()
    return counts[-1]


def interrupt(work, at):
    """Raise KeyboardInterrupt at one call of work, and return what comes out of it."""

    def act(n_calls):
        if n_calls == at:
            sys.setprofile(None)
            raise KeyboardInterrupt

    with watched(act):
        try:
            work()
        except BaseException as error:
            return error
    return None
