"""The header of results: fingerprints of the code, dates, commits, and the line of a page."""

import textwrap

import pytest

from measuring import header
from measuring.fingerprint import PACKAGES, cpp_code, fingerprints, python_code

PYTHON = '''
"""Docstring."""

def f(x: int) -> str:
    """Docstring."""
    # comment
    if x < 0:
        raise ValueError("negative")
    return f"{x}" "# no comment"
'''
CPP = """
// comment, "with quotes"
#include <cmath>
/* comment
   of two lines */
inline float f(float x) {  // it's
    return x / 2;
}
constexpr auto url = "http://a";
"""


def changed(source, old, new):
    assert source.count(old) == 1
    return source.replace(old, new)


def test_comments_docstrings_and_raised_errors_of_python_do_not_count():
    same = [
        changed(PYTHON, "    # comment\n", "\n\n"),
        changed(PYTHON, "(x: int)", "( x:int )"),
        changed(PYTHON, '"negative"', '"x is negative"'),
        PYTHON.replace("Docstring.", "Another."),
        PYTHON.replace('"""Docstring."""', ""),
    ]
    assert {python_code(source) for source in same} == {python_code(PYTHON)}


@pytest.mark.parametrize(
    ("old", "new"),
    [("{x}", "{x + 1}"), ("# no comment", "# other"), ("int", "float"), ("x < 0", "x < 1")],
)
def test_a_changed_statement_of_python_counts(old, new):
    assert python_code(changed(PYTHON, old, new)) != python_code(PYTHON)


def test_comments_and_blank_space_of_cpp_do_not_count():
    same = [
        changed(CPP, '// comment, "with quotes"\n', ""),
        changed(CPP, "/* comment\n   of two lines */", "// one line"),
        changed(CPP, "  // it's", ""),
        changed(CPP, "return x / 2;", "return\n        x/2 ;"),
        textwrap.indent(CPP, "  "),
    ]
    assert {cpp_code(source) for source in same} == {cpp_code(CPP)}


@pytest.mark.parametrize(("old", "new"), [("x / 2", "x / 3"), ("//a", "//b"), ("cmath", "cstdio")])
def test_a_changed_statement_of_cpp_counts(old, new):
    assert cpp_code(changed(CPP, old, new)) != cpp_code(CPP)


@pytest.mark.slow
def test_every_package_has_a_fingerprint():
    found = fingerprints()
    assert list(found) == list(PACKAGES)
    assert len(set(found.values())) == len(PACKAGES)
    assert header.is_current({"code": found}, PACKAGES)
    assert not header.is_current({"code": found | {"rows": "other"}})
    assert not header.is_current({})


@pytest.fixture
def now(monkeypatch):
    """Replace what the header finds out."""
    monkeypatch.setattr(header, "fingerprints", lambda: {"cpp": "1", "rows": "2"})
    monkeypatch.setattr(header, "_commit", lambda: {"commit": "abc", "changed": False})
    monkeypatch.setattr(header.time, "strftime", lambda _: "2026-11-28")


def test_a_header(now):
    found = header.header(packages=("scikit-learn",))
    assert found["dates"] == ["2026-11-28", "2026-11-28"]
    assert found["commit"] == "abc"
    assert found["code"] == {"cpp": "1", "rows": "2"}
    assert {"numpy", "scipy", "scikit-learn"} <= set(found["machine"]["versions"])


def test_results_that_are_kept_count_in_the_header(now):
    same = header.header(header.header())
    assert same == header.header()
    kept = {"date": "2026-11-20", "runs": [{"date": "2026-11-02"}], "commit": "old"}
    mixed = header.header(kept | {"code": {"cpp": "1", "rows": "other"}})
    assert mixed["dates"] == ["2026-11-02", "2026-11-28"]
    assert mixed["commit"] == ""
    assert mixed["code"] == {"cpp": "1"}
    assert header.header(kept)["code"] == {}


def test_the_line_of_a_page():
    where = {"machine": {"cpu": "AMD EPYC", "cores": 2}}
    found = {"dates": ["2026-11-26"] * 2, "commit": "b14382f7", "changed": False, **where}
    expected = "Measured on 2026-11-26 (commit b14382f7) on an AMD EPYC with 2 cores."
    assert header.measured_line(found) == expected
    assert "(commit b14382f7 with changes)" in header.measured_line(found | {"changed": True})
    assert header.measured_line({"date": "2026-11-26"}) == "Measured on 2026-11-26."
    one = {"entries": [{"date": "2026-11-02"}, {"date": "2026-11-01"}]}
    one["machine"] = {"cpu": "Neoverse", "cores": 1}
    expected = "Measured from 2026-11-01 to 2026-11-02 on a Neoverse with 1 core."
    assert header.measured_line(one) == expected
