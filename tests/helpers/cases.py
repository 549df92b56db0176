"""Cases that are too many, and too much alike, to be tests of their own."""

import functools
import inspect
from collections.abc import Callable

Test = Callable[..., None]


def each(names, values):
    """Run a test for each of the values, as ``pytest.mark.parametrize``, but as one test.

    An error names its case. Fixtures are made once, for all cases.
    """
    keys = (names,) if isinstance(names, str) else names
    cases = [dict(zip(keys, (v,) if isinstance(names, str) else v, strict=True)) for v in values]

    def decorate(test):
        @functools.wraps(test)
        def looped(**others):
            for case in cases:
                try:
                    test(**others, **case)
                except BaseException as error:
                    error.add_note("where " + ", ".join(f"{k} = {v!r}" for k, v in case.items()))
                    raise

        signature = inspect.signature(test)
        left = [p for p in signature.parameters.values() if p.name not in keys]
        looped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return looped

    return decorate
