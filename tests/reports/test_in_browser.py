"""Reports in a real browser, at two widths: they fit, load nothing, and do what they offer."""

import contextlib

import numpy as np
import pytest
from sklearn.datasets import load_digits

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_svmlight,
    save_model,
    write_report,
)
from manyclass.cli import commands
from manyclass.datasets.synthetic import make_text_corpus
from tests.helpers.browser import new_page

HOSTILE = "<script>document.title='harmed'</script><img src=x onerror=alert(1)>"
LONG = "x" * 400

WIDTHS = 390, 1280
pytestmark = pytest.mark.slow


@contextlib.contextmanager
def opened(path):
    """The page of a report, which must fit at all widths, ask for nothing and have no error."""
    with new_page() as page:
        errors = []
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            for figure in page.locator("svg[role=img]").all():
                assert figure.get_attribute("aria-label")
                assert min(figure.bounding_box()["width"], figure.bounding_box()["height"]) > 100
        yield page
        assert (page.refused, errors) == ([], [])


def sections(page):
    return set(page.evaluate("[...document.querySelectorAll('section')].map(s => s.id)"))


def test_probabilities_and_hostile_names(tmp_path):
    X, y = load_digits(return_X_y=True)
    names = np.array([HOSTILE, LONG, *"cdefghij"])[y]
    model = MultinomialLogisticRegression(tol=1e-2, random_state=0).fit(X[:600] / 16, names[:600])
    words = [f"{HOSTILE} {j}" for j in range(64)]
    path = tmp_path / "page.html"
    write_report(path, model, X[600:] / 16, names[600:], feature_names=words, title=HOSTILE)
    with opened(path) as page:
        assert page.title() == HOSTILE
        assert page.locator("h1").text_content() == HOSTILE
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1
        assert {"calibration", "features", "confusions"} <= sections(page)
        assert page.locator("h1").count() == 1
        # Colours are read from the page as it is painted, in both schemes.
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert contrast(page, "p") >= 4.5
            assert contrast(page, "dt") >= 4.5


def contrast(page, selector):
    """Of the text of an element against the page, as WCAG defines it."""
    colours = page.evaluate(
        "s => [getComputedStyle(document.querySelector(s)).color,"
        " getComputedStyle(document.body).backgroundColor]",
        selector,
    )
    light, dark = sorted((luminance(c) for c in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    numbers = [int(n) / 255 for n in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [n / 12.92 if n <= 0.04045 else ((n + 0.055) / 1.055) ** 2.4 for n in numbers]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_thousands_of_classes(tmp_path):
    X, y = make_text_corpus(6000, 3000, 2500, random_state=0)
    names = np.array([f"product {c}" for c in range(2500)])[y]
    model = StochasticClassifier(weights="sparse", max_iter=1, tol=None, random_state=0)
    model.fit(X[:5000], names[:5000])
    words = [f"word{j}" for j in range(3000)]
    write_report(tmp_path / "page.html", model, X[5000:], names[5000:], feature_names=words)
    with opened(tmp_path / "page.html") as page:
        rows = page.locator("#classes tbody tr:visible")
        assert rows.count() == 50
        page.get_by_label("Search classes").first.fill(names[5000])
        assert 1 <= rows.count() <= 11
        page.get_by_label("Search classes").first.fill("")
        page.locator("#classes thead button", has_text="support").click()
        supports = [
            int(t) for t in page.locator("#classes tr:visible td:last-child").all_inner_texts()
        ]
        assert supports == sorted(supports, reverse=True)
        page.locator("#classes .search button").click()
        assert rows.count() > 50


@pytest.mark.parametrize(("name", "n_classes"), [("news20", 20), ("sector", 105)])
def test_real_data(tmp_path, shared_data, name, n_classes):
    data, model, path = shared_data(f"{name}.t.scale"), tmp_path / "model", tmp_path / "page.html"
    X, y = load_svmlight(data, dtype=np.float32)
    save_model(model, MulticlassSVC(tol=0.1, random_state=0).fit(X[::2], y[::2]))
    command = ["report", model, data, "-o", path, "--top-features", 5]
    assert commands.main(list(map(str, command))) == 0
    with opened(path) as page:
        wanted = {"trained", "proven", "convergence", "classes", "confusions", "confidence"}
        assert sections(page) == {*wanted, "features", "weights", "versions"}
        assert page.locator("#classes tbody tr").count() == n_classes
        assert page.locator("table.heat").count() == (n_classes <= 40)
        pairs = page.locator("#confusions table.sortable tbody tr:visible").count()
        assert pairs == (10 if n_classes <= 40 else 20)
