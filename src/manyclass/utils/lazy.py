"""Public names of a package, imported on first use.

Because of this, ``manyclass --help`` loads neither NumPy nor scikit-learn.
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
        ``__name__`` of the package.
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


# Callables of higher layers for lower layers, as "module:name", by the name of the parameter that
# requests them. The package registers them.
ENTRY_POINTS: dict[str, str] = {}


def load_entry_point(name: str) -> Callable[..., Any]:
    """Return the callable registered under a name, imported on first use."""
    module, _, attribute = ENTRY_POINTS[name].partition(":")
    found: object = getattr(importlib.import_module(module), attribute)
    assert callable(found)
    return found
