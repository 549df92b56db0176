"""Markdown tables of what ``benchmarks.peers.run`` wrote down."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.peers.problems import PROBLEMS

OURS, OURS_2, LINEAR_SVC = "manyclass", "manyclass_2", "sklearn_linear_svc"
# The problem beside which those stand that no peer solves.
BESIDE = "crammer_singer"
PROPER_NAMES = ("Crammer", "Weston")
SHORT_LEVEL = "0.001"
# Share of our final test accuracy that is asked of all.
_NEARLY = 0.99

Entry = dict[str, Any]


def all_tables(result: dict[str, Any]) -> str:
    """Return a table of seconds for each problem, then those of the accuracy, then notes."""
    parts = []
    for problem in PROBLEMS.values():
        entries = [entry for entry in result["entries"] if entry["problem"] == problem.name]
        if entries:
            beside = {e["data"]: e for e in result["entries"] if e["problem"] == BESIDE}
            parts += [f"**{problem.title}**", seconds_table(entries, beside)]
            if any(not solver["minimizes"] for entry in entries for solver in entry["solvers"]):
                parts += [f"**{problem.title}: test accuracy**", accuracy_table(entries)]
    return "\n\n".join([*parts, *_notes(result)])


def seconds_table(entries: Sequence[Entry], beside: dict[str, Entry]) -> str:
    """Seconds to each level, and ratios to ours; entries of one problem.

    Where there is no peer, the ratio is that of our own seconds for the problem ``BESIDE``, whose
    entries are given by data set.
    """
    names = _names(entries, minimizing=True)
    ratios = ["best / ours", "LinearSVC / ours", "best / ours (2)"]
    if not _has_peers(entries):
        ratios = ["Crammer-Singer / this"]
    header = ["data", "excess", *map(_title, names), *ratios]
    rows = [
        row
        for entry in entries
        for row in _level_rows(entry, names, len(ratios), beside.get(entry["data"]))
    ]
    return _table(header, rows)


def short_table(result: dict[str, Any]) -> str:
    """Return our seconds to an excess of 1e-3 and, in brackets, the ratio of the best peer's.

    A column for each problem that peers solve, a line for each data set of ``BESIDE``.
    """
    entries = {(entry["problem"], entry["data"]): entry for entry in result["entries"]}
    names = [data for problem, data in entries if problem == BESIDE]
    problems = [
        problem
        for problem in PROBLEMS.values()
        if _has_peers([entry for (name, _), entry in entries.items() if name == problem.name])
    ]
    rows = [[data, *(_short(entries.get((p.name, data))) for p in problems)] for data in names]
    return _table(["data", *(problem.title for problem in problems)], rows)


def short_notes(result: dict[str, Any]) -> str:
    """Say where another solver with one thread is faster, and how Weston-Watkins compares."""
    cases = []
    for entry in result["entries"]:
        ahead = [text for level in entry["levels"] if (text := _peer_ahead(entry, level))]
        if ahead:
            title = PROBLEMS[entry["problem"]].title
            inside = title if title.startswith(PROPER_NAMES) else title[0].lower() + title[1:]
            cases.append(f"{inside} on {entry['data']} ({', '.join(ahead)})")
    faster = (
        "In these cases, another solver is as fast or faster (its time divided by the time of "
        f"manyclass, at the given excess): {'; '.join(cases)}."
    )
    sentences = [faster if cases else "No other solver is as fast at any of the levels."]
    if ratios := _ratios_of(result["entries"], "weston_watkins", BESIDE):
        sentences.append(
            f"For Weston-Watkins, manyclass takes {min(ratios):.1f} to {max(ratios):.1f} times as "
            "long as for Crammer-Singer, depending on the data and the excess."
        )
    return " ".join(sentences)


def _peer_ahead(entry: Entry, level: str) -> str:
    """Describe a peer with one thread that is as fast at a level; an empty string if none is."""
    solvers = _by_name(entry)
    reached = {name: solver["levels"][level] for name, solver in solvers.items()}
    ours, best = reached.get(OURS), _best_peer(solvers, reached, n_threads=1)
    if best is None or (ours and best["seconds"] > 1.05 * ours["seconds"]):
        return ""
    return f"{_ratio(best, ours) if ours else 'not reached by manyclass'} at {float(level):g}"


def _ratios_of(entries: Sequence[Entry], problem: str, beside: str) -> list[float]:
    """Return our seconds for a problem over those for another one, for all data and levels."""
    ours: dict[tuple[str, str, str], float] = {}
    for entry in entries:
        for level, found in _by_name(entry).get(OURS, {"levels": {}})["levels"].items():
            if found:
                ours[entry["problem"], entry["data"], level] = found["seconds"]
    return [
        seconds / ours[beside, data, level]
        for (name, data, level), seconds in ours.items()
        if name == problem and (beside, data, level) in ours
    ]


def _short(entry: Entry | None) -> str:
    if entry is None:
        return ""
    solvers = _by_name(entry)
    reached = {name: solver["levels"].get(SHORT_LEVEL) for name, solver in solvers.items()}
    ours, best = reached.get(OURS), _best_peer(solvers, reached, n_threads=1)
    if ours is None:
        return ""
    seconds = f"{ours['seconds']:.{3 if ours['seconds'] < 1 else 2}f}"
    return f"{seconds} ({_ratio(best, ours)})" if best else seconds


def accuracy_table(entries: Sequence[Entry]) -> str:
    """Seconds to 99 % of our final accuracy, and each solver's own final accuracy."""
    names = _names(entries, minimizing=False)
    rows = []
    for entry in entries:
        found = {solver["name"]: solver["runs"] for solver in entry["solvers"]}
        wanted = _NEARLY * found[OURS][-1]["accuracy"] if OURS in found else 0.0
        rows.append([entry["data"], *(_accuracy(found.get(name), wanted) for name in names)])
    return _table(["data", *map(_title, names)], rows)


