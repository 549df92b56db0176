"""Time load_svmlight against scikit-learn's load_svmlight_file on plain text, in turn.

    python -m benchmarks.runs.reader [FOLDER]

FOLDER holds news20.scale.bz2 and mnist.scale.bz2; by default ../shared/data beside the project.
"""

from __future__ import annotations

import bz2
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.runs.turns import Calls, in_turn
from manyclass.io.svmlight import load_svmlight

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("news20.scale", "mnist.scale")
N_TIMES = 5


def compare(name: str, folder: Path, scratch: Path) -> None:
    path = scratch / name
    path.write_bytes(bz2.decompress((folder / f"{name}.bz2").read_bytes()))
    calls: Calls = {
        "peer": lambda: load_svmlight_file(str(path), dtype=np.float32, zero_based=False),
        "one": lambda: load_svmlight(path, n_jobs=1),
        "all cores": lambda: load_svmlight(path, n_jobs=-1),
    }
    peer, one, all_cores = map(statistics.median, in_turn(calls, N_TIMES).values())
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
