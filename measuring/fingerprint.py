"""Fingerprints of the measured code, without comments, docstrings, spaces and raised errors."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Packages of src/manyclass; "cpp" is the core. All fits depend on the first ones.
CORE = ("cpp", "problem", "rows", "solvers", "training")
PACKAGES = (*CORE, "arrays", "distributed", "estimators", "model_selection", "multilabel")
_CPP = re.compile(
    r"""(?P<kept>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')|//[^\n]*|/\*.*?\*/""", re.DOTALL
)
_DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def fingerprints() -> dict[str, str]:
    """Return a hash for each of ``PACKAGES``, of what can change a measurement."""
    return {name: _fingerprint(name) for name in PACKAGES}


def _fingerprint(name: str) -> str:
    folder = ROOT / "cpp" if name == "cpp" else ROOT / "src" / "manyclass" / name
    paths = [path for path in folder.rglob("*") if path.suffix in {".py", ".hpp", ".cpp"}]
    parts = hashlib.sha256()
    for path in sorted(paths):
        code = python_code if path.suffix == ".py" else cpp_code
        parts.update(f"{path.relative_to(folder).as_posix()}\n{code(path.read_text())}\n".encode())
    return parts.hexdigest()[:12]


def cpp_code(source: str) -> str:
    """Return C++ without comments and without blank space that separates nothing."""
    text = _CPP.sub(lambda found: found["kept"] or " ", source)
    return re.sub(r"\s*(\W)\s*", r"\1", re.sub(r"\s+", " ", text))


def python_code(source: str) -> str:
    """Return the syntax tree, equal in all versions of Python, without docstrings and errors."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return repr(_tree(tree))


def _tree(node: Any) -> Any:
    if isinstance(node, list):
        return [_tree(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    if isinstance(node, ast.Raise):
        return "Raise"
    fields = [
        (name, _tree(value)) for name, value in ast.iter_fields(node) if value not in (None, [])
    ]
    return type(node).__name__, fields
