"""The command line on tables with a column of label sets."""

import json

import numpy as np
import pytest

from manyclass import MultilabelSVC, MultilabelSVCCV, load_data, load_model, save_model

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")

CELLS = ["red;fruit", "blue; fruit", "red;blue;", ""]
SETS = [{"red", "fruit"}, {"blue", "fruit"}, {"red", "blue"}, set()] * 6
SAID = ["a red apple", "a blue plum", "red and blue flag", "nothing at all"]
FRAME = pd.DataFrame(
    {
        "said": SAID * 6,
        "tags": CELLS * 6,
        "a": [1.0, 2.0, 3.0, 4.0] * 6,
        "b": [2.0, 0.0, 1.0, 3] * 6,
    }
)
LISTS = FRAME.assign(tags=[[f" {label}" for label in sorted(labels)] + [""] for labels in SETS])
SHOWN = ["fruit;red", "blue;fruit", "blue;red", ""] * 6
TRAIN = ("--multilabel", "--label", "tags", "-C", "100", "--quiet")


@pytest.fixture(name="files")
def files_fixture(here):
    """A folder with the same label sets in several kinds of tables."""
    FRAME.to_csv("tags.csv", index=False)
    FRAME.to_csv("tags.tsv", index=False, sep="\t")
    FRAME.to_csv("semicolons.csv", index=False, sep=";")
    FRAME.to_parquet("tags.parquet")
    LISTS.to_parquet("lists.parquet")
    FRAME.drop(columns="tags").to_csv("new.csv", index=False)
    return here


@pytest.mark.parametrize(
    "data", ["tags.csv", "tags.tsv", "semicolons.csv", "tags.parquet", "lists.parquet"]
)
@pytest.mark.parametrize("options", [(), ("-C", "auto", "--dtype", "float64")])
def test_text(run, files, data, options):
    run.works("train", data, "model", *TRAIN, "--text", "said", *options)
    assert run.works("predict", "new.csv", "model", "-") == SHOWN
    for known in ("tags.csv", "lists.parquet"):
        found = json.loads(run.works("evaluate", known, "model", "--label", "tags", "--json")[0])
        assert found["accuracy"] == 1


