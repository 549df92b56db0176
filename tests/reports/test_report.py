"""Reports: what is in them, and that nothing in them is taken for HTML."""

import re
from dataclasses import fields, replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    StochasticClassifier,
    write_report,
)
from manyclass.problem.solution import Certificate
from manyclass.reports import evaluation_sections, model_sections
from manyclass.reports.report import report_page
from tests.helpers.cases import each

X, Y = load_iris(return_X_y=True)
HOSTILE = np.array(["<script>alert(1)</script>", 'a"onload="b', "</style><b>\x00\u202e"])
VOID = {"meta", "input"}


class Outline(HTMLParser):
    """Reads a page: its elements are closed in their order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.ids, self.links = [], [], set(), set()
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
        assert not ({"src", "srcset", "action"} & set(attrs))
        self.ids.add(attrs.get("id"))
        if "href" in attrs:
            self.links.add(attrs["href"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(model, *data, **options):
    page = report_page(model, *data, **options)[0].decode()
    found = Outline(page)
    assert not re.search(r"https?:|@import|url\(", page)
    assert found.links <= {f"#{name}" for name in found.ids}
    assert found.tags.count("script") == found.tags.count("style") == 1
    return page, found


SECTIONS = {"trained", "proven", "convergence", "weights", "versions"}
OF_DATA = {"classes", "confusions"}
MODELS = {
    "svc": (MulticlassSVC(random_state=0), set()),
    "squared": (MulticlassSVC(formulation="ovr", loss="squared_hinge"), set()),
    "kkt": (MulticlassSVC(stopping="kkt", tol=0.1), set()),
    "chosen": (MulticlassSVCCV(Cs=[0.1, 1.0], cv=2, random_state=0), set()),
    "logistic": (MultinomialLogisticRegression(), {"calibration"}),
    "steps": (StochasticClassifier(loss="log_loss", max_iter=5, tol=None), {"calibration"}),
    "hinge steps": (StochasticClassifier(max_iter=5, tol=None, weights="sparse"), set()),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("binary", [False, True])
def test_sections(name, binary):
    model, more = MODELS[name]
    y = np.where(Y > 0, "more", "none") if binary else Y
    model.fit(X, y)
    _, found = outline(model, X, y, top_features=2)
    assert found.ids >= SECTIONS | OF_DATA | more | {"features"}
    _, alone = outline(model)
    assert alone.ids >= SECTIONS
    assert alone.ids.isdisjoint(OF_DATA | {"calibration", "features"})


def test_what_is_proven_is_told():
    model = MulticlassSVC(tol=1e-3, random_state=0).fit(X, Y)
    page, _ = outline(model, X, Y)
    proof = model.certificate_
    for number in (f"{proof.primal_objective:.8g}", f"{proof.dual_objective:.8g}"):
        assert number in page
    assert "tolerance was a relative gap of at most 0.001; training reached it" in page
    assert f"{100 * model.score(X, Y):.2f} %" in page
    model.sparsify(0.5)
    assert "Small weights were left out" in outline(model)[0]
    model.n_iter_ = 0  # as of an imported model
    assert "was not trained by manyclass" in outline(model)[0]


@pytest.mark.filterwarnings("ignore:training stopped")
def test_what_was_not_reached_is_told():
    page, _ = outline(MulticlassSVC(max_iter=1, tol=1e-9, random_state=0).fit(X, Y))
    assert "ended before reaching it" in page


def test_hostile_names_are_text():
    model = MulticlassSVC(random_state=0).fit(X, HOSTILE[Y])
    names = [*HOSTILE, "<img src=x>"]
    labels = HOSTILE[Y].astype(object)
    labels[0] = "<i>unseen</i>"
    page, found = outline(
        model, X, labels, feature_names=names, title="<u>&", origin="<s>", top_features=4
    )
    assert {"img", "i", "u", "s", "b"} & set(found.tags) <= {"i"}  # of formulas
    assert page.count("<script") == page.count("</style>") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;i&gt;unseen&lt;/i&gt;" in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert "1 of the test rows have a label that is not a class" in page


def test_names_that_are_no_unicode():
    model = MulticlassSVC().fit(X, np.array(["a", "b", "c\ud800"], object)[Y])
    report_page(model, X, np.array(["a", "b", "c\ud800"])[Y])[0].decode()


def test_histories_that_are_odd(monkeypatch):
    model = MulticlassSVC(random_state=0).fit(X, Y)
    record = type(model.history_[0])
    for numbers in ((np.nan, 1.0), (np.inf, np.inf), (-1.0, 1.0), (0.0, 0.0), (1e-320, 1e-320)):
        model.history_ = [record(1, 0.0, *numbers, 0.0, 1.0, 1, 1, 1, 1, 1.0)] * 2
        outline(model)
    del model.history_
    assert "The model has no history" in outline(model)[0]


FITTED = MulticlassSVC().fit(X, Y)
SEARCH = GridSearchCV(make_pipeline(MulticlassSVC()), {}, cv=2).fit(X, Y)
EXTREME = [np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e308, -1e308]


@pytest.mark.parametrize("value", EXTREME)
@pytest.mark.parametrize("name", ["svc", "logistic", "steps"])
def test_histories_of_extreme_numbers(name, value):
    model = clone(MODELS[name][0]).fit(X, Y)
    history = model.history_
    for field in fields(history[0]):
        for which in (slice(None), slice(-1, None)):
            changed = [replace(record, **{field.name: value}) for record in history[which]]
            model.history_ = [*history[: len(history) - len(changed)], *changed]
            if field.name == "seconds":
                page, _ = outline(model)
                assert np.isfinite(value) or f"{value:.3g} s" not in page
            else:
                model_sections.convergence_section(model_sections.About.from_model(model))


@pytest.mark.parametrize("primal", EXTREME)
def test_certificates_of_extreme_numbers(primal):
    model = MulticlassSVC(random_state=0).fit(X, Y)
    for dual in EXTREME:
        model.certificate_ = Certificate(primal, dual, primal, dual, primal)
        outline(model)


def test_many_classes(monkeypatch):
    monkeypatch.setattr(evaluation_sections, "WORST", 30)
    monkeypatch.setattr(evaluation_sections, "LARGEST", 5)
    monkeypatch.setattr(model_sections, "FEATURE_CLASSES", 7)
    y = np.arange(120) % 60
    model = MulticlassSVC(random_state=0, tol=0.1).fit(np.eye(120)[:, :90] + 0.1, y)
    page, found = outline(model, np.eye(120)[:, :90], y, top_features=3)
    assert found.tags.count("svg") < 20
    assert "Confusion matrix" not in page
    assert "The most confused pairs" in page
    assert "classes of a higher F1 are left out" in page
    assert "The first 7 of 60 classes" in page


def test_features_need_names_or_to_be_asked_for():
    model = MulticlassSVC(random_state=0).fit(X, Y)
    assert "features-title" not in outline(model)[0]
    assert "features-title" in outline(model, top_features=1)[0]
    page, _ = outline(model, feature_names=["length", "b", "c", "d"])
    assert ">length <" in page


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), HashingVectorizer(n_features=32)])
def test_pipelines(vectorizer):
    texts = ["a red apple", "a green apple", "the fast car", "a slow car"]
    labels = ["fruit", "fruit", "cars", "cars"]
    model = make_pipeline(vectorizer, MulticlassSVC(random_state=0)).fit(texts, labels)
    page, _ = outline(model, texts, labels)
    named = isinstance(vectorizer, TfidfVectorizer)
    assert (">apple <" in page) == named
    assert "100.00 %" in page
    assert f"transforms the rows by {type(vectorizer).__name__}(" in page


def test_steps_and_parameters_are_shown_as_they_are_written():
    page = outline(make_pipeline(MaxAbsScaler(clip=True), MulticlassSVC()).fit(X, Y))[0]
    assert "transforms the rows by MaxAbsScaler(clip=True)." in page
    assert "<dt>loss</dt><dd>&#x27;hinge&#x27;</dd>" in page
    model = make_pipeline("passthrough", MulticlassSVC(random_state=0)).fit(X, Y)
    assert f"{100 * model.score(X, Y):.2f} %" in outline(model, X, Y)[0]
    assert "versions" in outline(model)[1].ids


def test_probabilities_of_pipelines():
    texts = ["a red apple", "a green apple", "the fast car", "a slow car"]
    model = make_pipeline(TfidfVectorizer(), MultinomialLogisticRegression()).fit(
        texts, [0, 0, 1, 1]
    )
    assert "calibration" in outline(model, texts, [0, 0, 1, 1])[1].ids


@each(
    ("model", "data", "options", "error", "message"),
    [
        (LinearSVC(), (), {}, TypeError, "a report is of a MulticlassSVC or .* not LinearSVC"),
        (MulticlassSVC(), (), {}, NotFittedError, "not fitted"),
        (FITTED, (X,), {}, ValueError, "needs both X and y"),
        (FITTED, (X[:, :2], Y), {}, ValueError, "2 features"),
        (FITTED, (X, Y[1:]), {}, ValueError, "inconsistent"),
        (FITTED, (), {"top_features": 0}, ValueError, "top_features must be an"),
        (FITTED, (), {"top_features": True}, ValueError, "top_features must"),
        (FITTED, (X, [None] * len(X)), {}, ValueError, "y holds None"),
        (FITTED, (X, np.where(Y, Y, np.nan)), {}, ValueError, "y holds NaN"),
        (MulticlassSVCCV(), (), {}, NotFittedError, "MulticlassSVCCV instance is not fitted"),
        (SEARCH, (), {}, TypeError, "not Pipeline within a GridSearchCV; give its best_estimator_"),
        (FITTED, (), {"feature_names": ["a"]}, ValueError, "must hold 4"),
    ],
)
def test_bad_arguments(tmp_path, model, data, options, error, message):
    with pytest.raises(error, match=message):
        write_report(tmp_path / "page.html", model, *data, **options)
    assert not list(tmp_path.iterdir())


def test_the_file_appears_whole_or_not_at_all(tmp_path):
    model = MulticlassSVC().fit(X, Y)
    write_report(tmp_path / "page.html", model)
    assert (tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path / "no" / "page.html", model)
