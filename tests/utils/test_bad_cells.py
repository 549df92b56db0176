"""Messages about the first number that is not finite, and about text among numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    StochasticClassifier,
    save_data,
)
from manyclass.estimators import decisions, probabilities
from manyclass.utils.bad_cells import place_of_first
from tests.helpers.cases import each

NAMES = ["width", "length", "height"]
Y = np.arange(60) % 3
X = np.random.default_rng(0).normal(size=(60, 3)) + np.eye(3)[Y]
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
ESTIMATORS = (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultilabelSVCCV,
    MultinomialLogisticRegression,
    StochasticClassifier,
)


def with_bad(value, dtype=np.float64):
    bad = X.astype(dtype)
    bad[[7, 7, 9], [1, 2, 0]] = value
    return bad


def targets(kind):
    return [{c} for c in Y.tolist()] if kind in (MultilabelSVC, MultilabelSVCCV) else Y


@each("kind", ESTIMATORS)
def test_fit_names_the_row_and_the_column(kind):
    pd = pytest.importorskip("pandas")
    for bad, words in [
        (with_bad(np.nan), "NaN: row 7, column 1; fill it in"),
        (with_bad(-np.inf), "infinity or a value too large for dtype.*: row 7, column 1; correct"),
        (with_bad(np.nan).tolist(), "NaN: row 7, column 1"),
        (sp.csr_array(with_bad(np.nan)), "NaN: row 7, column 1"),
        (sp.csc_matrix(with_bad(np.inf, np.float32)), "infinity or .*float32.*: row 7, column 1"),
        (pd.DataFrame(with_bad(np.nan), columns=NAMES), "NaN: row 7, column 'length'"),
        (pd.DataFrame(X, columns=NAMES).astype("Float64").mask(X > 1.5), "NaN: row "),
    ]:
        with pytest.raises(ValueError, match=f"Input X contains {words}"):
            kind().fit(bad, targets(kind))


@each("kind", ESTIMATORS)
def test_predict_names_the_row_and_the_column(kind, monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr(decisions, "SCORES_AT_A_TIME", 12)
    model = kind(random_state=0).fit(pd.DataFrame(X, columns=NAMES), targets(kind))
    bad = pd.DataFrame(with_bad(np.nan), columns=NAMES)
    with pytest.raises(ValueError, match="contains NaN: row 7, column 'length'"):
        model.predict(bad)
    if kind is MultinomialLogisticRegression:
        with pytest.raises(ValueError, match="contains NaN: row 7, column 'length'"):
            model.predict(bad, reject=0.5)


def test_frames_of_other_libraries():
    bad = with_bad(np.nan)
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = dict(zip(NAMES, bad.T.tolist(), strict=True))
    missing = {name: [None if v != v else v for v in values] for name, values in columns.items()}
    for frame in (pl.DataFrame(columns), pl.DataFrame(missing), pa.table(missing)):
        with pytest.raises(ValueError, match="contains NaN: row 7, column 'length'"):
            MulticlassSVC().fit(frame, Y)


def test_data_files_name_the_row_and_the_column(tmp_path):
    for rows in (with_bad(np.inf), sp.csr_array(with_bad(np.nan))):
        with pytest.raises(ValueError, match="X holds NaN or infinity: row 7, column 1; training"):
            save_data(tmp_path / "data", rows, Y)
    with pytest.raises(ValueError, match="batch 1: X holds NaN or infinity: row 7, column 1"):
        save_data(tmp_path / "data", iter([(X, Y), (with_bad(np.nan), Y)]))


def test_places():
    assert place_of_first([[1.0, 1e39], [0.0, 0.0]], SINGLE) == ": row 0, column 1"
    assert place_of_first([[1.0, 1e39], [0.0, 0.0]], DOUBLE) == ""
    assert place_of_first([["a"]], DOUBLE) == ""


def with_text(word):
    cells = X.astype(object)
    cells[7, 1] = word
    return cells


def test_text_among_numbers_is_named():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    cells = with_text("n/a")
    mixed = pd.DataFrame(cells, columns=NAMES)
    texts = mixed.astype({"width": float, "height": float}).astype({"length": str})
    of_frame = "X holds the text 'n/a' among numbers, in row 7 of the column 'length'; correct it"
    for rows in (mixed, texts, pl.from_pandas(texts), pa.Table.from_pandas(texts)):
        with pytest.raises(ValueError, match=of_frame):
            MulticlassSVC().fit(rows, Y)
    for rows in (cells, cells.tolist(), cells.astype(str)):
        with pytest.raises(ValueError, match="'n/a' among numbers, in row 7 of column 1; correct"):
            MulticlassSVC().fit(rows[:], Y)


def test_numbers_as_text_and_text():
    pd = pytest.importorskip("pandas")
    written = pd.DataFrame(X, columns=NAMES).astype(str)
    with pytest.raises(ValueError, match="text in the column 'width', all of it numbers"):
        MulticlassSVC().fit(written, Y)
    kinds = written.assign(width=np.array(["oak", "elm", "1"])[Y])
    with pytest.raises(ValueError, match=r"text in the column 'width', but .*OneHotEncoder"):
        MulticlassSVC().fit(kinds, Y)


def test_text_among_numbers_in_tables(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(with_text("oops"), columns=NAMES).assign(kind=Y)
    with pytest.raises(ValueError, match="'oops' among numbers, in row 7 of the column 'length'"):
        save_data(tmp_path / "data", frame, label="kind")
    frame.to_csv(tmp_path / "new.csv", index=False)
    for table in (tmp_path / "new.csv", frame.astype({"length": str})):
        with pytest.raises(ValueError, match="row 7 of the column 'length' holds 'oops', and most"):
            save_data(tmp_path / "data", table, label="kind")
    frame.replace("oops", "NA").to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="row 7 of the column 'length' is empty or NA; fill it in"):
        save_data(tmp_path / "data", tmp_path / "new.csv", label="kind")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_names_of_an_earlier_fit_are_left_out():
    pd = pytest.importorskip("pandas")
    model = StochasticClassifier().fit(pd.DataFrame(X, columns=NAMES), Y)
    wide = np.hstack([X, with_bad(np.nan)])
    with pytest.raises(ValueError, match="NaN: row 7, column 4; fill it in"):
        model.partial_fit(wide, Y)


@each("kind", ESTIMATORS)
def test_columns_of_vectors(kind):
    pd = pytest.importorskip("pandas")
    vectors = pd.DataFrame({"vector": list(with_bad(np.nan))})
    with pytest.raises(ValueError, match=r"Input X contains NaN: row 7, column ('vector\[1\]'|1);"):
        kind().fit(vectors, targets(kind))


def test_calibrate_counts_all_rows(monkeypatch):
    monkeypatch.setattr(probabilities, "SCORES_AT_A_TIME", 15)  # five rows
    with pytest.raises(ValueError, match="NaN: row 7, column 1; fill it in"):
        MulticlassSVC().fit(X, Y).calibrate(with_bad(np.nan), Y)


@each("rows", [["word " * 1000] * 60, [["word " * 1000], *[[1.0]] * 59]])
def test_documents_are_cut(rows):
    with pytest.raises(ValueError, match=r"'word word .*\.\.\.'") as raised:
        MulticlassSVC().fit(rows, Y)
    assert len(str(raised.value)) < 300
