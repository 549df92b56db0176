"""Ranks on two hosts joined by cables of several speeds, beside the cost model. Needs root.

    python -m benchmarks.rank_network [--data sector lshtc1] [--rates 10gbit 1gbit 100mbit]

writes ``results/rank_network.json`` and puts a table into docs/plan.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import hosts, report
from benchmarks.rank_costs import by_mpiexec, save
from benchmarks.rank_fit import PAGE, mean_of, work_of
from benchmarks.rank_settings import CHECKED, EPOCHS, FITTED, TITLES, TOL
from experiments import read_results, write_between, write_results
from manyclass.planning.work import Network

RESULTS = report.RESULTS / "rank_network.json"
RATES = {"10gbit": 10.0, "1gbit": 1.0, "100mbit": 0.1}
# Seconds of a message of one number between the two hosts, there and back at once.
PING = """
import sys, time, numpy as np
from mpi4py import MPI
comm, one, other = MPI.COMM_WORLD, np.ones(1), np.empty(1)
for _ in range(2):
    comm.Barrier()
    began = time.perf_counter()
    for _ in range(500):
        comm.Sendrecv(one, 1 - comm.rank, recvbuf=other, source=1 - comm.rank)
if comm.rank == 0:
    print((time.perf_counter() - began) / 500)
"""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["sector", "lshtc1"])
    parser.add_argument("--rates", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--only", nargs="+", choices=TITLES, default=list(TITLES))
    options = parser.parse_args()
    reason = hosts.unusable()
    if reason:
        sys.exit(f"skipped: {reason}")
    found = {key(entry): entry for entry in read_results(RESULTS).get("entries", [])}
    with tempfile.TemporaryDirectory() as scratch:
        for rate in options.rates:
            for entry in measure(rate, options, Path(scratch)):
                found[key(entry)] = entry
                date = time.strftime("%Y-%m-%d")
                write_results(RESULTS, {"date": date, "entries": list(found.values())})
                print(row(entry), flush=True)
    write_between(PAGE, "network", table(list(found.values())))


def key(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a run from others."""
    return tuple(entry[name] for name in ("data", "formulation", "rate", "ranks"))


def measure(rate: str, options: argparse.Namespace, scratch: Path) -> Any:
    """Yield what each run took with a cable of that speed."""
    with hosts.hosts(rate) as pair:
        latency = ping(pair)
        for name in options.data:
            sizes = save((FITTED | CHECKED)[name], scratch / name)
            for formulation in options.only:
                for n_ranks in options.ranks:
                    settings = {"formulation": formulation, "weights": "dense"}
                    settings |= {"tol": TOL, "max_iter": EPOCHS}
                    before = pair.bytes_sent()
                    run = by_mpiexec(n_ranks, scratch / name, settings, pair)
                    if run is not None:
                        entry = {"data": name, **sizes, "rate": rate, "latency": latency}
                        yield entry | {"cable_bytes": pair.bytes_sent() - before, **run}


def ping(pair: hosts.Hosts) -> float:
    """Return the seconds of a message."""
    done = subprocess.run(
        [*pair.mpiexec(2), sys.executable, "-c", PING],
        env=pair.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout))


def predicted(entry: dict[str, Any]) -> float:
    """Return the seconds of an epoch that go by talking.

    ClassBlocks go from neighbour to neighbour, so one rank of each host at a time is at the cable.
    """
    todo = work_of(entry)
    return Network(entry["latency"], 1e9 / 8 * RATES[entry["rate"]]).seconds(
        todo.messages, todo.bytes
    )


def row(entry: dict[str, Any]) -> str:
    """Return a line of the table."""
    cells = [
        str(entry["ranks"]),
        entry["rate"],
        f"{1e6 * entry['latency']:.0f}",
        f"{1e-6 * mean_of(entry, 'bytes'):.1f}",
        f"{1e3 * mean_of(entry, 'seconds'):.0f}",
        f"{1e3 * mean_of(entry, 'talking'):.0f}",
        f"{1e3 * predicted(entry):.0f}",
    ]
    return f"| {entry['data']} | {entry['formulation']} | " + " | ".join(cells) + " |"


def table(entries: list[dict[str, Any]]) -> str:
    """Return all of it."""
    lines = [
        "| data | formulation | ranks | cable | us a message | MB an epoch | ms an epoch "
        "| talking | predicted |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    return "\n".join(lines + [row(entry) for entry in entries])


if __name__ == "__main__":
    main()
