"""The command line on columns of text."""

import json

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    load_model,
    save_data,
    save_model,
)
from tests.helpers.command_line import names

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")

SAID = ["the card was charged twice", "a parcel is late", "refund the card", "no parcel, no parcel"]
FRAME = pd.DataFrame(
    {
        "title": ["Card!", "Late", "Refund", "Lost"] * 5,
        "said": SAID * 5,
        "team": ["billing", "delivery", "billing", "delivery"] * 5,
        "days": range(20),
    }
)
TRAIN = ("--label", "team", "--text")


@pytest.fixture(name="files")
def files_fixture(here):
    """A folder with tickets as tables."""
    FRAME.to_parquet("tickets.parquet")
    FRAME.to_csv("tickets.csv", index=False)
    FRAME.to_csv("tickets.tsv", index=False, sep="\t")
    FRAME[["title", "said"]].to_csv("new.csv", index=False)
    return here


@pytest.mark.parametrize("data", ["tickets.csv", "tickets.tsv", "tickets.parquet"])
@pytest.mark.parametrize(
    "options", ["", "--formulation logistic", "-C auto", "--solver stochastic"]
)
def test_the_model_takes_tables_with_the_column(run, files, data, options):
    run.works("train", data, "model", "--quiet", *options.split(), *TRAIN, "said")
    expected = load_model("model").predict(FRAME[["said"]]).tolist()
    assert expected == FRAME["team"].tolist()
    for table in ("tickets.csv", "tickets.parquet", "new.csv"):
        assert run.works("predict", table, "model", "-") == expected
    assert run.works("predict", "model", "new.csv", "-", "--text", "said") == expected
    shown = json.loads(run.works("evaluate", data, "model", "--label", "team", "--json")[0])
    assert shown["accuracy"] == 1


def test_the_model_is_that_of_a_pipeline(run, files):
    options = "--ngrams", "1-2", "--min-df", "2", "--dtype", "float64", "--quiet"
    run.works("train", "tickets.csv", "model", *TRAIN, "said", *options)
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    expected = make_pipeline(words, MulticlassSVC(random_state=0)).fit(FRAME["said"], FRAME["team"])
    model = load_model("model")
    np.testing.assert_array_equal(model[-1].coef_, expected[-1].coef_)
    np.testing.assert_array_equal(model[0].get_feature_names_out(), words.get_feature_names_out())
    save_model("again", model)
    assert run.works("predict", "new.csv", "again", "-") == run.works(
        "predict", "new.csv", "model", "-"
    )


def test_several_columns_have_words_of_their_own(run, files):
    run.works("train", "tickets.csv", "model", *TRAIN, "said,title", "--quiet")
    model = load_model("model")
    assert isinstance(model[0], ColumnTransformer)
    found = model[0].get_feature_names_out().tolist()
    assert {"said__card", "title__card"} <= set(found)
    assert run.works("predict", "new.csv", "model", "-") == FRAME["team"].tolist()


def test_report_calibrate_and_info(run, files):
    run.works("train", "tickets.csv", "model", *TRAIN, "said", "--quiet")
    run.works("report", "tickets.csv", "model", "-o", "page.html", "--label", "team")
    assert "parcel" in (files / "page.html").read_text()
    known = FRAME.assign(team=["delivery", *FRAME["team"][1:]])
    known.to_csv("known.csv", index=False)
    run.works("calibrate", "known.csv", "model", "calibrated", "--label", "team")
    lines = run.works("predict", "new.csv", "calibrated", "-", "--probabilities")
    assert [line.split("\t")[0] for line in lines] == FRAME["team"].tolist()
    assert run.works("info", "model")[1:3] == [
        "step         ColumnTransformer(sparse_threshold=1.0, verbose_feature_names_out=False)",
        "step         TfidfVectorizer(dtype='float32', sublinear_tf=True) of said",
    ]


def test_export(run, files):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    run.works("train", "tickets.csv", "model", *TRAIN, "said,title", "--quiet", "--ngrams", "1-2")
    run.works("export", "model", "graph", "--format", "onnx")
    session = onnxruntime.InferenceSession("graph", providers=["CPUExecutionProvider"])
    rows = {name: FRAME[[name]].to_numpy(object) for name in ("said", "title")}
    assert session.run(["label"], rows)[0].tolist() == FRAME["team"].tolist()
    message = run.fails("export", "model", "out", "--format", "liblinear")
    assert message.startswith("model: is a pipeline, and a LIBLINEAR model is only a classifier;")


def test_words_are_named(run, files):
    lines = run.works("train", "tickets.csv", "model", *TRAIN, "said")
    assert lines[0] == "tickets.csv: features are the words of the column 'said'"
    assert "20 rows, 10 features, 2 classes, 65 non-zeros" in lines[1]


