"""One table of hostile labels through every reader: each keeps them apart, or refuses them."""

import datetime
import decimal

import numpy as np
import pytest

from manyclass import MulticlassSVC, StochasticClassifier, load_data, load_svmlight, save_data
from manyclass.estimators.validation import validated
from tests.helpers.cases import each

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

X = np.eye(6)
DAY, HOUR = datetime.date(2026, 1, 2), datetime.time(1, 2)
REFUSED, SKIPPED = "refused", "skipped"
# Labels, and the classes that they are: in Python and in files with types; in files of text. None:
# as those of files with types. REFUSED: one clear error.
HOSTILE = {
    "integers": ([3, -1], [-1, 3], None),
    "integers beyond 2^53": ([2**53, 2**53 + 1], [2**53, 2**53 + 1], None),
    "the ends of int64": ([2**63 - 1, -(2**63)], [-(2**63), 2**63 - 1], None),
    "2^63": ([2**63, 1], REFUSED, None),
    "beyond 64 bits": ([2**70, 2**70 + 1], REFUSED, None),
    "floats": ([1.0, 2.0], [1.0, 2.0], None),
    "floats of 2^53": ([2.0**53, 1.0], REFUSED, None),
    "integers and large floats": ([2**53 + 1, 0.5], REFUSED, None),
    "booleans": ([True, False], [False, True], None),
    "one boolean and a number": ([True, 2], REFUSED, ["2", "True"]),
    "text": (["b", "a"], ["a", "b"], None),
    "numbers as text": (["10", "9"], ["10", "9"], [9, 10]),
    "leading zeros": (["007", "7"], ["007", "7"], None),
    "leading zeros beside integers": (["01", "2"], ["01", "2"], None),
    "booleans as text": (["True", "False"], ["False", "True"], [False, True]),
    "small booleans as text": (["true", "false"], ["false", "true"], [False, True]),
    "booleans in two spellings": (["True", "true"], ["True", "true"], None),
    "dates as text": (["2026-01-02", "2026-01-03"], ["2026-01-02", "2026-01-03"], None),
    "times as text": (["10:30", "09:15"], ["09:15", "10:30"], None),
    "missing values as words": (["NA", "a"], ["NA", "a"], None),
    "missing beside numbers": (["NA", "7"], ["7", "NA"], REFUSED),
    "NaN as a word": (["nan", "a"], ["a", "nan"], None),
    "NaN beside numbers": (["nan", "7"], ["7", "nan"], REFUSED),
    "an infinite number": (["1e999", "7"], ["1e999", "7"], REFUSED),
    "underscores": (["1_0", "10"], ["10", "1_0"], None),
    "capitals": (["a", "A"], ["A", "a"], None),
    "composed letters": (["\u00e9", "e\u0301"], ["e\u0301", "\u00e9"], None),
    "byte order marks": (["\ufeffa", "a"], ["a", "\ufeffa"], REFUSED),
    "empty text": (["", "a"], REFUSED, None),
    "trailing NULs": (["a\0", "a"], REFUSED, None),
    "None": ([None, "a"], REFUSED, None),
    "NaN": ([float("nan"), 1.0], REFUSED, None),
    "dates": ([DAY, DAY + datetime.timedelta(1)], REFUSED, ["2026-01-02", "2026-01-03"]),
    "times": ([HOUR, datetime.time(2)], REFUSED, ["01:02:00", "02:00:00"]),
    "spans of time": ([datetime.timedelta(1), datetime.timedelta(2)], REFUSED, SKIPPED),
    "decimals": ([decimal.Decimal(1), decimal.Decimal(2)], REFUSED, [1, 2]),
    "bytes": ([b"a", b"b"], REFUSED, SKIPPED),
    "text and numbers": (["a", 1], REFUSED, ["1", "a"]),
}


def array(labels):
    """Labels as an array; of objects where NumPy would change them."""
    kinds = {"date": "M8[D]", "timedelta": "m8[D]"}
    first = type(labels[0]).__name__
    is_changed = len(set(map(type, labels))) > 1 or "a\0" in labels
    return np.array(labels, object if is_changed else kinds.get(first))


def swapped(labels):
    cells = array(labels)
    return cells.astype(cells.dtype.newbyteorder(">"))


def table(labels):
    return pa.table({"a": X[:, 0], "y": pa.array(labels)})


def categories(labels):
    if isinstance(labels[0], datetime.timedelta):
        raise TypeError("pyarrow would write integers")
    return pa.table({"a": X[:, 0], "y": pa.array(labels).dictionary_encode()})


def text(labels):
    return ["" if label is None else str(label) for label in labels]


