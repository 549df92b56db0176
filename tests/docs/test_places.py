"""Files that the glossary and the page on the papers name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("", "src/manyclass", "tests", "experiments")
PAPERS = sorted(path.name for path in (ROOT / "experiments").iterdir() if path.is_dir())
NAMED = re.compile(r"`([\w./]+(?:\.py|\.hpp|/))`")


@pytest.mark.parametrize("page", ["glossary.md", "development/papers.md"])
def test_named_files_are_there(page):
    named = set(NAMED.findall((ROOT / "docs" / page).read_text()))
    folders = [*FOLDERS, *(f"experiments/{paper}" for paper in PAPERS)]
    assert len(named) > 20
    assert {n for n in named if not any((ROOT / f / n).exists() for f in folders)} == set()
