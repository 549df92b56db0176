"""The svmlight reader: what it accepts, agreement with sklearn's."""

import bz2
import gzip
import io
import os
import random
import threading

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from manyclass.io.svmlight import load_svmlight
from tests.helpers.cases import each
from tests.helpers.svmlight_files import COMPRESSORS

# --- what is accepted ---------------------------------------------------------------------------


def test_types_and_shapes(load):
    X, y = load("1 1:0.5 3:2\n-1 2:1e-3\n")
    assert isinstance(X, scipy.sparse.csr_array)
    assert X.has_canonical_format
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert y.dtype == np.int64
    assert y.tolist() == [1, -1]
    np.testing.assert_array_equal(X.toarray(), np.array([[0.5, 0, 2], [0, 1e-3, 0]], np.float32))
    assert load("1 1:0.1\n", dtype=np.float64)[0].data.tolist() == [0.1]
    assert load("1 1:0.1\n", dtype="float64")[0].dtype == np.float64


@each(
    "text",
    [
        "1 1:2 2:3\n2 2:4\n",
        "1 1:2 2:3\n2 2:4",
        "1 1:2 2:3\r\n2 2:4\r\n",
        "\ufeff1 1:2 2:3\n2 2:4\n",
        "  1\t 1:2   2:3 \t\n \n\n2  2:4  \n\n",
        "# head\n1 1:2 2:3 # 5:6\n  # between\n2 2:4#\n#end",
        "1 qid:7 1:2 2:3\n2 qid:-8 2:4\n",
        "1 1:2.0 2:+3\n2 02:4e0\n",
        "1 1:.2e1 2:3.\n2 2:0.04E+2\n",
        "1#\n".replace("#", " 1:2 2:3#") + "2 2:400e-2\x0b\x0c\n",
    ],
)
def test_layout_is_free(load, chunked, text):
    X, y = load(text, n_jobs=chunked)
    np.testing.assert_array_equal(X.toarray(), [[2, 3], [0, 4]])
    assert y.tolist() == [1, 2]


@pytest.mark.parametrize("compress", COMPRESSORS.values(), ids=COMPRESSORS)
def test_compression_is_recognised_by_content(load, chunked, compress):
    text = "".join(f"{i % 5} {i + 1}:{i}.5\n" for i in range(50))
    X, y = load(compress(b"\xef\xbb\xbf" + text.encode()), n_jobs=chunked)
    assert X.shape == (50, 50)
    assert X.diagonal().tolist() == [i + 0.5 for i in range(50)]
    assert y.tolist() == [i % 5 for i in range(50)]


def test_concatenated_gzip_members(load):
    X, y = load(gzip.compress(b"1 1:2\n2 ") + gzip.compress(b"2:3\n"))
    assert X.toarray().tolist() == [[2, 0], [0, 3]]
    assert y.tolist() == [1, 2]


def test_path_may_be_text(tmp_path):
    (tmp_path / "a").write_text("1 1:2\n")
    assert load_svmlight(str(tmp_path / "a"))[1].tolist() == [1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe(tmp_path, chunked):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("1 1:2\n2 2:3\n" * 30,))
    writer.start()
    X, y = load_svmlight(path, n_jobs=chunked)
    writer.join()
    assert X.shape == (60, 2)
    assert y.tolist() == [1, 2] * 30


def test_rows_without_features(load):
    X, y = load("1\n2 3:1\n3 # nothing\n")
    assert X.toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert y.tolist() == [1, 2, 3]
    assert load("1\n2\n")[0].shape == (2, 0)
    assert load("1\n2\n", n_features=4)[0].shape == (2, 4)


