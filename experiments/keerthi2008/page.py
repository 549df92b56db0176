"""Put the tables of the saved results into README.md.

python -m experiments.keerthi2008.page
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import MissingDataError
from experiments.keerthi2008.data import OURS, PAPER, dataset
from experiments.keerthi2008.tables import MACHINES, PAPER_P, p_value
from experiments.keerthi2008.tables import PAPER as PAPER_ACCURACY
from measuring.results import read_results, write_between

HERE = Path(__file__).parent
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)


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
        "| run | method | " + " | ".join(f"{level:g}" for level in LEVELS) + " | best accuracy |",
        "|---|---|" + "--:|" * (len(LEVELS) + 1),
    ]
    for name, panel in read_results(HERE / "results" / f"{figure}.json").items():
        for curve in panel["curves"]:
            times = [seconds_to(curve, panel["optimum"], level) for level in LEVELS]
            accuracy = f"{100 * max(curve['accuracy']):.2f}"
            lines.append(f"| {name} | {curve['method']} | {' | '.join(times)} | {accuracy} |")
    return "\n".join(lines)


def properties() -> str:
    """Table 1.1: our data beside the paper's."""
    lines = [
        "| data | rows | test rows | features | classes | non-zeros | the paper's rows, test rows, "
        "features, classes |",
        "|---|--:|--:|--:|--:|--:|---|",
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
            f"{n_classes} | {split.X.nnz:,} | {paper} |"
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


def main() -> None:
    """Write all tables."""
    page = HERE / "README.md"
    write_between(page, "properties", properties())
    for figure in ("figure1", "figure2", "figure3", "figure4", "section22"):
        write_between(page, figure, curve_table(figure))
    write_between(page, "seeding", seeding())
    write_between(page, "accuracies", accuracies())
    write_between(page, "significance", significance())


if __name__ == "__main__":
    main()
