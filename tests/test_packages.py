"""The rules that keep packages apart and fits short, checked on the source and on one fit."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

import manyclass
from manyclass import MulticlassSVC
from manyclass.cli import main

SOURCE = Path(manyclass.__file__).parent
# Of scikit-learn, whose subclasses define and call them.
OF_SKLEARN = {"_validate_params", "_parameter_constraints", "_estimator_type"}
OF_NAMEDTUPLE = {"_replace", "_fields"}
# Of one fit of MulticlassSVC on iris, and of `manyclass train`; lower them when it becomes shorter.
MODULES, FUNCTIONS, MODULES_OF_COMMAND = 20, 150, 50
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


def passed(run):
    """The functions of the package that a call passes, by file.

    Only those with a name: comprehensions are functions of their own before Python 3.12 alone.
    """
    seen = defaultdict(set)

    def called(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and code.co_name[0] != "<":
            seen[code.co_filename].add(code.co_qualname)

    run()  # imports what it needs
    before = sys.getprofile()
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


def test_one_fit_stays_short():
    X, y = load_iris(return_X_y=True)
    model = MulticlassSVC(random_state=0)
    seen = passed(lambda: model.fit(X, y))
    assert len(seen) <= MODULES
    assert sum(map(len, seen.values())) <= FUNCTIONS


def test_one_training_by_command_stays_short(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.chdir(tmp_path)
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    seen = passed(lambda: main(["train", "--quiet", "iris.svm", "iris.model"]))
    assert Path("iris.model").exists()
    assert len(seen) <= MODULES_OF_COMMAND


def test_few_lines_have_the_type_any():
    """A Protocol, an alias of utils/types.py, object or a TypeVar says more."""
    found = [
        f"{path.relative_to(SOURCE)}:{number} {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\bAny\b", line)
    ]
    assert len(found) <= ANY_LINES, "\n".join(found)
