"""``manyclass report``, and ``evaluate --report``."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from manyclass import MulticlassSVC, load_model, load_svmlight, save_model
from tests.cli.test_evaluate import NO_CLASS
from tests.helpers.command_line import TINY


def test_a_page_of_a_model_alone_and_standard_output(run, tiny):
    assert run.works("report", "abc", "-o", "page.html") == ["wrote page.html"]
    page = Path("page.html").read_text("utf-8")
    assert "<title>Model report: abc</title>" in page
    assert "Model file abc (format 1, by manyclass " in page
    assert "Convergence" in page
    assert "features-title" not in page
    lines = run.works("report", "abc", "tiny", "-o", "-")
    assert lines[0] == "<!doctype html>"
    assert lines[-1].endswith("</html>")


def test_a_page_with_data_and_names(run, tiny):
    Path("words").write_text("apple\nbéret\n<b>\nnever seen\n")
    lines = run.works("report", "abc", "tiny", "-o", "p", "--feature-names", "words")
    assert [line.split()[0] for line in lines] == ["read", "wrote"]
    page = Path("p").read_text("utf-8")
    assert "evaluated on tiny" in page
    assert "béret" in page
    assert "&lt;b&gt;" in page
    assert "never seen" not in page


@pytest.mark.parametrize(("zero_based", "first"), [((), "1"), (("--zero-based",), "0")])
def test_features_are_numbered_as_in_data_files(run, tiny, zero_based, first):
    run.works("report", "abc", "-o", "p", "--top-features", "1", *zero_based)
    assert f'<span class="feature">{first} <small>' in Path("p").read_text("utf-8")


def test_pipelines(run, tiny):
    pytest.importorskip("skops")
    X, y = load_svmlight("tiny", 3)
    scaled = make_pipeline(MaxAbsScaler(), MulticlassSVC(C=10)).fit(X, y)
    save_model("scaled", scaled)
    run.works("report", "scaled", "tiny", "-o", "p", "--top-features", "1")
    page = Path("p").read_text("utf-8")
    assert "transforms the rows by MaxAbsScaler()." in page
    assert "100.00 %" in page
    texts = make_pipeline(TfidfVectorizer(), MulticlassSVC()).fit(["red apple", "fast car"], [0, 1])
    save_model("texts", texts)
    run.works("report", "texts", "-o", "p")
    assert ">apple <" in Path("p").read_text("utf-8")
    assert "is a pipeline that takes text" in run.fails("report", "texts", "tiny", "-o", "p")


def test_labels_of_no_class(run, tiny):
    Path("data").write_text("a 1:1\nd 2:1\n")
    code, _, err = run("report", "abc", "data", "-o", "p")
    assert code == 0
    assert err == [f"manyclass: warning: {NO_CLASS.format('1 row')}"]


def test_only_reports_are_replaced(run, tiny):
    Path("other.html").write_text("<!doctype html>\n<title>mine</title>")
    message = run.fails("report", "abc", "-o", "other.html")
    assert message.startswith("other.html: is not a report of manyclass and would be overwritten; ")
    assert message.endswith("choose another name, or give --force")
    assert "is an input too" in run.fails("report", "abc", "tiny", "-o", "tiny", "--force")
    run.works("report", "abc", "-o", "other.html", "--force")
    run.works("report", "abc", "-o", "other.html")
    assert Path("tiny").read_text() == TINY


def test_info_tells_the_time_of_training(run, tiny):
    about = json.loads(run.works("info", "abc", "--json")[0])
    assert about["seconds"] == load_model("abc").history_[-1].seconds
    assert any(" epoch" in line and line.endswith(" s") for line in run.works("info", "abc"))


def test_evaluate_report_in_words_and_as_json(run, corpus):
    plain = run.works("evaluate", corpus / "test.txt", corpus / "model")
    lines = run.works("evaluate", corpus / "test.txt", corpus / "model", "--report")
    assert lines[1:3] == plain[1:]
    assert [line.split()[:2] for line in lines[3:5]] == [["top", "3"], ["top", "5"]]
    assert lines[6].split() == ["class", "precision", "recall", "F1", "support"]
    assert any(" rows confused, in " in line for line in lines)
    arguments = "evaluate", corpus / "test.txt", corpus / "model", "--json"
    plain = json.loads(run.works(*arguments)[0])
    whole = json.loads(run.works(*arguments, "--report")[0])
    assert set(plain) == {"accuracy", "f1_micro", "f1_macro", "n"}
    assert plain.items() <= whole.items()
    X, y = load_svmlight(corpus / "test.txt", 400)
    predicted = load_model(corpus / "model").predict(X)
    labels = [scores["label"] for scores in whole["classes"]]
    expected = f1_score(y, predicted, labels=labels, average=None, zero_division=0)
    assert [scores["f1"] for scores in whole["classes"]] == pytest.approx(expected)
    assert sum(scores["support"] for scores in whole["classes"]) == len(y)


def test_evaluate_report_of_many_classes(run, here):
    labels = np.arange(60)
    save_model("m", MulticlassSVC(C=10, random_state=0).fit(np.eye(60), labels))
    Path("data").write_text("".join(f"{c} {c + 1}:1\n" for c in [*labels, *range(5)]) + "7 9:1\n")
    lines = run.works("evaluate", "data", "m", "--report")
    assert "the 20 classes with the lowest F1" in lines
    assert "the 10 largest classes" in lines
    assert any(line.split(" more classes")[0].isdigit() for line in lines)


def test_evaluate_report_judges_probabilities(run, tiny):
    run.works("train", "tiny", "soft", "--formulation", "logistic", "--quiet")
    lines = run.works("evaluate", "tiny", "soft", "--report")
    assert lines[-1].startswith("probabilities: log loss ")
    assert "ece" in json.loads(run.works("evaluate", "tiny", "soft", "--report", "--json")[0])
