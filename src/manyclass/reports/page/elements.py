"""HTML and SVG elements. Every text in them is escaped, unless it is ``Markup`` already."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TypeAlias

VOID = {"meta", "input"}


class Markup(str):
    """Text that is HTML, to be taken as it is."""

    __slots__ = ()


Child: TypeAlias = object  # Markup as it is, all else as escaped text
Attribute: TypeAlias = str | float | None


def escaped(value: Child) -> Markup:
    """Return a value as HTML."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def joined(children: Iterable[Child], between: str = "") -> Markup:
    """Return several values one after the other, as HTML."""
    return Markup(between.join(map(escaped, children)))


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element.

    Parameters
    ----------
    tag : str
    *children : object
        Its content.
    **attributes : str, float or None
        None: left out. An underscore at the end of a name is dropped (``class_``), another one
        becomes a hyphen.

    Examples
    --------
    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{joined(children)}</{tag}>")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
