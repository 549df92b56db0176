"""Tests skip what is not installed; `make test-rest` runs those that `make test` cannot run."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
OWN = {"manyclass", "tests", "benchmarks", "experiments", "measuring"}
# Modules of the package that import what may be missing.
OPTIONAL_MODULES = {"manyclass.dask", "manyclass.onnx", "manyclass.ray", "manyclass.spark"}
HELPERS = {"tests.helpers.spark": "pyspark"}
# Packages whose modules are not named after them.
MODULES = {"scikit-learn": "sklearn", "pytest-xdist": "xdist", "myst-parser": "myst_parser"}
# Built from source where it can be, by `make test`.
TRIED = {"liblinear"}


def modules(requirements):
    """Return the modules of some requirements of pyproject.toml."""
    names = {re.split(r"[\[>=<]", line)[0] for line in requirements}
    return {MODULES.get(name, name).replace("-", "_") for name in names}


@cache
def table(name):
    """Return a table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())[name]


@cache
def left_out():
    """Return the modules of extras and groups that `make test` does not install."""
    project, groups = table("project"), table("dependency-groups")
    there = modules(project["dependencies"]) | modules(groups["test"]) | TRIED
    known = [*project["optional-dependencies"].values(), *groups.values()]
    return set().union(*map(modules, known)) - there


def imported(node):
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def actual(name):
    """Return the package that a helper of the tests needs, or the name itself."""
    return HELPERS.get(name, name)


def skipped_without(node):
    """Return the module that a call of importorskip or find_spec asks for."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("importorskip", "find_spec")
    ):
        first = node.args[0]
        return first.value if isinstance(first, ast.Constant) else None
    return None


def unguarded(tree):
    """Yield the modules that a file imports first of all, though they may be missing."""
    installed = modules(table("project")["dependencies"]) | {"pytest", "hypothesis", *OWN}
    guarded = False
    for statement in tree.body:
        guarded |= any(map(skipped_without, ast.walk(statement)))
        for name in imported(statement):
            root = name.split(".")[0]
            known = root in installed | sys.stdlib_module_names and name not in OPTIONAL_MODULES
            if not known and not guarded:
                yield name


def is_slow(node):
    """Whether a statement marks its module, or a test, as slow."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == "pytestmark" and "mark.slow" in ast.unparse(node)
    marks = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(ast.unparse(mark) == "pytest.mark.slow" for mark in marks)


def needs_of_quick_tests(tree):
    """Return the packages that `make test` does not install, and tests need that are not slow."""
    if any(isinstance(statement, ast.Assign) and is_slow(statement) for statement in tree.body):
        return set()
    named = {
        name.split(".")[0]
        for statement in tree.body
        if not is_slow(statement)
        for node in ast.walk(statement)
        for name in map(actual, [*imported(node), skipped_without(node) or ""])
    }
    return named & left_out()


def test_modules_ask_for_what_may_be_missing_before_they_import_it():
    found = {path: list(unguarded(ast.parse(path.read_text()))) for path in TESTS}
    assert {str(path): names for path, names in found.items() if names} == {}


def test_what_make_test_does_not_install_is_needed_by_slow_tests_only():
    assert {"ray", "pyspark", "sphinx"} <= left_out()
    quick = {path: needs_of_quick_tests(ast.parse(path.read_text())) for path in TESTS}
    found = {path.name: names for path, names in quick.items() if names}
    assert {name: needs for name, needs in found.items() if name.startswith("test_")} == {}


def test_modules_with_optional_packages_have_no_doctests_that_are_skipped():
    """Doctests are not marked: `make test` has to run them all."""
    for path in (ROOT / "src").rglob("*.py"):
        if {
            name.split(".")[0]
            for node in ast.parse(path.read_text()).body
            for name in imported(node)
        } & left_out():
            assert ">>>" not in path.read_text(), path


def test_blocks_of_the_pages_need_what_make_test_installs():
    named = {
        m
        for page in (ROOT / "docs").rglob("*.md")
        for m in re.findall("<!-- needs: (.+) -->", page.read_text())
    }
    assert "polars" in named
    assert not named & left_out()


def test_an_import_that_is_not_guarded_is_found():
    first = "import pytest\nimport pyspark.ml\n"
    assert list(unguarded(ast.parse(first))) == ["pyspark.ml"]
    guarded = 'import pytest\npytest.importorskip("pyspark")\nimport pyspark.ml\n'
    assert list(unguarded(ast.parse(guarded))) == []
    quick = 'def test():\n    pytest.importorskip("ray.data")\n'
    assert needs_of_quick_tests(ast.parse(quick)) == {"ray"}
    assert needs_of_quick_tests(ast.parse("from tests.helpers.spark import frame")) == {"pyspark"}
    assert needs_of_quick_tests(ast.parse(f"@pytest.mark.slow\n{quick}")) == set()


def test_pages_and_messages_name_the_missing_package_itself():
    """The package is on no index: an extra of it cannot be installed by its name alone."""
    files = [ROOT / "README.md"]
    for folder, kind in [("src", "py"), ("docs", "md"), ("examples", "py")]:
        files += (ROOT / folder).rglob(f"*.{kind}")
    assert [str(path) for path in files if "manyclass[" in path.read_text()] == []
