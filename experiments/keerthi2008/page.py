"""Put the tables of the saved results into README.md.

python -m experiments.keerthi2008.page
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import MissingDataError
from experiments.keerthi2008 import classes_apart
from experiments.keerthi2008.data import OURS, PAPER, dataset
from experiments.keerthi2008.tables import MACHINES, PAPER_P, p_value
from experiments.keerthi2008.tables import PAPER as PAPER_ACCURACY
from experiments.keerthi2008.updates import LEVELS as UPDATE_LEVELS
from measuring.quick import parse
from measuring.results import markdown, read_results, write_between

HERE = Path(__file__).parent
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)
NEAR = 0.003  # of an accuracy in the end


def excess(curve: dict[str, Any], optimum: float) -> NDArray[np.float64]:
    """Return (D* - D) / D* of a curve, or (P - D*) / D* where it has P instead of D."""
    if curve.get("primal"):
        return (np.array(curve["primal"]) - optimum) / abs(optimum)
    return (optimum - np.array(curve["dual"])) / abs(optimum)


def seconds_to(curve: dict[str, Any], optimum: float, level: float) -> str:
    """Return when a curve reached a level of (D* - D)/D*, or where it was at its end."""
    reached = np.flatnonzero(excess(curve, optimum) <= level)
    return f"{curve['seconds'][reached[0]]:.3g}" if len(reached) else "-"


def curve_table(figure: str) -> str:
    """Seconds of each method to each level."""
    lines = [
        "| run | method | "
        + " | ".join(f"{level:g}" for level in LEVELS)
        + " | ended after | at | best accuracy |",
        "|---|---|" + "--:|" * (len(LEVELS) + 3),
    ]
    for name, panel in read_results(HERE / "results" / f"{figure}.json").items():
        for curve in panel["curves"]:
            cells = [seconds_to(curve, panel["optimum"], level) for level in LEVELS]
            end = max(excess(curve, panel["optimum"])[-1], 0)
            cells += [f"{curve['seconds'][-1]:.3g}", f"{end:.1g}"]
            cells += [f"{100 * max(curve['accuracy']):.2f}"]
            lines.append(f"| {name} | {curve['method']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def orders() -> str:
    """Section 3: seconds and epochs of two orders to each level, and the ratio of the seconds."""
    header = ["data", "order", *(f"seconds to {level:g}" for level in LEVELS[:3])]
    header += [f"epochs to {LEVELS[2]:g}", f"times as long, to {LEVELS[2]:g}"]
    rows = []
    for name, panel in read_results(HERE / "results" / "section3.json").items():
        first = seconds_to(panel["curves"][0], panel["optimum"], LEVELS[2])
        for curve in panel["curves"]:
            cells = [seconds_to(curve, panel["optimum"], level) for level in LEVELS[:3]]
            reached = np.flatnonzero(excess(curve, panel["optimum"]) <= LEVELS[2])
            epochs = f"{curve['epochs'][reached[0]]:,}" if len(reached) else "-"
            both = "-" not in (first, cells[2])
            times = f"{float(cells[2]) / float(first):.3g}" if both else "-"
            order = "sequential" if curve["method"] == "SDM" else curve["method"]
            rows.append([name.split()[0], order, *cells, epochs, times])
    return markdown(header, rows, 2)


def steady(curve: dict[str, Any]) -> float:
    """Seconds from which on the accuracy stays within NEAR of the last."""
    accuracy = np.array(curve["accuracy"])
    far = np.flatnonzero(np.abs(accuracy - accuracy[-1]) > NEAR)
    return float(curve["seconds"][far[-1] + 1 if len(far) else 0])


def seconds_to_accuracy(curve: dict[str, Any], wanted: float) -> str:
    """Return from when on the accuracy stays at most NEAR below the one that is wanted."""
    low = np.flatnonzero(np.array(curve["accuracy"]) < wanted - NEAR - 1e-9)
    first = low[-1] + 1 if len(low) else 0
    return f"{curve['seconds'][first]:.2g}" if first < len(curve["seconds"]) else "-"


def accuracy_table() -> str:
    """Figure 3, right column: seconds of each method to the test accuracy of the optimum."""
    panels = read_results(HERE / "results" / "figure3.json")
    methods = [curve["method"] for curve in next(iter(panels.values()))["curves"]]
    lines = [
        "| data | accuracy, % | " + " | ".join(methods) + " |",
        "|---|--:|" + "--:|" * len(methods),
    ]
    for name, panel in panels.items():
        curves = {curve["method"]: curve for curve in panel["curves"]}
        nearest = max((c for c in curves.values() if c["dual"]), key=lambda c: c["dual"][-1])
        wanted = nearest["accuracy"][-1]
        cells = [seconds_to_accuracy(curves[method], wanted) for method in methods]
        lines.append(f"| {name.split()[0]} | {100 * wanted:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def steady_states() -> str:
    """Figure 5: the accuracy in the end, and the seconds to it."""
    lines = [
        "| run | accuracy in the end | seconds until it stays within 0.3 points | first point |",
        "|---|--:|--:|--:|",
    ]
    for name, panel in read_results(HERE / "results" / "figure5.json").items():
        curve = panel["curves"][0]
        first = f"{100 * curve['accuracy'][0]:.2f} at {curve['seconds'][0]:.2g} s"
        lines.append(
            f"| {name} | {100 * curve['accuracy'][-1]:.2f} | {steady(curve):.2g} | {first} |"
        )
    return "\n".join(lines)


def updates() -> str:
    """Section 2.2: updates of each order to each level."""
    levels = [f"{level:g}" for level in UPDATE_LEVELS]
    lines = [
        "| data | rows | order | " + " | ".join(levels) + " |",
        "|---|--:|---|" + "--:|" * len(levels),
    ]
    for name, found in read_results(HERE / "results" / "updates.json").items():
        for order, counts in found["updates"].items():
            cells = " | ".join(f"{counts[level]:,}" if level in counts else "-" for level in levels)
            lines.append(f"| {name} | {found['rows']:,} | {order} | {cells} |")
    return "\n".join(lines)


def properties() -> str:
    """Table 1.1: our data beside the paper's."""
    lines = [
        "| data | rows | test rows | features | classes | non-zeros, training | with test rows | "
        "the paper's rows, test rows, features, classes, non-zeros with test rows |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for name in ("news20", "sector", "mnist", "covtype100k", "rcv1-shape"):
        try:
            split = dataset(name)
        except MissingDataError:
            continue
        n_classes = len(np.unique(split.y))
        paper = ", ".join(f"{n:,}" for n in PAPER[OURS.get(name, name)])
        lines.append(
            f"| {name} | {len(split.y):,} | {len(split.y_test):,} | {split.X.shape[1]:,} | "
            f"{n_classes} | {split.X.nnz:,} | {split.X.nnz + split.X_test.nnz:,} | {paper} |"
        )
    return "\n".join(lines)


def seeding() -> str:
    """Section 2.3: epochs and seconds of a sequence of C, cold and seeded."""
    lines = [
        "| data, grid of C | epochs, cold | seeded | seconds, cold | seeded | cold / seeded |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, found in read_results(HERE / "results" / "seeding.json").items():
        cold, seeded = found["cold"], found["seeded"]
        ratio = cold["seconds"] / seeded["seconds"]
        lines.append(
            f"| {name} | {cold['epochs']} | {seeded['epochs']} | {cold['seconds']:.1f} | "
            f"{seeded['seconds']:.1f} | {ratio:.2f} |"
        )
    return "\n".join(lines)


def accuracies() -> str:
    """Table 4.2: mean and deviation of test accuracy, ours and the paper's."""
    lines = [
        "| data | splits | OVR | CS | WW | the paper's OVR | CS | WW |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, splits in read_results(HERE / "results" / "tables.json").items():
        ours = [np.array([s[m]["accuracy"] for s in splits]) for m in MACHINES]
        cells = [f"{a.mean():.2f} ± {a.std(ddof=1):.2f}" for a in ours]
        cells += [f"{m} ± {d}" for m, d in PAPER_ACCURACY[OURS.get(name, name)]]
        lines.append(f"| {name} | {len(splits)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def significance() -> str:
    """Table 4.3: p of the Wilcoxon signed-rank test, and which machine is ahead."""
    lines = [
        "| data | OVR - CS, points | p | the paper's p | OVR - WW, points | p | the paper's p |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, splits in read_results(HERE / "results" / "tables.json").items():
        cells = []
        for machine, paper in zip(("CS", "WW"), PAPER_P[OURS.get(name, name)], strict=True):
            difference = np.mean([s["OVR"]["accuracy"] - s[machine]["accuracy"] for s in splits])
            cells += [f"{difference:+.2f}", f"{p_value(splits, machine):.2g}", f"{paper:g}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def unit_rows() -> str:
    """Section 4, outlook: accuracies of the same splits with rows as they are and of length one."""
    lines = [
        "| data | rows | splits | OVR | CS | WW | OVR - CS | OVR - WW |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    as_given = read_results(HERE / "results" / "tables.json")
    for name, splits in read_results(HERE / "results" / "unit_rows.json").items():
        for kind, found in (("as given", as_given[name][: len(splits)]), ("length one", splits)):
            ovr, cs, ww = (np.mean([s[m]["accuracy"] for s in found]) for m in MACHINES)
            lines.append(
                f"| {name} | {kind} | {len(found)} | {ovr:.2f} | {cs:.2f} | {ww:.2f} | "
                f"{ovr - cs:+.2f} | {ovr - ww:+.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Write all tables."""
    options = parse(argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]))
    page = HERE / "README.md"
    if not options.quick:  # reads all data sets
        write_between(page, "properties", properties())
    for figure in ("figure1", "figure2", "figure3", "figure4", "section22"):
        write_between(page, figure, curve_table(figure))
    write_between(page, "figure3 accuracy", accuracy_table())
    write_between(page, "updates", updates())
    write_between(page, "section3", orders())
    write_between(page, "figure5", steady_states())
    apart = read_results(HERE / "results" / "classes_apart.json")
    write_between(page, "classes apart", classes_apart.table(apart))
    write_between(page, "seeding", seeding())
    write_between(page, "accuracies", accuracies())
    write_between(page, "significance", significance())
    write_between(page, "unit rows", unit_rows())


if __name__ == "__main__":
    main()
