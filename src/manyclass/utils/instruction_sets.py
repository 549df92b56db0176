"""Choice of the instruction set of the compiled kernels."""

from __future__ import annotations

import os

from manyclass import _core

VARIABLE = "MANYCLASS_INSTRUCTION_SET"


def instruction_set() -> str:
    """Return the instruction set to use: the fastest one, or what the environment asks for.

    Returns
    -------
    str
        A name of ``_core.instruction_sets()``.

    Raises
    ------
    ValueError
        If the environment variable ``MANYCLASS_INSTRUCTION_SET`` names one that this machine
        does not have.

    Examples
    --------
    >>> from manyclass.utils.instruction_sets import instruction_set
    >>> instruction_set() in ("baseline", "avx2", "avx512")
    True
    """
    available = _core.instruction_sets()
    wanted = os.environ.get(VARIABLE, available[-1])
    if wanted not in available:
        raise ValueError(
            f"{VARIABLE}={wanted!r}: this machine has {', '.join(available)}; unset it or name one"
        )
    return wanted