@each(
    ("text", "options", "rows"),
    [
        ("1 0:5 2:6\n", {"zero_based": True}, [[5, 0, 6]]),
        ("1 2:5\n", {"n_features": np.int32(4)}, [[0, 5, 0, 0]]),
        ("1 2:5\n", {"n_features": 2}, [[0, 5]]),
        ("1 3:1 1:2 2:3\n", {"sort": True}, [[2, 3, 1]]),
        ("1 1:1 1:2 2:3\n", {"sum_duplicates": True}, [[3, 3]]),
        ("1 3:1 1:2 3:4\n2 2:1\n", {"sort": True, "sum_duplicates": True}, [[2, 0, 5], [0, 1, 0]]),
    ],
)
def test_options(load, text, options, rows):
    X, _ = load(text, **options)
    assert X.toarray().tolist() == rows
    assert X.has_sorted_indices


def test_explicit_zeros_are_kept(load):
    X, _ = load("1 1:0 2:-0 3:0.000 4:0e99 5:1e-999 6:" + "0." + "0" * 50 + "\n")
    assert X.nnz == 6
    assert not X.data.any()
    assert np.signbit(X.data).tolist() == [False, True, False, False, False, False]


@each(
    ("line", "row"),
    [
        ("1 1: .50 2:  -1.5", [0.5, -1.5]),  # as in LIBSVM's protein
        ("1 1:\t2", [2, 0]),
        ("1 qid: 5 2: 3 # 4", [0, 3]),
        ("1 1: 2e0", [2, 0]),
    ],
)
def test_blanks_before_values(load, chunked, line, row):
    X, y = load(f"2 1:0 2:0\n{line}\n{line}", n_jobs=chunked)
    assert X.toarray()[1:].tolist() == [row, row]
    assert y.tolist() == [2, 1, 1]


@each(
    ("labels", "dtype", "expected"),
    [
        ("3 -1 +2 7 3", np.int64, [3, -1, 2, 7, 3]),
        ("7 007 +7", np.str_, ["7", "007", "+7"]),
        (f"{2**63 - 1} {-(2**63)}", np.int64, [2**63 - 1, -(2**63)]),
        ("1 2.5 -1e3", np.float64, [1, 2.5, -1000]),
        (f"{2**64} cat", np.str_, [f"{2**64}", "cat"]),
        ("False True False", np.bool_, [False, True, False]),
        ("False true", np.str_, ["False", "true"]),
        ("cat 1 Straße 1,a", np.str_, ["cat", "1", "Straße", "1,a"]),
        ("1_0 2", np.str_, ["1_0", "2"]),
    ],
)
def test_label_types(load, chunked, labels, dtype, expected):
    _, y = load("".join(f"{label} 1:1\n" for label in labels.split()), n_jobs=chunked)
    assert np.issubdtype(y.dtype, dtype)
    assert y.tolist() == expected


def test_a_label_of_the_longest_kind(load):
    assert load("a" * 256 + " 1:1\n")[1].dtype == "<U256"


@each("index", [2**31 - 1, 2**31, 2**31 + 1, 2**40, 2**63 - 1])
def test_wide_indices(load, chunked, index):
    X, y = load(f"1 1:1 2:5\n2 {index}:3 # wide\n1 7:2\n", n_jobs=chunked)
    assert X.shape == (3, index)
    assert X.indices.dtype == X.indptr.dtype == (np.int64 if index >= 2**31 else np.int32)
    assert X.indices.tolist() == [0, 1, index - 1, 6]
    assert X.indptr.tolist() == [0, 2, 3, 4]
    assert X.data.tolist() == [1, 5, 3, 2]
    assert y.tolist() == [1, 2, 1]


def test_many_features_in_small_chunks(load, chunked):
    """The result arrays grow when the first chunk's share misleads."""
    text = "1\n" * 50 + "".join(
        f"2 {' '.join(f'{j}:{i}.25' for j in range(1, i))}\n" for i in range(60)
    )
    X, y = load(text, n_jobs=chunked)
    A, b = load_svmlight_file(io.BytesIO(text.encode()), dtype=np.float32)
    assert (X != A).nnz == 0
    np.testing.assert_array_equal(X.indptr, A.indptr)
    np.testing.assert_array_equal(y, b)


