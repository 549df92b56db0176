"""The header of a result: when, where and with which code it was measured."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measuring.fingerprint import CORE, ROOT, fingerprints


def header(
    kept: Mapping[str, Any] | None = None, packages: Iterable[str] = ("manyclass",)
) -> dict[str, Any]:
    """Describe a measurement.

    Parameters
    ----------
    kept : mapping, default=None
        Earlier results that stay in the same file. The header has the dates of both, and only the
        commit and the code on which both agree.
    packages : iterable of str
        Other packages whose versions count.

    Returns
    -------
    dict
        ``dates`` (the first and the last), ``commit``, ``changed`` (whether the sources differ from
        the commit), ``code`` (a fingerprint for each of ``PACKAGES``), ``machine``.
    """
    today = time.strftime("%Y-%m-%d")
    found = {"dates": [today, today], **_commit(), "code": fingerprints()}
    if kept:
        known = kept.get("code", {})
        found["dates"] = [min([today, *dates(kept)]), today]
        found["code"] = {
            name: code for name, code in fingerprints().items() if known.get(name) == code
        }
        if kept.get("commit") != found["commit"]:
            found["commit"] = ""
    return {**found, "machine": machine(packages)}


def machine(packages: Iterable[str] = ("manyclass",)) -> dict[str, Any]:
    """Describe the machine of a run, with the versions of packages."""
    names = sorted({*packages, "numpy", "scipy", "scikit-learn"})
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names},
    }


def dates(result: Mapping[str, Any]) -> list[str]:
    """Return all dates of a result, sorted: of its header, and of its entries."""
    return sorted(set(_dates(result)))


def measured_line(result: Mapping[str, Any]) -> str:
    """Return the last line of a section of a page.

    Examples
    --------
    >>> measured_line({"date": "2026-11-22", "machine": {"cpu": "AMD EPYC", "cores": 2}})
    'Measured on 2026-11-22 on an AMD EPYC with 2 cores.'
    """
    found = dates(result)
    when = f"on {found[0]}" if len(found) == 1 else f"from {found[0]} to {found[-1]}"
    line = f"Measured {when}"
    if result.get("commit"):
        changes = " with changes" if result["changed"] else ""
        line += f" (commit {result['commit']}{changes})"
    if "machine" in result:
        cpu, cores = result["machine"]["cpu"], result["machine"]["cores"]
        article = "an" if cpu[:1].upper() in "AEIOU" else "a"
        line += f" on {article} {cpu} with {cores} core{'s' if cores > 1 else ''}"
    return f"{line}."


def is_current(result: Mapping[str, Any], packages: Iterable[str] = CORE) -> bool:
    """Return whether a result was measured with the code that is there now."""
    known, now = result.get("code", {}), fingerprints()
    return all(known.get(name) == now[name] for name in packages)


def _commit() -> dict[str, Any]:
    """Return the commit, and whether the measured sources differ from it."""
    commit = _git("rev-parse", "--short=8", "HEAD")
    return {"commit": commit, "changed": bool(_git("status", "--porcelain", "--", "src", "cpp"))}


def _git(*words: str) -> str:
    """Return what git prints; an empty string outside of a repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _dates(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _dates(part)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key == "date":
                yield part
            elif key == "dates":
                yield from part
            else:
                yield from _dates(part)


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
