"""Put the tables of the saved results into README.md and draw its figures.

python -m experiments.lin2008.page
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from experiments.lin2008 import regimes
from measuring.quick import parse
from measuring.results import place, read_results, write_between

HERE = Path(__file__).parent
RCV1_ROWS = 531_742


def results(name: str) -> dict[str, Any]:
    """Return what an experiment has saved."""
    return read_results(HERE / "results" / f"{name}.json")


def libsvm_table() -> str:
    """Seconds over rows, the exponent, and what it says of RCV1's 531,742 rows."""
    programs = results("libsvm")["news20"]
    sizes = [point["rows"] for point in next(iter(programs.values()))["points"]]
    lines = [
        "| program | " + " | ".join(f"{n:,}" for n in sizes) + " | exponent | RCV1, extrapolated |",
        "|---|" + "--:|" * (len(sizes) + 2),
    ]
    for name, found in programs.items():
        last = found["points"][-1]
        hours = last["seconds"] * (RCV1_ROWS / last["rows"]) ** found["exponent"] / 3600
        cells = " | ".join(f"{point['seconds']:.2g} s" for point in found["points"])
        wanted = f"{hours:.1f} h" if hours > 1 else f"{3600 * hours:.0f} s"
        lines.append(f"| {name} | {cells} | {found['exponent']:.2f} | {wanted} |")
    return "\n".join(lines)


def kernels_table() -> str:
    """Accuracy and seconds of each machine on each data set."""
    lines = [
        "| data | rows | machine | C | accuracy, % | seconds, training | prediction |",
        "|---|--:|---|--:|--:|--:|--:|",
    ]
    for data, found in results("kernels").items():
        for name, run in found["machines"].items():
            lines.append(
                f"| {data} | {found['shape'][0]:,} | {name} | {run['C']:g} | {run['accuracy']:.2f} "
                f"| {run['seconds']:.3g} | {run['predict_seconds']:.2g} |"
            )
    return "\n".join(lines)


def draw_growth() -> None:
    """Draw accuracy and seconds over rows."""
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.4))
    for name, points in results("growth")["covtype100k"]["curves"].items():
        rows = [point["rows"] for point in points]
        axes[0].plot(rows, [point["accuracy"] for point in points], "o-", label=name)
        axes[1].plot(rows, [point["seconds"] for point in points], "o-", label=name)
    axes[0].set(xlabel="rows", ylabel="test accuracy, %")
    axes[1].set(xlabel="rows", ylabel="seconds", yscale="log")
    for ax in axes:
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize=8, loc="center right")
    fig.tight_layout()
    fig.savefig(place(HERE / "growth.png"), dpi=110)
    plt.close(fig)


def main() -> None:
    """Write all."""
    parse(argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]))
    write_between(HERE / "README.md", "libsvm", libsvm_table())
    write_between(HERE / "README.md", "kernels", kernels_table())
    write_between(HERE / "README.md", "regimes", regimes.table(results("regimes")))
    draw_growth()


if __name__ == "__main__":
    main()
