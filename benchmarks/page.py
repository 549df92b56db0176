"""Write the latest measurements into pages of docs/development/, with pictures.

python -m benchmarks.page [FOLDER] [--quick]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.many_classes import growth as many_classes_growth
from benchmarks.many_classes import tables as many_classes_tables
from benchmarks.peers import plots, report, tables
from benchmarks.peers.problems import PROBLEMS
from benchmarks.runs import growth
from benchmarks.stochastic import plots as stochastic_plots
from benchmarks.stochastic import tables as stochastic_tables
from measuring.quick import parse
from measuring.results import FIGURES, RESULTS, ROOT, place, read_results, write_between

PAGES = ROOT / "docs" / "development"
PAGE = PAGES / "benchmarks.md"
MANY_CLASSES = PAGES / "many_classes_benchmarks.md"
STOCHASTIC = PAGES / "stochastic_benchmarks.md"


def main() -> None:
    """Write tables and pictures of whatever was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    options = parse(parser, folder=RESULTS)
    folder = options.folder
    if (folder / "latest.json").exists():
        result = report.read(folder / "latest.json")
        if options.quick:
            result["entries"] = result["entries"][:1]
        paths = list(plots.draw_all(result, FIGURES))
        write_between(PAGE, "measured", f"{tables.all_tables(result)}\n\n{_pictures(paths)}")
    grown = read_results(folder / "growth.json")
    if grown:
        growth.draw(grown, place(FIGURES / "bench-growth.png"))
        write_between(PAGE, "growth", _growth(grown))
    _many_classes(folder)
    _stochastic(folder)


def _many_classes(folder: Path) -> None:
    measured = read_results(folder / "many_classes.json")
    if measured:
        write_between(MANY_CLASSES, "measured", many_classes_tables.all_tables(measured))
        costs = many_classes_tables.costs_table(measured["entries"])
        write_between(MANY_CLASSES, "costs", costs)
    grown = read_results(folder / "many_classes_growth.json")
    if grown:
        many_classes_growth.draw(grown, place(FIGURES / many_classes_growth.FIGURE))
        picture = (
            f"![seconds and memory while k or n grows](../figures/{many_classes_growth.FIGURE})"
        )
        text = f"{many_classes_growth.growth_table(grown)}\n\n{picture}"
        write_between(MANY_CLASSES, "growth", text)


def _stochastic(folder: Path) -> None:
    measured = read_results(folder / "stochastic.json")
    if measured:
        stochastic_plots.draw(measured, place(FIGURES / stochastic_plots.FIGURE))
        picture = f"![test accuracy against seconds](../figures/{stochastic_plots.FIGURE})"
        seconds = stochastic_tables.seconds_tables(measured)
        write_between(STOCHASTIC, "data", stochastic_tables.levels_table(measured))
        write_between(STOCHASTIC, "seconds", f"{seconds}\n\n{picture}")
        write_between(STOCHASTIC, "epochs", stochastic_tables.epochs_table(measured))
        write_between(STOCHASTIC, "memory", stochastic_tables.memory_table(measured))


def _pictures(paths: list[Path]) -> str:
    titles = {f"bench-{name}": problem.title for name, problem in PROBLEMS.items()}
    kinds = {"excess": "excess against seconds", "accuracy": "test accuracy against seconds"}
    lines = []
    for path in paths:
        problem, kind = path.stem.rsplit("-", 1)
        lines.append(f"![{titles[problem]}: {kinds[kind]}](../figures/{path.name})")
    return "\n\n".join(lines)


def _growth(grown: dict[str, Any]) -> str:
    picture = "![seconds per epoch against n, k and non-zeros](../figures/bench-growth.png)"
    return f"{growth.table(grown)}\n\n{picture}"


if __name__ == "__main__":
    main()
