"""What the cost model says of corpora larger than any here, for docs/plan.md.

python -m benchmarks.rank_predictions
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.rank_fit import PAGE
from experiments import write_between
from experiments.alber2017.speedup import ETHERNET, lshtc
from manyclass.cli.plan import time_text
from manyclass.planning.plan import Question, best, options
from manyclass.planning.rates import Measured
from manyclass.planning.work import Shape
from manyclass.solvers.weights.storage_choice import size_text

RANKS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
MEMORY = 64e9
TITLES = {
    "weston_watkins": "WW",
    "crammer_singer": "CS",
    "lee_lin_wahba": "LLW",
    "one_vs_rest": "OVR",
}


def shapes() -> dict[str, Shape]:
    """Return the corpora by name."""
    once = lshtc("lshtc-2011")
    more = {
        name: 100 * getattr(once, name) for name in ("n_examples", "n_nonzero", "largest_class")
    }
    return {
        "LSHTC-2011": once,
        "LSHTC-2011, largest class a thousandth": replace(
            once, largest_class=once.n_examples // 1000
        ),
        "100 times the examples": replace(once, **more),
        "100 times the examples, 10 times the features and classes": replace(
            once, **more, n_features=10 * once.n_features, n_classes=10 * once.n_classes
        ),
    }


def table(title: str, shape: Shape, measured: Measured) -> str:
    """Return the forecasts for one corpus."""
    lines = [
        f"**{title}**: {shape.n_examples:,} examples, {shape.n_features:,} features, "
        f"{shape.n_classes:,} classes, {shape.n_nonzero:,} non-zeros, "
        f"{shape.largest_class:,} in the largest class",
        "",
        "| ranks | " + " | ".join(f"{t}: epoch | in all | memory" for t in TITLES.values()) + " |",
        "|--:|" + "--:|" * (3 * len(TITLES)),
    ]
    found = {
        name: options(Question(name, shape, ETHERNET, MEMORY, "auto", {}), RANKS, measured)
        for name in TITLES
    }
    for at, n_ranks in enumerate(RANKS):
        cells = []
        for some in found.values():
            forecast = some[at].forecast
            mark = "**" if some[at] is best(some) else ""
            needs = size_text(int(forecast.memory)) + ("" if some[at].fits else " (no)")
            cells += [time_text(forecast.epoch), mark + time_text(forecast.seconds) + mark, needs]
        lines.append(f"| {n_ranks:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Write all tables."""
    measured = Measured.read()
    parts = [table(title, shape, measured) for title, shape in shapes().items()]
    write_between(PAGE, "predictions", "\n\n".join(parts))


if __name__ == "__main__":
    main()
