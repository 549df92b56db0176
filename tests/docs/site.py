"""A build of the pages in a folder of its own, and the links of its files."""

import fcntl
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    *("sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser", "sphinx_design"),
    *("sphinx_gallery", "matplotlib", "skl2onnx"),
)
# What builds leave in docs.
GENERATED = shutil.ignore_patterns("_build", "generated", "gallery", "command_line.md")
LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src"}


def built_site(folder):
    """The folder of the HTML pages; the first process that asks builds them."""
    for module in NEEDED:
        pytest.importorskip(module, reason=f"{module} is not installed: make .venv/with-docs")
    pages, log = folder / "site" / "html", folder / "site.log"
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not log.exists():
            log.write_text(build(folder / "site", pages))
    if log.read_text():
        pytest.fail(f"the pages cannot be built:\n{log.read_text()}")
    return pages


def build(folder, pages):
    """Build the pages of a copy of the sources, which runs the examples; return the complaints."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=GENERATED)
    shutil.copytree(ROOT / "examples", folder / "examples")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, str(folder / "docs"), str(pages)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "default"},
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


class Page(HTMLParser):
    """What an HTML file links to, and the places in it that links can lead to."""

    def __init__(self, path):
        super().__init__()
        self.links = set()
        self.places = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        """Collect the links and the names of an element."""
        given = dict(attrs)
        self.places.update(name for key in ("id", "name") if (name := given.get(key)))
        link = given.get(LINKS.get(tag, ""))
        if link:
            self.links.add(link)


def broken_links(folder):
    """Links between the pages that lead nowhere, and what pages would load from a network."""
    pages = {path: Page(path) for path in folder.rglob("*.html") if "_static" not in path.parts}
    return [
        f"{path.relative_to(folder)}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not leads_somewhere(path, link, pages)
    ]


def leads_somewhere(path, link, pages):
    """Whether the file and the place that a link names are there."""
    parts = urlsplit(link)
    if parts.scheme:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return False
    if target not in pages or not parts.fragment:
        return True
    return unquote(parts.fragment) in pages[target].places
