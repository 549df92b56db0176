"""Tables of other programs become the same rows as their arrays."""

import sys

import numpy as np
import pytest

from manyclass import load_data, save_data
from manyclass.io.file_signatures import table_kind
from manyclass.io.tables.open_table import open_table, table_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")

X = np.array([[1, 10], [2, 20], [3, 30], [4, 40]], np.float32)
LABELS = ["b", "a", "c", "a"]
FRAME = pd.DataFrame({"first": X[:, 0], "label": LABELS, "second": X[:, 1]})
VECTORS = {"vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "label": [1, 2, 1]}


def saved(path, *args, **kwargs):
    save_data(path / "out", *args, **kwargs)
    return load_data(path / "out")


def relabelled(kind):
    return FRAME.assign(label=FRAME["label"].astype(kind))


FRAMES = {
    "pandas": FRAME,
    "pandas with an index": FRAME.set_index(np.arange(4) + 7),
    "categories": relabelled("category"),
    "polars": pl.DataFrame(FRAME),
    "lazy categories": pl.DataFrame(FRAME).cast({"label": pl.Categorical}),
    "arrow": pa.table(FRAME),
    "reader": pa.table(FRAME).to_reader(max_chunksize=1),
    "batches": pa.table(FRAME).to_batches(max_chunksize=3),
    "chunks of pandas": [FRAME[:1], FRAME[1:]],
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_data_frames(tmp_path, frame):
    rows, labels = saved(tmp_path, frame, label="label")
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, X)
    assert labels.tolist() == LABELS


FILES = {
    "t.parquet": lambda file: FRAME.to_parquet(file),
    "parquet": lambda file: FRAME.to_parquet(file, row_group_size=1),
    "t.arrow": lambda file: feather.write_feather(FRAME, file, chunksize=2),
    "t.csv": lambda file: FRAME.to_csv(file, index=False),
    "t.csv.gz": lambda file: FRAME.to_csv(file, index=False, sep=";"),
    "t.TSV": lambda file: FRAME.to_csv(file, index=False, sep="\t"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path, name):
    FILES[name](tmp_path / name)
    rows, labels = saved(tmp_path, tmp_path / name, label="label")
    assert rows.dtype == (np.float64 if table_kind(tmp_path / name) == "csv" else np.float32)
    np.testing.assert_array_equal(rows, X)
    assert labels.tolist() == LABELS
    rows, _ = saved(tmp_path, tmp_path / name, label="label", features=["second"])
    np.testing.assert_array_equal(rows, X[:, 1:])


def test_files_of_numpy(tmp_path):
    np.save(tmp_path / "t.npy", np.column_stack([X, [3, 1, 2, 1]]))
    rows, labels = saved(tmp_path, tmp_path / "t.npy", label="-1")
    np.testing.assert_array_equal(rows, X)
    assert labels.tolist() == [3, 1, 2, 1]
    assert labels.dtype == np.int64
    rows, _ = saved(tmp_path, tmp_path / "t.npy", label="2", features=["1"])
    np.testing.assert_array_equal(rows, X[:, 1:])
    np.savez(tmp_path / "t.npz", X=X, y=np.array(LABELS))
    rows, labels = saved(tmp_path, tmp_path / "t.npz", label="y")
    np.testing.assert_array_equal(rows, X)
    assert labels.tolist() == LABELS


@pytest.mark.parametrize("kind", [pl.List(pl.Float32), pl.Array(pl.Float64, 2)], ids=str)
def test_columns_of_vectors(tmp_path, kind):
    frame = pl.DataFrame(VECTORS).cast({"vector": kind})
    frame.write_parquet(tmp_path / "t.parquet")
    for table in (frame, tmp_path / "t.parquet", frame[1:]):
        rows, labels = saved(tmp_path, table, label="label")
        assert rows.dtype == (np.float32 if kind == pl.List(pl.Float32) else np.float64)
        np.testing.assert_array_equal(rows, VECTORS["vector"][-len(labels) :])
        assert labels.tolist() == VECTORS["label"][-len(labels) :]
    table = open_table(tmp_path / "t.parquet", "label")
    assert table.names is None  # until it is read
    assert len([*table.batches()]) == 1
    assert table.names == ["vector[0]", "vector[1]"]


def test_kinds_of_numbers(tmp_path):
    columns = {
        "whole": pa.array([1, 2], pa.int8()),
        "true": pa.array([True, False]),
        "decimal": pa.array([1, 2], pa.int32()).cast(pa.decimal128(12, 2)),
        "half": pa.array(np.array([0.5, 1], np.float16)),
        "label": pa.array([True, False]),
    }
    rows, labels = saved(tmp_path, pa.table(columns), label="label")
    np.testing.assert_array_equal(rows, [[1, 1, 1, 0.5], [2, 0, 2, 1]])
    assert labels.tolist() == [True, False]
    names = table_of(pa.table(columns), "label").names
    assert names == ["whole", "true", "decimal", "half"]


@pytest.mark.parametrize(
    ("text", "rows", "labels"),
    [
        ("a,y\ntrue,false\nfalse,true\n", [[1.0], [0.0]], [False, True]),
        ('"a;b;c;d",y\n1,u\n', [[1.0]], ["u"]),  # delimiters within quotes
    ],
)
def test_truth_values_and_quotes_of_csv(tmp_path, text, rows, labels):
    (tmp_path / "t.csv").write_text(text)
    found = saved(tmp_path, tmp_path / "t.csv", label="y")
    assert (found[0].tolist(), found[1].tolist()) == (rows, labels)


def test_a_text_is_one_column(tmp_path):
    frame = pd.DataFrame({"a": [1.0], "b": [2.0], "ab": [3.0], "y": [1]})
    assert saved(tmp_path, frame, label="y", features="ab")[0].tolist() == [[3.0]]
    np.savez(tmp_path / "t.npz", ab=np.eye(2), y=np.array([3, 2**63 - 1], np.uint64))
    rows, labels = saved(tmp_path, tmp_path / "t.npz", label="y", features="ab")
    assert rows.tolist() == np.eye(2).tolist()
    assert labels.tolist() == [3, 2**63 - 1]


@pytest.mark.parametrize("labels", [[3, 5, 3], [0.5, 1.5, 0.5], [True, False, True]], ids=str)
def test_categories_that_are_no_text(tmp_path, labels):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": pd.Categorical(labels)})
    assert saved(tmp_path, frame, label="y")[1].tolist() == labels


def test_whole_numbers_of_csv_may_become_others(tmp_path, monkeypatch):
    """The first block says what is a number, not which."""
    monkeypatch.setattr("manyclass.io.tables.csv_file.CSV_BLOCK", 16)
    (tmp_path / "t.csv").write_text("a,y\n" + "1,u\n" * 10 + "0.5,v\n")
    rows, labels = saved(tmp_path, tmp_path / "t.csv", label="y")
    assert rows[-1].tolist() == [0.5]
    assert labels[-1] == "v"


def table(tmp_path, name, content):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif name.endswith(".npy"):
        np.save(path, content)
    elif name.endswith(".npz"):
        np.savez(path, **content)
    elif name.endswith(".parquet"):
        pl.DataFrame(content, strict=False).write_parquet(path)
    else:
        path.write_text(content)
    return path


BAD = [
    ("t.csv", "a,y\n1,u\n1\n", "y", None, "t.csv:3: has 1 columns, but the first line has 2 names"),
    ("t.csv", "a,y\n1,u\nx,v\n", "y", None, "the column 'a' holds text, and features are numbers"),
    ("t.csv", "a,y\n1,u\n,v\n", "y", None, "row 1 of the column 'a' is empty"),
    ("t.csv", "a,y\n1,u\ninf,v\n", "y", None, "row 1 of the column 'a' holds inf, in float64"),
    ("t.csv", "a,a,y\n1,1,u\n", "y", None, "has the column 'a' twice"),
    ("t.csv", "", "y", None, "cannot be read: Empty CSV file"),
    ("t.csv", "a,y\n1,u\n2,\n", "y", None, "row 1 of the column 'y' is empty"),
    ("t.csv", "a,y\n", "y", None, "no row"),
    ("t.csv", "a,y\n1,\u00e9\n".encode("latin-1"), "y", None, "the column 'y' is not UTF-8; save"),
    ("t.csv", "\u00e9,y\n1,a\n".encode("latin-1"), "y", None, "names of its columns are not UTF-8"),
    ("t.csv", "a,y\n1,a\n".encode("utf-16"), "y", None, "is in UTF-16 or not text; save it in UTF"),
    ("t.csv", "a,y\n1,a\n".encode("utf-16-be"), "y", None, "is in UTF-16 or not text; save it in"),
    ("t.csv", b"PK\x03\x04", "y", None, "is a zip archive, .* not a table .Parquet, Arrow"),
    ("t.feather", b"FEA1\0\0\0\0", "y", None, "is a Feather file of version 1 .write it again"),
    ("t.csv", "first,y\n1,u\n", "Y", None, "'Y'; there are 'first', 'y'; did you mean 'y'"),
    ("t.csv", "first,y\n1,u\n", "y", ["frist"], "no column 'frist'; .* did you mean 'first'"),
    ("t.csv", "a,y\n1,u\n", "y", ["a", "y"], "the column 'y' is both the label and a feature"),
    ("t.csv", "y\nu\n", "y", None, "has no columns except the label"),
    ("t.csv", "a,y\n1,u\n", None, None, "has the labels in a column; name it with label="),
    ("t.parquet", b"PAR1 and no more", "y", None, "cannot be read: "),
    ("t.parquet", {"a": [1, 2], "y": [1, None]}, "y", None, "row 1 of the column 'y' is missing"),
    ("t.parquet", {"a": [[1.0], [1.0, 2.0]], "y": [1, 2]}, "y", None, "row 1 .* of length 2, the"),
    (
        "t.parquet",
        {"a": [[1.0, 2.0], [1.0, None]], "y": [1, 2]},
        "y",
        None,
        "place 1 of row 1 of the column 'a' is",
    ),
    ("t.parquet", {"a": [1], "y": [[1]]}, "y", None, "the column 'y' holds large_list"),
    ("t.arrow", b"ARROW1 and no more", "y", None, "cannot be read: "),
    ("t.npy", b"\x93NUMPY", "0", None, "cannot be read: "),
    ("t.npy", X, "2", None, "no column '2'; its columns have numbers, from 0 to 1"),
    ("t.npy", X, "label", None, "no column 'label'; its columns have numbers"),
    ("t.npy", X[:, 0], "0", None, "holds float32 of shape .4,.; rows and columns of numbers"),
    ("t.npy", np.array([["a", "b"]]), "0", None, "holds <U1 of shape"),
    ("t.npy", np.array([[1.0, np.nan]]), "0", None, "row 0 has nan in column 0"),
    ("t.npz", {"X": X, "y": [1]}, "y", None, "'y' has the shape .1,., and X 4 rows"),
    ("t.npz", {"X": X, "y": LABELS}, "z", None, "no array 'z'; there are 'X', 'y'"),
    ("t.npz", {"X": X, "y": np.array(LABELS, object)}, "y", None, "'y' holds Python objects"),
    ("t.npz", {"X": X, "y": np.zeros(4, "M8[D]")}, "y", None, "the array 'y' holds datetime64.D.,"),
    ("t.npz", b"PK\x03\x04", "y", None, "cannot be read: "),
]


@pytest.mark.parametrize(("name", "content", "label", "features", "message"), BAD)
def test_bad_tables(tmp_path, name, content, label, features, message):
    path = table(tmp_path, name, content)
    with pytest.raises(ValueError, match=message) as caught:
        save_data(tmp_path / "out", path, label=label, features=features)
    assert str(path) in str(caught.value) or "no row" in message
    assert "\n" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_arguments_that_do_not_go_together(tmp_path):
    with pytest.raises(ValueError, match="leave out label= and features="):
        save_data(tmp_path / "out", X, LABELS, label="y")
    with pytest.raises(ValueError, match="batch 0: must be a data frame or an Arrow table"):
        save_data(tmp_path / "out", [X], label="y")
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        save_data(tmp_path / "out", tmp_path / "none.parquet", label="y")
    assert not any(tmp_path.iterdir())


def test_tables_of_other_columns(tmp_path):
    one = pd.DataFrame({"a": [1.0], "b": [2.0], "y": [1]})
    other = pd.DataFrame({"b": [3.0], "a": [4.0], "y": [2]})
    rows, _ = saved(tmp_path, [one, other], label="y")
    assert rows.tolist() == [[1.0, 2.0], [4.0, 3.0]]  # by name
    for batches, label in (
        ([one, one.rename(columns={"a": "c"})], "y"),
        ([(one[["a", "b"]], [1]), (one[["b", "a"]], [2])], None),
    ):
        with pytest.raises(
            ValueError, match=r"no column 'a'|different columns than the previous batches"
        ):
            save_data(tmp_path / "other", batches, label=label)
    assert not (tmp_path / "other").exists()


def test_gaps_and_labels_that_cannot_be_kept(tmp_path):
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["p", None]))
    with pytest.raises(ValueError, match="'y' is missing"):
        save_data(tmp_path / "out", pa.table({"a": [1.0, 2.0], "y": names}), label="y")
    save_data(tmp_path / "out", np.eye(2), ["a", "b"])
    with pytest.raises(ValueError, match="not valid UTF-8 text"):
        save_data(tmp_path / "out", np.eye(2), ["\ud800", "b"])
    assert load_data(tmp_path / "out")[1].tolist() == ["a", "b"]
    big = np.array([3, 2**53 + 1])
    with pytest.raises(ValueError, match="labels is 9007199254740993, and floats of that size"):
        save_data(tmp_path / "out", [(np.eye(2), big), (np.eye(2), [0.5, 1.5])])


def test_pyarrow_is_needed(tmp_path, monkeypatch):
    path = table(tmp_path, "t.csv", "a,y\n1,u\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow .*pip install pyarrow"):
        save_data(tmp_path / "out", path, label="y")