LABELS = {
    "list": list,
    "array": array,
    "big-endian": swapped,
    "objects": lambda labels: np.array(labels, object),
    "pandas": pd.Series,
    "pandas nullable": pd.array,
    "pandas categories": lambda labels: pd.Series(labels, dtype="category"),
    "pandas objects": lambda labels: pd.Series(labels, dtype=object),
    "pandas of Arrow": lambda labels: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(labels))),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda labels: pa.chunked_array([pa.array(labels)]),
    "pyarrow dictionary": lambda labels: pa.array(labels).dictionary_encode(),
}


def fitted(_, y):
    return np.unique(validated(MulticlassSVC(), X, y)[1])


def saved(folder, *data, **columns):
    save_data(folder / "out", *data, **columns)
    return np.unique(load_data(folder / "out")[1])


def of_file(name, write, label="y"):
    def read(folder, content):
        write(content, folder / name)
        return saved(folder, folder / name, label=label)

    return read


def write_stream(content, path):
    with pa.ipc.new_stream(str(path), content.schema) as writer:
        writer.write_table(content, max_chunksize=2)


def write_csv(labels, path):
    path.write_text("a,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)), "utf-8")


def read_svmlight(folder, labels):
    (folder / "t.txt").write_text("".join(f"{label} 1:1\n" for label in labels), "utf-8")
    return np.unique(load_svmlight(folder / "t.txt")[1])


def in_batches(folder, y):
    return saved(folder, ((X[i : i + 2], y[i : i + 2]) for i in (0, 2, 4)))


TYPED = {
    "fit": (list, lambda _, y: MulticlassSVC(random_state=0).fit(X, y).classes_),
    **{f"fit: {name}": (make, fitted) for name, make in LABELS.items()},
    **{
        f"save_data: {name}": (make, lambda folder, y: saved(folder, X, y))
        for name, make in LABELS.items()
    },
    "batches": (list, in_batches),
    "data frame": (table, lambda folder, content: saved(folder, content.to_pandas(), label="y")),
    "Arrow": (table, lambda folder, content: saved(folder, content, label="y")),
    "Parquet": (table, of_file("t.parquet", parquet.write_table)),
    "Parquet with a dictionary": (categories, of_file("t.parquet", parquet.write_table)),
    "Feather": (table, of_file("t.feather", feather.write_feather)),
    "stream of Arrow": (table, of_file("t.arrow", write_stream)),
    "npz": (array, of_file("t.npz", lambda y, path: np.savez(path, X=X, y=y))),
}
WRITTEN = {"CSV": of_file("t.csv", write_csv), "svmlight": read_svmlight}


def check(read, folder, content, expected):
    (folder / "out").unlink(missing_ok=True)
    if expected == REFUSED:
        with pytest.raises(ValueError) as caught:
            read(folder, content)
        assert "\n" not in str(caught.value)
        assert not (folder / "out").exists()
        return
    found = read(folder, content)
    assert found.tolist() == expected
    assert {*map(type, found.tolist())} == {*map(type, expected)}


@pytest.mark.parametrize("reader", TYPED)
@each("case", HOSTILE)
def test_labels_with_types(tmp_path, case, reader):
    labels, expected, _ = HOSTILE[case]
    make, read = TYPED[reader]
    try:
        content = make(labels * 3)
    except (TypeError, ValueError, OverflowError):
        assert expected == REFUSED  # by the library itself
        return
    check(read, tmp_path, content, expected)


@pytest.mark.parametrize("reader", WRITTEN)
@each("case", [case for case in HOSTILE if HOSTILE[case][2] != SKIPPED])
def test_labels_of_text(tmp_path, case, reader):
    labels, typed, written = HOSTILE[case]
    expected = typed if written is None else written
    if reader == "svmlight" and any(":" in label for label in text(labels)):
        expected = REFUSED  # as a feature
    check(WRITTEN[reader], tmp_path, text(labels * 3), expected)


def test_columns_of_an_array(tmp_path):
    """A .npy file has one type for all its columns."""
    read = of_file("t.npy", lambda y, path: np.save(path, np.column_stack([X[:, :1], y])), "1")
    check(read, tmp_path, np.array([1.0, 2.0] * 3), [1, 2])
    for refused in ([2.0**53, 1.0], [np.nan, 1.0], [np.inf, 1.0]):
        check(read, tmp_path, np.array(refused * 3), REFUSED)
    read = of_file("u.npy", lambda y, path: np.save(path, np.column_stack([y, y])), "1")
    check(read, tmp_path, np.array([2**63, 1] * 3, np.uint64), REFUSED)
    check(read, tmp_path, np.array([2**62 + 1, 2**62] * 3, ">u8"), [2**62, 2**62 + 1])


def test_classes_of_a_stream():
    """``partial_fit(classes=...)`` has the same rule."""
    y = pd.array([2**53, 2**53 + 1] * 3, "Int64")
    model = StochasticClassifier(random_state=0).partial_fit(X, y, classes=y)
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    with pytest.raises(ValueError, match="row 1 of classes is empty"):
        StochasticClassifier().partial_fit(X, y, classes=["a", ""])
