"""Markdown tables of what ``benchmarks.many_classes`` wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Entry = dict[str, Any]
_TITLES = {
    "crammer_singer": "Crammer-Singer",
    "weston_watkins": "Weston-Watkins",
    "one_vs_rest": "one-vs-rest",
    "lee_lin_wahba": "Lee-Lin-Wahba",
}


def all_tables(result: dict[str, Any]) -> str:
    """Return the data, the trainings at C = 1, accuracy over C, and where it was measured."""
    entries = result["entries"]
    usual = [entry for entry in entries if entry["C"] == 1]
    parts = [data_table(entries)]
    if usual:
        parts.append(runs_table(usual))
    if costs_table(entries):
        parts += [f"Test accuracy at C, gap {_finest(entries):g}:", costs_table(entries)]
    dates = sorted({entry["date"] for entry in entries})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machine = result["machine"]
    return "\n\n".join([*parts, f"{when}, {machine['cpu']}, {machine['cores']} cores, float32."])


def data_table(entries: Iterable[Entry]) -> str:
    """Sizes of the data sets, and of W if it were dense."""
    header = ["data", "examples", "features", "classes", "non-zeros per row", "dense W, GB"]
    first = {entry["data"]: entry for entry in reversed(list(entries))}
    rows = [
        [
            name,
            *(f"{entry[size]:,}" for size in ("n", "d", "k")),
            f"{entry['nnz'] / entry['n']:.0f}",
            f"{4e-9 * entry['d'] * entry['k']:.2g}",
        ]
        for name, entry in reversed(first.items())
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
    """Accuracy over C, where several C were tried at the finest tolerance; may be empty."""
    found: dict[tuple[str, str], dict[float, float]] = {}
    for entry in entries:
        if entry["tol"] == _finest(entries) and "failed" not in entry:
            row = found.setdefault((entry["data"], _title(entry)), {})
            row[entry["C"]] = entry["accuracy"]
    found = {key: row for key, row in found.items() if len(row) > 1}
    costs = sorted({C for row in found.values() for C in row})
    rows = [
        [*key, *(f"{100 * row[C]:.1f} %" if C in row else "" for C in costs)]
        for key, row in found.items()
    ]
    return table(["data", "formulation", *(f"{C:g}" for C in costs)], rows, 2) if rows else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], n_words: int) -> str:
    """Return a Markdown table; the columns after the first ``n_words`` hold numbers."""
    rule = ["---"] * n_words + ["--:"] * (len(header) - n_words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def _title(entry: Entry) -> str:
    return _TITLES.get(entry["formulation"], entry["formulation"])


def _finest(entries: Iterable[Entry]) -> float:
    return min(float(entry["tol"]) for entry in entries)
