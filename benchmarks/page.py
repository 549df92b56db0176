"""Fill the sections of pages with the latest measurements, and draw their pictures.

    python -m benchmarks.page [FOLDER] [--only NAME ...] [--quick]

FOLDER holds the results, by default benchmarks/results.
"""

from __future__ import annotations

import argparse
import pkgutil
from pathlib import Path
from typing import Any

from benchmarks.measurements import DOCS, MEASUREMENTS, Measurement, Section
from measuring.header import measured_line
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_between


def main() -> None:
    """Write the sections of whatever was measured."""
    names = [each.name for each in MEASUREMENTS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    options = parse(parser, folder=RESULTS, only=["many_classes", "many_classes_growth"])
    for measurement in MEASUREMENTS:
        result = read_results(options.folder / measurement.file)
        if result and measurement.name in options.only:
            fill(measurement, result)


def fill(measurement: Measurement, result: dict[str, Any]) -> None:
    """Write the sections of one measurement."""
    for section in measurement.sections:
        write_between(DOCS / section.page, section.marker, text_of(section, result))


def text_of(section: Section, result: dict[str, Any]) -> str:
    """Return tables and links of pictures, and when they were measured."""
    parts = [pkgutil.resolve_name(writer)(result) for writer in section.writers.split()]
    return "\n\n".join([*parts, measured_line(result)])


if __name__ == "__main__":
    main()
