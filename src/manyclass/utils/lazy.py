"""Public names of a package, imported when they are first used.

So ``manyclass --help`` loads neither NumPy nor scikit-learn.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        The module that defines each public name.

    Returns
    -------
    tuple of two functions

    Examples
    --------
    >>> get, names = lazy_names("manyclass", {"load_data": "manyclass.io.dataset_file"})
    >>> "load_data" in names()
    True
    >>> get("nonsense")
    Traceback (most recent call last):
        ...
    AttributeError: module 'manyclass' has no attribute 'nonsense'
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        special = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*special, *homes})

    return get, names


# What a package of a lower layer uses of a higher one, by the name of the parameter that asks for
# it: "module:name" of a callable. Registered by the package.
ENTRY_POINTS: dict[str, str] = {}


def load_entry_point(name: str) -> Callable[..., Any]:
    """Return the callable that is registered under a name, imported when it is first used."""
    module, _, attribute = ENTRY_POINTS[name].partition(":")
    found: object = getattr(importlib.import_module(module), attribute)
    assert callable(found)
    return found
