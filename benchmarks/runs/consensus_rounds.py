"""Count the rounds of consensus ADMM to a gap, for rows in 2 to 128 parts, in one process.

    python -m benchmarks.runs.consensus_rounds [--data news20 embeddings-256] [--parts 2 8]

Writes consensus_rounds.json. Rows are dealt to the parts at random. On two cores that are idle
embeddings-256 takes some five minutes for each number of parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from manyclass.distributed.rows.admm import ConsensusAdmm
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem
from manyclass.rows.parts import LocalParts
from manyclass.solvers.stopping import GapRule
from measuring.datasets.base import Data, find_datasets, sklearn_rows
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_results

FILE = RESULTS / "consensus_rounds.json"
PARTS = (2, 4, 8, 16, 32, 64, 128)
GAPS = ("1e-2", "1e-3")
MOST_ROUNDS = 80


def in_parts(data: Data, n_parts: int, C: float) -> list[SvmRows]:
    """Deal the rows to so many parts of Crammer-Singer."""
    X = sklearn_rows(data.X, np.float32)
    order = np.random.default_rng(0).permutation(data.X.shape[0])
    parts = []
    for number, rows in enumerate(map(np.sort, np.array_split(order, n_parts))):
        weights = np.ones(len(rows))
        dataset = Dataset.from_matrix(
            X[rows], data.labels[rows], n_classes=data.n_classes, weights=weights, bias=0.0
        )
        parts.append(SvmRows(Problem(dataset, named("crammer_singer"), C), number=number))
    return parts


def rounds_to(data: Data, n_parts: int, C: float) -> dict[str, Any]:
    """Return after how many rounds each gap was proven, and the gap at the end."""
    parts = in_parts(data, n_parts, C)
    solver = ConsensusAdmm(parts[0].problem, LocalParts(parts), None)
    rule, found = GapRule(float(GAPS[-1])), dict[str, int]()
    for number in range(1, MOST_ROUNDS + 1):
        solver.epoch(rule)
        gap = solver.certify().relative_gap
        found |= {text: number for text in GAPS if gap <= float(text) and text not in found}
        if len(found) == len(GAPS):
            break
    return {"rounds": found, "gap": gap, "after": number, "rho": solver.rho * n_parts}


def measure(names: list[str], parts: list[int], costs: list[float]) -> Iterator[dict[str, Any]]:
    """Yield what each run found."""
    for name in names:
        data = find_datasets()[name].load()
        for C in costs:
            for n_parts in parts:
                yield {"data": name, "C": C, "parts": n_parts, **rounds_to(data, n_parts, C)}


def table(result: dict[str, Any]) -> str:
    """Return the rounds to each gap, a line for each data set and C."""
    runs = result["runs"]
    parts = sorted({run["parts"] for run in runs})
    lines = [f"| data | C | gap | {' | '.join(map(str, parts))} |"]
    lines.append("|---|--:|--:|" + "--:|" * len(parts))
    cells = {(run["data"], run["C"], run["parts"]): run for run in runs}
    for data, C in sorted({(run["data"], run["C"]) for run in runs}):
        for text in GAPS:
            of_parts = [_cell(cells.get((data, C, n)), text) for n in parts]
            lines.append(f"| {data} | {C:g} | {text} | {' | '.join(of_parts)} |")
    return "\n".join(lines)


def _cell(run: dict[str, Any] | None, text: str) -> str:
    if run is None:
        return ""
    return str(run["rounds"].get(text, f"more than {run['after']}"))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["news20", "embeddings-256"])
    parser.add_argument("--parts", nargs="+", type=int, default=list(PARTS))
    parser.add_argument("--C", nargs="+", type=float, default=[1.0])
    options = parse(parser, data=["tiny"], parts=[2, 4], C=[1.0])
    old = read_results(FILE)
    about, kept = header(old), {_key(run): run for run in old.get("runs", [])}
    for run in measure(options.data, options.parts, options.C):
        print(run, flush=True)
        kept[_key(run)] = run
        write_results(FILE, about | {"runs": list(kept.values())})


def _key(run: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(run[name] for name in ("data", "C", "parts"))


if __name__ == "__main__":
    main()
