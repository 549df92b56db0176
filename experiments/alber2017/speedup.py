"""Figure 2 of Alber et al. 2017: the speed-up of ten epochs by more workers.

    python -m experiments.alber2017.speedup [--repeats 3] [--page-only] [--quick]

trains on a made-up corpus of the shape of a tenth of LSHTC-large, by 1, 2 and 4 ranks. Measures
elapsed time, and the CPU time of a rank outside communication: the time with a core for each rank
and no waiting. Writes speedup.json, figure2.png and a table into README.md.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from measuring.header import machine
from measuring.quick import parse
from measuring.rank_runs import DATASETS, by_mpiexec, save
from measuring.results import place, read_results, write_between, write_results

HERE = Path(__file__).parent
RESULTS = HERE / "speedup.json"
MACHINES = {
    "WW": "weston_watkins",
    "CS": "crammer_singer",
    "LLW": "lee_lin_wahba",
    "OVR": "one_vs_rest",
}
DATA = "lshtc-tenth"
EPOCHS = 10
MEASURED = (1, 2, 4)
KINDS = (("seconds", "o-", "measured"), ("at_work", "x:", "measured, at work only"))
COLOURS = dict(zip(MACHINES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page-only", action="store_true", help="page from the saved results")
    parser.set_defaults(data=DATA, ranks=MEASURED)
    arguments = parse(parser, data="tiny", ranks=(1, 2), repeats=1)
    if not arguments.page_only:
        write_results(RESULTS, measure(arguments.repeats, arguments.data, arguments.ranks))
    found = read_results(RESULTS)
    draw(found, place(HERE / "figure2.png"))
    write_between(HERE / "README.md", "figure 2", table(found))


def measure(repeats: int, data: str, ranks: Sequence[int]) -> dict[str, Any]:
    """Train everything in turn, so that a slow spell of the machine hits all alike."""
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in MACHINES}
    at_work: dict[str, dict[str, list[float]]] = {name: {} for name in MACHINES}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / data
        sizes = save(DATASETS[data], folder)
        for _ in range(repeats):
            for name, formulation in MACHINES.items():
                for n_ranks in ranks:
                    settings = {"formulation": formulation, "weights": "dense"}
                    # So fine a tolerance is not reached: all epochs are trained.
                    settings |= {"tol": 1e-12, "max_iter": EPOCHS}
                    run = by_mpiexec(n_ranks, folder, settings)
                    if run is not None:
                        for kind, totals in (("seconds", seconds), ("at_work", at_work)):
                            # LLW may end sooner, at a gap of nothing but rounding.
                            total = EPOCHS * run["all_epochs"][kind]
                            totals[name].setdefault(str(n_ranks), []).append(total)
                            print(name, n_ranks, f"{total:.2f} s {kind}", flush=True)
    return {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "sizes": sizes,
        "seconds": seconds,
        "at_work": at_work,
    }


def measured_speedups(found: dict[str, Any], name: str, kind: str) -> dict[int, float]:
    """Return seconds of one process over those of so many ranks, medians, of one kind or other."""
    seconds = {int(p): median(some) for p, some in found.get(kind, {}).get(name, {}).items()}
    return {p: seconds[1] / some for p, some in seconds.items()} if 1 in seconds else {}


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the speed-ups."""
    # Only here: training needs no matplotlib.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(5.6, 4.4), constrained_layout=True)
    for name, colour in COLOURS.items():
        for kind, mark, _ in KINDS:
            points = measured_speedups(found, name, kind)
            label = name if kind == "seconds" else None
            axis.plot(list(points), list(points.values()), mark, color=colour, label=label)
    most = MEASURED[-1]
    axis.plot([1, most], [1, most], color="0.7", linewidth=1, zorder=0)
    axis.set(xscale="log", yscale="log", xlabel="ranks", ylabel="speed-up")
    axis.set_title("a tenth of LSHTC-large, this machine")
    axis.set_xticks(MEASURED, [str(p) for p in MEASURED])
    axis.minorticks_off()
    low, high = (math.log2(limit) for limit in axis.get_ylim())
    steps = [2.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    axis.set_yticks(steps, [f"{step:g}" for step in steps])
    for _, mark, words in KINDS:
        axis.plot([], [], mark, color="0.4", label=words)
    axis.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def table(found: dict[str, Any]) -> str:
    """Return seconds and speed-ups, in Markdown."""
    head = "".join(f" {p} ranks | speed-up | at work |" for p in MEASURED[1:])
    lines = [
        f"| machine | 1 process |{head}",
        "|---|--:|" + "--:|" * (3 * len(MEASURED[1:])),
    ]
    for name in MACHINES:
        seconds = {int(p): median(some) for p, some in found["seconds"][name].items()}
        passed, worked = (measured_speedups(found, name, kind) for kind, _, _ in KINDS)
        cells = [f"{seconds[1]:.2f} s" if 1 in seconds else ""]
        for p in MEASURED[1:]:
            there = p in passed
            cells += [f"{seconds[p]:.2f} s", f"{passed[p]:.2f}"] if there else ["", ""]
            cells.append(f"{worked[p]:.2f}" if there else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    machine = found["machine"]
    lines += ["", f"{found['date']}, {machine['cpu']}, {machine['cores']} cores, float32."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
