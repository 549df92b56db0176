"""A headless Chromium of the system, driven by Playwright, without a network."""

import contextlib
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Chromium looks for its maker's hosts at every start; nothing that is tested needs any.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@contextlib.contextmanager
def new_page(width=1280, height=900):
    """A page of this size in pixels; `page.refused` lists the addresses it asked a network for."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            page = browser.new_page(viewport={"width": width, "height": height})
            page.refused = []
            page.route("**/*", lambda route: _local_only(route, page.refused))
            yield page
        finally:
            browser.close()


def _local_only(route, refused):
    """Serve files and what a page holds itself."""
    if route.request.url.startswith(("file:", "data:", "blob:", "about:")):
        route.continue_()
    else:
        refused.append(route.request.url)
        route.abort()
