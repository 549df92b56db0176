"""Numerical test of Fisher consistency: look for class probabilities that a loss gets wrong.

    python -m experiments.formulations.consistency

For random class probabilities p of one point, the scores that minimize the expected hinge loss
sum_y p_y L_y(f) are the solution of a linear program (with sum_c f_c = 0 where the formulation asks
for it; for relative margins it costs nothing). A loss is Fisher consistent if every minimizer has
its largest score at the most probable class alone. A single p where another class scores as high in
some minimizer refutes it; none in N is no proof. Dirichlet(2, ..., 2) probabilities, counted apart
with and without a class of p > 1/2. Writes the table of
docs/formulations.md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from manyclass.problem.formulations import FORMULATIONS, Formulation
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, write_results

N_POINTS = 60
N_CLASSES = (3, 4, 5)
Vector = NDArray[np.float64]


def margins(formulation: Formulation, k: int, y: int) -> list[tuple[Vector, float]]:
    """Return (a, gamma) of each target, its margin being a . f, for an example of class y."""
    unit = np.eye(k)
    relative = formulation.margin == "relative"
    others = [(unit[y] - unit[c] if relative else -unit[c], 1.0) for c in range(k) if c != y]
    own = [(unit[y], formulation.margins(k)[1])]
    return {"others": others, "own": own, "all": own + others}[formulation.targets]


def program(formulation: Formulation, p: Vector) -> dict[str, Any]:
    """Return the linear program over (f, slacks) as arguments of ``linprog``."""
    k = len(p)
    targets = [margins(formulation, k, y) for y in range(k)]
    shared = formulation.aggregation == "max"
    n_slacks = k if shared else sum(map(len, targets))
    costs, rows, bounds = np.zeros(k + n_slacks), [], []
    slack = k
    for y, group in enumerate(targets):
        for number, (a, gamma) in enumerate(group):
            slack += 0 if shared and number else int(y + number > 0)
            row = np.zeros(k + n_slacks)
            row[:k], row[slack] = -a, -1.0
            rows.append(row)
            bounds.append(-gamma)
            costs[slack] = p[y]
    found = {
        "c": costs,
        "A_ub": np.array(rows),
        "b_ub": np.array(bounds),
        "bounds": [(None, None)] * k + [(0, None)] * n_slacks,
    }
    if formulation.sum_to_zero != "no":
        found |= {"A_eq": [[1.0] * k + [0.0] * n_slacks], "b_eq": [0.0]}
    return found


def refuted(formulation: Formulation, p: Vector) -> bool:
    """Whether a minimizer gives another class at least the score of the most probable one."""
    problem = program(formulation, p)
    least = linprog(**problem).fun
    best = int(np.argmax(p))
    for rival in (c for c in range(len(p)) if c != best):
        row = np.zeros(len(problem["c"]))
        row[best], row[rival] = 1.0, -1.0
        extra = {
            "A_ub": np.vstack([problem["A_ub"], row]),
            "b_ub": np.append(problem["b_ub"], 0.0),
        }
        if linprog(**(problem | extra)).fun <= least + 1e-9 * (1.0 + least):
            return True
    return False


def count(formulation: Formulation, k: int, n_points: int = N_POINTS) -> dict[str, list[int]]:
    """Return [refuted, tried] without and with a dominating class."""
    rng = np.random.default_rng(k)
    found = {"no class above 1/2": [0, 0], "a class above 1/2": [0, 0]}
    for p in rng.dirichlet(np.full(k, 2.0), n_points):
        cell = found["a class above 1/2" if p.max() > 0.5 else "no class above 1/2"]
        cell[0] += refuted(formulation, p)
        cell[1] += 1
    return found


def table(result: dict[str, Any]) -> str:
    """Return the counts in Markdown."""
    heads = [f"k = {k}, {case}" for k in N_CLASSES for case in ("p <= 1/2", "p > 1/2")]
    lines = ["| formulation | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    for name, by_k in result["counts"].items():
        cells = [f"{bad} of {all_}" for cases in by_k.values() for bad, all_ in cases.values()]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Count for every formulation, and write consistency.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=N_POINTS, help="probabilities for each k")
    n_points = parse(parser, points=2).points
    counts = {
        name: {str(k): count(what, k, n_points) for k in N_CLASSES}
        for name, what in FORMULATIONS.items()
    }
    result = header() | {"counts": counts}
    write_results(RESULTS / "consistency.json", result)
    print(table(result))


if __name__ == "__main__":
    main()
