"""Tables and lists of facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manyclass.reports.page.elements import Child, Markup, element, joined

AT_FIRST = 50  # rows that are shown of a table with a search


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
    """Return figures beside each other where there is room."""
    given = [figure for figure in figures if figure is not None]
    return element("div", joined(given), class_="figures") if given else None


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{digits}f} %"
