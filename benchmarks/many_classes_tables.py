"""Markdown tables of what ``benchmarks.many_classes`` wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Entry = dict[str, Any]
TITLES = {
    "crammer_singer": "Crammer-Singer",
    "weston_watkins": "Weston-Watkins",
    "one_vs_rest": "one-vs-rest",
    "lee_lin_wahba": "Lee-Lin-Wahba",
}


def all_tables(result: dict[str, Any]) -> str:
    """Return the data, the trainings at C = 1, and where they were measured."""
    entries = in_order(result["entries"])
    usual = [entry for entry in entries if entry["C"] == 1]
    parts = [data_table(entries)]
    if usual:
        parts.append(runs_table(usual))
    dates = sorted({entry["date"] for entry in entries})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machine = result["machine"]
    return "\n\n".join([*parts, f"{when}, {machine['cpu']}, {machine['cores']} cores, float32."])


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Sort trainings: data as they came first, then the settings."""
    names = list(dict.fromkeys(entry["data"] for entry in entries))

    def key(entry: Entry) -> tuple[Any, ...]:
        formulation = list(TITLES).index(entry["formulation"])
        place = (names.index(entry["data"]), formulation, entry["weights"], entry["C"])
        return (*place, -entry["tol"], entry["n_jobs"])

    return sorted(entries, key=key)


def data_table(entries: Iterable[Entry]) -> str:
    """Sizes of the data sets, and of W if it were dense."""
    header = ["data", "examples", "features", "classes", "non-zeros per row", "dense W, GB"]
    first = {entry["data"]: entry for entry in entries}
    rows = [
        [
            name,
            *(f"{entry[size]:,}" for size in ("n", "d", "k")),
            f"{entry['nnz'] / entry['n']:.0f}",
            f"{4e-9 * entry['d'] * entry['k']:.2g}",
        ]
        for name, entry in first.items()
    ]
    return table(header, rows, n_words=1)


def runs_table(entries: Iterable[Entry]) -> str:
    """One row per training."""
    header = ["data", "formulation", "W", "threads", "C", "tol", "seconds", "epochs", "gap"]
    header += ["accuracy", "peak, MB", "of training", "density of W", "z per example"]
    return table(header, [_run(entry) for entry in entries], n_words=3)


def _run(entry: Entry) -> list[str]:
    what = [entry["data"], _title(entry), entry["weights"], str(entry["n_jobs"])]
    what += [f"{entry['C']:g}", f"{entry['tol']:g}"]
    if "failed" in entry:
        return [*what, entry["failed"], *[""] * 7]
    return [
        *what,
        f"{entry['seconds']:.3g}",
        str(entry["epochs"]),
        f"{entry['gap']:.1e}",
        f"{100 * entry['accuracy']:.1f} %",
        f"{entry['megabytes']:,.0f}",
        f"{entry['training_megabytes']:,.0f}",
        f"{100 * entry['weights_density']:.2g} %",
        f"{entry['duals_per_example']:.1f}",
    ]


def costs_table(entries: Sequence[Entry]) -> str:
    """Accuracy over C, where several C were tried at the finest tolerance."""
    found: dict[tuple[str, str], dict[float, float]] = {}
    finest = min(entry["tol"] for entry in entries)
    for entry in in_order(entries):
        if entry["tol"] == finest and "failed" not in entry:
            row = found.setdefault((entry["data"], _title(entry)), {})
            row[entry["C"]] = entry["accuracy"]
    found = {key: row for key, row in found.items() if len(row) > 1}
    costs = sorted({C for row in found.values() for C in row})
    rows = [
        [*key, *(f"{100 * row[C]:.1f} %" if C in row else "" for C in costs)]
        for key, row in found.items()
    ]
    return table(["data", "formulation", *(f"C = {C:g}" for C in costs)], rows, 2)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], n_words: int) -> str:
    """Return a Markdown table; the columns after the first ``n_words`` hold numbers."""
    rule = ["---"] * n_words + ["--:"] * (len(header) - n_words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def _title(entry: Entry) -> str:
    return TITLES[entry["formulation"]]