def test_numbers(run, files):
    X, y = FRAME[["a", "b"]].astype(np.float32), SETS
    run.works("train", "tags.csv", "model", *TRAIN, "--drop", "said")
    same = MultilabelSVC(C=100, random_state=0).fit(X, y)
    model = load_model("model")
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    save_model("python", same)
    expected = [";".join(sorted(labels)) for labels in same.predict_labels(X)]
    for name in ("model", "python"):
        assert run.works("predict", "new.csv", name, "-") == expected
    given = "--multilabel", "--label", "tags", "--drop", "said", "-C", "1,10", "--folds", "2"
    found = json.loads(run.works("cv", "tags.csv", *given, "--json")[0])
    search = MultilabelSVCCV(Cs=[1, 10], cv=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(found["scores"], search.scores_)


def test_words_of_folds(run, files):
    given = "--multilabel", "--label", "tags", "--text", "said", "-C", "1,10", "--json"
    found = json.loads(run.works("cv", "tags.csv", *given)[0])
    FRAME.assign(said=[f"{said} {i}{i}" for i, said in enumerate(FRAME["said"])]).to_csv("more.csv")
    more = json.loads(run.works("cv", "more.csv", *given)[0])
    assert more["scores"] == found["scores"]  # words of test rows alone are no features


def test_convert(run, files):
    run.works("convert", "tags.csv", "data", "--multilabel", "--label", "tags", "--drop", "said")
    X, y = load_data("data", multilabel=True)
    np.testing.assert_array_equal(X, FRAME[["a", "b"]])
    assert y == SETS
    run.works("train", "data", "model", "--multilabel", "-C", "100", "--quiet")
    lines = run.works("predict", "data", "model", "-")
    assert run.works("predict", "data", "model", "-", "--label-separator", ";") == [
        line.replace(",", ";") for line in lines
    ]


def test_report_export_and_predictions_as_labels(run, files):
    run.works("train", "tags.csv", "model", *TRAIN, "--text", "said")
    lines = run.works("evaluate", "tags.csv", "model", "--label", "tags", "--report")
    assert sum(line.startswith(("red ", "blue ", "fruit ")) for line in lines) == 3
    run.works("report", "model", "tags.csv", "--label", "tags", "-o", "page.html")
    for _ in range(2):  # the second time, it replaces its own kind of file
        run.works("predict", "new.csv", "model", "out")
    predicted = (files / "out").read_text().splitlines()
    FRAME.assign(tags=predicted).to_csv("predicted.csv", index=False)
    found = run.works("evaluate", "predicted.csv", "model", "--label", "tags", "--json")[0]
    assert json.loads(found)["accuracy"] == 1
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    run.works("export", "model", "graph.onnx")
    session = onnxruntime.InferenceSession("graph.onnx")
    bits = session.run(["label"], {"said": FRAME[["said"]].to_numpy(object)})[0]
    np.testing.assert_array_equal(bits, load_model("model").predict(FRAME).toarray())


def test_separators_and_types_of_labels(run, files):
    FRAME.assign(tags=["7|12", "7", "", "12"] * 6).to_csv("pipes.csv", index=False)
    given = "--label-separator", "|"
    run.works("train", "pipes.csv", "model", *TRAIN, "--text", "said", *given)
    model = load_model("model")
    assert model[-1].classes_.tolist() == [7, 12]
    assert run.works("predict", "new.csv", "model", "-", *given)[:3] == ["7|12", "7", ""]
    FRAME.assign(tags=[["7", "12"], ["7"], [], ["12"]] * 6).to_parquet("words.parquet")
    found = run.works("evaluate", "words.parquet", "model", "--label", "tags", "--json")[0]
    assert json.loads(found)["accuracy"] == 1  # as in evaluate with one class, 7 equals '7'
    FRAME.assign(tags=[7, 7, 12, 12] * 6).to_parquet("single.parquet")
    run.works("train", "single.parquet", "model", *TRAIN, "--text", "said")
    assert run.works("predict", "new.csv", "model", "-")[:3] == ["7", "7", "12"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["red|x", "blue", "", "x"], "labels separated by ';', and one is 'red|x'; name the sep"),
        (
            [", ".join(["word"] * 99)] * 4,
            "and one is 'word, word, word, word, word, word, word...';",
        ),
        (["7;12", "7", "", "NA"], "row 3 of the column 'tags' has a label that is 'NA', which is"),
        (["", " ", ";", ";;"], "all label sets are empty: there is no label to learn"),
        ([["a", None], ["a"], [], ["b"]], "row 0 of the column 'tags' has a missing label; leave"),
        ([[["a"]], [["b"]], [], [["a"]]], "the column 'tags' contains values of type list<"),
    ],
)
def test_bad_cells(run, files, cells, message):
    table = FRAME.assign(tags=cells * 6)
    if isinstance(cells[0], list):
        table.to_parquet("bad")
    else:
        table.to_csv("bad", index=False)
    assert message in run.fails("train", "bad", "out", *TRAIN, "--text", "said")
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    "tags",
    [[{"a": 1}, {"a": 2}, None, {"a": 1}], [pd.Timedelta(days=days) for days in (1, 1, 2, 3)]],
)
def test_columns_without_labels(run, files, tags):
    FRAME.assign(tags=tags * 6).to_parquet("bad")
    message = run.fails("train", "bad", "out", *TRAIN, "--text", "said")
    assert "a cell must be text" in message or "classes must be text or numbers" in message


def test_labels_in_lists_may_contain_separators(run, files):
    FRAME.assign(tags=[["plum, blue"], ["apple, red"], [], ["apple, red"]] * 6).to_parquet("commas")
    run.works("train", "commas", "model", *TRAIN, "--text", "said")
    assert run.works("predict", "new.csv", "model", "-")[0] == "plum, blue"


def test_refused_options(run, files):
    run.works("train", "tags.csv", "sets", *TRAIN, "--text", "said")
    run.works("train", "tags.csv", "single", "--label", "said", "--features", "a,b", "--quiet")
    np.save("rows.npy", np.eye(4))
    for command, message in (
        ("train tags.csv out --label tags --text said", "requires --multilabel"),
        ("convert tags.csv out --label tags", "requires --multilabel"),
        ("predict new.csv single -", "single is not a model of label sets; leave it out"),
    ):
        assert run.fails(*command.split(), "--label-separator", ";").endswith(message)
    message = run.fails("evaluate", "tags.csv", "sets", "--label-separator", ";")
    assert message.startswith("argument --label-separator: requires --label, the column of")
    message = run.fails("train", "rows.npy", "out", "--multilabel", "--label", "0")
    assert message.startswith("rows.npy: arrays have no label sets; give Parquet, Arrow or CSV")
    message = run.fails("predict", "new.csv", "sets", "-", "--label-separator", "e")
    assert message.startswith("sets: labels that contain 'e', a tab or a line break cannot be")
    assert "must not be empty" in run.fails("predict", "new.csv", "sets", "-", "--label-separator=")
