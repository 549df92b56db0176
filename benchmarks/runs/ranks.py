"""Measure training on MPI ranks: seconds, bytes and memory of an epoch, and epochs to a gap.

    python -m benchmarks.runs.ranks {costs, epochs} [--only weston_watkins] [--data sector]

Writes rank_costs.json or rank_epochs.json. ``costs`` takes an hour; it repeats its whole list of
runs, so that a slow spell of the machine affects all of them alike.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from manyclass.problem.formulations import FORMULATIONS
from measuring.datasets import tiny
from measuring.header import header
from measuring.quick import parse
from measuring.rank_runs import DATASETS, Entry, by_mpiexec, save
from measuring.results import RESULTS, TITLES, markdown, read_results, write_results

COSTS, EPOCHS = (RESULTS / f"rank_{name}.json" for name in ("costs", "epochs"))
FORMULATION_NAMES = ("weston_watkins", "crammer_singer", "lee_lin_wahba", "one_vs_rest")
# Of the page for users.
SHORT = (
    ("lshtc1", "weston_watkins"),
    ("many-classes", "weston_watkins"),
    ("many-classes", "crammer_singer"),
    ("many-classes", "one_vs_rest"),
    ("many-classes", "lee_lin_wahba"),
)
TOL = 1e-3
RANKS = {"costs": (1, 2, 3, 4, 8), "epochs": (1, 2, 4, 8, 16)}


def runs(formulations: list[str], ranks: Sequence[int], *, timed: bool) -> list[dict[str, Any]]:
    """List the settings of ``measure``, with the number of ranks."""
    return [
        {"formulation": name, "weights": weights, "ranks": n_ranks}
        | {"tol": TOL, "max_iter": 6 if timed else 100}
        for name in formulations
        for weights in (
            ("dense", "sparse") if timed and FORMULATIONS[name].margin == "relative" else ("dense",)
        )
        for n_ranks in ranks
    ]


def measure_all(names: list[str], settings: list[dict[str, Any]], repeats: int) -> Iterator[Entry]:
    """Yield each run as often as it is repeated, with the median epoch so far."""
    repeated: dict[Any, list[Entry]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        sizes = {name: save(DATASETS[name], Path(scratch) / name) for name in names}
        for run, name in repeats * [(run, name) for name in names for run in settings]:
            found = by_mpiexec(run["ranks"], Path(scratch) / name, run)
            if found is not None:
                some = repeated[name, *run.values()]
                some.append({"data": name, "k": sizes[name]["k"], **found})
                yield middle(some)


def middle(entries: list[Entry]) -> Entry:
    """Return the run with the median epoch."""
    ordered = sorted(entries, key=lambda entry: float(entry["epoch"]["at_work"]))
    return ordered[(len(ordered) - 1) // 2]


def key(entry: Entry) -> tuple[Any, ...]:
    """Return what distinguishes a run."""
    return tuple(entry[name] for name in ("data", "formulation", "weights", "ranks"))


def costs_table(result: dict[str, Any]) -> str:
    """Return the seconds, traffic and memory of each run, and its speed-up over one process."""
    entries = result["runs"]
    lines = [
        "| data | formulation | W | ranks | ms at work | MB received | MB added | ms | speed-up |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    alone = {key(entry)[:3]: entry for entry in entries if entry["ranks"] == 1}
    for entry in entries:
        epoch, seconds = entry["epoch"], entry["all_epochs"]["seconds"]
        one = alone[key(entry)[:3]]["all_epochs"]["seconds"]
        cells = [*map(str, key(entry)), f"{1e3 * epoch['at_work']:.0f}"]
        cells += [f"{1e-6 * epoch['bytes']:.1f}", f"{entry['megabytes']:.0f}"]
        lines.append(f"| {' | '.join(cells)} | {1e3 * seconds:.0f} | {one / seconds:.2f} |")
    return "\n".join(lines)


def short_table(result: dict[str, Any]) -> str:
    """Return milliseconds of an epoch with dense W on one process and on two ranks."""
    milliseconds = {key(entry): 1e3 * entry["all_epochs"]["seconds"] for entry in result["runs"]}
    classes = {entry["data"]: entry["k"] for entry in result["runs"]}
    rows = []
    for data, formulation in SHORT:
        one, two = (milliseconds.get((data, formulation, "dense", p)) for p in (1, 2))
        if one and two:
            row = [
                data,
                f"{classes[data]:,}",
                TITLES[formulation],
                f"{one:.0f} ms",
                f"{two:.0f} ms",
            ]
            rows.append([*row, f"{one / two:.2f}"])
    return markdown(
        ["data", "classes", "formulation", "one process", "two ranks", "ratio"], rows, 1
    )


def epochs_table(result: dict[str, Any]) -> str:
    """Return the epochs to the gap."""
    entries = result["runs"]
    ranks = sorted({entry["ranks"] for entry in entries})
    head = f"| data | formulation | {' | '.join(map(str, ranks))} |"
    lines = [head, "|---|---|" + "--:|" * len(ranks)]
    groups: dict[Any, dict[int, str]] = defaultdict(dict)
    for entry in entries:
        more = "" if entry["gap"] <= TOL else "more than "
        groups[entry["data"], entry["formulation"]][entry["ranks"]] = f"{more}{entry['n_epochs']}"
    for names, cells in groups.items():
        line = " | ".join(cells.get(n_ranks, "") for n_ranks in ranks)
        lines.append(f"| {' | '.join(names)} | {line} |")
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", choices=("costs", "epochs"), default="costs")
    parser.add_argument(
        "--only", nargs="+", choices=FORMULATION_NAMES, default=list(FORMULATION_NAMES)
    )
    parser.add_argument(
        "--data",
        nargs="+",
        choices=DATASETS,
        default=[name for name in DATASETS if name != tiny.NAME],
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ranks", nargs="+", type=int, help="numbers of ranks")
    options = parse(parser, data=["tiny"], only=["one_vs_rest"], ranks=[1, 2], repeats=1)
    path, timed = (COSTS, True) if options.task == "costs" else (EPOCHS, False)
    old = read_results(path)
    about, kept = header(old), {key(entry): entry for entry in old.get("runs", [])}
    repeats = options.repeats if timed else 1
    settings = runs(options.only, options.ranks or RANKS[options.task], timed=timed)
    for entry in measure_all(options.data, settings, repeats):
        print(entry, flush=True)
        kept[key(entry)] = entry
        write_results(path, about | {"runs": list(kept.values())})


if __name__ == "__main__":
    main()
