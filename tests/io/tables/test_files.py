"""Files of tables as their owners meant them: names, indexes, streams, lines that are bad."""

import gzip
import os
import zipfile

import numpy as np
import pytest

from manyclass import load_data, load_svmlight, save_data
from manyclass.io.file_signatures import table_kind
from manyclass.io.tables import csv_file, csv_stream
from manyclass.io.tables.open_table import open_table
from tests.helpers.cases import each

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "y": ["u", "v", "u"]})


def saved(folder, *data, **columns):
    save_data(folder / "out", *data, **columns)
    return load_data(folder / "out")


def write_stream(path, frame=FRAME):
    content = pa.Table.from_pandas(frame)
    with pa.OSFile(os.fspath(path), "wb") as file, pa.ipc.new_stream(file, content.schema) as out:
        out.write_table(content, max_chunksize=2)


def write_npz(path):
    np.savez(path, X=FRAME[["a", "b"]], y=FRAME["y"].to_numpy(str))


WRITERS = {
    "t.parquet": FRAME.to_parquet,
    "t.feather": lambda path: feather.write_feather(FRAME, path),
    "t.arrow": write_stream,
    "t.csv": lambda path: FRAME.to_csv(path, index=False),
    "t.csv.gz": lambda path: FRAME.to_csv(path, index=False),
    "t.npz": write_npz,
}


@pytest.mark.parametrize("name", WRITERS)
def test_names_that_are_not_utf8(tmp_path, name):
    WRITERS[name](tmp_path / name)
    odd = os.fsencode(tmp_path / name).replace(b"/t.", b"/t\xff.")
    try:
        (tmp_path / name).rename(os.fsdecode(odd))
    except OSError:
        pytest.skip("the file system takes UTF-8 alone")
    rows, labels = saved(tmp_path, os.fsdecode(odd), label="y", verbose=1)
    np.testing.assert_array_equal(rows, FRAME[["a", "b"]])
    assert labels.tolist() == ["u", "v", "u"]
    with pytest.raises(ValueError, match=r"no (column|array) 'z'"):
        saved(tmp_path, os.fsdecode(odd), label="z")


@pytest.mark.parametrize(
    ("index", "left"),
    [
        (pd.Index([7, 9, 8], name="row"), "'row'"),
        (pd.Index([9, 7, 8]), "'__index_level_0__'"),
        (pd.Index(["p", "q", "r"], name="id"), "'id'"),
        (pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)], names=["i", "j"]), "'i', 'j'"),
        (pd.RangeIndex(3), None),
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda frame, path: frame.to_parquet(path),
        lambda frame, path: feather.write_feather(pa.Table.from_pandas(frame), path),
        lambda frame, path: write_stream(path, frame),
    ],
    ids=["parquet", "feather", "stream"],
)
def test_the_index_of_a_frame_is_no_feature(tmp_path, capsys, index, left, write):
    write(FRAME.set_index(index), tmp_path / "t")
    rows, _ = saved(tmp_path, tmp_path / "t", label="y", verbose=1)
    np.testing.assert_array_equal(rows, FRAME[["a", "b"]])
    told = capsys.readouterr().out
    assert f"{tmp_path / 't'}: features are the columns 'a', 'b'" in told
    assert ("left out, the index of a data frame: " + (left or "") in told) == bool(left)
    table = open_table(tmp_path / "t", "y", dropped=["a"])
    assert table.names == ["b"]


def test_an_index_is_a_feature_or_the_label_if_it_is_named_alone(tmp_path):
    FRAME.set_index("b").to_parquet(tmp_path / "t")
    rows, labels = saved(tmp_path, tmp_path / "t", label="b", features=["a"])
    assert labels.tolist() == [4.0, 5.0, 6.0]
    rows, _ = saved(tmp_path, tmp_path / "t", label="y", features=["b"])
    assert rows.ravel().tolist() == [4.0, 5.0, 6.0]
    table = pa.Table.from_pandas(FRAME.set_index(pd.Index([7, 9, 8], name="row")))
    assert saved(tmp_path, table, label="y")[0].shape == (3, 2)


