"""The pages are built without a warning, and work in a browser without a network."""

import pytest

from tests.docs.site import broken_links, built_site
from tests.helpers.browser import new_page

pytestmark = pytest.mark.slow
WIDTHS = (1280, 390)
# Returns what is wrong with a page as it is shown.
CHECK = r"""() => {
  const wrong = [], seen = element => element.getClientRects().length > 0;
  const article = document.querySelector(".bd-article") ?? document.body;
  const scrolls = element => {
    for (let e = element; e && e !== article; e = e.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  const width = document.documentElement.scrollWidth, right = article.getBoundingClientRect().right;
  if (width > innerWidth) wrong.push(`the page is ${width} pixels wide`);
  for (const e of article.querySelectorAll("table, pre, img, svg, mjx-container, dl, dt, p, li"))
    if (seen(e) && e.getBoundingClientRect().right > Math.min(right, innerWidth) + 1 && !scrolls(e))
      wrong.push(`${e.tagName} sticks out: ${e.innerText?.slice(0, 60)}`);
  for (const e of article.querySelectorAll("pre, td, th, dt, p, li, code"))
    if (seen(e) && parseFloat(getComputedStyle(e).fontSize) < 10)
      wrong.push(`tiny text: ${e.innerText.slice(0, 60)}`);
  for (const e of document.querySelectorAll(".bd-article p > img, .sd-card img"))
    if (e.complete && e.naturalWidth === 0) wrong.push(`no picture: ${e.src}`);
  const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (text.nextNode()) {
    const node = text.currentNode;
    if (/\$\$|\\\(|\\(frac|sum|lVert|max|min|begin)\b/.test(node.data)
        && !node.parentElement.closest("code, pre, script, style, mjx-container"))
      wrong.push(`raw LaTeX: ${node.data.slice(0, 60)}`);
  }
  for (const e of document.querySelectorAll(".bd-sidebar-primary, .bd-sidebar-secondary"))
    if (seen(e) && !e.querySelector("a[href]:not([href='#'])")) wrong.push(`empty ${e.className}`);
  return wrong;
}"""


@pytest.fixture
def site(tmp_path_factory):
    """The folder of the pages, one for all processes of this run."""
    base = tmp_path_factory.getbasetemp()
    return built_site(base.parent if base.name.startswith("popen-") else base)


def formulas_set(page):
    """Wait until MathJax has set all formulas."""
    page.evaluate("() => window.MathJax?.startup?.promise")


def test_links_lead_somewhere(site):
    assert broken_links(site) == []


def test_pages_fit_windows_and_need_no_network(site):
    wrong = {}
    with new_page(width=WIDTHS[0]) as page:
        noted = []
        page.on("pageerror", lambda error: noted.append(f"error: {error}"))
        page.on("console", lambda m: noted.append(m.text) if m.type == "error" else None)
        for path in sorted(site.rglob("*.html")):
            if "_static" in path.parts:
                continue
            noted.clear()
            page.set_viewport_size({"width": WIDTHS[0], "height": 900})
            page.goto(path.as_uri())
            formulas_set(page)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                noted += [f"{width} pixels: {text}" for text in page.evaluate(CHECK)]
            if noted:
                wrong[str(path.relative_to(site))] = list(noted)
        assert page.refused == []
    assert wrong == {}


def test_formulas_are_set(site):
    with new_page() as page:
        page.goto((site / "formulations.html").as_uri())
        formulas_set(page)
        assert page.locator(".bd-article mjx-container svg").count() > 10


def test_search_works_without_a_network(site):
    with new_page() as page:
        page.goto((site / "search.html").as_uri() + "?q=certificate")
        page.wait_for_selector("#search-results .search-summary:has-text('found')")
        found = page.locator("#search-results li a").all_inner_texts()
        assert page.refused == []
    assert any("Quickstart" in text for text in found)
