"""Files for the tests of the svmlight reader: compressed, read at once or in small chunks."""

import bz2
import gzip
import lzma
import threading

import numpy as np

from manyclass.io.svmlight_parser import THREAD_NAME

COMPRESSORS = {
    "plain": lambda text: text,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


CHUNKS = [(1 << 20, 1), (1, 1), (1, 3), (7, 2)]  # bytes of a chunk, threads

LINES = "".join(f"{'abc'[i % 3]} {i % 7 + 1}:{i}.5 9:1\n" for i in range(300)).encode()


def reader_threads():
    return [t.name for t in threading.enumerate() if t.name.startswith(THREAD_NAME)]


ADVICE = "write index:value"
VALUE, INDEX, LABEL = "a feature's value is ", "a feature's index ", "the label is "
# Line, problem and, where they are needed, options.
LINES_AND_PROBLEMS = {
    "cut after the colon": (b"1 3:", "a feature has no value (found '3:'); write index:value; is"),
    "cut before the colon": (b"1 3", "a feature is not index:value (found '3'); write index"),
    "feature after the colon": (b"1 3: 5:1", "a feature has no value (found '3:')"),
    "word after the colon": (b"1 3: x", f"{VALUE}not a number (found '3: x')"),
    "no index": (b"1 :5", f"{INDEX}is not a whole number (found ':5'); {ADVICE}"),
    "index is text": (b"1 a:5", f"{INDEX}is not a whole number (found 'a:5')"),
    "index has a point": (b"1 1.0:5", f"{INDEX}is not a whole number (found '1.0:5')"),
    "value is text": (b"1 1:x", f"{VALUE}not a number (found '1:x'); {ADVICE}"),
    "value ends in text": (b"1 1:2x", f"{VALUE}not a number (found '1:2x')"),
    "two colons": (b"1 1:2:3", f"{VALUE}not a number (found '1:2:3')"),
    "two signs": (b"1 1:--2", f"{VALUE}not a number (found '1:--2')"),
    "plus and minus": (b"1 1:+-2", f"{VALUE}not a number (found '1:+-2')"),
    "lone point": (b"1 1:.", f"{VALUE}not a number (found '1:.')"),
    "no exponent": (b"1 1:2e", f"{VALUE}not a number (found '1:2e')"),
    "no exponent behind its sign": (b"1 1:2e+", f"{VALUE}not a number"),
    "decimal comma": (b"1 1:2,5", f"{VALUE}not a number (found '1:2,5')"),
    "hexadecimal": (b"1 1:0x10", f"{VALUE}not a number (found '1:0x10')"),
    "index 0": (
        b"1 0:5",
        f"{INDEX}is 0, but indices count from 1 (found '0:5'); pass zero_based=True",
    ),
    "negative index": (b"1 -3:5", f"{INDEX}is negative (found '-3:5'); count from 1"),
    "huge index": (
        b"1 9223372036854775808:5",
        f"{INDEX}does not fit in 64 bits (found '9223372036854775808:5'); renumber",
    ),
    "gigantic index": (b"1 " + b"9" * 30 + b":5", f"{INDEX}does not fit in 64 bits"),
    "nan": (b"1 1:nan", f"{VALUE}not finite (found '1:nan'); replace it or leave"),
    "inf": (b"1 1:-Infinity", f"{VALUE}not finite (found '1:-Infinity')"),
    "beyond float": (b"1 1:-1e39", f"{VALUE}too large for the dtype (found '1:-1e"),
    "unsorted": (b"1 3:1 2:5", "a row's indices are not ascending (found '2:5'); pass sort=T"),
    "duplicate": (
        b"1 3:1 3:5",
        "a row holds an index twice (found '3:5'); pass sum_duplicates=True",
    ),
    "NUL": (b"1 1:\x005", rf"{VALUE}not a number (found '1:\x005')"),
    "NUL between": (b"1 \x00 1:5", r"a feature is not index:value (found '\x00')"),
    "NUL in the label": (b"\x001 1:5", r"the label holds a control character (found '\x001')"),
    "query id": (b"1 qid:x 1:5", "a query id is not a whole number (found 'qid:x'); write qid:N"),
    "empty query id": (b"1 qid: 1:5", "a query id is not a whole number (found 'qid:')"),
    "no label": (b"1:5 2:5", f"{LABEL}missing (found '1:5'); start the line with its label"),
    "query id instead": (b"qid:1 2:5", f"{LABEL}missing (found 'qid:1')"),
    "several labels": (
        b"1,2 2:5",
        "several labels in one row (found '1,2'); load_svmlight(multilabel=True) and train, cv or",
    ),
    "label nan": (b"NaN 2:5", f"{LABEL}'NaN', which is not a class; correct it, or drop the row"),
    "label inf": (b"-inf 2:5", f"{LABEL}'-inf', which is not a class"),
    "label overflows": (b"1e999 2:5", f"{LABEL}'1e999', which is not finite"),
    "label is a very long number": (b"9" * 252 + b"e99 2:5", f"{LABEL}'999"),
    "label beyond int64": (
        b"9223372036854775808 2:5",
        f"{LABEL}9223372036854775808, which does not fit in 64 bits; renumber the classes",
    ),
    "Latin-1 label": (
        b"Stra\xdfe 2:5",
        rf"{LABEL}not UTF-8 (found 'Stra\xdfe'); convert the file to UTF-8",
    ),
    "long label": (b"a" * 257, "the label is too long (found '" + "a" * 37 + "...'); is this"),
    "long token": (b"1 1:" + b"x" * 500, f"{VALUE}not a number (found '1:xxxxxxx"),
    "long row": (
        b"1 " + b"".join(b"%d:1 " % j for j in range(1, 20_000)) + b"20000:x",
        f"{VALUE}not a number (found '20000:x')",
    ),
    "huge index from 0": (
        b"1 9223372036854775807:5",
        f"{INDEX}does not fit in 64 bits",
        {"zero_based": True},
    ),
    "beyond n_features": (
        b"1 3:1 11:5",
        f"{INDEX}is beyond n_features (found '11:5'); raise n_features or leave it out",
        {"n_features": 10},
    ),
    "wide and beyond": (b"1 3000000000:5", f"{INDEX}is beyond n_fe", {"n_features": 10}),
    "beyond double": (
        b"1 1:1e999",
        f"{VALUE}too large for the dtype (found '1:1e999'); rescale the feature",
        {"dtype": np.float64},
    ),
    "unsorted, to be summed": (
        b"1 3:1 2:5",
        "a row's indices are not asc",
        {"sum_duplicates": True},
    ),
    "duplicate, to be sorted": (
        b"1 3:1 2:1 3:5",
        "a row holds an index twice (found '3'); pass sum_duplicates=True",
        {"sort": True},
    ),
    "sum beyond float": (
        b"1 3:3e38 3:3e38",
        f"{VALUE}too large for the dtype (found '3')",
        {"sum_duplicates": True},
    ),
    "index 2^64 - 1 from 0": (
        b"1 18446744073709551615:1",
        f"{INDEX}does not fit in 64 bits (found '18446744073709551615:1'); renumber",
        {"zero_based": True},
    ),
}
MALFORMED = {
    case: (line, dict(*options), problem)
    for case, (line, problem, *options) in LINES_AND_PROBLEMS.items()
}
