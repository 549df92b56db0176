"""What package indexes, conda and continuous integration are given agrees with pyproject.toml."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

import manyclass

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "packaging/conda/recipe.yaml")
SPEC = re.compile(r"([A-Za-z0-9_.-]+)\s*(>=|==)\s*([0-9.]+)")


@pytest.fixture(scope="module", name="project")
def project_fixture():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def lowest(requirements):
    """Versions by name, of lines such as ``numpy>=1.26``."""
    return {m[1]: m[3] for m in map(SPEC.search, requirements) if m}


def test_links_of_the_readme_are_absolute_for_package_indexes():
    text = metadata("manyclass")["Description"]
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_conda_recipe_asks_for_the_same_versions(project):
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
    run = recipe.split("  run:\n")[1].split("\n\n")[0].splitlines()
    wanted = {**lowest(project["dependencies"]), "python": project["requires-python"][2:]}
    assert lowest(run) == wanted
    assert f'version: "{project["version"]}"' in recipe


def test_the_oldest_versions_that_are_tested_are_those_that_are_allowed(project):
    tested = lowest((ROOT / "packaging/oldest.txt").read_text().splitlines())
    for name, version in lowest(project["dependencies"]).items():
        assert tested[name].startswith(version), name


def test_continuous_integration_covers_the_versions_of_python(project):
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    named = [c.split(" :: ")[-1] for c in project["classifiers"] if "Python :: 3." in c]
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"{v}"' for v in named)


def test_the_citation_is_of_this_version(project):
    cited = dict(re.findall(r"(?m)^(version|license): (.+)$", (ROOT / "CITATION.cff").read_text()))
    assert cited["version"] == project["version"] == manyclass.__version__
    assert cited["license"] == project["license"]


def test_a_release_is_filled_in_and_checked(tmp_path):
    names = [*FILES, "src/manyclass/version.py", "CITATION.cff", "CHANGELOG.md"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, str(ROOT / "packaging/release.py"), "--folder", str(tmp_path)]

    def run(*arguments):
        found = subprocess.run([*command, *arguments], capture_output=True, text=True)
        return found.returncode, found.stderr.splitlines()

    code, lines = run()
    assert code == 1
    assert len(lines) == 3
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("(unreleased)", "(2026-12-01)"))
    assert run("--account", "a-name") == (0, [])
    assert "https://github.com/a-name/manyclass" in (tmp_path / FILES[0]).read_text()
    changed = tmp_path / "CITATION.cff"
    changed.write_text(changed.read_text().replace("version: 0.1.0", "version: 0.2.0"))
    assert run() == (1, ["CITATION.cff: the version is 0.2.0; pyproject.toml has 0.1.0"])
    assert run("--account", "no name")[0] == 2