def test_missing_text_is_an_empty_document(run, files):
    texts = pd.Series([*SAID, None, ""])
    rows = pd.DataFrame({"said": texts, "team": ["b", "d", "b", "d", "c", "c"]})
    rows.to_parquet("gaps.parquet")
    rows.to_csv("gaps.csv", index=False)
    rows.astype("category").to_parquet("categories.parquet")
    for name in ("gaps.parquet", "gaps.csv", "categories.parquet"):
        run.works("train", name, "model", *TRAIN, "said", "--quiet")
        assert run.works("predict", name, "model", "-") == rows["team"].tolist()
    rows.assign(said=None).to_parquet("none.parquet")
    assert run.works("predict", "none.parquet", "model", "-") == ["c"] * 6


def test_text_of_a_few_rows_may_look_like_numbers(run, files):
    run.works("train", "tickets.csv", "model", *TRAIN, "said", "--quiet")
    for cells in ("2024\n", "2024-01-01\n", "true\n", "007\n", '""\n'):
        (files / "few.csv").write_text(f"said\n{cells}")
        assert len(run.works("predict", "few.csv", "model", "-")) == 1


@pytest.fixture(name="mixed")
def mixed_fixture(here):
    """A table `mixed.csv` of texts of two kinds, most of whose words are rare."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=60)
    words = [[f"kind{c}", *(f"word{i}" for i in random.integers(80, size=6))] for c in y]
    said = [" ".join(some[random.integers(2) :]) for some in words]
    table = pd.DataFrame({"said": said, "kind": np.array(["a", "b", "c"])[y]})
    table.to_csv("mixed.csv", index=False)
    return table


@pytest.mark.parametrize("options", [(), ("--text", "said", "--formulation", "logistic")])
def test_folds_have_words_of_their_own(run, mixed, options):
    """Scores are those of a search over a pipeline, whose folds fit the vectorizer, too."""
    Cs, kind = [0.1, 1.0, 10.0], MultinomialLogisticRegression if options else MulticlassSVC
    given = ["mixed.csv", "--label", "kind", *(options or ("--text", "said"))]
    search = "--folds", "3", "-C", "0.1,1,10", "--tol", "1e-6", "--json", "--min-df", "2"
    found = json.loads(run.works("cv", *given, *search)[0])
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    line = make_pipeline(words, kind(tol=1e-6, random_state=0))
    name = f"{kind.__name__.lower()}__C"
    theirs = GridSearchCV(line, {name: Cs}, cv=3).fit(mixed["said"], mixed["kind"]).cv_results_
    scores = np.array(found["scores"], float)
    for fold in range(3):
        tried = ~np.isnan(scores[fold])
        expected = theirs[f"split{fold}_test_score"][: len(tried)]
        np.testing.assert_allclose(scores[fold][tried], expected[tried])
    run.works("train", *given, "auto", "-C", "auto", "--quiet")
    model = load_model("auto")
    kept = model[0].transform(mixed)
    again = kind(C=model[-1].C_, random_state=0).fit(kept, mixed["kind"])
    assert (model.predict(mixed) == again.predict(kept)).mean() > 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--text sayd", "tickets.csv: has no column 'sayd'; there are 'title', .*'said'?"),
        ("--text days", "tickets.csv: the column 'days' contains numbers; --text needs a column"),
        ("--text team", "tickets.csv: the column 'team' is both the label and a feature"),
        ("--text said --min-df 99", "tickets.csv: no word of the column 'said' is in 99 rows or"),
        ("--text said --ngrams 9", "tickets.csv: no row has a sequence of 9 words of two letters"),
        ("--text said --ngrams 2-1", "argument --ngrams: must be a number of words, or two as in"),
        ("--text said --ngrams x", "argument --ngrams: must be a number of words, or two as in"),
        ("--text said --features days", "argument --features: cannot be combined with --text"),
        ("--text said --drop days", "argument --drop: cannot be combined with --text, which"),
        ("--text said --start old", "argument --start: cannot be combined with --text"),
        ("--text said --state new", "argument --state: cannot be combined with --text"),
        (
            "--text said --solver stochastic --out-of-core",
            "argument --out-of-core: cannot be combined with --text",
        ),
        ("--text said --sort", "argument --sort: requires svmlight text, and tickets.csv is a t"),
        ("--text said,said", "argument --text: said is given twice"),
        ("--min-df 2", "argument --min-df: requires --text"),
        ("--ngrams 2", "argument --ngrams: requires --text"),
        ("", r"tickets.csv: the column 'title' holds text.*\(--text title\), or choose the col"),
    ],
)
def test_bad_training(run, files, options, message):
    line = run.fails("train", "tickets.csv", "out", "--label", "team", *options.split())
    assert pd.Series([line]).str.match(message).all(), line
    assert "out" not in names(files)


def test_other_data_than_tables_are_refused(run, files):
    (files / "rows").write_text("1 1:1\n2 2:1\n")
    save_data("data", np.eye(2), [0, 1])
    np.save("rows.npy", np.eye(4))
    for name, message in (
        (
            "rows",
            "rows: is svmlight text, where rows begin with their label; leave out names of columns",
        ),
        ("data", "argument --text: data is not a table; leave it out"),
        ("rows.npy", "rows.npy: has no names of columns; give Parquet, Arrow or CSV"),
        ("absent.csv", "absent.csv: no such file"),
    ):
        assert run.fails("train", name, "out", *TRAIN, "said").startswith(message)
    message = run.fails("train", "tickets.csv", "out", "--text", "said")
    assert message.startswith("tickets.csv: is a table; name the column of the labels")


def test_empty_text_alone_is_refused(run, files):
    for said in ("", None, "a ! ?"):
        FRAME.assign(said=said).to_parquet("empty.parquet")
        message = run.fails("train", "empty.parquet", "out", *TRAIN, "said")
        assert message.startswith("empty.parquet: no row has a word of two letters or more in the")


def test_bad_data_of_a_model(run, files):
    run.works("train", "tickets.csv", "model", *TRAIN, "said", "--quiet")
    (files / "rows").write_text("1 1:1\n2 2:1\n")
    FRAME[["title"]].to_csv("less.csv", index=False)
    FRAME.assign(said=1.5).to_parquet("other.parquet")
    for name, message in (
        ("rows", "model: is a pipeline that takes columns by their names, and rows has none; give"),
        ("less.csv", "less.csv: has no column 'said'; model was trained on 'said', and the"),
        ("other.parquet", "other.parquet: the column 'said' contains numbers; the model needs a"),
    ):
        assert run.fails("predict", name, "model", "out").startswith(message)
    message = run.fails("predict", "new.csv", "model", "out", "--text", "title")
    assert message == (
        "argument --text: model takes text by the name of its column ('said'); leave out --text"
    )
    message = run.fails("evaluate", "tickets.csv", "model")
    assert message.startswith("tickets.csv: is a table; name the column of the labels")


def test_packages_are_asked_for_before_the_data_are_read(run, files, monkeypatch):
    monkeypatch.setattr("manyclass.cli.input.text.find_spec", lambda name: None)
    message = run.fails("train", "absent.csv", "out", *TRAIN, "said")
    assert message == "argument --text: needs pyarrow; pip install pyarrow"


def test_pipelines_of_text_take_a_column_that_is_named(run, files):
    pipeline = make_pipeline(TfidfVectorizer(), MulticlassSVC(random_state=0))
    save_model("text", pipeline.fit(FRAME["said"], FRAME["team"]))
    expected = FRAME["team"].tolist()
    for name in ("new.csv", "tickets.parquet"):
        assert run.works("predict", name, "text", "-", "--text", "said") == expected
    options = "--label", "team", "--text", "said"
    shown = json.loads(run.works("evaluate", "text", "tickets.csv", "--json", *options)[0])
    assert shown["accuracy"] == 1
    run.works("report", "tickets.csv", "text", "-o", "page.html", *options)
    message = run.fails("evaluate", "tickets.csv", "text", "--text", "said")
    assert message.startswith("tickets.csv: is a table; name the column of the labels")
    message = run.fails("predict", "new.csv", "text", "-")
    assert message.startswith("text: is a pipeline that takes text, by its TfidfVectorizer; give a")


def test_models_of_numbers_take_no_text(run, tiny):
    message = run.fails("predict", "tiny", "abc", "-", "--text", "said")
    assert message == "argument --text: abc takes no text; leave out --text"


def test_label_sets_of_a_pipeline_made_in_python(run, files):
    from manyclass import MultilabelSVC

    words = ColumnTransformer([("said", TfidfVectorizer(), "said")])
    model = make_pipeline(words, MultilabelSVC(random_state=0))
    save_model("sets", model.fit(FRAME[["said"]], [{team} for team in FRAME["team"]]))
    assert run.works("predict", "new.csv", "sets", "-") == FRAME["team"].tolist()
    found = run.works("evaluate", "tickets.csv", "sets", "--label", "team", "--json")[0]
    assert json.loads(found)["accuracy"] == 1


def test_names_with_commas_stand_in_quotes(run, here):
    FRAME.rename(columns={"said": "said, in short"}).to_csv("odd.csv", index=False)
    run.works("train", "odd.csv", "model", "--quiet", *TRAIN, '"said, in short"')
    assert run.works("predict", "odd.csv", "model", "-") == FRAME["team"].tolist()


def test_text_that_is_not_utf_8_is_refused_by_its_line(run, here):
    (here / "latin.csv").write_bytes(b"said,team\ncaf\xe9,a\nbar,b\n")
    assert "latin.csv:2: is not UTF-8" in run.fails("train", "latin.csv", "model", *TRAIN, "said")


def test_folds_without_words_name_the_option(run, files):
    said = run.fails("cv", "tickets.csv", *TRAIN, "said", "--min-df", "9", "--folds", "5")
    assert "--min-df" in said


def test_columns_by_position_of_an_array_have_no_name(run, files):
    rows = FRAME[["said"]].to_numpy()
    first = ColumnTransformer([("words", TfidfVectorizer(), 0)])
    model = make_pipeline(first, MulticlassSVC(random_state=0)).fit(rows, FRAME["team"])
    save_model("model", model)
    assert "holds text" in run.fails("predict", "new.csv", "model", "-")