def test_damaged_streams_are_one_clear_error(tmp_path):
    write_stream(tmp_path / "t")
    content = (tmp_path / "t").read_bytes()
    assert table_kind(tmp_path / "t") == "stream"
    for cut in (5, 20, len(content) // 2, len(content) - 40):
        (tmp_path / "t").write_bytes(content[:cut])
        with pytest.raises(ValueError, match="t: ") as caught:
            saved(tmp_path, tmp_path / "t", label="y")
        assert "\n" not in str(caught.value)


UNCLOSED = "a quote is not closed; close it, or remove it"
AFTER = "text follows a closing quote"
JOINED = "begins with a byte order mark, as joined files do; remove the mark"
LINES = {
    "unclosed": ('a,y\n1,"x\n2,y\n3,z\n', 2, UNCLOSED),
    "unclosed far down": ("a,y\n" + "1,x\n" * 99 + '1,"x\n' + "2,y\n" * 2000, 101, UNCLOSED),
    "unclosed in a feature": ('a,y\n"1,x\n2,y\n', 2, UNCLOSED),
    "unclosed twice": ('a,y\n1,"x\n2,"y\n3,z\n', 2, AFTER),
    "joined": ("\ufeffa,y\n1,x\n\ufeffa,y\n3,x\n", 3, JOINED),
    "joined without names": ("a,y\n1,x\n\ufeff2,y\n3,x\n", 3, JOINED),
    "joined labels": ("y,a\nx,1\n\ufeffz,2\nx,3\n", 3, JOINED),
    "more columns": ("a,y\n1,x\n\n1,x,3\n", 4, "has 3 columns, but the first line has 2 names"),
    "word far down": (
        "a,y\n" + "1,x\n" * 20 + "one,x\n",
        22,
        "the column 'a' holds 'one', but the previous rows hold numbers",
    ),
    "another encoding": (b"a,y\n" + b"1,x\n" * 20 + b"1,\xe9\n", 22, "is not UTF-8; save the file"),
}


@pytest.mark.parametrize("case", LINES)
def test_lines_of_csv_that_cannot_be_read(tmp_path, monkeypatch, case):
    monkeypatch.setattr("manyclass.io.tables.csv_file.CSV_BLOCK", 64)
    content, line, words = LINES[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError) as caught:
        saved(tmp_path, path, label="y")
    assert str(caught.value).startswith(f"{path}:{line}: {words}")
    assert "\n" not in str(caught.value)


def test_lines_within_quotes(tmp_path, monkeypatch):
    """Cells of several lines, and quotes, are text as any other, in small blocks, too."""
    monkeypatch.setattr("manyclass.io.tables.csv_file.CSV_BLOCK", 32)
    labels = ['two\nlines "quoted"', 'x"', "\ufeffz"[1:]] * 9
    frame = pd.DataFrame({"a": np.arange(27.0), "y": labels})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert saved(tmp_path, tmp_path / "t.csv", label="y")[1].tolist() == labels


def test_types_of_labels_come_from_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr("manyclass.io.tables.csv_file.CSV_BLOCK", 16)
    for last, expected in (("12", [1, 12]), ("012", ["012", "1"]), ("1.5", [1.0, 1.5])):
        (tmp_path / "t.csv").write_text("a,y\n" + "1,1\n" * 20 + f"2,{last}\n")
        labels = saved(tmp_path, tmp_path / "t.csv", label="y")[1]
        assert np.unique(labels).tolist() == expected
    (tmp_path / "t.csv").write_text("a,y\n" + "1,1\n" * 20 + f"2,{2**64}\n")
    with pytest.raises(ValueError, match="row 20 of the column 'y' is 18446744073709551616, which"):
        saved(tmp_path, tmp_path / "t.csv", label="y")


@pytest.mark.parametrize("start", ["@relation x\n", "% from Weka\n\n%\n  @RELATION 'x'\n"])
def test_arff_is_named(tmp_path, start):
    (tmp_path / "t.arff").write_text(start + "@attribute a numeric\n@data\n1,u\n")
    with pytest.raises(ValueError, match=r"is an ARFF file of Weka .convert it to CSV or Parquet"):
        saved(tmp_path, tmp_path / "t.arff", label="y")
    (tmp_path / "t.gz").write_bytes(gzip.compress((tmp_path / "t.arff").read_bytes()))
    with pytest.raises(ValueError, match="the file is an ARFF file"):
        load_svmlight(tmp_path / "t.gz")


def damaged_headers():
    """Yield headers of .npy files that no writer makes."""
    shapes = "(True, 4)", "(1.0, 4)", "(-1, 4)", "(2**99,)", "(99999999999999999999, 4)", "{}"
    for shape in shapes:
        yield f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    for kind in ("'<f9'", "'|O'", "[]", "7", "None", "[('a', '<f8')]", "'V0'", "'<M8[s]'", "'S0'"):
        yield f"{{'descr': {kind}, 'fortran_order': False, 'shape': (1, 4), }}"
    yield "{'descr': '<f8', 'fortran_order': 3, 'shape': (1, 4), }"
    yield "{" * 90
    yield "[" * 9000


@pytest.mark.parametrize("kind", ["npy", "npz"])
@each("header", damaged_headers())
def test_damaged_headers_of_numpy(tmp_path, kind, header):
    path = tmp_path / "t.npy"
    size = len(header).to_bytes(4, "little")
    path.write_bytes(b"\x93NUMPY\x02\x00" + size + header.encode() + np.ones(4).tobytes())
    if kind == "npz":
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            archive.write(path, "X.npy")
            archive.write(path, "y.npy")
        path = tmp_path / "t.npz"
    with pytest.raises(ValueError) as caught:
        saved(tmp_path, path, label="y" if kind == "npz" else "0")
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_nothing_reads_ahead_after_a_stream_is_closed(tmp_path, monkeypatch):
    late, read = [], csv_stream.CsvStream.read

    def read_unless_closed(self, size=-1):
        if self.closed:
            late.append(self)
            return b""
        return read(self, size)

    monkeypatch.setattr(csv_stream.CsvStream, "read", read_unless_closed, raising=False)
    monkeypatch.setattr(csv_file, "CSV_BLOCK", 1 << 10)
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,2\n" * 5000)
    for _ in range(20):
        file = csv_file.CsvFile(pa, str(path))
        batches = file.batches(["a"], "b")
        assert next(batches).num_rows > 0
        batches.close()
    assert late == []
