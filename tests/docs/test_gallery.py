"""The examples of the gallery; the build of the pages runs them."""

import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MAX_LINES = 250
HOME = re.compile(r"""["'](/(home|tmp|work|usr|root|Users)\b|[A-Za-z]:\\)""")

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def names_used(tree):
    """Every name, attribute and imported name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def test_there_are_enough():
    assert len(EXAMPLES) >= 10


def test_every_example_has_its_place_in_the_gallery():
    order = runpy.run_path(str(ROOT / "docs" / "_ext" / "gallery_order.py"))["ORDER"]
    assert sorted(order) == [path.stem for path in EXAMPLES]
    assert (ROOT / "examples" / "GALLERY_HEADER.rst").read_text().startswith("Examples\n========\n")


@each_example
def test_begins_with_a_title_and_an_introduction(path):
    title, line, blank, *text = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert line == "=" * len(title)
    assert not blank
    assert len(" ".join(text)) > 100


@each_example
def test_has_cells_of_prose_and_shows_something(path):
    text = path.read_text()
    assert text.count("\n# %%\n") >= 3
    assert {"print", "set_xlabel", "set_title"} & set(names_used(ast.parse(text)))
    assert "plt.subplots" in text
    assert len(text.splitlines()) <= MAX_LINES


@each_example
def test_needs_no_network_and_no_place_on_a_disk(path):
    text = path.read_text()
    used = set(names_used(ast.parse(text)))
    assert not [name for name in used if name.startswith("fetch_")]
    assert not used & {"urllib", "urlopen", "requests", "socket"}
    assert not HOME.search(text)
