"""The command line on model files of pipelines."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from manyclass import MulticlassSVC, load_model, save_data, save_model
from tests.helpers.command_line import names
from tests.helpers.pipelines import X, Y, scaled, text_pipeline

pytest.importorskip("skops")


@pytest.fixture(name="files")
def files_fixture(here):
    """A folder with data `iris`, and pipelines `dense`, `sparse` of it, and `text`."""
    dump_svmlight_file(X, Y, "iris", zero_based=False)
    save_model("dense", scaled(StandardScaler(), MinMaxScaler()))
    save_model("sparse", scaled(StandardScaler(with_mean=False)))
    save_model("text", text_pipeline(TfidfVectorizer(ngram_range=(1, 2))))
    return here


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_rows_pass_all_steps(run, files, name):
    pipeline = load_model(name)
    expected = pipeline.predict(X)
    assert run.works("predict", "iris", name, "-") == expected.astype(str).tolist()
    top = run.works("predict", "iris", name, "-", "--top-k", "2")
    assert [line.split("\t")[0] for line in top] == expected.astype(str).tolist()
    scores = json.loads(run.works("evaluate", "iris", name, "--json")[0])
    assert scores["accuracy"] == pipeline.score(X, Y)


def test_steps_that_change_the_columns(run, files):
    for rows, name in ((X, "few"), (sp.csr_array(X), "sparse_few")):
        pipeline = make_pipeline(SelectKBest(k=2), MulticlassSVC(random_state=0)).fit(rows, Y)
        save_model(name, pipeline)
        expected = pipeline.predict(rows).astype(str).tolist()
        assert run.works("predict", "iris", name, "-") == expected
        save_data("data", X, Y)
        assert run.works("predict", "data", name, "-") == expected


def test_dense_rows_that_do_not_fit(run, files, monkeypatch):
    monkeypatch.setattr("manyclass.utils.machine.available_memory", lambda: 4000)
    message = run.fails("predict", "iris", "dense", "-")
    assert message.startswith("out of memory: dense takes dense rows, and iris needs 0.0 GB")
    assert "split the data" in message


@pytest.mark.parametrize("command", ["predict iris text out", "evaluate iris text"])
def test_a_pipeline_of_text_takes_no_rows_of_numbers(run, files, command):
    assert run.fails(*command.split()) == (
        "text: is a pipeline that takes text, by its TfidfVectorizer; give a table (CSV, Parquet, "
        "Arrow), and name the column that has the text by --text"
    )
    assert "out" not in names(files)


@pytest.mark.parametrize(
    "command", ["predict iris several out", "export several out --format onnx"]
)
def test_several_classifiers_are_refused(run, files, command):
    save_model("several", CalibratedClassifierCV(MulticlassSVC(), cv=2).fit(X, Y))
    message = run.fails(*command.split())
    assert message.startswith("several: is a CalibratedClassifierCV of 2 classifiers, and ")
    assert "out" not in names(files)
    assert run.works("info", "several")[1].startswith(
        "composite    CalibratedClassifierCV of 2 classifiers; "
    )


def test_a_search_predicts_by_its_best_pipeline(run, files):
    search = GridSearchCV(scaled(), {"multiclasssvc__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    save_model("search", search)
    assert run.works("predict", "iris", "search", "-") == search.predict(X).astype(str).tolist()


def test_skops_is_needed(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    message = run.fails("predict", "iris", "dense", "out")
    assert message.startswith("pipelines in model files need skops (")
    assert "pip install skops" in message


@pytest.fixture(name="people")
def people_fixture(here):
    """A table of numbers and text, in three files, and a pipeline `columns` that encodes it."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": [20.0, 30.0, np.nan, 40.0] * 5,
            "town": ["Ulm", "Bonn", "Kiel", "Bonn"] * 5,
            "area": [1, 2, 3, 2] * 5,
            "said": ["good day", "bad night", "so so", "bad day"] * 5,
        }
    )
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector("age")),
        (OneHotEncoder(), ["town", "area"]),
        (TfidfVectorizer(), "said"),
    )
    y = np.array(["p", "q", "r", "s"] * 5)
    save_model("columns", make_pipeline(encode, MulticlassSVC(random_state=0)).fit(frame, y))
    frame.to_csv("people.csv", index=False)
    frame.assign(y=y).to_parquet("known.parquet")
    frame.assign(y=y)[["said", "y", "area", "town", "age"]].to_csv("known.csv", index=False)
    return frame, y


