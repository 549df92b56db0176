"""The HTML document: one file, which loads nothing and runs no script but its own.

The style sheet and the script are those beside this file. The document's Content-Security-Policy
allows these two alone, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from manyclass.reports.page.elements import Markup, element, joined

GENERATOR = "manyclass report"
MARK = f'<meta name="generator" content="{GENERATOR}">'
BEGINNING = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{MARK}'


def document(title: str, header: Markup, sections: Sequence[tuple[str, str, Markup]]) -> str:
    """Return the whole page.

    Parameters
    ----------
    title : str
    header : Markup
    sections : sequence of (identity, title, section)
    """
    style, script = _own("style.css"), _own("script.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = [
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    ]
    links = [element("a", name, href=f"#{identity}") for identity, name, _ in sections]
    body = [
        header,
        element("nav", *links, aria_label="Sections"),
        element("main", *(part for _, _, part in sections)),
        element("script", Markup(script)),
    ]
    return f"{BEGINNING}{joined(head)}</head>\n{element('body', *body)}</html>\n"


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
