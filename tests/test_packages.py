"""The rules that keep packages apart and fits short, checked on the source and on one fit."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import manyclass
from manyclass import MulticlassSVC

SOURCE = Path(manyclass.__file__).parent
# Of scikit-learn, whose subclasses define and call them.
OF_SKLEARN = {"_validate_params", "_parameter_constraints", "_estimator_type"}
OF_NAMEDTUPLE = {"_replace", "_fields"}
# Of one fit of MulticlassSVC on iris; lower them when it becomes shorter.
MODULES, FUNCTIONS = 21, 180
ANY_LINES = 29  # with the type Any; lower it when there are fewer


def private(name):
    return (
        name.startswith("_") and not name.endswith("__") and name not in OF_SKLEARN | OF_NAMEDTUPLE
    )


def package_of(path):
    return path.relative_to(SOURCE).parts[0]


def of_self(node):
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def attributes_in(tree):
    """Names that the classes of a module define: methods, variables, attributes of self."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            names |= {n.id for part in node.body for n in ast.walk(part) if stores(n)}
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and of_self(node):
            names.add(node.attr)
    return names


def stores(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


@pytest.fixture(scope="module", name="trees")
def trees_fixture():
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def test_no_package_uses_private_names_of_another(trees):
    known = defaultdict(set)
    for path, tree in trees.items():
        known[package_of(path)] |= attributes_in(tree)
    of_others = set().union(*known.values())
    wrong = []
    for path, tree in trees.items():
        own = known[package_of(path)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and private(node.attr):
                taken = node.attr in of_others and node.attr not in own
                if taken and not of_self(node):
                    wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno} .{node.attr}")
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manyclass."):
                names = [alias.name for alias in node.names if private(alias.name)]
                wrong += [f"{path.relative_to(SOURCE)}:{node.lineno} {name}" for name in names]
    assert not wrong, "\n".join(wrong)


def test_one_fit_stays_short():
    """How many modules and functions of the package one fit runs through."""
    X, y = load_iris(return_X_y=True)
    MulticlassSVC(random_state=0).fit(X, y)  # imports what it needs
    seen = defaultdict(set)

    def called(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)):
            seen[path].add(frame.f_code.co_qualname)

    model = MulticlassSVC(random_state=0)
    before = sys.getprofile()
    sys.setprofile(called)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(before)
    assert len(seen) <= MODULES
    assert sum(map(len, seen.values())) <= FUNCTIONS


def test_few_lines_have_the_type_any():
    """A Protocol, an alias of utils/types.py, object or a TypeVar says more."""
    found = [
        f"{path.relative_to(SOURCE)}:{number} {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\bAny\b", line)
    ]
    assert len(found) <= ANY_LINES, "\n".join(found)
