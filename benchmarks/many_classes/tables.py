"""Markdown tables of what ``benchmarks.many_classes.run`` wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from measuring.results import TITLES, markdown

Entry = dict[str, Any]
# Of the page for users.
SHORT = (
    ("lshtc1", "crammer_singer", "dense"),
    ("lshtc1", "crammer_singer", "sparse"),
    ("lshtc1", "one_vs_rest", "dense"),
    ("lshtc-tenth", "crammer_singer", "dense"),
    ("lshtc-tenth", "one_vs_rest", "dense"),
    ("wordnet", "crammer_singer", "sparse"),
    ("wordnet", "weston_watkins", "sparse"),
    ("lshtc-large", "crammer_singer", "sparse"),
    ("lshtc-large", "weston_watkins", "sparse"),
)


def all_tables(result: dict[str, Any]) -> str:
    """Return the data, and the trainings at C = 1."""
    entries = in_order(result["entries"])
    usual = [entry for entry in entries if entry["C"] == 1]
    parts = [data_table(entries)]
    if usual:
        parts.append(runs_table(usual))
    return "\n\n".join(parts)


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
    return markdown(header, rows, n_words=1)


def runs_table(entries: Sequence[Entry]) -> str:
    """One row for trainings that differ in their threads alone; all but seconds is of the first."""
    threads = sorted({entry["n_jobs"] for entry in entries})
    rows: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        key = tuple(entry[name] for name in ("data", "formulation", "weights", "C", "tol"))
        rows.setdefault(key, []).append(entry)
    header = ["data", "formulation", "W", "C", "tol", *map(_seconds_title, threads)]
    header += ["epochs", "gap", "accuracy", "peak, MB", "of training", "density of W"]
    header += ["z per example"]
    return markdown(header, [_run(same, threads) for same in rows.values()], n_words=3)


def _seconds_title(n_jobs: int) -> str:
    return f"seconds, {n_jobs} thread{'s' if n_jobs > 1 else ''}"


def _run(same: Sequence[Entry], threads: Sequence[int]) -> list[str]:
    first = next((entry for entry in same if "failed" not in entry), same[0])
    what = [first["data"], _title(first), first["weights"], f"{first['C']:g}", f"{first['tol']:g}"]
    seconds = {entry["n_jobs"]: _seconds(entry) for entry in same}
    return [*what, *(seconds.get(n_jobs, "") for n_jobs in threads), *_figures(first)]


def _seconds(entry: Entry) -> str:
    return entry["failed"] if "failed" in entry else f"{entry['seconds']:.3g}"


def _figures(entry: Entry) -> list[str]:
    if "failed" in entry:
        return [""] * 7
    return [
        str(entry["epochs"]),
        f"{entry['gap']:.1e}",
        f"{100 * entry['accuracy']:.1f} %",
        f"{entry['megabytes']:,.0f}",
        f"{entry['training_megabytes']:,.0f}",
        f"{100 * entry['weights_density']:.2g} %",
        f"{entry['duals_per_example']:.1f}",
    ]


def short_table(result: dict[str, Any]) -> str:
    """Return some of the trainings on one thread to a gap of 1e-2, with C = 1."""
    header = ["data (n x d x k)", "formulation", "W", "seconds", "accuracy", "memory"]
    found = {
        tuple(entry[name] for name in ("data", "formulation", "weights")): entry
        for entry in result["entries"]
        if (entry["C"], entry["tol"], entry["n_jobs"]) == (1, 1e-2, 1) and "failed" not in entry
    }
    rows = []
    for data, formulation, weights in SHORT:
        if entry := found.get((data, formulation, weights)):
            name = f"{data} ({entry['n']:,} x {entry['d']:,} x {entry['k']:,})"
            row = [name, TITLES[formulation], weights, f"{entry['seconds']:.3g}"]
            row.append(f"{100 * entry['accuracy']:.1f} %")
            rows.append([*row, f"{entry['training_megabytes']:,.0f} MB"])
    return markdown(header, rows, n_words=3)


def costs_table(result: dict[str, Any]) -> str:
    """Accuracy over C, where several C were tried at the finest tolerance."""
    entries = result["entries"]
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
    return markdown(["data", "formulation", *(f"C = {C:g}" for C in costs)], rows, 2)


def _title(entry: Entry) -> str:
    return TITLES[entry["formulation"]]
