"""Rows as people have them: short types of numbers, data frames, tensors, columns of vectors."""

import sys
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    MultilabelSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    save_data,
)
from manyclass.arrays import namespace

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

X = np.random.default_rng(0).integers(-8, 9, (60, 4)).astype(np.float32) / 8
Y = np.arange(60) % 3


@dataclass
class Tensor:
    """As torch has it."""

    array: np.ndarray
    dtype: str = "torch.float32"

    @property
    def shape(self):
        return self.array.shape

    def __len__(self):
        return len(self.array)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ShortTensor(Tensor):
    """bfloat16, which NumPy does not know."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")

    def detach(self):
        return self

    cpu = detach

    def float(self):
        return Tensor(self.array)


class Packed:
    """A tensor of which nothing is known but DLPack."""

    def __init__(self, array):
        self.array = array

    __dlpack__ = Tensor.__dlpack__
    __dlpack_device__ = Tensor.__dlpack_device__


def bfloat16():
    return X.astype(pytest.importorskip("ml_dtypes").bfloat16)


class Convertible:
    """Nothing but NumPy's protocol."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(X, dtype)


NAMES = list("abcd")
GIVEN = {
    "list of arrays": lambda: list(X),
    "float16": lambda: X.astype(np.float16),
    "bfloat16": bfloat16,
    "pandas": lambda: pd.DataFrame(X, columns=NAMES),
    "pandas with pyarrow": lambda: pd.DataFrame(X).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "pyarrow.Table": lambda: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    "pyarrow.RecordBatch": lambda: pa.record_batch({n: X[:, j] for j, n in enumerate(NAMES)}),
    "tensor": lambda: Tensor(X),
    "tensor of bfloat16": lambda: ShortTensor(X),
    "DLPack": lambda: Packed(X),
    "__array__": Convertible,
    "pandas.Series of vectors": lambda: pd.Series(list(X)),
    "polars.Series of vectors": lambda: pl.Series(list(X)),
    "pyarrow lists of fixed size": lambda: pa.FixedSizeListArray.from_arrays(
        pa.array(X.ravel()), 4
    ),
    "pandas column of vectors": lambda: pd.DataFrame({"embedding": list(X)}),
    "polars column of vectors": lambda: pl.DataFrame({"embedding": list(X)}),
    "pyarrow column of vectors": lambda: pa.table({"embedding": pa.array(list(X))}),
}
EXPECTED = MulticlassSVC(random_state=0).fit(X, Y)


@pytest.mark.parametrize("kind", GIVEN)
def test_float32_stays_float32(kind):
    given = GIVEN[kind]()
    model = MulticlassSVC(random_state=0).fit(given, Y)
    assert model.coef_.dtype == np.float32
    np.testing.assert_array_equal(model.coef_, EXPECTED.coef_)
    scores = model.decision_function(given)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, EXPECTED.decision_function(X))


@pytest.mark.parametrize("kind", ["polars", "pyarrow.Table"])
def test_frames_keep_their_names(kind):
    model = MulticlassSVC(random_state=0).fit(GIVEN[kind](), Y)
    assert model.feature_names_in_.tolist() == NAMES


