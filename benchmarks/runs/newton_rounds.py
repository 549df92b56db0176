"""Count the sums that training asks of rows in eight parts: consensus alone, and then Newton.

    python -m benchmarks.runs.newton_rounds [--data digits letter] [--most 100] [--quick]

Writes newton_rounds.json. Sums of many
numbers (of weights, or of the Hessian) are counted apart from those of a few (terms of the
certificate, slopes). Rows are dealt to the parts at random; of large data sets some are taken.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from manyclass.distributed.rows.admm import ConsensusAdmm
from manyclass.distributed.rows.svm import SvmOnRows
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.problem import Problem
from manyclass.rows.parts import Arguments, LocalParts, Question
from manyclass.solvers.stopping import GapRule
from manyclass.utils.types import Array
from measuring.datasets.base import find_datasets, sklearn_rows
from measuring.header import header
from measuring.quick import parse
from measuring.results import RESULTS, read_results, write_results

FILE = RESULTS / "newton_rounds.json"
ROWS = {"digits": 1797, "usps": 4000, "letter": 8000, "covtype100k": 20000, "tiny": 300}
USUAL = ["digits", "usps", "letter", "covtype100k"]
CASES = (
    ("crammer_singer", "hinge"),
    ("one_vs_rest", "hinge"),
    ("one_vs_rest", "squared_hinge"),
    ("weston_watkins", "squared_hinge"),
)
GAPS = ("1e-2", "1e-3", "1e-4")
N_PARTS = 8
METHODS = {"consensus": ConsensusAdmm, "then Newton": SvmOnRows}
LARGE = {"round", "respond", "hessian", "move_duals"}


class Counted(LocalParts):
    """Local parts that count what they are asked."""

    def __init__(self, parts: Sequence[SvmRows]) -> None:
        super().__init__(parts)
        self.asked: Counter[bool] = Counter()

    def add(self, question: Question, given: Arguments, into: Sequence[Array]) -> None:
        """Add the answers of all parts."""
        self.asked[question.__name__ in LARGE] += 1
        super().add(question, given, into)


def rows_of(name: str) -> tuple[Array, Array, int]:
    """Return X, labels and the number of classes; so many rows, at random."""
    if name == "digits":
        X, labels = load_digits(return_X_y=True)
        X, k = X / 16, 10
    else:
        data = find_datasets()[name].load()
        X, labels, k = sklearn_rows(data.X, np.float64), data.labels, data.n_classes
    some = np.random.default_rng(0).permutation(X.shape[0])[: ROWS[name]]
    return X[some], labels[some], k


def in_parts(name: str, formulation: str, C: float, loss: str) -> list[SvmRows]:
    """Deal the rows."""
    X, labels, k = rows_of(name)
    parts = []
    for number, rows in enumerate(np.array_split(np.arange(len(labels)), N_PARTS)):
        dataset = Dataset.from_matrix(X[rows], labels[rows], n_classes=k, bias=0.0)
        parts.append(SvmRows(Problem(dataset, named(formulation), C, loss), number=number))
    return parts


def sums_to(parts: list[SvmRows], method: str, gap: str, most: int) -> tuple[int, int] | None:
    """Return the large and the small sums to a proven gap; None after so many rounds."""
    counted, rule = Counted(parts), GapRule(float(gap))
    solver = METHODS[method](parts[0].problem, counted, None)
    for _ in range(most):
        solver.epoch(rule)
        if solver.promising(rule) and rule.met(solver.certify()):
            return counted.asked[True], counted.asked[False]
    return None


def measure(names: list[str], costs: list[float], most: int) -> Iterator[dict[str, Any]]:
    """Yield what each run found."""
    for name in names:
        for formulation, loss in CASES:
            for C in costs:
                case = {"data": name, "formulation": formulation, "loss": loss, "C": C}
                for method in METHODS:
                    found: dict[str, Any] = {}
                    for gap in GAPS:
                        parts = in_parts(name, formulation, C, loss)
                        found[gap] = sums_to(parts, method, gap, most)
                        if found[gap] is None:
                            break
                    yield {**case, "method": method, "sums": found, "most": most}


def table(result: dict[str, Any]) -> str:
    """Return a line for each problem: the sums to each gap, large + small."""
    lines = ["| data | formulation, loss | C | method | " + " | ".join(GAPS) + " |"]
    lines.append("|---|---|--:|---|" + "--:|" * len(GAPS))
    for run in result["runs"]:
        cells = [_cell(run, gap) for gap in GAPS]
        kind = f"{run['formulation']}, {run['loss']}".replace("_", " ")
        head = f"| {run['data']} | {kind} | {run['C']:g} | {run['method']} |"
        lines.append(f"{head} {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(run: dict[str, Any], gap: str) -> str:
    if gap not in run["sums"]:
        return ""
    found = run["sums"][gap]
    return f"{found[0]} + {found[1]}" if found else f"more than {run['most']}"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=USUAL, choices=list(ROWS))
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--most", type=int, default=100, help="rounds")
    options = parse(parser, data=["tiny"], C=[0.1], most=20)
    old = read_results(FILE)
    about, kept = header(old), {_key(run): run for run in old.get("runs", [])}
    for run in measure(options.data, options.C, options.most):
        print(run, flush=True)
        kept[_key(run)] = run
        write_results(FILE, about | {"runs": list(kept.values())})


def _key(run: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(run[name] for name in ("data", "formulation", "loss", "C", "method"))


if __name__ == "__main__":
    main()
