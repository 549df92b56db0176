"""Repeat measurements that are out of date, and fill their sections of the pages.

    python -m benchmarks.measure [--list] [--only NAME ...]

A measurement is out of date if its commands or the solvers have changed since then. Ctrl-C stops;
the next call continues: complete results stay, and the measurement that was running starts again.
With --only, the named measurements run, whether they are out of date or not.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.measurements import MEASUREMENTS, Measurement
from measuring.fingerprint import ROOT
from measuring.header import dates, is_current
from measuring.results import RESULTS, read_results, write_results

INTERRUPTED = 130  # exit status


class MeasurementError(Exception):
    """A program of a measurement failed, or wrote no results."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    names = [each.name for each in MEASUREMENTS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.measure", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--list", action="store_true", help="when each was measured")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    options = parser.parse_args(argv)
    chosen = [each for each in MEASUREMENTS if each.name in (options.only or names)]
    if options.list:
        print("\n".join(map(line, chosen)))
        return 0
    named = options.only is not None
    return measure_all([each for each in chosen if named or state(each) != "current"], named=named)


def state(measurement: Measurement) -> str:
    """Return "never", "damaged", "old" or "current"."""
    try:
        result = read_results(RESULTS / measurement.file)
    except ValueError:
        return "damaged"
    if not result:
        return "never"
    same_commands = result.get("commands") == list(measurement.commands)
    return "current" if same_commands and is_current(result, measurement.code) else "old"


def line(measurement: Measurement) -> str:
    """Describe a measurement: its state, when and where it was measured, how long it takes."""
    now = state(measurement)
    result = {} if now == "damaged" else read_results(RESULTS / measurement.file)
    when = dates(result)[-1] if result else ""
    cpu = result.get("machine", {}).get("cpu", "")
    commit = result.get("commit", "")
    missing = measurement.missing()
    notes = [f"takes {measurement.duration}"] if measurement.duration else []
    notes += [missing] if missing else []
    known = f"{measurement.name:20} {now:8} {when:11} {commit:9} {cpu:20}"
    return f"{known} {'; '.join(notes)}".rstrip()


def measure_all(chosen: Sequence[Measurement], *, named: bool = False) -> int:
    """Run measurements in turn; a failing one does not keep the others from running.

    With `named`, a measurement that is skipped counts as failed.
    """
    failed: dict[str, str] = {}
    status = 0
    for number, each in enumerate(chosen, 1):
        if missing := each.missing():
            print(f"{each.name}: skipped, {missing}", flush=True)
            if named:
                failed[each.name] = missing
            continue
        before = state(each)
        takes = f", takes {each.duration}" if each.duration else ""
        print(f"{each.name} ({number} of {len(chosen)}{takes})", flush=True)
        try:
            if reason := failure(each):
                failed[each.name] = reason
        except KeyboardInterrupt:
            again = f"the next call begins with {each.name}"
            if before != "current" == state(each):  # stopped while its pages were filled
                again = f"python -m benchmarks.page --only {each.name} fills its pages"
            print(f"\nStopped; {again}", file=sys.stderr)
            status = INTERRUPTED
            break
    for name, reason in failed.items():
        print(f"{name} failed: {reason}", file=sys.stderr)
    return status or (1 if failed else 0)


def failure(measurement: Measurement) -> str:
    """Measure and fill the sections; say what failed, an empty string if nothing did."""
    try:
        result = measure(measurement)
    except (OSError, ValueError, MeasurementError) as error:
        return f"{error}; its earlier results stay"
    try:
        page.fill(measurement, result)
    except Exception as error:  # of any writer: the others still run
        again = f"python -m benchmarks.page --only {measurement.name}"
        return f"{type(error).__name__}: {error}; its results are complete, {again} fills the pages"
    return ""


def measure(measurement: Measurement) -> dict[str, Any]:
    """Run the programs of a measurement in an empty folder; then their file replaces the old one.

    Raises
    ------
    MeasurementError
        If a program fails or writes no results; the old file stays.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".measuring-", dir=RESULTS) as folder:
        environment = os.environ | {"MANYCLASS_RESULTS": folder}
        for command in measurement.commands:
            words = [sys.executable, "-m", *shlex.split(command)]
            done = subprocess.run(words, cwd=ROOT, env=environment, check=False)
            if done.returncode != 0:
                raise MeasurementError(f"python -m {command} ended with {done.returncode}")
        path = Path(folder, measurement.file)
        if not path.exists():
            raise MeasurementError(f"no {measurement.file} was written")
        result = read_results(path) | {"commands": list(measurement.commands)}
        write_results(path, result)
        path.replace(RESULTS / measurement.file)
    return result


if __name__ == "__main__":
    if status := main():
        sys.exit(status)