def test_columns_are_chosen_by_their_names(run, people):
    expected = load_model("columns").predict(people[0]).tolist()
    assert run.works("predict", "people.csv", "columns", "-") == expected
    for name in ("known.parquet", "known.csv"):
        assert run.works("predict", name, "columns", "-") == expected
        scores = run.works("evaluate", name, "columns", "--label", "y", "--json")[0]
        assert json.loads(scores)["accuracy"] == (people[1] == expected).mean()


def test_columns_that_are_dropped_may_be_missing(run, people):
    """The label is among the columns of ``fit``, and no step takes it."""
    frame, y = people
    encode = make_column_transformer(
        ("drop", "age"), (OneHotEncoder(), [1, 2]), (TfidfVectorizer(), "said")
    )
    table = frame.assign(y=y)
    save_model("columns", make_pipeline(encode, MulticlassSVC(random_state=0)).fit(table, y))
    expected = load_model("columns").predict(table).tolist()
    assert run.works("predict", "people.csv", "columns", "-") == expected
    scores = run.works("evaluate", "known.parquet", "columns", "--label", "y", "--json")[0]
    assert json.loads(scores)["accuracy"] == (y == expected).mean()


def test_data_without_names_of_columns(run, people):
    np.save("rows.npy", np.eye(4))
    save_data("data", np.eye(4), [0, 1, 2, 3])
    for name, message in (
        ("rows.npy", "rows.npy: has no names of columns; give Parquet, Arrow or CSV"),
        ("data", "columns: is a pipeline that takes columns by their names, and data has none"),
    ):
        assert run.fails("predict", name, "columns", "-").startswith(message)
    message = run.fails("predict", "people.csv", "columns", "-", "--features", "age")
    assert message.startswith("people.csv: columns cannot transform it: columns are missing")
    message = run.fails("evaluate", "people.csv", "columns")
    assert message.startswith("people.csv: is a table; name the column of the labels")
    people[0].head(0).to_csv("empty.csv", index=False)
    assert run.fails("predict", "empty.csv", "columns", "-") == "empty.csv: has no rows"


def test_info(run, files):
    lines = run.works("info", "text")
    assert lines[0].startswith("model        text (format 1, by ")
    assert lines[1] == "step         TfidfVectorizer(ngram_range=[1, 2])"
    steps = json.loads(run.works("info", "dense", "--json")[0])["steps"]
    assert [step["kind"] for step in steps] == ["StandardScaler", "MinMaxScaler"]


def test_export(run, files):
    onnxruntime = pytest.importorskip("onnxruntime")
    run.works("export", "dense", "graph", "--format", "onnx")
    session = onnxruntime.InferenceSession("graph", providers=["CPUExecutionProvider"])
    labels = session.run(None, {"X": X.astype(np.float32)})[0]
    assert (labels == load_model("dense").predict(X)).mean() > 0.98  # but for float32's rounding
    message = run.fails("export", "dense", "out", "--format", "liblinear")
    assert message.startswith("dense: is a pipeline, and a LIBLINEAR model is only a classifier;")
    run.works("export", "text", "texts", "--format", "onnx")
    message = run.fails("export", "text", "out", "--format", "onnx", "--dtype", "float64")
    assert message == "text: words are counted in float32 in ONNX; use --dtype float32"
    assert "out" not in names(files)
