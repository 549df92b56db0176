"""The command line on tables."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from manyclass import MulticlassSVC, load_data, load_model, save_data, save_model
from tests.helpers.command_line import names

pd = pytest.importorskip("pandas")

pytest.importorskip("pyarrow")
IRIS = load_iris(as_frame=True)
FRAME = IRIS.data.rename(columns=lambda name: name.split(" (")[0].replace(" ", "_")).astype(
    np.float32
)
COLUMNS = FRAME.columns.tolist()
FRAME["species"] = IRIS.target_names[IRIS.target]


@pytest.fixture(name="files")
def files_fixture(here):
    """A folder with iris as tables."""
    FRAME.to_parquet("iris.parquet")
    FRAME.to_csv("iris.csv", index=False)
    FRAME[[*COLUMNS[::-1], "species"]].to_parquet("turned.parquet")
    FRAME[COLUMNS].to_csv("rows.csv", index=False)
    np.savez("iris.npz", X=FRAME[COLUMNS], y=IRIS.target)
    return here


@pytest.mark.parametrize("data", ["iris.parquet", "iris.csv"])
@pytest.mark.parametrize(
    "options", ["", "--formulation logistic", "-C auto", "--solver stochastic"]
)
def test_train_and_predict(run, files, data, options):
    run.works("train", data, "model", "--label", "species", "--quiet", *options.split())
    model = load_model("model")
    assert model.feature_names_in_.tolist() == COLUMNS
    expected = model.predict(FRAME[COLUMNS]).tolist()
    for table in ("iris.parquet", "turned.parquet", "rows.csv"):  # columns by their names
        assert run.works("predict", table, "model", "-") == expected
    shown = json.loads(run.works("evaluate", data, "model", "--label", "species", "--json")[0])
    assert shown["accuracy"] == np.mean(FRAME["species"] == expected)


@pytest.mark.filterwarnings("error")
def test_vectors_have_the_names_that_estimators_give(run, files):
    table = pd.DataFrame({"v": list(FRAME[COLUMNS].to_numpy()), "species": FRAME["species"]})
    table.to_parquet("vectors.parquet")
    run.works("train", "vectors.parquet", "ours", "--label", "species", "--quiet")
    model = MulticlassSVC(random_state=0).fit(table["v"], table["species"])
    save_model("theirs", model)
    loaded = load_model("ours")
    assert loaded.feature_names_in_.tolist() == [f"v[{i}]" for i in range(4)]
    assert model.feature_names_in_.tolist() == loaded.feature_names_in_.tolist()
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    expected = model.predict(table[["v"]]).tolist()
    assert loaded.predict(table["v"]).tolist() == expected
    for name in ("ours", "theirs"):
        assert run.works("predict", "vectors.parquet", name, "-", "--label", "species") == expected


def test_the_model_is_that_of_the_arrays_and_of_the_features_that_are_named(run, files):
    run.works("train", "iris.parquet", "model", "--label", "species", "--quiet")
    expected = MulticlassSVC(random_state=0).fit(FRAME[COLUMNS], FRAME["species"])
    np.testing.assert_array_equal(load_model("model").coef_, expected.coef_)
    option = "--features", "petal_length,petal_width"
    run.works("train", "iris.csv", "model", "--label", "species", "--quiet", *option)
    assert load_model("model").feature_names_in_.tolist() == ["petal_length", "petal_width"]
    assert len(run.works("predict", "iris.csv", "model", "-")) == 150
    run.works("train", "iris.npz", "model", "--label", "y", "--quiet")
    assert len(run.works("predict", "iris.npz", "model", "-")) == 150


def test_vectors_are_found_by_name(run, files):
    table = pd.DataFrame({"u": FRAME["sepal_width"], "v": FRAME[COLUMNS[2:]].to_numpy().tolist()})
    table["species"] = FRAME["species"]
    table.to_parquet("vectors.parquet")
    table[["v", "species", "u"]].to_parquet("turned_vectors.parquet")
    run.works("train", "vectors.parquet", "model", "--label", "species", "--quiet")
    assert load_model("model").feature_names_in_.tolist() == ["u", "v[0]", "v[1]"]
    expected = run.works("predict", "vectors.parquet", "model", "-")
    assert run.works("predict", "turned_vectors.parquet", "model", "-") == expected
    table.assign(v=[[1.0]] * len(table)).to_parquet("short.parquet")
    message = run.fails("predict", "short.parquet", "model", "-")
    assert message.startswith("short.parquet: the columns differ from the columns that model")
    message = run.fails("predict", "iris.parquet", "model", "-")
    assert message.startswith("iris.parquet: has no columns 'u', 'v'; model was trained on 'u',")


def test_missing_columns_are_listed_and_no_column_of_training_is_suggested(run, files):
    run.works("train", "iris.csv", "model", "--label", "species", "--quiet")
    trained = ", ".join(map(repr, COLUMNS))
    said = f"t.csv: has no column 'petal_width'; model was trained on {trained}, and the table has"
    FRAME[COLUMNS[:3]].to_csv("t.csv", index=False)
    message = run.fails("predict", "t.csv", "model", "-")
    assert message.startswith(said)
    assert message.endswith("'petal_length'; add the column")
    FRAME[COLUMNS].rename(columns={"petal_width": "petal.width"}).to_csv("t.csv", index=False)
    message = run.fails("predict", "t.csv", "model", "-")
    assert message.startswith(said)
    assert message.endswith("; rename 'petal.width' to 'petal_width' if it is the same")
    message = run.fails("evaluate", "iris.csv", "model", "--label", "specie")
    assert message.endswith("did you mean 'species'?")


def test_convert(run, files):
    lines = run.works("convert", "iris.parquet", "data", "--label", "species")
    assert lines[-1].endswith("MB, dense")
    X, y = load_data("data")
    np.testing.assert_array_equal(X, FRAME[COLUMNS].to_numpy())
    assert y.tolist() == FRAME["species"].tolist()
    lines = run.works("train", "data", "model")
    assert lines[0].endswith("150 rows, 4 features, 3 classes, dense")
    assert len(run.works("predict", "data", "model", "-")) == 150
    run.works("train", "data", "soft", "--solver", "stochastic", "--out-of-core", "--quiet")
    save_data("narrow", FRAME[COLUMNS[:3]], FRAME["species"])
    message = run.fails("predict", "narrow", "model", "-")
    assert message.startswith("narrow: has dense rows of 3 features, and model was trained on 4;")


def test_report(run, files):
    run.works("train", "iris.csv", "model", "--label", "species", "--quiet")
    run.works("report", "model", "iris.csv", "--label", "species", "-o", "page.html")
    assert "petal_width" in (files / "page.html").read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train iris.csv out", "iris.csv: is a table; name the column of the labels"),
        ("convert iris.csv out", "iris.csv: is a table; name the column of the labels"),
        ("train iris.csv out --label kind", "iris.csv: has no column 'kind'; there are"),
        (
            "train iris.csv out --label petal_width",
            "iris.csv: the column 'species' holds text.*--text species\\), or choose.*--features$",
        ),
        ("train iris.csv out --label species --features x", "iris.csv: has no column 'x'"),
        (
            "train iris.csv out --label species --sort",
            "argument --sort: requires svmlight text, and iris.csv is a",
        ),
        ("train iris.csv out --label species --n-features 9", "argument --n-features: requires"),
        ("train text out --label species", "text: is svmlight text, where rows begin with their l"),
        ("train data out --label species", "argument --label: data is not a table; leave it out"),
        (
            "train iris.csv out --label species --solver stochastic --out-of-core",
            "argument --out-of-core: requires svmlight text, and iris.csv is a table",
        ),
    ],
)
def test_bad_commands(run, files, command, message):
    (files / "text").write_text("1 1:1\n2 2:1\n")
    save_data("data", FRAME[COLUMNS], FRAME["species"])
    line = run.fails(*command.split())
    assert pd.Series([line]).str.match(message).all(), line
    assert "out" not in names(files)


@pytest.mark.parametrize("data", ["named.parquet", "named.csv"])
def test_columns_that_are_dropped(run, files, data):
    named = FRAME.assign(id=np.arange(len(FRAME)), name=[f"row {i}" for i in range(len(FRAME))])
    named.to_parquet("named.parquet")
    named.to_csv("named.csv", index=False)
    given = "--label", "species", "--drop", "id,name"
    run.works("train", data, "model", "--quiet", *given)
    assert load_model("model").feature_names_in_.tolist() == COLUMNS
    expected = run.works("predict", "iris.parquet", "model", "-")
    assert run.works("predict", data, "model", "-") == expected
    run.works("cv", data, "--folds", "2", "-C", "1", "--json", *given)
    run.works("convert", data, "converted", *given)
    X, _ = load_data("converted")
    assert X.shape == (150, 4)
    message = run.fails("train", "converted", "m", "--drop", "id")
    assert "argument --drop: converted is not a table" in message
    run.works("evaluate", data, "model", "--label", "species", "--drop", "id", "--drop", "name")


def test_columns_of_arrays_that_are_dropped(run, files):
    array = np.column_stack([np.arange(150), FRAME[COLUMNS], IRIS.target])
    np.save("iris.npy", array)
    run.works("train", "iris.npy", "model", "--label", "-1", "--drop", "0", "--quiet")
    assert load_model("model").n_features_in_ == 4
    message = run.fails("train", "iris.npy", "m", "--label", "-1", "--drop", "0,1,2,3,4")
    assert "no columns except the label and dropped columns" in message
    message = run.fails("train", "iris.npz", "m", "--label", "y", "--drop", "a")
    assert "no columns to drop" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop", "petal_widht"], "did you mean 'petal_width'?"),
        (["--drop", "species"], "has no column 'species'"),
        (["--drop", ",".join(COLUMNS)], "all columns are dropped"),
        (["--drop", "petal_width", "--features", "petal_length"], "names all columns"),
    ],
)
def test_what_cannot_be_dropped(run, files, options, message):
    assert message in run.fails("train", "iris.csv", "m", "--label", "species", *options)


def test_booleans_are_the_same_classes_everywhere(run, files):
    table = FRAME[COLUMNS].assign(big=FRAME["petal_length"] > 3)
    table.to_parquet("flags.parquet")
    table.to_csv("flags.csv", index=False)
    rows = zip(table["big"], table[COLUMNS].to_numpy(), strict=True)
    lines = (" ".join([str(big), *(f"{j}:{v}" for j, v in enumerate(row, 1))]) for big, row in rows)
    (files / "flags.txt").write_text("\n".join(lines))
    save_data("flags.data", table[COLUMNS], table["big"])
    save_model("python", MulticlassSVC(random_state=0).fit(table[COLUMNS], table["big"]))
    save_model("words", MulticlassSVC(random_state=0).fit(table[COLUMNS], table["big"].astype(str)))
    data = {
        "flags.parquet": ["--label", "big"],
        "flags.csv": ["--label", "big"],
        "flags.txt": [],
        "flags.data": [],
    }
    for name, label in data.items():
        run.works("train", name, name + ".model", "--quiet", *label)
        assert load_model(name + ".model").classes_.tolist() == [False, True]
    for model in ("python", "words", *(name + ".model" for name in data)):
        for name, label in data.items():
            code, out, _ = run("evaluate", name, model, "--json", *label)
            assert code == 0
            assert json.loads(out[0])["accuracy"] > 0.95, (model, name)
        found = set(run.works("predict", "flags.parquet", model, "-", "--label", "big"))
        assert found == {"False", "True"}
    found = set(run.works("predict", "flags.csv", "python", "-", "--reject", "1"))
    assert found == {"False", "True", "-1"}


def test_the_index_of_a_frame_is_no_feature(run, files):
    shuffled = FRAME.sample(frac=1.0, random_state=0)
    shuffled.to_parquet("shuffled.parquet")
    lines = run.works("train", "shuffled.parquet", "model", "--label", "species")
    columns = ", ".join(map(repr, COLUMNS))
    assert lines[0] == (
        f"shuffled.parquet: features are the columns {columns}; left out, the index of a data "
        "frame: '__index_level_0__'"
    )
    assert load_model("model").feature_names_in_.tolist() == COLUMNS
    assert len(run.works("predict", "shuffled.parquet", "model", "-")) == 150
    run.works("convert", "shuffled.parquet", "data", "--label", "species", "--drop", "sepal_width")
    assert load_data("data")[0].shape == (150, 3)
