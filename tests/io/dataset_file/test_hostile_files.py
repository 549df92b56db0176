"""What is no converted data file, or a damaged one."""

import json
import os
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass import MulticlassSVC, load_data, save_data, save_model
from manyclass.io import dataset_checks
from manyclass.io.dataset_checks import check_contents
from manyclass.io.tensors import write_tensors
from tests.helpers.cases import each
from tests.helpers.mapped_files import TEXT, converted


def test_every_truncation_is_one_clear_error(path):
    converted(path)
    content = path.read_bytes()
    for size in [*range(9, 64, 3), *range(64, len(content), 29), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"data: cannot be read as converted data: it is dama"):
            load_data(path)


def test_every_flipped_bit_is_one_clear_error(path):
    converted(path, "".join(f"{i % 3} {i + 1}:{i}.5\n" for i in range(50)))
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    end = 8 + int.from_bytes(content[:8], "little")
    for at in [*range(0, end, 3), *rng.integers(end, len(content), 50)]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="data"):
            load_data(path)


def test_damaged_names_and_other_tensors_are_noticed(path):
    save_data(path, np.eye(3), ["ant", "bee", "cat"])
    path.write_bytes(path.read_bytes().replace(b"bee", b"beg"))
    with pytest.raises(ValueError, match="checksum"):
        load_data(path)
    converted(path)
    rewritten(path, more=np.zeros(1))
    with pytest.raises(ValueError, match="other tensors"):
        load_data(path)


