"""Plots, by the conventions of scikit-learn's Display classes; they need matplotlib."""

from __future__ import annotations

from typing import Any


def axes_for(ax: Any, name: str) -> Any:
    """Return the given axes, or those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{name} needs matplotlib: pip install matplotlib") from error
    _, new = plt.subplots(layout="constrained")
    return new