VECTORS = {
    "pandas.Series": lambda name: pd.Series(list(X), name=name),
    "polars.Series": lambda name: pl.Series(name, list(X)),
    "pandas": lambda name: pd.DataFrame({name: list(X)}),
    "polars": lambda name: pl.DataFrame({name: list(X)}),
    "pyarrow.Table": lambda name: pa.table({name: pa.array(list(X))}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", VECTORS)
def test_columns_of_vectors_have_names(kind):
    given, named = VECTORS[kind], [f"v[{i}]" for i in range(X.shape[1])]
    sets = [{int(label)} for label in Y]
    models = [MulticlassSVC(), StochasticClassifier(), MultilabelSVC()]
    for model, y in zip(models, (Y, Y, sets), strict=True):
        assert model.fit(given("v"), y).feature_names_in_.tolist() == named
        assert model.n_features_in_ == X.shape[1]
        model.predict(given("v"))
        with pytest.raises(ValueError, match=r"unseen at fit time:\n- w\[0\]"):
            model.predict(given("w"))


def test_columns_of_vectors_without_a_name_and_beside_numbers():
    for given in (pd.Series(list(X)), pa.array(list(X)), list(X), pl.Series(list(X))):
        assert not hasattr(MulticlassSVC().fit(given, Y), "feature_names_in_")
    with pytest.raises(ValueError, match="X holds lists next to numbers, or of several lengths"):
        MulticlassSVC().fit(pd.DataFrame({"v": list(X), "w": X[:, 0]}), Y)


@pytest.mark.parametrize("model", [MultinomialLogisticRegression(), StochasticClassifier()])
def test_other_estimators_do_the_same(model):
    assert model.fit(pl.DataFrame(X), Y).coef_.dtype == np.float32


def test_a_stream_keeps_the_type_of_its_first_rows():
    model = StochasticClassifier().partial_fit(pl.DataFrame(X), Y, classes=[0, 1, 2])
    model.partial_fit(pl.DataFrame(X.astype(np.float64)), Y)
    assert model.coef_.dtype == np.float32


@pytest.mark.parametrize(
    "given", [X.astype(np.float64), X.astype(np.int8), X.tolist(), pl.DataFrame(X.astype(float))]
)
def test_other_numbers_become_float64(given):
    assert MulticlassSVC(random_state=0).fit(given, Y).coef_.dtype == np.float64


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_one_column_of_numbers(frame):
    model = MulticlassSVC(random_state=0).fit(frame(X[:, :1]), Y)
    assert model.coef_.shape == (3, 1)


def test_vectors_of_other_lengths_are_one_clear_error():
    with pytest.raises(ValueError, match="row 1 of the column of vectors holds 3 numbers, not 4"):
        MulticlassSVC().fit(pd.Series([X[0], X[1, :3]]), [0, 1])
    for place in (0, 5):
        rows = [None if i == place else row for i, row in enumerate(X)]
        with pytest.raises(ValueError, match=f"row {place} of the column of vectors holds None"):
            MulticlassSVC().fit(pd.DataFrame({"embedding": rows}), Y)
    rows = pd.Series([[1.0, 2.0], None], dtype=pd.ArrowDtype(pa.list_(pa.float64())))
    with pytest.raises(ValueError, match="row 1 of the column of vectors holds <NA>"):
        MulticlassSVC().fit(rows, [0, 1])


def test_columns_of_vectors_in_a_subclass_of_a_data_frame():
    class Frame(pd.DataFrame):
        pass

    model = MulticlassSVC(random_state=0).fit(Frame({"v": X.tolist()}), Y)
    assert list(model.feature_names_in_) == [f"v[{j}]" for j in range(X.shape[1])]


DAYS = pd.date_range("2026-01-01", periods=60)
TEXTS = [str(i) for i in range(60)]  # that float would read
TIMES, TEXT, CATEGORIES = "dates or times", "text", "categories"
LABEL = pl.Series(TEXTS, dtype=pl.Categorical)
# Frames whose column 'b' is of a kind that is not a number; arrays and lists.
COLUMNS = {
    "dates of pandas": (pd.DataFrame({"a": X[:, 0], "b": DAYS}), TIMES),
    "dates alone": (pd.DataFrame({"b": DAYS}), TIMES),
    "zones": (pd.DataFrame({"b": DAYS.tz_localize("UTC")}), TIMES),
    "spans": (pd.DataFrame({"b": DAYS - DAYS[0]}), TIMES),
    "periods": (pd.DataFrame({"b": DAYS.to_period("D")}), TIMES),
    "objects": (pd.DataFrame({"b": DAYS.date}), TIMES),
    "text of pandas": (pd.DataFrame({"b": TEXTS}), TEXT),
    "objects of text": (pd.DataFrame({"b": TEXTS}, dtype=object), TEXT),
    "categories": (pd.DataFrame({"b": pd.Categorical(Y)}), CATEGORIES),
    "dates of polars": (pl.DataFrame({"a": X[:, 0], "b": DAYS}), TIMES),
    "times of polars": (pl.DataFrame({"b": DAYS}).with_columns(pl.col("b").dt.time()), TIMES),
    "text of polars": (pl.DataFrame({"b": TEXTS}), TEXT),
    "categories of polars": (pl.DataFrame({"b": LABEL}), CATEGORIES),
    "dates of pyarrow": (pa.table({"b": DAYS}), TIMES),
    "text of pyarrow": (pa.table({"b": TEXTS}), TEXT),
    "dictionaries": (pa.table({"b": pa.array(TEXTS).dictionary_encode()}), CATEGORIES),
}
FRAMES = {
    **{name: (rows, f"{kind} in the column 'b'") for name, (rows, kind) in COLUMNS.items()},
    "array of dates": (DAYS.to_numpy()[:, None], "dates or times; give numbers"),
    "array of text": (np.array(TEXTS)[:, None], "text in column 0, all of"),
    "array of words": (
        np.array([f"a{t}" for t in TEXTS])[:, None],
        r"text \('a0'\), but rows must",
    ),
    "array of objects": (np.array(TEXTS, object)[:, None], "text in column 0, all of it numbers"),
    "array of bytes": (np.array(TEXTS, "S")[:, None], "text, but rows must be numbers"),
    "lists of text": ([[text] for text in TEXTS], r"text in column 0, all of it numbers \('0'\)"),
    "lists of dates": ([[day] for day in DAYS.date], "dates or times in column 0; give numbers"),
    "vectors of dates": (pl.DataFrame({"b": [[day] for day in DAYS]}), TIMES),
    "vectors of text": (pd.DataFrame({"b": [[text] for text in TEXTS]}), TEXT),
}


@pytest.mark.parametrize("case", FRAMES)
def test_columns_that_are_no_numbers_are_refused(case, tmp_path):
    rows, message = FRAMES[case]
    width = np.shape(rows)[1] if np.ndim(rows) == 2 else 1
    trained = MulticlassSVC().fit(np.eye(60, width), np.arange(60) == 0)
    for call in (
        lambda: MulticlassSVC().fit(rows, Y),
        lambda: StochasticClassifier().fit(rows, Y),
        lambda: MultilabelSVC().fit(rows, np.eye(3, dtype=int)[Y]),
        lambda: save_data(tmp_path / "data", rows, Y),
        lambda: trained.predict(rows),
    ):
        with pytest.raises(ValueError, match=f"X holds {message}"):
            call()


def test_numbers_of_all_kinds_are_taken():
    numbers = pd.DataFrame(
        {
            "whole": pd.array([*Y], "Int64"),
            "flag": Y > 0,
            "decimal": [Decimal(int(y)) for y in Y],
            "arrow": pd.Series(X[:, 1]).astype("float[pyarrow]"),
        }
    )
    assert MulticlassSVC(C=0.1).fit(numbers, Y).coef_.shape == (3, 4)
    assert MulticlassSVC(C=0.1).fit(pl.DataFrame({"a": X[:, 0], "b": Y > 0}), Y).n_features_in_ == 2


def test_masked_entries_are_missing():
    rows, y = np.eye(4), np.array([0, 1, 0, 1])
    masked = np.ma.masked_array(np.ones(4, int), mask=[0, 1, 0, 0])
    model = MulticlassSVC()
    for given, message in (
        ((np.ma.masked_equal(rows, 1.0), y), "X has masked entries"),
        ((rows, masked), "row 1 of y is missing"),
        ((rows, y, masked), "sample_weight has masked entries"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*given)
    model.fit(np.ma.masked_array(rows), np.ma.masked_array(y))
    assert model.predict(np.ma.masked_array(rows)).tolist() == y.tolist()


def test_score_takes_labels_that_fit_takes():
    y = np.array([0, 1, 2, 1], object)
    assert MulticlassSVC(C=10).fit(np.eye(4), y).score(np.eye(4), y) == 1


def test_the_index_of_a_table_is_no_feature_vector_or_label():
    frame = pd.DataFrame(np.eye(4), columns=list("abcd"), index=[3, 5, 7, 9])
    table = pa.Table.from_pandas(frame)
    model = MulticlassSVC().fit(table, [0, 1, 2, 3])
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(table), model.predict(frame))
    vectors = pd.DataFrame({"e": [[1.0, 0.0], [0.0, 1.0]]}, index=[5, 6])
    labels = pd.DataFrame({"y": ["a", "b"]}, index=[5, 6])
    model = MulticlassSVC().fit(pa.Table.from_pandas(vectors), pa.Table.from_pandas(labels)["y"])
    assert model.feature_names_in_.tolist() == ["e[0]", "e[1]"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("with_gradients", [False, True])
def test_tensors_of_torch_on_the_cpu_need_no_other_package(dtype, with_gradients, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    namespace._compat.cache_clear()
    rows = torch.tensor(X, dtype=getattr(torch, dtype), requires_grad=with_gradients)
    model = MulticlassSVC(random_state=0).fit(rows, torch.tensor(Y))
    wanted = MulticlassSVC(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    assert (model.predict(rows) == wanted.predict(X)).all()


def test_a_series_of_text_is_told_as_text():
    texts = pd.Series(["red apple", "green pear"], name="words")
    with pytest.raises(ValueError, match=r"text in the column 'words'.*TfidfVectorizer"):
        MulticlassSVC().fit(texts, [0, 1])
    with pytest.raises(ValueError, match=r"X holds text, but.*TfidfVectorizer"):
        MulticlassSVC().fit(texts.rename(None), [0, 1])
