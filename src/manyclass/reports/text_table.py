"""Tables of text in columns."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return rows as lines with columns of the same width.

    Parameters
    ----------
    rows : sequence of sequence of str
        With a title for each column first.
    n_left : int
        How many columns are flush left; the others are flush right.

    Returns
    -------
    list of str

    Examples
    --------
    >>> for line in columns([("class", "rows"), ("a", "10")], n_left=1):
    ...     print(line)
    class  rows
    a        10
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < n_left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
