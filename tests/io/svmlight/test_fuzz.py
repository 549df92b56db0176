"""Mutated files against the compiled parser: consistent arrays, or an error with a line."""

import itertools
import random
import re
from collections import Counter

import numpy as np
import pytest

from manyclass import _core

pytestmark = pytest.mark.slow

N_INPUTS = 210_000
SEEDS = [
    b"1 1:0.5 3:2\n-1 2:1e-3 10:-7.25 # comment\n+3 qid:4 5:1\n",
    b"cat 197:0.264906 321:0.39736 399:0.132453\r\ndog 1:1 2:1 3:1 4:1\r\n\r\ncat\r\n",
    b"# head\n\n2.5 1:0.12345678901234567 2:123456789.125 3:3e-05 99999999:1\n2.5 100000000:1\n",
    b"7 0:1 1:2 2:3\n7 2147483647:1 2147483648:2 9223372036854775807:3\n",
    b"1 3:1 2:1 3:5\n1 1:1 1:3.4e38 1:3.4e38\n" + b"0 153:0.0117647 154:0.0705882 155:1\n" * 4,
    b"\xc3\xa9t\xc3\xa9\t4:4\t5:5\n" + b"a 1:" + b"9" * 40 + b"\nb 1:" + b"0" * 40 + b".5e-12\n",
]
TOKENS = [
    *(bytes([byte]) for byte in b"\n\x00#: \t-+.e\xff,"),
    *(b"\r\n", b"E-", b"nan", b"inf", b"1e999", b"1e39", b"qid:1", b" 0:1", b" -1:1", b" 5:5 5:5"),
    *(b" 9:1 8:1", b"99999999", b"18446744073709551616", b"9223372036854775808", b"0000000000"),
    *(b"\xef\xbb\xbf", b"1" * 33, b" 1:" + b"7" * 70, b"x" * 1100, b" " * 50),
    b"1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8",
]


def mutated(random_):
    text = bytearray(random_.choice(SEEDS))
    for _ in range(random_.choice((1, 1, 2, 3, 8))):
        at = random_.randrange(len(text) + 1)
        kind = random_.randrange(6)
        if kind == 0 and at < len(text):
            text[at] ^= 1 << random_.randrange(8)
        elif kind == 1 and at < len(text):
            text[at] = random_.randrange(256)
        elif kind == 2:
            del text[at : at + random_.choice((1, 1, 2, 5, 30))]
        elif kind == 3:
            text[at:at] = random_.choice(TOKENS)
        elif kind == 4:
            del text[at:]
        else:
            other = random_.choice(SEEDS)
            text[at:] = other[random_.randrange(len(other)) :]
    return bytes(text)


def random_options(random_):
    bits = random_.getrandbits(4)
    return {
        "float64": bool(bits & 1),
        "zero_based": bool(bits & 2),
        "sort": bool(bits & 4),
        "sum_duplicates": bool(bits & 8),
        "n_features": random_.choice((0, 0, 0, 5, 400, 2**40)),
    }


def check_chunk(text, chunk, options):
    indices, values, row_ends, codes, labels, label_lines, n_lines, max_index = chunk
    ends = row_ends.tolist()
    columns = indices.tolist()
    assert values.dtype == (np.float64 if options["float64"] else np.float32)
    assert len(columns) == len(values) == (ends[-1] if ends else 0)
    assert len(ends) == len(codes)
    assert n_lines == text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
    assert max_index == max(columns, default=-1)
    assert min(columns, default=0) >= 0
    assert not options["n_features"] or max_index < options["n_features"]
    assert np.isfinite(values).all()
    begin = 0
    for end in ends:
        row = columns[begin:end]
        assert begin <= end
        assert all(a < b for a, b in itertools.pairwise(row))
        begin = end
    assert set(codes.tolist()) == set(range(len(labels)))
    assert len(set(labels)) == len(labels) == len(label_lines)
    lines = text.split(b"\n")
    for label, line in zip(labels, label_lines.tolist(), strict=True):
        assert lines[line - 1].lstrip().startswith(label)


def outcome(text, options):
    """What the parser makes of the text; None after a proper error."""
    try:
        return _core.parse_svmlight(text, **options)
    except ValueError as error:
        line, problem, found, advice = error.args
        assert 1 <= line <= text.count(b"\n") + 1
        assert problem
        assert advice
        assert found
        assert found in text or found.isdigit()
        return None


def test_mutated_files():
    random_ = random.Random(0)
    n_good = 0
    for _ in range(N_INPUTS):
        text = mutated(random_)
        options = random_options(random_)
        chunk = outcome(text, options)
        if chunk is not None:
            n_good += 1
            check_chunk(text, chunk, options)
    assert 0.1 < n_good / N_INPUTS < 0.9


def rows_of(chunk):
    indices, values, row_ends, codes, labels, *_ = chunk
    rows = []
    begin = 0
    for end, code in zip(row_ends.tolist(), codes.tolist(), strict=True):
        rows.append((labels[code], dict(zip(indices[begin:end], values[begin:end], strict=True))))
        begin = end
    return rows


def rows_by_python(text, options):
    """A plain parser of text that is known to be well formed."""
    dtype = np.float64 if options["float64"] else np.float32
    rows = []
    for line in text.split(b"\n"):
        label, *tokens = re.sub(rb":[ \t\r\v\f]+", b":", line.partition(b"#")[0]).split() or [b""]
        row = {}
        for index, _, value in (token.partition(b":") for token in tokens):
            if index != b"qid":
                column = int(index) - (not options["zero_based"])
                row[column] = row.get(column, dtype(0)) + dtype(value)
        if label:
            rows.append((label, row))
    return rows


def test_values_are_python_s():
    random_ = random.Random(1)
    n_good = 0
    for _ in range(10_000):
        text = mutated(random_)
        options = random_options(random_)
        chunk = outcome(text, options)
        if chunk is not None:
            n_good += 1
            assert rows_of(chunk) == rows_by_python(text, options)
    assert n_good > 1000


def rows_or_error(text, options, line=1):
    """The rows, and the error with its line, when the text begins at `line`."""
    try:
        return rows_of(_core.parse_svmlight(text, **options)), None
    except ValueError as error:
        return [], (line - 1 + error.args[0], *error.args[1:])


def test_lines_by_themselves_are_the_file():
    """Cutting at line ends changes nothing: neither rows, nor whether and where it fails."""
    random_ = random.Random(2)
    seen = Counter()
    for _ in range(6_000):
        text = mutated(random_)
        options = random_options(random_)
        rows = []
        for number, line in enumerate(text.split(b"\n"), 1):
            more, error = rows_or_error(line + b"\n", options, number)
            rows += more
            if error:
                break
        assert rows_or_error(text, options) == ([] if error else rows, error)
        seen[error is None] += 1
    assert min(seen.values()) > 500
