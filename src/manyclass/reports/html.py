"""HTML elements, tables and the page, which is self-contained.

Text is escaped unless it is ``Markup``. The style sheet and the script are style.css and script.js;
the page's Content-Security-Policy allows only these two, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import NamedTuple, TypeAlias

VOID = {"meta", "input"}
Child: TypeAlias = object  # Markup is not escaped, other values are
Attribute: TypeAlias = str | float | None
AT_FIRST = 50  # rows shown at first in a table with a search field
GENERATOR = "manyclass report"
MARK = f'<meta name="generator" content="{GENERATOR}">'
BEGINNING = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{MARK}'
PAGE = Template(f"""{BEGINNING}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '$style_hash'; \
script-src '$script_hash'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>$style</style>
</head><body>
$header
<nav aria-label="Sections">$links</nav>
<main>$sections</main>
<script>$script</script>
</body></html>
""")


class Markup(str):
    """HTML text, which is not escaped."""

    __slots__ = ()


class Section(NamedTuple):
    """A section of the page; ``name`` is for the list of sections, ``title`` is its heading."""

    identity: str
    name: str
    title: str
    content: Sequence[Child | None]


def escaped(value: Child) -> Markup:
    """Return a value as HTML."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def joined(children: Iterable[Child]) -> Markup:
    """Return several values concatenated as HTML; None is left out."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element; attributes that are None are left out.

    An underscore at the end of a name is dropped (``class_``), another one becomes a hyphen.

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
    """Return a table that can be sorted by its columns; the first cell of a row names it.

    The first `n_left` columns are flush left; the others are numbers. `search` says what can be
    searched for, if there are more rows than the `first` ones, which are shown at first.
    """
    kinds = [None if at < n_left else "number" for at in range(len(titles))]
    head = [element("th", t, scope="col", class_=k) for t, k in zip(titles, kinds, strict=True)]
    body = []
    for name, *others in rows:
        cells = [element("td", c, class_=k) for c, k in zip(others, kinds[1:], strict=True)]
        body.append(element("tr", element("th", name, scope="row"), *cells))
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_="sortable",
    )
    box = scrolling(whole, f"Table: {caption}")
    if search is None or len(body) <= first:
        return box
    return element("div", box, class_="long", data_search=search, data_first=str(first))


def scrolling(content: Markup, label: str) -> Markup:
    """Return a box that scrolls if its content is wider than the page."""
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def facts(pairs: Iterable[tuple[str, Child]], kind: str = "facts") -> Markup:
    """Return names and values: ``facts`` in rows, ``cards`` with large values."""
    entries = [
        element("div", element("dt", name), element("dd", value))
        for name, value in pairs
        if value is not None
    ]
    return element("dl", *entries, class_=kind)


def paragraph(*content: Child) -> Markup:
    """Return a paragraph."""
    return element("p", *content)


def side_by_side(*figures: Markup | None) -> Markup | None:
    """Return figures in one row if there is enough space."""
    return element("div", *figures, class_="figures") if any(figures) else None


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def document(title: str, header: Markup, sections: Sequence[Section]) -> str:
    """Return the complete page."""
    style, script = (
        files(__package__).joinpath(name).read_text("utf-8") for name in ("style.css", "script.js")
    )
    return PAGE.substitute(
        title=escaped(title),
        header=header,
        links=joined(element("a", s.name, href=f"#{s.identity}") for s in sections),
        sections=joined(map(_section, sections)),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
    )


def _section(of: Section) -> Markup:
    label = f"{of.identity}-title"
    head = element("h2", of.title, id=label)
    return element("section", head, *of.content, id=of.identity, aria_labelledby=label)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
