"""Fill in the account that owns the repository, and check what a release needs.

    python packaging/release.py --account NAME [--folder .]

OWNER becomes NAME in FILES. Each lack is a line on the error stream, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

FILES = ("pyproject.toml", "packaging/conda/recipe.yaml")
ACCOUNT = re.compile(r"[A-Za-z0-9](-?[A-Za-z0-9])*")
PLACEHOLDER = re.compile(r"\bOWNER\b")
# Where else the version stands, and how.
VERSIONS = {
    "src/manyclass/version.py": r'__version__ = "(.*)"',
    "CITATION.cff": r"(?m)^version: (.*)$",
    "packaging/conda/recipe.yaml": r'(?m)^  version: "?([^"\n]*)"?$',
}


def fill(folder: Path, account: str) -> None:
    """Write the account in place of OWNER."""
    for name in FILES:
        path = folder / name
        path.write_text(PLACEHOLDER.sub(account, path.read_text()))


def lacks(folder: Path) -> Iterator[str]:
    """Yield what is not ready."""
    version = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"]
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (folder / name).read_text())
        if found is None or found[1] != version:
            yield f"{name}: the version is {found and found[1]}; pyproject.toml has {version}"
    for name in FILES:
        if PLACEHOLDER.search((folder / name).read_text()):
            yield f"{name}: OWNER is not filled in; give --account"
    heading = rf"(?m)^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if not re.search(heading, (folder / "CHANGELOG.md").read_text()):
        yield f"CHANGELOG.md: no heading '## {version} (YYYY-MM-DD)'"


def main() -> int:
    """Fill in and check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--account", help="account that owns the repository")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1])
    arguments = parser.parse_args()
    if arguments.account is not None:
        if not ACCOUNT.fullmatch(arguments.account):
            parser.error(f"argument --account: {arguments.account!r} is no name of an account")
        fill(arguments.folder, arguments.account)
    found = list(lacks(arguments.folder))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
