"""Trial: every bit of the headers of models, data, checkpoints and states, flipped one by one.

Each flip must be refused. Prints what loads, and ends with 1 if something does.

    python -m tests.trials.damaged_headers
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_data,
    load_model,
    load_state,
    save_data,
    save_model,
    save_state,
)
from manyclass.training.checkpoint_file import read_checkpoint
from manyclass.training.checkpoints import found_in


def files(folder: Path) -> Iterator[tuple[str, Path, Callable[[Path], Any]]]:
    """Write a file of each kind; yields what it is, the file, and how it is read."""
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.array(["eggs", "ham", "spam"])[np.arange(60) % 3]
    models = {
        "svc": MulticlassSVC(C=2.5, random_state=0),
        "logistic": MultinomialLogisticRegression(),
        "stochastic": StochasticClassifier(max_iter=2, tol=None),
        "pipeline": make_pipeline(StandardScaler(), MulticlassSVC()),
    }
    for name, model in models.items():
        save_model(folder / name, model.fit(X, y))
        yield name, folder / name, load_model
    save_data(folder / "data", X, y)
    yield "data", folder / "data", load_data
    save_state(folder / "state", MulticlassSVC(warm_start=True).fit(X, y))
    yield "state", folder / "state", load_state
    MulticlassSVC(checkpoint=folder / "checkpoints").fit(X, y)
    yield "checkpoint", found_in(folder / "checkpoints")[0], read_checkpoint


def flipped(path: Path, read: Callable[[Path], Any]) -> tuple[int, list[str]]:
    """Flip each bit of a header; return how many there are, and those that load."""
    good = path.read_bytes()
    n_bits = 8 * (8 + int.from_bytes(good[:8], "little"))
    loaded = []
    for bit in range(n_bits):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        try:
            read(path)
            loaded.append(f"bit {bit % 8} of byte {bit // 8} is not noticed")
        except ValueError:
            pass
        except Exception as error:
            loaded.append(f"bit {bit % 8} of byte {bit // 8}: {error!r}")
    return n_bits, loaded


def main() -> int:
    """Run the trial."""
    began, n_all, n_wrong = time.perf_counter(), 0, 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, path, read in files(Path(folder)):
            n_bits, wrong = flipped(path, read)
            n_all, n_wrong = n_all + n_bits, n_wrong + len(wrong)
            for what in wrong[:5]:
                print(f"{name}: {what}")
    seconds = time.perf_counter() - began
    print(f"damaged headers: {n_all} bits, {n_wrong} not refused, {seconds:.0f} s")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