def _level_rows(
    entry: Entry, names: Sequence[str], n_ratios: int, beside: Entry | None
) -> list[list[str]]:
    solvers = _by_name(entry)
    rows = []
    for level in entry["levels"]:
        reached = {name: solver["levels"][level] for name, solver in solvers.items()}
        is_vague = entry["best_primal_error"] > float(level) / 10
        if n_ratios == 1:
            other = _by_name(beside).get(OURS) if beside else None
            ratios = [_ratio(other and other["levels"].get(level), reached.get(OURS))]
        else:
            ratios = [
                _ratio(_best_peer(solvers, reached, n_threads=1), reached.get(OURS)),
                _ratio(reached.get(LINEAR_SVC), reached.get(OURS)),
                _ratio(_best_peer(solvers, reached, n_threads=2), reached.get(OURS_2)),
            ]
        rows.append(
            [
                "" if rows else entry["data"],
                f"{level}{' ~' if is_vague else ''}",
                *(_seconds(reached.get(name), entry["repeats"]) for name in names),
                *ratios,
            ]
        )
    return rows


def _by_name(entry: Entry) -> dict[str, Any]:
    return {solver["name"]: solver for solver in entry["solvers"] if solver["minimizes"]}


def _has_peers(entries: Sequence[Entry]) -> bool:
    solvers = [solver for entry in entries for solver in _by_name(entry).values()]
    return any(solver["package"] != OURS for solver in solvers)


def _best_peer(
    solvers: dict[str, Any], reached: dict[str, Any], n_threads: int
) -> dict[str, Any] | None:
    """Return what the quickest peer of so many threads, or of fewer, took."""
    times = [
        reached[name]
        for name, solver in solvers.items()
        if solver["package"] != "manyclass" and solver["threads"] <= n_threads and reached[name]
    ]
    return min(times, key=lambda found: found["seconds"], default=None)


def _names(entries: Sequence[Entry], *, minimizing: bool) -> list[str]:
    """List the solvers of all entries; ``minimizing``: only those of the problem itself."""
    chosen = [
        solver["name"]
        for entry in entries
        for solver in entry["solvers"]
        if solver["minimizes"] or not minimizing
    ]
    return list(dict.fromkeys(chosen))


def _notes(result: dict[str, Any]) -> list[str]:
    where, entries = result["machine"], result["entries"]
    versions = ", ".join(f"{name} {found}" for name, found in where["versions"].items())
    limits = ", ".join(
        f"{limit:g} s ({', '.join(dict.fromkeys(e['data'] for e in same))})"
        for limit in sorted({entry["time_limit"] for entry in entries})
        if (same := [entry for entry in entries if entry["time_limit"] == limit])
    )
    repeats = " or ".join(str(n) for n in sorted({entry["repeats"] for entry in entries}))
    costs = ", ".join(f"{cost:g}" for cost in sorted({entry["C"] for entry in entries}))
    return [
        f"{where['system']}, Python {where['python']}, {versions}.",
        "The tables show seconds at the coarsest tolerance with (P - P\\*)/P\\* at most the "
        f"excess: medians of {repeats} alternating runs, with C = {costs} and no intercept. A 2 "
        "after the name of a solver means two threads. A ratio is the time of the other solver "
        'divided by the time of manyclass ("ours"); "best" is the fastest other solver, with one '
        "thread in the first ratio, and with one or two in the last.",
        "`-`: not reached before the next run was expected to exceed the time limit, or before the "
        "solver ended. `*`: fewer runs, "
        "because they take long. `~`: P\\* is not proven to a tenth of the excess. Time limits: "
        f"{limits}.",
        "Test accuracy: the accuracy at the finest tolerance, in %, and the seconds of the first "
        f"run with at least {_NEARLY:g} of the final accuracy of manyclass. Each solver minimizes "
        "its own objective.",
        *(f"Skipped: {skip['name']} ({skip['reason']})." for skip in result["skipped"]),
    ]


def _accuracy(runs: list[dict[str, Any]] | None, wanted: float) -> str:
    if not runs:
        return "-"
    last = 100 * runs[-1]["accuracy"]
    quick = next((run for run in runs if run["accuracy"] >= wanted), None)
    seconds = "-" if quick is None else f"{_digits(statistics.median(quick['seconds']))} s"
    return f"{last:.1f}, {seconds}"


def _seconds(reached: dict[str, Any] | None, repeats: int) -> str:
    if reached is None:
        return "-"
    return f"{_digits(reached['seconds'])}{'' if reached['n'] >= repeats else '*'}"


def _digits(seconds: float) -> str:
    digits = 4 if seconds < 0.1 else 3 if seconds < 1 else 2 if seconds < 10 else 1
    return f"{seconds:.{digits}f}"


def _ratio(theirs: dict[str, Any] | None, ours: dict[str, Any] | None) -> str:
    return "-" if theirs is None or ours is None else f"{theirs['seconds'] / ours['seconds']:.1f}"


def _title(name: str) -> str:
    return name.replace("_", " ")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    ruler = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ruler, *rows])
