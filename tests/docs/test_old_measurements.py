"""Tables that were measured with other code are marked in the built documentation."""

import importlib.util
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "docs" / "_ext" / "old_measurements.py"
PAGE = "| 1 |\n\nMeasured on 2026-11-26.\n\n<!-- end of one -->\n\nMeasured text.\n"


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(str(EXTENSION.parent))
    spec = importlib.util.spec_from_file_location("old_measurements", EXTENSION)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_last_line_of_a_section_is_marked(extension):
    expected = PAGE.replace("2026-11-26.", "2026-11-26. The solvers have changed since.")
    assert extension.marked(PAGE, "one") == expected
    assert extension.marked(PAGE, "other") == PAGE


@pytest.mark.parametrize("current", [True, False])
def test_old_sections_of_a_page_are_marked(extension, monkeypatch, current):
    monkeypatch.setattr(extension, "is_current", lambda *_: current)
    path = EXTENSION.parents[1] / "stochastic_benchmarks.md"
    source = [path.read_text()]
    extension.mark(None, "stochastic_benchmarks", source)
    assert source[0].count(extension.CHANGED) == (0 if current else 1)


def test_what_was_never_measured_is_not_marked(extension, monkeypatch, tmp_path):
    monkeypatch.setattr(extension, "RESULTS", tmp_path)
    assert extension.old_sections() == {}
