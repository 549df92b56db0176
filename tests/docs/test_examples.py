"""Every example of README.md and of the documentation runs.

A page runs in a folder of its own, with small data files of the names that the pages use. A block
behind ``<!-- not run: why -->`` is left out, and one behind ``<!-- needs: module -->`` where that
module is not installed. A block of output behind Python code is compared with what that prints.
"""

import re
from pathlib import Path

import pytest

from tests.docs.markdown_examples import difference, has_examples, long_lines, make_files, run_page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = {"_build", "generated", "gallery", "command_line.md"}


def pages():
    """README.md and the pages that have examples."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    written = [p for p in found if not GENERATED & set(p.relative_to(ROOT).parts)]
    return [page for page in written if has_examples(page)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    try:
        run_page(page)
    finally:
        plt.close("all")


def test_first_page_and_readme_show_the_same_example():
    first = (DOCS / "index.md").read_text().split("```python\n")[1].split("```")[0]
    assert first in (ROOT / "README.md").read_text()


def test_lines_of_code_fit_the_pages():
    written = [p for p in DOCS.rglob("*.md") if not GENERATED & set(p.relative_to(DOCS).parts)]
    pages = [page for page in written if page.name != "index.md"]  # which has no sidebars
    assert {page.name: long for page in pages if (long := long_lines(page))} == {}


def test_output_may_differ_in_digits_alone():
    assert not difference("gap 0.00091\n[ 7 46]\n", "gap 8.8e-04\n[7 45]\n")
    assert "'gap 0.9' is printed" in difference("gap 0.9\n", "gap 0.4\n")
    assert "'no 1' is printed" in difference("no 1\n", "yes 1\n")
    assert "2 lines are printed, 1 shown" in difference("1\n2\n", "1\n")
    assert not difference("1\n2\n3\n4\n", "1\n...\n4\n")


NAMED = re.compile(r"`([\w./]+(?:\.py|\.hpp|/))`")


@pytest.mark.parametrize("page", ["glossary.md", "development/papers.md"])
def test_files_that_the_glossary_and_the_page_on_the_papers_name_are_there(page):
    named = set(NAMED.findall((DOCS / page).read_text()))
    papers = [path.relative_to(ROOT) for path in (ROOT / "experiments").iterdir() if path.is_dir()]
    folders = ["", "src/manyclass", "tests", "experiments", *papers]
    assert len(named) > 20
    assert {n for n in named if not any((ROOT / f / n).exists() for f in folders)} == set()
