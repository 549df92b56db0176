"""Axes of a chart: where values lie, and which of them are marked."""

from __future__ import annotations

import math
from dataclasses import dataclass

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values along a length.

    Attributes
    ----------
    title : str
    low, high : float
        low < high; positive on a logarithmic scale.
    log : bool, default=False
    """

    title: str
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at ``low`` to 1 at ``high``."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return marked values and their names."""
        return _decades(self.low, self.high) if self.log else _steps(self.low, self.high)


def axis_of(title: str, values: list[float], *, log: bool = False, zero: bool = False) -> Axis:
    """Return the axis that holds all values; ``zero``: begins at 0."""
    low, high = min(values), max(values)
    if log:
        low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        return Axis(title, low, high if high > low else 10 * low, log=True)
    low = 0.0 if zero else low
    room = high - low or abs(high) or 1.0
    return Axis(title, low if zero else low - 0.05 * room, high + 0.05 * room)


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    first, last = round(math.log10(low)), round(math.log10(high))
    step = -(-(last - first + 1) // MOST_TICKS)
    return [(10.0**n, f"10{str(n).translate(SUPERSCRIPTS)}") for n in range(first, last + 1, step)]


def _steps(low: float, high: float) -> list[tuple[float, str]]:
    least = (high - low) / MOST_TICKS
    decade = 10.0 ** math.floor(math.log10(least))
    step = next(n * decade for n in (1, 2, 5, 10) if n * decade >= least)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(n * step, f"{n * step:.6g}") for n in range(first, last + 1)]
