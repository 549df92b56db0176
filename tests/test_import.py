"""Importing the package, and asking for help, loads nothing that takes long."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import manyclass

ROOT = Path(__file__).resolve().parents[1]
LISTED = re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
# What each package needs that may be missing; `make test` does not install Ray and PySpark.
NEEDS = {"dask": "distributed", "onnx": "skl2onnx", "ray": "ray", "spark": "pyspark"}
LEFT_OUT = ("ray", "spark")
HEAVY = ("numpy", "scipy", "sklearn", "joblib", "dask", "distributed", "ray", "pyspark")


def loaded_by(code):
    """Top-level modules that are loaded at the end of a program."""
    code = f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import manyclass",
        "import manyclass; dir(manyclass); manyclass.__version__",
        "import manyclass.cli",
        "from manyclass.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from manyclass.cli import main\ntry: main(['train', '--help'])\nexcept SystemExit: pass",
        "from manyclass.cli import main\nmain(['train', 'data', 'model', '--nonsense'])",
    ],
)
def test_nothing_heavy_is_imported(code):
    assert not loaded_by(code) & set(HEAVY)


def test_public_names_are_all_there_when_asked_for():
    for name in manyclass.__all__:
        assert name in dir(manyclass)
        assert getattr(manyclass, name) is not None
    from manyclass.estimators.svc import MulticlassSVC

    assert manyclass.MulticlassSVC is MulticlassSVC
    public = {name for name in dir(manyclass) if not name.startswith("__")}
    assert public == set(manyclass.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="module 'manyclass' has no attribute 'Nonsense'"):
        manyclass.Nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from manyclass import nonsense  # noqa: F401
    names = {}
    exec("from manyclass import *", names)
    assert set(manyclass.__all__) <= set(names)


@pytest.mark.parametrize(
    "package",
    [
        pytest.param(package, marks=pytest.mark.slow if package in LEFT_OUT else ())
        for package in sorted({name.rpartition(".")[0] for name in LISTED})
    ],
)
def test_documented_names_are_those_of_their_packages(package):
    """And at most one level below the package."""
    if package in NEEDS:
        pytest.importorskip(NEEDS[package])
    module = importlib.import_module(f"manyclass.{package}" if package else "manyclass")
    for name in LISTED:
        if name.rpartition(".")[0] == package:
            assert name.rpartition(".")[2] in dir(module)
            assert callable(getattr(module, name.rpartition(".")[2]))


def test_packages_with_documented_names():
    packages = {name.rpartition(".")[0] for name in LISTED}
    assert {"", "datasets", "estimators", "io", "model_selection", "problem", *NEEDS} <= packages
    assert not any("." in package for package in packages)


@pytest.mark.parametrize("folder", ["benchmarks", "experiments", "measuring"])
def test_benchmarks_and_experiments_share_helpers_and_no_more(folder):
    others = {"benchmarks", "experiments"} - {folder}
    for path in (ROOT / folder).rglob("*.py"):
        found = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
        assert not others & set(found), path
