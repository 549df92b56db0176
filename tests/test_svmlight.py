"""The svmlight reader: what it accepts, what it says about the rest, agreement with sklearn's."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from manyclass import svmlight, text_pieces
from manyclass.svmlight import load_svmlight

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda text: text,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., tuple[Any, Any]]:
    """Write the text to a file and load it."""

    def load(text: bytes | str, **options: Any) -> tuple[Any, Any]:
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_svmlight(path, **options)

    return load


@pytest.fixture(params=[(1 << 20, 1), (1, 1), (1, 3), (7, 2)], ids=str)
def chunked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Set several chunk sizes; return the number of threads to use with them."""
    monkeypatch.setattr(text_pieces, "_CHUNK_BYTES", request.param[0])
    return request.param[1]


# --- what is accepted ---------------------------------------------------------------------------


def test_types_and_shapes(load: Any) -> None:
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


@pytest.mark.parametrize(
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
def test_layout_is_free(load: Any, chunked: int, text: str) -> None:
    X, y = load(text, n_jobs=chunked)
    np.testing.assert_array_equal(X.toarray(), [[2, 3], [0, 4]])
    assert y.tolist() == [1, 2]


@pytest.mark.parametrize("compress", COMPRESSORS.values(), ids=COMPRESSORS)
def test_compression_is_recognised_by_content(load: Any, chunked: int, compress: Any) -> None:
    text = "".join(f"{i % 5} {i + 1}:{i}.5\n" for i in range(50))
    X, y = load(compress(b"\xef\xbb\xbf" + text.encode()), n_jobs=chunked)
    assert X.shape == (50, 50)
    assert X.diagonal().tolist() == [i + 0.5 for i in range(50)]
    assert y.tolist() == [i % 5 for i in range(50)]


def test_concatenated_gzip_members(load: Any) -> None:
    X, y = load(gzip.compress(b"1 1:2\n2 ") + gzip.compress(b"2:3\n"))
    assert X.toarray().tolist() == [[2, 0], [0, 3]]
    assert y.tolist() == [1, 2]


def test_path_may_be_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 1:2\n")
    assert load_svmlight(str(tmp_path / "a"))[1].tolist() == [1]
    with pytest.raises(TypeError):
        load_svmlight(0)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe(tmp_path: Path, chunked: int) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("1 1:2\n2 2:3\n" * 30,))
    writer.start()
    X, y = load_svmlight(path, n_jobs=chunked)
    writer.join()
    assert X.shape == (60, 2)
    assert y.tolist() == [1, 2] * 30


def test_rows_without_features(load: Any) -> None:
    X, y = load("1\n2 3:1\n3 # nothing\n")
    assert X.toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert y.tolist() == [1, 2, 3]
    assert load("1\n2\n")[0].shape == (2, 0)
    assert load("1\n2\n", n_features=4)[0].shape == (2, 4)


def test_explicit_zeros_are_kept(load: Any) -> None:
    X, _ = load("1 1:0 2:-0 3:0.000 4:0e99 5:1e-999 6:" + "0." + "0" * 50 + "\n")
    assert X.nnz == 6
    assert not X.data.any()
    assert np.signbit(X.data).tolist() == [False, True, False, False, False, False]


def test_zero_based(load: Any) -> None:
    assert load("1 0:5 2:6\n", zero_based=True)[0].toarray().tolist() == [[5, 0, 6]]


def test_n_features(load: Any) -> None:
    assert load("1 2:5\n", n_features=np.int32(4))[0].toarray().tolist() == [[0, 5, 0, 0]]
    assert load("1 2:5\n", n_features=2)[0].shape == (1, 2)


def test_sort_and_sum(load: Any) -> None:
    assert load("1 3:1 1:2 2:3\n", sort=True)[0].toarray().tolist() == [[2, 3, 1]]
    assert load("1 1:1 1:2 2:3\n", sum_duplicates=True)[0].toarray().tolist() == [[3, 3]]
    X, _ = load("1 3:1 1:2 3:4\n2 2:1\n", sort=True, sum_duplicates=True)
    assert X.toarray().tolist() == [[2, 0, 5], [0, 1, 0]]
    assert X.indices.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("labels", "dtype", "expected"),
    [
        ("3 -1 +2 007 3", np.int64, [3, -1, 2, 7, 3]),
        (f"{2**63 - 1} {-(2**63)}", np.int64, [2**63 - 1, -(2**63)]),
        ("1 2.5 -1e3", np.float64, [1, 2.5, -1000]),
        (f"{2**64} 1.", np.float64, [2.0**64, 1]),
        ("cat 1 Straße 1,a", np.str_, ["cat", "1", "Straße", "1,a"]),
        ("1_0 2", np.str_, ["1_0", "2"]),
    ],
)
def test_label_types(load: Any, chunked: int, labels: str, dtype: Any, expected: Any) -> None:
    _, y = load("".join(f"{label} 1:1\n" for label in labels.split()), n_jobs=chunked)
    assert np.issubdtype(y.dtype, dtype)
    assert y.tolist() == expected


@pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**31 + 1, 2**40, 2**63 - 1])
def test_wide_indices(load: Any, chunked: int, index: int) -> None:
    X, y = load(f"1 1:1 2:5\n2 {index}:3 # wide\n1 7:2\n", n_jobs=chunked)
    assert X.shape == (3, index)
    assert X.indices.dtype == X.indptr.dtype == (np.int64 if index >= 2**31 else np.int32)
    assert X.indices.tolist() == [0, 1, index - 1, 6]
    assert X.indptr.tolist() == [0, 2, 3, 4]
    assert X.data.tolist() == [1, 5, 3, 2]
    assert y.tolist() == [1, 2, 1]


def test_many_features_in_small_chunks(load: Any, chunked: int) -> None:
    """The result arrays grow when the first chunk's share misleads."""
    text = "1\n" * 50 + "".join(
        f"2 {' '.join(f'{j}:{i}.25' for j in range(1, i))}\n" for i in range(60)
    )
    X, y = load(text, n_jobs=chunked)
    A, b = load_svmlight_file(io.BytesIO(text.encode()), dtype=np.float32)
    assert (X != A).nnz == 0
    np.testing.assert_array_equal(X.indptr, A.indptr)
    np.testing.assert_array_equal(y, b)


def test_long_line(load: Any) -> None:
    n = 1_000_000
    X, _ = load("1 " + " ".join(f"{j}:1" for j in range(1, n + 1)) + "\n2 1:3\n", n_jobs=2)
    assert X.shape == (2, n)
    assert X.nnz == n + 1
    X, _ = load("1 1:0." + "3" * 10_000_000 + "\n", dtype=np.float64)
    assert X.data.tolist() == [1 / 3]


# --- numbers ------------------------------------------------------------------------------------


def values_of(load: Any, texts: list[str], dtype: Any = np.float64) -> np.ndarray:
    line = " ".join(f"{j}:{text}" for j, text in enumerate(texts, 1))
    return load(f"0 {line}\n", dtype=dtype)[0].data


