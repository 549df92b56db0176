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


def test_every_example_has_its_place_in_the_gallery():
    assert len(EXAMPLES) >= 10
    order = runpy.run_path(str(ROOT / "docs" / "_ext" / "gallery_order.py"))["ORDER"]
    assert sorted(order) == [path.stem for path in EXAMPLES]
    assert (ROOT / "examples" / "GALLERY_HEADER.rst").read_text().startswith("Examples\n========\n")


@each_example
def test_an_example_has_title_cells_and_output_and_needs_no_network_and_no_place_on_a_disk(path):
    title, line, blank, *text = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert line == "=" * len(title)
    assert not blank
    assert len(" ".join(text)) > 100
    text = path.read_text()
    assert text.count("\n# %%\n") >= 3
    assert {"print", "set_xlabel", "set_title"} & set(names_used(ast.parse(text)))
    assert "plt.subplots" in text
    assert len(text.splitlines()) <= MAX_LINES
    text = path.read_text()
    used = set(names_used(ast.parse(text)))
    assert not [name for name in used if name.startswith("fetch_")]
    assert not used & {"urllib", "urlopen", "requests", "socket"}
    assert not HOME.search(text)
