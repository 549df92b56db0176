"""Leave references to scikit-learn's guide, in docstrings that are inherited from it, as text."""

from __future__ import annotations

from typing import Any

# `score` refers to it.
LABELS = {"accuracy_score"}


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("missing-reference", as_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def as_text(_app: Any, _env: Any, node: Any, content: Any) -> Any:
    """Return the text of a reference that leads out of these pages; None for others."""
    return content if node.get("reftarget") in LABELS else None
