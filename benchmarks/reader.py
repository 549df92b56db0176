"""Time load_svmlight against scikit-learn's load_svmlight_file on plain text, in turn.

    python benchmarks/reader.py [FOLDER]

FOLDER holds news20.scale.bz2 and mnist.scale.bz2; by default ../shared/data beside the project.
"""

from __future__ import annotations

import bz2
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from manyclass.svmlight import load_svmlight

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("news20.scale", "mnist.scale")
N_TIMES = 5


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def medians(calls: list[Callable[[], object]]) -> list[float]:
    """Return each call's median time; they take turns, after one round that does not count."""
    rounds = [[seconds_of(call) for call in calls] for _ in range(N_TIMES + 1)]
    return [statistics.median(times) for times in zip(*rounds[1:], strict=True)]


def compare(name: str, folder: Path, scratch: Path) -> None:
    path = scratch / name
    path.write_bytes(bz2.decompress((folder / f"{name}.bz2").read_bytes()))
    peer, one, all_cores = medians(
        [
            lambda: load_svmlight_file(str(path), dtype=np.float32, zero_based=False),
            lambda: load_svmlight(path, n_jobs=1),
            lambda: load_svmlight(path, n_jobs=-1),
        ]
    )
    print(
        f"{name:14} {path.stat().st_size / 1e6:7.1f} {peer:9.3f} {one:9.4f} {peer / one:6.1f}"
        f" {all_cores:9.4f} {peer / all_cores:6.1f}"
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    missing = [name for name in NAMES if not (folder / f"{name}.bz2").exists()]
    if missing:
        sys.exit(f"{folder}: no {', '.join(missing)} (.bz2); pass the folder that holds them")
    print(f"medians of {N_TIMES}, in turn, seconds; {os.cpu_count()} cores; ratio = sklearn / ours")
    header = ("data", "MB", "sklearn", "1 thread", "ratio", "all cores", "ratio")
    print("{:14} {:>7} {:>9} {:>9} {:>6} {:>9} {:>6}".format(*header))
    with tempfile.TemporaryDirectory() as scratch:
        for name in NAMES:
            compare(name, folder, Path(scratch))


if __name__ == "__main__":
    main()
