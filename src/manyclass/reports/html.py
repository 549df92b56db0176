"""HTML elements, tables and the document, which loads nothing and runs no script but its own.

Text is escaped unless it is ``Markup``. The style sheet and the script are style.css and script.js;
the document's Content-Security-Policy allows these two alone, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TypeAlias

VOID = {"meta", "input"}
Child: TypeAlias = object  # Markup as it is, all else as escaped text
Attribute: TypeAlias = str | float | None
AT_FIRST = 50  # rows that are shown of a table with a search
GENERATOR = "manyclass report"
MARK = f'<meta name="generator" content="{GENERATOR}">'
BEGINNING = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{MARK}'


class Markup(str):
    """Text that is HTML, to be taken as it is."""

    __slots__ = ()


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


def table(
    caption: str,
    titles: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    n_left: int,
    search: str | None = None,
    first: int = AT_FIRST,
) -> Markup:
    """Return a table that scrolls in a box of its own and can be sorted by its columns.

    Parameters
    ----------
    caption : str
    titles : sequence of str
    rows : iterable of sequence
        Cells; the first one of a row names it.
    n_left : int
        How many columns are flush left; the others are numbers.
    search : str, default=None
        What can be searched for, where there are more rows than are shown at first.
    first : int, default=50
        How many these are.
    """

    def kind(at: int) -> str | None:
        return None if at < n_left else "number"

    head = [element("th", title, scope="col", class_=kind(at)) for at, title in enumerate(titles)]
    body = []
    for name, *others in rows:
        cells = [element("td", cell, class_=kind(at)) for at, cell in enumerate(others, 1)]
        body.append(element("tr", element("th", name, scope="row"), *cells))
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_="sortable",
    )
    box = element(
        "div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}"
    )
    if search is None or len(body) <= first:
        return box
    return element("div", box, class_="long", data_search=search, data_first=str(first))


def facts(pairs: Iterable[tuple[str, Child]], kind: str = "facts") -> Markup:
    """Return names and values: ``facts`` in rows, ``cards`` with large values."""
    entries = [
        element("div", element("dt", name), element("dd", value))
        for name, value in pairs
        if value is not None
    ]
    return element("dl", *entries, class_=kind)


def section(identity: str, title: str, *content: Child | None) -> Markup:
    """Return a section with a heading."""
    parts = [part for part in content if part is not None]
    head = element("h2", title, id=f"{identity}-title")
    return element("section", head, *parts, id=identity, aria_labelledby=f"{identity}-title")


def paragraph(*content: Child) -> Markup:
    """Return a paragraph."""
    return element("p", *content)


def side_by_side(*figures: Markup | None) -> Markup | None:
    """Return figures in one row where there is room."""
    given = [figure for figure in figures if figure is not None]
    return element("div", joined(given), class_="figures") if given else None


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{digits}f} %"


def document(title: str, header: Markup, sections: Sequence[tuple[str, str, Markup]]) -> str:
    """Return the whole page.

    Parameters
    ----------
    title : str
    header : Markup
    sections : sequence of (identity, title, section)
    """
    style, script = _own("style.css"), _own("script.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = [
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    ]
    links = [element("a", name, href=f"#{identity}") for identity, name, _ in sections]
    body = [
        header,
        element("nav", *links, aria_label="Sections"),
        element("main", *(part for _, _, part in sections)),
        element("script", Markup(script)),
    ]
    return f"{BEGINNING}{joined(head)}</head>\n{element('body', *body)}</html>\n"


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
