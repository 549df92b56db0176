"""What package indexes, conda and continuous integration are given agrees with pyproject.toml."""

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

import manyclass

ROOT = Path(__file__).parents[2]
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
