"""Every command that a page names runs, measurements in a form of seconds.

Blocks of commands of the program run page by page (test_examples.py). Here are ``python -m``
commands, from one table, and the program's commands within sentences, whose options must be there.
"""

import argparse
import importlib.util
import runpy
import shutil
import sys

import pytest

from experiments.__main__ import EXPERIMENTS
from manyclass.cli.commands import build_parser
from measuring import results
from measuring.hosts import MPIEXEC
from tests.docs.documented_commands import (
    COMMANDS,
    GENERATED,
    ROOT,
    arguments_of,
    documented,
    modules_of,
    program_lines,
)

WRITTEN = {".json", ".md", ".png"}
EVERY = sorted({*documented(), *((module, "") for module in EXPERIMENTS)})
CASES = [case for case in EVERY if case[0] in COMMANDS]


def test_the_table_has_all_commands_of_the_pages_and_no_others():
    assert {module for module, _ in documented()} | set(EXPERIMENTS) == set(COMMANDS)


def test_commands_are_found_in_blocks_and_sentences():
    text = (
        "`python -m a.b.c --x`, `.d` and\n`.e`; then\n\n    python -m f.g \\\n      --y 1  # so\n"
    )
    assert list(modules_of(text)) == [
        ("a.b.c", "--x"),
        ("f.g", "--y 1"),
        ("a.b.d", ""),
        ("a.b.e", ""),
    ]


def is_there(name):
    """Whether a module or a program is there."""
    if name == "mpiexec":
        return MPIEXEC.exists()
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


@pytest.fixture
def quick(monkeypatch):
    """Run a module as ``python -m`` does; results go to a folder of their own."""

    def run(module, arguments):
        for name in COMMANDS[module].needs:
            if not is_there(name):
                pytest.skip(f"needs {name}")
        monkeypatch.setattr(results, "_scratch", None)
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
        monkeypatch.chdir(ROOT)
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        monkeypatch.setenv("MPLBACKEND", "agg")
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    return run


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("module", "given"),
    [
        pytest.param(*case, marks=pytest.mark.slow if COMMANDS[case[0]].slow else ())
        for case in CASES
    ],
)
def test_a_command_runs(quick, module, given):
    before = files_of_the_project()
    quick(module, arguments_of(module, given))
    assert files_of_the_project() == before


def files_of_the_project():
    """What a measurement may write: results, pages and pictures, with their times."""
    folders = (ROOT / name for name in ("benchmarks", "docs", "experiments"))
    found = [
        path for folder in folders for path in folder.rglob("*.*") if not GENERATED & {*path.parts}
    ]
    return {path: path.stat().st_mtime_ns for path in found if path.suffix in WRITTEN}


def test_commands_within_sentences_and_their_options_are_there():
    (commands,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    found = list(program_lines())
    assert len(found) > 20
    for page, (command, *words) in found:
        assert command in commands.choices, (page, command)
        known = commands.choices[command]._option_string_actions
        unknown = [word for word in words if word.startswith("-") and word not in known]
        assert not unknown, (page, command, unknown)
