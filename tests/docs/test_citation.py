"""CITATION.cff is of this version."""

import re
import tomllib
from pathlib import Path

import manyclass

ROOT = Path(__file__).resolve().parents[2]


def test_versions_agree():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited == project["version"] == manyclass.__version__


def test_licences_agree():
    cited = re.search(r"^license: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert cited == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
