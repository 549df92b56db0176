"""Mark the tables that were measured before the last change of the solvers."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.measurements import MEASUREMENTS
from measuring.header import is_current
from measuring.results import RESULTS, read_results

CHANGED = "The solvers have changed since."


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("env-get-outdated", lambda *_: sorted(old_sections()))
    app.connect("source-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


@functools.cache
def old_sections() -> dict[str, list[str]]:
    """Return the markers of the sections that are old, by document."""
    found: dict[str, list[str]] = {}
    for each in MEASUREMENTS:
        result = read_results(RESULTS / each.file)
        if result and not is_current(result, each.code):
            for section in each.sections:
                page = section.page.removesuffix(".md")
                found.setdefault(page, []).append(section.marker)
    return found


def mark(_app: Any, document: str, source: list[str]) -> None:
    """Add a sentence to the last line of each old section."""
    for marker in old_sections().get(document, []):
        source[0] = marked(source[0], marker)


def marked(text: str, marker: str) -> str:
    """Return a page whose section says that it is old, if it says when it was measured."""
    last = rf"^(Measured .*)(?=\n\n<!-- end of {re.escape(marker)} -->)"
    return re.sub(last, rf"\1 {CHANGED}", text, flags=re.MULTILINE)
