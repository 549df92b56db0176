"""The folders of cpp/: includes go down only, and Python is known to the bindings alone.

Functions that only prefetch are always inlined.
"""

import re
from collections import Counter
from pathlib import Path

CPP = Path(__file__).parents[2] / "cpp"
MAX_FILES = 12

# Top first. A folder may include those below it; folders of one layer do not include each other.
LAYERS = [
    {"bindings"},
    {"newton"},
    {"engines", "logistic"},
    {
        "comparison",
        "dense_rows",
        "many_classes",
        "class_pairs",
        "sum_to_zero",
        "stochastic",
        "prediction",
        "svmlight",
    },
    {"dual"},
    {"certificate"},
    {"subproblem"},
    {"weights"},
    {"duals"},
    {"data"},
    {"simd", "threads"},
]
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
FILES = sorted(p.relative_to(CPP).as_posix() for p in CPP.rglob("*") if p.is_file())


def included(file: str) -> list[str]:
    """Return what a file includes by quotes: files of the project."""
    return re.findall(r'^#include "([^"]+)"', (CPP / file).read_text(), re.MULTILINE)


def folder_of(file: str) -> str:
    return file.split("/")[0]


def test_every_file_lies_in_a_folder_of_the_list():
    assert {folder_of(f) for f in FILES} == set(LEVEL)
    assert all(f.count("/") == 1 for f in FILES)


def test_every_include_names_a_file_with_its_folder():
    assert {i for f in FILES for i in included(f)} <= set(FILES)


def test_includes_between_folders_go_down():
    between = [(f, i) for f in FILES for i in included(f) if folder_of(i) != folder_of(f)]
    assert not [(f, i) for f, i in between if LEVEL[folder_of(i)] <= LEVEL[folder_of(f)]]


def test_includes_have_no_cycle():
    graph = {f: included(f) for f in FILES}
    while graph:
        leaves = {f for f, needed in graph.items() if not set(needed) & set(graph)}
        assert leaves, f"a cycle of includes among {sorted(graph)}"
        graph = {f: needed for f, needed in graph.items() if f not in leaves}


def test_only_the_bindings_know_python():
    pattern = re.compile(r"nanobind|Python\.h|\bPy_|\bPyErr_")
    users = {folder_of(f) for f in FILES if pattern.search((CPP / f).read_text())}
    assert users == {"bindings"}


def test_folders_stay_small():
    sizes = Counter(folder_of(f) for f in FILES)
    assert {folder: n for folder, n in sizes.items() if n > MAX_FILES} == {}


def test_functions_that_only_prefetch_are_always_inlined():
    # GCC takes a function that only prefetches for one without effect, and drops its calls.
    named = re.compile(r"^.*(?:\bvoid|\bauto) (?:pre)?fetch\w*(?:\(| = \[).*$", re.MULTILINE)
    found = [line for f in FILES for line in named.findall((CPP / f).read_text())]
    assert found
    assert not [line for line in found if "always_inline" not in line and "{}" not in line]
