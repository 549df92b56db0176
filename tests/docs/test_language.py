"""The check of phrases reads prose, not code, and names file, line and phrase."""

import pytest

from tests.check_language import complaints


@pytest.mark.parametrize(
    ("name", "text", "line", "phrase"),
    [
        ("page.md", "# Title\n\nTraining goes\non here.\n", 4, "goes on"),
        ("page.md", "# Title\n\n## What is measured\n", 3, "## What"),
        ("page.md", "# Title\n\nOn made-up\ntext.\n", 3, "made-up"),
        ("page.md", "# Title\n\nA small step\npays.\n", 4, "pays"),
        ("module.py", '"""Title.\n\nIt is trained anew.\n"""\n', 3, "anew"),
        ("module.py", '"""How it works."""\n', 1, '"""How'),
        ("module.py", "x = 1  # the rank tells y\n", 1, "tells"),
        ("kernel.hpp", "int x;\n// Rows are kept\n// apart.\n", 3, "kept apart"),
        ("kernel.cpp", "// Which kernels there are.\n", 1, "Which"),
    ],
)
def test_names_place_and_phrase(tmp_path, name, text, line, phrase):
    path = tmp_path / name
    path.write_text(text)
    (complaint,) = complaints(path)
    assert complaint.startswith(f"{path}:{line}: {phrase!r}; write: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "# How-to\n\n## How to add a loss\n\nWhat is proven is a bound.\n"),
        ("module.py", '"""Files."""\ntold = "tells"\n\n\ndef f():\n    """Whether it fits."""\n'),
        ("kernel.hpp", '// Kernels.\nconst char* anew = "tells";\n'),
    ],
)
def test_accepts_code_and_plain_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert complaints(path) == []
