"""Results as JSON, and tables in pages."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from measuring.fingerprint import ROOT

# `benchmarks.measure` sets the folder of the programs that it runs.
RESULTS = Path(os.environ.get("MANYCLASS_RESULTS", ROOT / "benchmarks" / "results"))
FIGURES = ROOT / "docs" / "figures"
# Formulations, in the order of tables.
TITLES = {
    "crammer_singer": "Crammer-Singer",
    "weston_watkins": "Weston-Watkins",
    "one_vs_rest": "one-vs-rest",
    "lee_lin_wahba": "Lee-Lin-Wahba",
}
_scratch: tempfile.TemporaryDirectory[str] | None = None


def write_to_scratch() -> None:
    """Write all that follows into a folder that is removed with the process."""
    global _scratch
    _scratch = tempfile.TemporaryDirectory()
    atexit.register(_scratch.cleanup)


def place(path: Path) -> Path:
    """Return where a file of the project is written, and read again: its path, or one in scratch.

    There it begins as a copy of the file, if there is one.
    """
    if _scratch is None:
        return path
    copy = Path(_scratch.name) / path.absolute().relative_to(path.absolute().anchor)
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            shutil.copy(path, copy)
    return copy


def read_results(path: Path) -> dict[str, Any]:
    """Read saved results; an empty dict when there are none.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    path = place(path)
    try:
        return dict(json.loads(path.read_text())) if path.exists() else {}
    except ValueError as error:
        raise ValueError(f"{path} is damaged, restore or delete it: {error}") from None


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Save results as JSON."""
    write_whole(path, json.dumps(results, indent=1) + "\n")


def add_result(path: Path, name: str, found: Any) -> None:
    """Add an entry to saved results, or replace it."""
    write_results(path, read_results(path) | {name: found})


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], n_words: int) -> str:
    """Return a Markdown table; the columns after the first ``n_words`` hold numbers."""
    rule = ["---"] * n_words + ["--:"] * (len(header) - n_words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def write_whole(path: Path, text: str) -> None:
    """Write a file that replaces the old one once it is complete."""
    path = place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    part.replace(path)


def write_between(path: Path, marker: str, text: str) -> None:
    """Replace the text between ``<!-- marker -->`` and ``<!-- end of marker -->`` in a file."""
    path = place(path)
    begin, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
    before, rest = path.read_text().split(begin)
    after = rest.split(end)[1]
    write_whole(path, f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")
