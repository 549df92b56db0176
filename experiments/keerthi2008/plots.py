"""Draw figures 1 to 5 and the curves of sections 2.2 and 3 from the saved results.

python -m experiments.keerthi2008.plots
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from experiments.keerthi2008.page import excess
from measuring.quick import parse
from measuring.results import place, read_results

HERE = Path(__file__).parent
STYLES = {
    "SDM": "C0-",
    "SDM without heuristics": "C0--",
    "default": "C2-",
    "LIBLINEAR": "kx:",
    "EG": "C1-",
    "cutting plane": "C3-",
    "cutting plane without line search": "C3--",
    "most violating": "C4-",
}
SMALLEST = 1e-6


def draw(figure: str) -> None:
    """Draw one figure: a column for each panel, objective above and accuracy below."""
    results = read_results(HERE / "results" / f"{figure}.json")
    if not results:
        return
    fig, axes = plt.subplots(2, len(results), figsize=(3.6 * len(results), 6.4), squeeze=False)
    for column, (name, panel) in zip(axes.T, results.items(), strict=True):
        for curve in panel["curves"]:
            _line(column, panel["optimum"], curve)
        column[0].set_title(name, fontsize=9)
        column[0].set(xscale="log", yscale="log", ylabel="(D* - D) / D*")
        column[1].set(xscale="log", xlabel="seconds", ylabel="test accuracy")
        for ax in column:
            ax.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    axes[1, 0].legend(handles, labels, fontsize=7, loc="lower right")
    fig.tight_layout()
    fig.savefig(place(HERE / f"{figure}.png"), dpi=110)
    plt.close(fig)


def _line(column: Any, optimum: float, curve: dict[str, Any]) -> None:
    style, seconds = STYLES[curve["method"]], np.array(curve["seconds"])
    shown = np.maximum(excess(curve, optimum), SMALLEST)
    label = curve["method"] + (", (P - D*) / D*" if curve.get("primal") else "")
    column[0].plot(seconds, shown, style, label=label)
    column[1].plot(seconds, curve["accuracy"], style)


def draw_figure5() -> None:
    """Draw test accuracy of the three machines, a panel for each data set."""
    results = read_results(HERE / "results" / "figure5.json")
    names = sorted({name.split()[0] for name in results})
    if not names:
        return
    fig, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.4), squeeze=False)
    for ax, data in zip(axes[0], names, strict=True):
        for name, panel in results.items():
            if name.split()[0] == data:
                curve = panel["curves"][0]
                ax.plot(curve["seconds"], curve["accuracy"], label=name.split()[1])
        ax.set(xscale="log", xlabel="seconds", ylabel="test accuracy", title=data)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    fig.tight_layout()
    fig.savefig(place(HERE / "figure5.png"), dpi=110)
    plt.close(fig)


def main() -> None:
    """Draw all."""
    parse(argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]))
    for figure in ("figure1", "figure2", "figure3", "figure4", "section22", "section3"):
        draw(figure)
    draw_figure5()


if __name__ == "__main__":
    main()