def rewritten(path, header=lambda about: None, metadata=lambda about: None, **tensors):
    """Another file with a checksum that is right."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    about = json.loads(content[8 : 8 + length])
    kinds = {"I64": np.int64, "I32": np.int32, "F32": np.float32, "F64": np.float64}
    arrays = {}
    for name, one in about.items():
        if name != "__metadata__":
            begin, end = (8 + length + place for place in one["data_offsets"])
            arrays[name] = np.frombuffer(content[begin:end], kinds[one["dtype"]])
    arrays = {**arrays, **tensors}
    words = about["__metadata__"]
    inner = json.loads(words["data"])
    metadata(inner)
    header(words)
    words["data"] = json.dumps(inner)
    write_tensors(path, arrays, words)


INT32, INT64 = np.int32, np.int64
HOSTILE = {
    "an index too large": {"indices": np.array([0, 9, 1, 0, 1, 2, 4, 2], INT32)},
    "an index below zero": {"indices": np.array([-1, 3, 1, 0, 1, 2, 4, 2], INT32)},
    "an index twice": {"indices": np.array([3, 3, 1, 0, 1, 2, 4, 2], INT32)},
    "indices that fall": {"indices": np.array([0, 3, 1, 0, 2, 1, 4, 2], INT32)},
    "rows that end before they begin": {"indptr": np.array([0, 2, 3, 9, 4, 7, 8])},
    "rows that end below zero": {"indptr": np.array([0, -2, 3, 3, 4, 7, 8])},
    "rows that begin later": {"indptr": np.array([1, 2, 3, 3, 4, 7, 8])},
    "rows that end farther": {"indptr": np.array([0, 2, 3, 3, 4, 7, 9])},
    "too few rows": {"indptr": np.array([0, 2, 8])},
    "no row": {"indptr": np.array([0]), "labels": np.empty(0, INT32)},
    "nothing": {"indptr": np.empty(0, INT64)},
    "a label too large": {"labels": np.array([0, 1, 2, 0, 1, 3], INT32)},
    "a label below zero": {"labels": np.array([0, 1, 2, 0, 1, -1], INT32)},
    "NaN": {"values": np.array([1, np.nan, 1, 1, 1, 1, 1, 1], np.float32)},
    "more values": {"values": np.ones(9, np.float32)},
    "values of another type": {"values": np.ones(8, INT32)},
    "indices of another type": {"indices": np.array([0, 3, 1, 0, 1, 2, 4, 2], INT64)},
    "classes that fall": {"classes": np.array([1, 3, 2])},
    "classes of a different type": {"classes": np.array([1, 2, 3], INT32)},
    "too few classes": {"classes": np.array([1, 2])},
}


def check_hostile(path, monkeypatch, tensors, text=TEXT, **options):
    """A converted file with other tensors is refused, also where parts of the check meet."""
    converted(path, text, **options)
    rewritten(path)
    load_data(path, **options)  # with its own tensors
    rewritten(path, **tensors)
    for elements in (2, dataset_checks.ELEMENTS_AT_A_TIME):
        monkeypatch.setattr(dataset_checks, "ELEMENTS_AT_A_TIME", elements)
        with pytest.raises(ValueError, match="cannot be read as converted data"):
            load_data(path, **options)


@pytest.mark.parametrize("tensors", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused(path, monkeypatch, tensors):
    check_hostile(path, monkeypatch, tensors)


CLASSES = [*"acb"], [*"aab"], "abc", [1, 2, 3], ["a", "b", "\ud800"], []


@each(
    "wrong",
    [
        *({"n_features": n} for n in (-1, 4, 2**31, "5", 5.0)),
        *({"classes": classes} for classes in CLASSES),
    ],
)
def test_hostile_headers_are_refused(path, wrong):
    converted(path)
    rewritten(path, metadata=lambda about: about.update(wrong))
    with pytest.raises(ValueError, match="cannot be read as converted data"):
        load_data(path)


def test_newer_and_foreign_files(path):
    converted(path)
    rewritten(path, header=lambda about: about.update(format_version="7"))
    with pytest.raises(ValueError, match=r"data file of format 7, .*; this version .* upgrade"):
        load_data(path)
    rewritten(path, header=lambda about: about.update(format="else"))
    with pytest.raises(ValueError, match="holds something else, not data; give an svmlight file"):
        load_data(path)
    save_model(path, MulticlassSVC().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(ValueError, match="data: holds a model, not data"):
        load_data(path)
    path.write_text(TEXT)
    with pytest.raises(ValueError, match="cannot be read as converted data"):
        load_data(path)
    with pytest.raises(FileNotFoundError):
        load_data(path.with_name("nothing"))
    os.mkfifo(path.with_name("pipe"))
    with pytest.raises(OSError, match="is not a regular file"):
        load_data(path.with_name("pipe"))


def test_the_memory_that_a_hostile_header_asks_for_is_not_taken(path):
    for length in (2**63, 2**40, 2**20):
        path.write_bytes(struct.pack("<Q", length) + b"{" + b" " * 100)
        with pytest.raises(ValueError, match="cannot be read"):
            load_data(path)


@settings(max_examples=150)
@given(st.data())
def test_the_check_lets_only_valid_rows_through(data):
    small = st.integers(-1, 6)
    n = data.draw(st.integers(1, 5))
    indptr = np.array(data.draw(st.lists(small, min_size=n + 1, max_size=n + 1)), INT64)
    indices = np.array(data.draw(st.lists(small, max_size=6)), INT32)
    values = np.ones(len(indices), np.float32)
    tensors = {"indptr": indptr, "indices": indices, "values": values, "labels": np.zeros(n, INT32)}
    valid = indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all()
    if valid:
        rows = [indices[a:b] for a, b in pairwise(indptr)]
        valid = all((np.diff([-1, *row, 5]) > 0).all() for row in rows)
    elements = data.draw(st.sampled_from([2, dataset_checks.ELEMENTS_AT_A_TIME]))
    with pytest.MonkeyPatch.context() as patch:  # parts of two meet in many places
        patch.setattr(dataset_checks, "ELEMENTS_AT_A_TIME", elements)
        with pytest.raises(ValueError, match="checksum" if valid else "^(?!.*checksum)"):
            check_contents(tensors, 5, 1, "")
