"""Label sets on the command line."""

import json

import numpy as np
import pytest

from manyclass import MultilabelSVC, MultilabelSVCCV, load_model, load_svmlight
from manyclass.multilabel import f1_scores

TEXT = "3,7 1:1 2:1\n3 1:2\n7 2:3\n 3:1\n3,7 1:3 2:2\n 3:2\n"


@pytest.fixture(name="data")
def data_fixture(here):
    (here / "sets").write_text(TEXT)
    return here / "sets"


@pytest.mark.parametrize("threshold", [None, "0.5"])
def test_train_predict_evaluate(run, here, data, threshold):
    given = [] if threshold is None else ["--threshold", threshold]
    out = run.works("train", data, "model", "--multilabel", "-C", "10", *given)
    assert "2 labels" in out[0]
    assert "proven" in out[1]
    X, y = load_svmlight(data, multilabel=True)
    model = MultilabelSVC(C=10, threshold=float(threshold or 0), random_state=0).fit(X, y)
    np.testing.assert_array_equal(load_model("model").coef_, model.coef_)
    assert run.works("predict", data, "model", "out") == []
    lines = (here / "out").read_text().splitlines()
    assert lines == [",".join(map(str, sorted(row))) for row in model.predict_labels(X)]
    assert run.works("predict", data, "model", "out") == []  # replaces its own kind of file
    (shown,) = run.works("evaluate", data, "model", "--json")
    found = json.loads(shown)
    f1 = f1_scores(y, model.predict_labels(X), model.classes_)
    assert (found["f1_micro"], found["f1_macro"]) == pytest.approx(tuple(f1))
    assert found["accuracy"] == model.score(X, y)
    assert len(run.works("evaluate", data, "model")) == 5


def test_refusals(run, here, data):
    run.works("train", data, "model", "--multilabel", "--quiet")
    assert "leave it out" in run.fails("predict", data, "model", "out", "--top-k", "2")
    (here / "other").write_text("3,9 1:1\n")
    assert "1 label that model does not have" in run.fails("evaluate", "other", "model")


def test_converted_sets_are_the_text(run, here, data):
    lines = run.works("convert", "--multilabel", data, "mapped")
    assert "6 rows, 3 features, 2 labels, " in lines[0]
    models = []
    for name, source in (("a", data), ("b", "mapped")):
        out = run.works("train", "--multilabel", source, name, "-C", "10")
        assert "6 rows, 3 features, 2 labels, " in out[0]
        models.append((here / name).read_bytes())
    assert models[0] == models[1]
    for command in (["predict", "-"], ["evaluate", "--json"]):
        one, two = (run.works(command[0], d, "a", *command[1:]) for d in (data, "mapped"))
        assert one == two
    given = "--multilabel", "-C", "0.1,1", "--folds", "2", "--json"
    one, two = (json.loads(run.works("cv", source, *given)[0]) for source in (data, "mapped"))
    assert one["scores"] == two["scores"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3,7 1:1\n3,,7 1:1\n", "bad:2: one of several labels is empty"),
        ("3,7 1:1\n\n3,inf 1:1\n", "bad:3: the label is 'inf', which is not a class"),
        (f"3 1:1\n3,{2**63} 1:1\n", f"bad:2: the label is {2**63}, which does not fit in 64 bits"),
        ("3 1:1\n3,7 1:x\n", "bad:2: "),
    ],
)
def test_bad_sets_are_not_converted(run, here, text, message):
    (here / "bad").write_text(text)
    assert message in run.fails("convert", "--multilabel", "bad", "out")
    assert not (here / "out").exists()


def test_sets_and_single_classes(run, here, data):
    assert "train, cv or convert --multilabel" in run.fails("convert", data, "out")
    run.works("convert", "--multilabel", data, "mapped", "--quiet")
    for given in (["train", "mapped", "m"], ["cv", "mapped"]):
        assert "rows have label sets, not one class each" in run.fails(*given)
    fails = run.fails("train", "mapped", "m", "--solver", "stochastic", "--out-of-core")
    assert "rows have label sets, not one class each" in fails
    (here / "single").write_text("3 1:1\n7 2:1\n")
    run.works("convert", "single", "one", "--quiet")
    for name, source in (("a", "single"), ("b", "one")):
        run.works("train", "--multilabel", source, name, "--quiet")
    assert (here / "a").read_bytes() == (here / "b").read_bytes()


def test_scores_of_labels(run, here, data):
    run.works("train", data, "model", "--multilabel", "--quiet")
    lines = run.works("evaluate", data, "model", "--report")
    assert "label  precision  recall      F1  support  predicted" in lines
    assert sum(line.startswith(("3 ", "7 ")) for line in lines) == 2
    found = json.loads(run.works("evaluate", data, "model", "--report", "--json")[0])
    assert [label["support"] for label in found["labels"]] == [3, 3]
    lines = run.works("report", "model", data, "-o", "page", "--top-features", "2")
    assert lines[-1] == "wrote page"
    assert "Labels, the most frequent first" in (here / "page").read_text("utf-8")
    (here / "other").write_text("3,9 1:1\n")
    assert "1 label that model does not have" in run.fails("report", "model", "other", "-o", "p")


def test_prune(run, data):
    out = run.works("train", data, "model", "--multilabel", "--prune", "0.3")
    assert "there is no certificate" in out[1]
    model = load_model("model")
    assert model.certificate_ is None
    weights = model.coef_[model.coef_ != 0]
    assert len(weights)
    assert abs(weights).min() >= 0.3


def test_choice_of_C(run, data):
    given = "--multilabel", "-C", "0.1,1", "--folds", "2", "--scoring", "f1_macro"
    found = json.loads(run.works("cv", data, *given, "--json")[0])
    X, y = load_svmlight(data, multilabel=True)
    search = MultilabelSVCCV(Cs=[0.1, 1], cv=2, scoring="f1_macro", random_state=0).fit(X, y)
    assert found["C"] == search.C_
    np.testing.assert_array_equal(found["scores"], search.scores_)
    assert found["score"] == search.best_score_
    lines = run.works("cv", data, *given)
    assert [line.split()[:2] for line in lines[1:3]] == [["C", "0.1"], ["C", "1"]]
    assert lines[-1].startswith("chosen: C = ")


def test_train_with_the_best_C(run, data):
    out = run.works("train", data, "model", "--multilabel", "-C", "auto")
    assert any(line.startswith("chosen: C = ") for line in out)
    X, y = load_svmlight(data, multilabel=True)
    loaded, search = load_model("model"), MultilabelSVCCV(random_state=0).fit(X, y)
    np.testing.assert_array_equal(loaded.scores_, search.scores_)
    np.testing.assert_array_equal(loaded.coef_, search.coef_)
    assert len(run.works("evaluate", data, "model")) == 5
    assert run.works("predict", data, "model", "out") == []


def test_messages_name_labels_and_choices(run, here, data):
    run.works("train", data, "model", "--multilabel", "--quiet")
    (here / "other").write_text("3,11 1:1\n11,9 1:1\n")
    fails = run.fails("evaluate", "other", "model")
    assert "2 labels that model does not have, such as 11; drop these" in fails

    (here / "bad").write_text(",3 1:1\n")
    assert "write 3,7,12 without blanks" in run.fails("train", "bad", "m", "--multilabel")
    fails = run.fails("cv", data, "--multilabel", "--folds", "20")
    assert "there are 6 rows, fewer than cv=20 folds" in fails
