"""Results as JSON, tables in pages, and the machine of a run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FIGURES = ROOT / "docs" / "figures"


def read_results(path: Path) -> dict[str, Any]:
    """Read saved results; an empty dict when there are none."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Save results as JSON."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def write_between(path: Path, marker: str, text: str) -> None:
    """Replace the text between ``<!-- marker -->`` and ``<!-- end of marker -->`` in a file."""
    begin, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
    before, rest = path.read_text().split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")


def machine(packages: Iterable[str] = ("manyclass",)) -> dict[str, Any]:
    """Describe the machine of a run, with the versions of packages."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in sorted({*packages, "numpy", "scipy"})},
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
