"""Remove generated pages of examples and names that are gone, before Sphinx finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
EXAMPLES = DOCS.parent / "examples"


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", lambda _app, _config: remove())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def remove() -> None:
    """Remove what was generated for examples and names that are gone."""
    named = (DOCS / "api.md").read_text().split()
    for page in (DOCS / "generated").glob("*.rst"):
        if page.stem.removeprefix("manyclass.") not in named:
            page.unlink()
    for file in (DOCS / "gallery").glob("plot_*"):
        if (
            not (EXAMPLES / file.name.split(".")[0])
            .with_suffix(".py")
            .exists()
        ):
            file.unlink()