def test_long_line(load):
    n = 200_000
    X, _ = load("1 " + " ".join(f"{j}:1" for j in range(1, n + 1)) + "\n2 1:3\n", n_jobs=2)
    assert X.shape == (2, n)
    assert X.nnz == n + 1
    X, _ = load("1 1:0." + "3" * 1_000_000 + "\n", dtype=np.float64)
    assert X.data.tolist() == [1 / 3]


# --- numbers ------------------------------------------------------------------------------------


def values_of(load, texts, dtype=np.float64):
    line = " ".join(f"{j}:{text}" for j, text in enumerate(texts, 1))
    return load(f"0 {line}\n", dtype=dtype)[0].data


def test_numbers_agree_with_python(load):
    rng = random.Random(0)
    texts = []
    for _ in range(20_000):
        whole = "".join(rng.choices("0123456789", k=rng.randrange(12)))
        part = "".join(rng.choices("0123456789", k=rng.randrange(0 if whole else 1, 22)))
        text = rng.choice(["", "-", "+"]) + whole + rng.choice(["." if part else "", "."]) + part
        texts.append(text + rng.choice(["", "", f"e{rng.randrange(-320, 290)}", "E+05"]))
    np.testing.assert_array_equal(values_of(load, texts), [float(text) for text in texts])


@each(
    "text",
    [
        *("9007199254740993", "9007199254740991", "2.2250738585072011e-308", "2e-324"),
        *("4.9406564584124654e-324", "1.7976931348623157e308", "0.1e-1000000000000000000000"),
        *("1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e400", "12345678901234567890123"),
        *("-0.3", "1234567.12345678", "12345678.1", "0e99999999999999999999"),
    ],
)
def test_hard_numbers(load, text):
    assert values_of(load, [text, "1"]).tolist() == [float(text), 1]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_values_round_trip(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "values.txt"
    line = " ".join(f"{j}:{value!r}" for j, value in enumerate(values, 1))
    path.write_text(f"0 {line}\n")
    assert load_svmlight(path, dtype=np.float64)[0].data.tolist() == values


# --- agreement with scikit-learn ----------------------------------------------------------------


def assert_same(ours, theirs):
    (X, y), (A, b) = ours, theirs
    assert X.shape == A.shape
    assert X.dtype == A.dtype
    np.testing.assert_array_equal(X.indptr, A.indptr)
    np.testing.assert_array_equal(X.indices, A.indices)
    np.testing.assert_array_equal(X.data, A.data)
    np.testing.assert_array_equal(y, b)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 30), st.integers(1, 40)),
    density=st.floats(0, 1),
    zero_based=st.booleans(),
    integer_labels=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_round_trip_through_sklearn(
    tmp_path_factory, seed, shape, density, zero_based, integer_labels, dtype, n_jobs
):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array(shape, density=density, random_state=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    y = rng.integers(-3, 4, shape[0]) if integer_labels else rng.normal(size=shape[0])
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="hello")
    options = {"n_features": shape[1], "dtype": dtype, "zero_based": zero_based}
    ours = load_svmlight(path, n_jobs=n_jobs, **options)
    assert_same(ours, load_svmlight_file(path, **options))
    assert ours[1].dtype == (np.int64 if integer_labels else np.float64)


@pytest.mark.parametrize("name", ["iris", "glass", "dna.scale", "letter.t.scale", "splice"])
def test_real_data_agree_with_sklearn(name, shared_data):
    path = shared_data(name)
    ours = load_svmlight(path, dtype=np.float64, n_jobs=2)
    assert_same(ours, load_svmlight_file(str(path), zero_based=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["news20.scale", "sector.scale", "lshtc1.scale", "wordnet.scale"])
def test_large_real_data_agree_with_sklearn(name, tmp_path, shared_data):
    path = tmp_path / name
    path.write_bytes(bz2.decompress(shared_data(name).read_bytes()))
    theirs = load_svmlight_file(str(path), dtype=np.float32, zero_based=False)
    assert_same(load_svmlight(path), theirs)
    assert_same(load_svmlight(path, n_jobs=-1), theirs)
