"""Time load_svmlight against scikit-learn's load_svmlight_file on plain text, in turn.

    python -m benchmarks.runs.reader [FOLDER] [--quick]

FOLDER holds news20.scale.bz2 and mnist.scale.bz2; by default the folder that MANYCLASS_DATA names,
or ../shared/data beside the project.
"""

from __future__ import annotations

import argparse
import bz2
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks.runs.turns import Calls, in_turn
from manyclass.io.svmlight import load_svmlight
from measuring.datasets import tiny
from measuring.datasets.real import folder_of_data
from measuring.quick import parse

NAMES = ("news20.scale", "mnist.scale")
N_TIMES = 5


def compare(name: str, folder: Path, scratch: Path) -> None:
    path = scratch / name
    if name == tiny.NAME:
        data = tiny.TINY.load()
        dump_svmlight_file(data.X, data.labels, path, zero_based=False)
    else:
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=folder_of_data())
    parser.set_defaults(names=NAMES)
    options = parse(parser, names=[tiny.NAME])
    folder, names = options.folder, options.names
    absent = [name for name in names if not (folder / f"{name}.bz2").exists()]
    if absent and not options.quick:
        sys.exit(f"{folder}: no {', '.join(absent)} (.bz2); pass the folder that holds them")
    print(f"medians of {N_TIMES}, in turn, seconds; {os.cpu_count()} cores; ratio = sklearn / ours")
    header = ("data", "MB", "sklearn", "1 thread", "ratio", "all cores", "ratio")
    print("{:14} {:>7} {:>9} {:>9} {:>6} {:>9} {:>6}".format(*header))
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            compare(name, folder, Path(scratch))


if __name__ == "__main__":
    main()