def test_numbers_agree_with_python(load: Any) -> None:
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(20_000):
        whole = "".join(map(str, rng.integers(0, 10, rng.integers(0, 12))))
        part = "".join(map(str, rng.integers(0, 10, rng.integers(0 if whole else 1, 22))))
        text = rng.choice(["", "-", "+"]) + whole + rng.choice(["." if part else "", "."]) + part
        texts.append(text + rng.choice(["", "", f"e{rng.integers(-320, 290)}", "E+05"]))
    np.testing.assert_array_equal(values_of(load, texts), [float(text) for text in texts])


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "9007199254740991",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2e-324",
        "1.7976931348623157e308",
        "0.1e-1000000000000000000000",
        "1" + "0" * 400 + "e-400",
        "0." + "0" * 400 + "1e400",
        "12345678901234567890123",
        "-0.3",
        "1234567.12345678",
        "12345678.1",
        "0e99999999999999999999",
    ],
)
def test_hard_numbers(load: Any, text: str) -> None:
    assert values_of(load, [text, "1"]).tolist() == [float(text), 1]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_values_round_trip(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.getbasetemp() / "values.txt"
    line = " ".join(f"{j}:{value!r}" for j, value in enumerate(values, 1))
    path.write_text(f"0 {line}\n")
    assert load_svmlight(path, dtype=np.float64)[0].data.tolist() == values


# --- agreement with scikit-learn ----------------------------------------------------------------


def assert_same(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
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
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    shape: tuple[int, int],
    density: float,
    zero_based: bool,
    integer_labels: bool,
    dtype: Any,
    n_jobs: int,
) -> None:
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array(shape, density=density, rng=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    y = rng.integers(-3, 4, shape[0]) if integer_labels else rng.normal(size=shape[0])
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="hello")
    options = {"n_features": shape[1], "dtype": dtype, "zero_based": zero_based}
    ours = load_svmlight(path, n_jobs=n_jobs, **options)
    assert_same(ours, load_svmlight_file(path, **options))
    assert ours[1].dtype == (np.int64 if integer_labels else np.float64)


@pytest.mark.parametrize("name", ["iris", "glass", "dna.scale", "letter.t.scale", "splice"])
def test_real_data_agree_with_sklearn(name: str) -> None:
    path = DATA / f"{name}.bz2"
    if not path.exists():
        pytest.skip(f"the shared data sets are not here: {path.parent}")
    ours = load_svmlight(path, dtype=np.float64, n_jobs=2)
    assert_same(ours, load_svmlight_file(str(path), zero_based=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["news20.scale", "sector.scale", "lshtc1.scale", "wordnet.scale"])
def test_large_real_data_agree_with_sklearn(name: str, tmp_path: Path) -> None:
    if not (DATA / f"{name}.bz2").exists():
        pytest.skip(f"the shared data sets are not here: {DATA}")
    path = tmp_path / name
    path.write_bytes(bz2.decompress((DATA / f"{name}.bz2").read_bytes()))
    theirs = load_svmlight_file(str(path), dtype=np.float32, zero_based=False)
    assert_same(load_svmlight(path), theirs)
    assert_same(load_svmlight(path, n_jobs=-1), theirs)


# --- errors -------------------------------------------------------------------------------------

ADVICE = "write index:value"
MALFORMED: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "cut after the colon": (
        b"1 3:",
        {},
        "a feature has no value (found '3:'); write index:value; is",
    ),
    "cut before the colon": (b"1 3", {}, "a feature is not index:value (found '3'); write index"),
    "space after the colon": (b"1 3: 5", {}, "a feature has no value (found '3:')"),
    "no index": (b"1 :5", {}, f"a feature's index is not a whole number (found ':5'); {ADVICE}"),
    "index is text": (b"1 a:5", {}, "a feature's index is not a whole number (found 'a:5')"),
    "index has a point": (
        b"1 1.0:5",
        {},
        "a feature's index is not a whole number (found '1.0:5')",
    ),
    "value is text": (b"1 1:x", {}, f"a feature's value is not a number (found '1:x'); {ADVICE}"),
    "value ends in text": (b"1 1:2x", {}, "a feature's value is not a number (found '1:2x')"),
    "two colons": (b"1 1:2:3", {}, "a feature's value is not a number (found '1:2:3')"),
    "two signs": (b"1 1:--2", {}, "a feature's value is not a number (found '1:--2')"),
    "plus and minus": (b"1 1:+-2", {}, "a feature's value is not a number (found '1:+-2')"),
    "lone point": (b"1 1:.", {}, "a feature's value is not a number (found '1:.')"),
    "no exponent": (b"1 1:2e", {}, "a feature's value is not a number (found '1:2e')"),
    "no exponent behind its sign": (b"1 1:2e+", {}, "a feature's value is not a number"),
    "decimal comma": (b"1 1:2,5", {}, "a feature's value is not a number (found '1:2,5')"),
    "hexadecimal": (b"1 1:0x10", {}, "a feature's value is not a number (found '1:0x10')"),
    "index 0": (
        b"1 0:5",
        {},
        "a feature's index is 0, but indices count from 1 (found '0:5'); pass zero_based=True",
    ),
    "negative index": (b"1 -3:5", {}, "a feature's index is negative (found '-3:5'); count from 1"),
    "huge index": (
        b"1 9223372036854775808:5",
        {},
        "a feature's index does not fit in 64 bits (found '9223372036854775808:5'); renumber",
    ),
    "huge index from 0": (
        b"1 9223372036854775807:5",
        {"zero_based": True},
        "a feature's index does not fit in 64 bits",
    ),
    "gigantic index": (b"1 " + b"9" * 30 + b":5", {}, "a feature's index does not fit in 64 bits"),
    "beyond n_features": (
        b"1 3:1 11:5",
        {"n_features": 10},
        "a feature's index is beyond n_features (found '11:5'); raise n_features or leave it out",
    ),
    "wide and beyond": (b"1 3000000000:5", {"n_features": 10}, "a feature's index is beyond n_fe"),
    "nan": (b"1 1:nan", {}, "a feature's value is not finite (found '1:nan'); replace it or leave"),
    "inf": (b"1 1:-Infinity", {}, "a feature's value is not finite (found '1:-Infinity')"),
    "beyond double": (
        b"1 1:1e999",
        {"dtype": np.float64},
        "a feature's value is too large for the dtype (found '1:1e999'); rescale the feature",
    ),
    "beyond float": (
        b"1 1:-1e39",
        {},
        "a feature's value is too large for the dtype (found '1:-1e",
    ),
    "unsorted": (b"1 3:1 2:5", {}, "a row's indices are not ascending (found '2:5'); pass sort=T"),
    "unsorted, to be summed": (
        b"1 3:1 2:5",
        {"sum_duplicates": True},
        "a row's indices are not asc",
    ),
    "duplicate": (
        b"1 3:1 3:5",
        {},
        "a row holds an index twice (found '3:5'); pass sum_duplicates=True",
    ),
    "duplicate, to be sorted": (
        b"1 3:1 2:1 3:5",
        {"sort": True},
        "a row holds an index twice (found '3'); pass sum_duplicates=True",
    ),
    "sum beyond float": (
        b"1 3:3e38 3:3e38",
        {"sum_duplicates": True},
        "a feature's value is too large for the dtype (found '3')",
    ),
    "NUL": (b"1 1:\x005", {}, r"a feature's value is not a number (found '1:\x005')"),
    "NUL between": (b"1 \x00 1:5", {}, r"a feature is not index:value (found '\x00')"),
    "NUL in the label": (b"\x001 1:5", {}, r"the label holds a control character (found '\x001')"),
    "query id": (
        b"1 qid:x 1:5",
        {},
        "a query id is not a whole number (found 'qid:x'); write qid:N",
    ),
    "empty query id": (b"1 qid: 1:5", {}, "a query id is not a whole number (found 'qid:')"),
    "no label": (
        b"1:5 2:5",
        {},
        "the label is missing (found '1:5'); start the line with its label",
    ),
    "query id instead": (b"qid:1 2:5", {}, "the label is missing (found 'qid:1')"),
    "several labels": (
        b"1,2 2:5",
        {},
        "several labels in one row (found '1,2'); multi-label files are not supported: give every",
    ),
    "label nan": (
        b"NaN 2:5",
        {},
        "the label is not finite (found 'NaN'); correct it or drop the row",
    ),
    "label inf": (b"-inf 2:5", {}, "the label is not finite (found '-inf')"),
    "label overflows": (b"1e999 2:5", {}, "the label is not finite (found '1e999')"),
    "label is a very long number": (
        b"9" * 252 + b"e99 2:5",
        {},
        "the label is not finite (found '999",
    ),
    "label beyond int64": (
        b"9223372036854775808 2:5",
        {},
        "the label does not fit in 64 bits (found '9223372036854775808'); renumber the classes",
    ),
    "Latin-1 label": (
        b"Stra\xdfe 2:5",
        {},
        r"the label is not UTF-8 (found 'Stra\xdfe'); convert the file to UTF-8",
    ),
    "index 2^64 - 1 from 0": (
        b"1 18446744073709551615:1",
        {"zero_based": True},
        "a feature's index does not fit in 64 bits (found '18446744073709551615:1'); renumber",
    ),
    "long label": (b"a" * 257, {}, "the label is too long (found '" + "a" * 37 + "...'); is this"),
    "long token": (b"1 1:" + b"x" * 500, {}, "a feature's value is not a number (found '1:xxxxxxx"),
    "long row": (
        b"1 " + b"".join(b"%d:1 " % j for j in range(1, 20_000)) + b"20000:x",
        {},
        "a feature's value is not a number (found '20000:x')",
    ),
}


def error_of(load: Any, text: bytes, **options: Any) -> str:
    with pytest.raises(ValueError) as raised:
        load(text, **options)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 1000
    return message


@pytest.mark.parametrize("case", MALFORMED)
@pytest.mark.parametrize("before", ["", "# c\n\n1 1:2\r\n2 # c\n 3 1:2 2:0.3333\n"], ids=["1", "6"])
@pytest.mark.parametrize(
    "behind", ["", "\n", "\n1 1:y\n" + "1 1:2\n" * 20], ids=["end", "newline", "more"]
)
def test_malformed(
    load: Any, tmp_path: Path, chunked: int, case: str, before: str, behind: str
) -> None:
    line, options, problem = MALFORMED[case]
    if "label" in case:  # what labels mean is judged after their chunk's syntax
        behind = behind.replace("y", "0")
    text = before.encode() + line + behind.encode()
    message = error_of(load, text, n_jobs=chunked, **options)
    where = f"{tmp_path / 'data.txt'}:{1 + before.count(chr(10))}: "
    assert message.startswith(where + problem), message


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only\n# comments", b"\xef\xbb\xbf", b"  \r\n"])
@pytest.mark.parametrize("compress", COMPRESSORS.values(), ids=COMPRESSORS)
def test_no_examples(load: Any, chunked: int, text: bytes, compress: Any) -> None:
    message = error_of(load, compress(text), n_jobs=chunked)
    assert re.search(r"data.txt:[12]: no examples; is this the right file\?$", message)


def test_malformed_long_line(load: Any) -> None:
    text = b"1 1:2\n1 " + b"1:1 " * 2_500_000 + b"\n"
    assert "data.txt:2: a row holds an index twice" in error_of(load, text)
    text = b"1 1:2\n" + b"a" * 10_000_000 + b"\n"
    assert "data.txt:2: the label is too long" in error_of(load, text)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_a_compressed_line_without_end(
    load: Any, monkeypatch: pytest.MonkeyPatch, kind: str, n_jobs: int
) -> None:
    monkeypatch.setattr(text_pieces, "_MAX_LINE_BYTES", 100_000)
    text = COMPRESSORS[kind](b"1 1:2\n# c\n" + b"1" * 10_000_000)
    monkeypatch.setattr(text_pieces, "_CHUNK_BYTES", 1000)
    message = error_of(load, text, n_jobs=n_jobs)
    assert message.endswith("data.txt:3: the line is too long; is this an svmlight file?")
    load(COMPRESSORS[kind](b"1 1:2\n# " + b"c" * 90_000 + b"\n2 2:1\n"), n_jobs=n_jobs)


def test_a_label_of_the_longest_kind(load: Any) -> None:
    assert load("a" * 256 + " 1:1\n")[1].dtype == "<U256"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_lack_of_memory_names_the_file(
    load: Any, monkeypatch: pytest.MonkeyPatch, n_jobs: int
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(svmlight._core, "parse_svmlight", fail)
    with pytest.raises(MemoryError, match=r"data.txt: the data do not fit into the memory; "):
        load("1 1:1\n", n_jobs=n_jobs)


def long_text() -> bytes:
    rng = np.random.default_rng(0)
    return "".join(f"{i % 3} {i + 1}:{rng.random()}\n" for i in range(3000)).encode()


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.999])
def test_truncated_compressed_file(load: Any, kind: str, n_jobs: int, share: float) -> None:
    packed = COMPRESSORS[kind](long_text())
    message = error_of(load, packed[: int(share * len(packed))], n_jobs=n_jobs)
    assert re.search(
        r"data.txt:\d+: the compressed data are cut off behind this line; get the file again$",
        message,
    )


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_corrupt_compressed_file(load: Any, kind: str, n_jobs: int) -> None:
    packed = bytearray(COMPRESSORS[kind](long_text()))
    packed[len(packed) // 2] ^= 0xFF
    packed[len(packed) // 2 + 1] ^= 0xFF
    with pytest.raises(ValueError, match=r"data.txt:\d+: .*; ") as raised:
        load(bytes(packed), n_jobs=n_jobs)
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damage_is_placed_behind_what_was_read(
    load: Any, monkeypatch: pytest.MonkeyPatch, n_jobs: int
) -> None:
    monkeypatch.setattr(text_pieces, "_CHUNK_BYTES", 500)
    packed = gzip.compress(long_text())
    line = int(re.search(r":(\d+):", error_of(load, packed[:-9], n_jobs=n_jobs))[1])
    assert 2950 < line <= 3001
    text = b"1 1:x\n" + long_text()  # an error in a line before it comes first
    message = error_of(load, gzip.compress(text)[:-9], n_jobs=n_jobs)
    assert "data.txt:1: a feature's value is not a number" in message


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        load_svmlight(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match=re.escape(tmp_path.name)):
        load_svmlight(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("1 1:1\n")
    path.chmod(0)
    with pytest.raises(PermissionError, match="secret"):
        load_svmlight(path)


def test_failure_of_the_disk_stays_an_os_error(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(gzip.GzipFile, "read", fail)
    with pytest.raises(OSError, match="Input/output error"):
        load(gzip.compress(b"1 1:1\n"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"dtype": np.int32}, r"dtype must be float32 or float64 \(found int32\)"),
        ({"n_features": 0}, r"n_features must be from 1 to 2\*\*63 - 1 \(found 0\)"),
        ({"n_features": 2**63}, "n_features must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_arguments(load: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        load("1 1:1\n", **options)
    with pytest.raises(TypeError):
        load("1 1:1\n", n_features=2.5)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_interrupt(load: Any, monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    """Ctrl-C between two chunks ends the threads and passes through."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(text_pieces, "_CHUNK_BYTES", 10)
    monkeypatch.setattr(svmlight._Growing, "append", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load("1 1:1\n" * 100, n_jobs=n_jobs)
    assert not [t for t in threading.enumerate() if t.name.startswith("load_svmlight")]
