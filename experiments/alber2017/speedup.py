"""Figure 2 of Alber et al. 2017: the speed-up of ten epochs by more workers.

    python -m experiments.alber2017.speedup [--repeats 3] [--page-only]

trains on a made-up corpus of the shape of a tenth of LSHTC-large, by 1, 2 and 4 ranks; the cost
model predicts the same, and the whole of LSHTC-large on up to 256 ranks. Beside the seconds that
pass it counts those of the processor in which a rank works, which tell what ranks would take that
have a core each and wait for nobody. Writes speedup.json, figure2.png and a table into README.md.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import report
from benchmarks.rank_costs import by_mpiexec, save
from benchmarks.rank_settings import CHECKED
from benchmarks.solvers.manyclass import SOLVERS
from experiments import read_results, write_between, write_results
from manyclass.datasets.synthetic import corpus_shape
from manyclass.planning.plan import Question, options
from manyclass.planning.rates import Measured
from manyclass.planning.work import Network, Shape

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
PREDICTED = (1, 2, 4, 8, 16, 32, 64, 128, 256)
NON_ZEROS = 77  # of a row of the made-up corpora
# The paper's machines have 10 Gigabit Ethernet.
ETHERNET = Network(latency=50e-6, bandwidth=10e9 / 8)
KINDS = (("seconds", "o-", "measured"), ("at_work", "x:", "measured, at work only"))
COLOURS = dict(zip(MACHINES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page-only", action="store_true", help="page from the saved results")
    arguments = parser.parse_args()
    if not arguments.page_only:
        write_results(RESULTS, measure(arguments.repeats))
    found = read_results(RESULTS)
    draw(found, HERE / "figure2.png")
    write_between(HERE / "README.md", "figure 2", table(found))


def measure(repeats: int) -> dict[str, Any]:
    """Train everything in turn, so that a slow spell of the machine hits all alike."""
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in MACHINES}
    at_work: dict[str, dict[str, list[float]]] = {name: {} for name in MACHINES}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / DATA
        sizes = save(CHECKED[DATA], folder)
        for _ in range(repeats):
            for name, formulation in MACHINES.items():
                for n_ranks in MEASURED:
                    settings = {"formulation": formulation, "weights": "dense"}
                    # So fine a tolerance is not reached: all epochs are trained.
                    settings |= {"tol": 1e-12, "max_iter": EPOCHS}
                    run = by_mpiexec(n_ranks, folder, settings)
                    if run is not None:
                        for kind, totals in (("seconds", seconds), ("at_work", at_work)):
                            # LLW may end sooner, at a gap of nothing but rounding.
                            mean = sum(epoch[kind] for epoch in run["epochs"]) / run["n_epochs"]
                            total = EPOCHS * mean
                            totals[name].setdefault(str(n_ranks), []).append(total)
                            print(name, n_ranks, f"{total:.2f} s {kind}", flush=True)
    return {
        "machine": report.machine(SOLVERS[:1]),
        "date": time.strftime("%Y-%m-%d"),
        "sizes": sizes,
        "seconds": seconds,
        "at_work": at_work,
    }


def measured_speedups(found: dict[str, Any], name: str, kind: str) -> dict[int, float]:
    """Return seconds of one process over those of so many ranks, medians, of one kind or other."""
    seconds = {int(p): median(some) for p, some in found.get(kind, {}).get(name, {}).items()}
    return {p: seconds[1] / some for p, some in seconds.items()} if 1 in seconds else {}


def predicted_speedups(name: str, shape: Shape, network: Network) -> dict[int, float]:
    """Return the same by the cost model, for a fixed number of epochs."""
    question = Question(MACHINES[name], shape, network, 1e15, "auto", {})
    epochs = [o.forecast.epoch for o in options(question, PREDICTED, Measured.read())]
    return {p: epochs[0] / epoch for p, epoch in zip(PREDICTED, epochs, strict=True)}


def lshtc(name: str) -> Shape:
    """Return the sizes of one of the paper's corpora; the largest class is assumed."""
    found = corpus_shape(name)
    n, d, k = found["n_examples"], found["n_features"], found["n_classes"]
    return Shape(n, d, k, NON_ZEROS * n, n // 100)


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw what was measured here, and what the model says beyond."""
    # Only here: training needs no matplotlib.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    sizes = found["sizes"]
    tenth = Shape(*(sizes[name] for name in ("n", "d", "k", "nnz", "largest")))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), constrained_layout=True)
    parts = (
        ("a tenth of LSHTC-large, this machine", tenth, Measured.read().local),
        ("LSHTC-large, 10 Gbit/s, a core for each rank", lshtc("lshtc-large"), ETHERNET),
    )
    for axis, (title, shape, network) in zip(axes, parts, strict=True):
        most = MEASURED[-1] if axis is axes[0] else PREDICTED[-1]
        for name, colour in COLOURS.items():
            some = predicted_speedups(name, shape, network)
            some = {p: value for p, value in some.items() if p <= most}
            label = name if axis is axes[1] else None
            axis.plot(list(some), list(some.values()), "--", color=colour, label=label)
            for kind, mark, _ in KINDS if axis is axes[0] else ():
                points = measured_speedups(found, name, kind)
                axis.plot(list(points), list(points.values()), mark, color=colour)
        axis.plot([1, most], [1, most], color="0.7", linewidth=1, zorder=0)
        axis.set(xscale="log", yscale="log", xlabel="ranks", ylabel="speed-up", title=title)
        ticks = [p for p in PREDICTED if p <= most]
        axis.set_xticks(ticks, [str(p) for p in ticks])
        axis.minorticks_off()
        low, high = (math.log2(limit) for limit in axis.get_ylim())
        steps = [2.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
        axis.set_yticks(steps, [f"{step:g}" for step in steps])
    cores = os.cpu_count() or 1
    axes[0].axvline(cores, color="0.85", zorder=0)
    axes[0].text(cores, axes[0].get_ylim()[0], f" {cores} cores", va="bottom", color="0.4")
    for _, mark, words in (*KINDS, ("", "--", "model")):
        axes[0].plot([], [], mark, color="0.4", label=words)
    for axis in axes:
        axis.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def table(found: dict[str, Any]) -> str:
    """Return seconds and speed-ups, in Markdown."""
    head = "".join(f" {p} ranks | speed-up | at work |" for p in MEASURED[1:])
    lines = [
        f"| machine | 1 process |{head} model, LSHTC-large: 16 | 64 | 256 |",
        "|---|--:|" + "--:|" * (3 * len(MEASURED[1:]) + 3),
    ]
    for name in MACHINES:
        seconds = {int(p): median(some) for p, some in found["seconds"][name].items()}
        passed, worked = (measured_speedups(found, name, kind) for kind, _, _ in KINDS)
        cells = [f"{seconds[1]:.2f} s" if 1 in seconds else ""]
        for p in MEASURED[1:]:
            there = p in passed
            cells += [f"{seconds[p]:.2f} s", f"{passed[p]:.2f}"] if there else ["", ""]
            cells.append(f"{worked[p]:.2f}" if there else "")
        model = predicted_speedups(name, lshtc("lshtc-large"), ETHERNET)
        cells += [f"{model[p]:.1f}" for p in (16, 64, 256)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    machine = found["machine"]
    lines += ["", f"{found['date']}, {machine['cpu']}, {machine['cores']} cores, float32."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
