"""One training, for a process of its own: seconds, peak memory, certificate, accuracy, densities.

Data go through files, so that the process that starts others stays small.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass import MulticlassSVC
from measuring.datasets.base import BaseDataset, Data

# A weight below is what rounding left of zero.
NEGLIGIBLE = 1e-8
_PARTS = ("data", "indices", "indptr")
_WEIGHTS_AT_A_TIME = 1 << 24


def save(dataset: BaseDataset, folder: Path) -> dict[str, int]:
    """Load a data set and write its arrays; return its sizes."""
    data = dataset.load()
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("X", data.X), ("X_test", data.X_test)):
        for part in _PARTS:
            np.save(folder / f"{name}_{part}.npy", getattr(rows, part))
    np.save(folder / "labels.npy", data.labels)
    np.save(folder / "labels_test.npy", data.labels_test)
    return data.describe()


def read(folder: Path, sizes: dict[str, int]) -> Data:
    """Read what ``save`` wrote, with no more memory than the result needs."""

    def array(name: str) -> Any:
        return np.load(folder / f"{name}.npy")

    def rows(name: str, n_rows: int) -> sp.csr_array:
        parts = tuple(array(f"{name}_{part}") for part in _PARTS)
        return sp.csr_array(parts, shape=(n_rows, sizes["d"]))

    X, X_test = rows("X", sizes["n"]), rows("X_test", sizes["n_test"])
    return Data(X, array("labels"), X_test, array("labels_test"), sizes["k"])


def train(folder: Path, sizes: dict[str, int], settings: dict[str, Any]) -> dict[str, Any]:
    """Fit ``MulticlassSVC(**settings)`` without an intercept to what ``save`` wrote.

    Returns
    -------
    dict
        ``seconds`` of the fit; ``megabytes``, the peak of the process, and ``training_megabytes``,
        those that it grew by while it trained; ``epochs``, ``objective``, ``gap`` (relative),
        ``accuracy`` on the test part, ``weights_density`` (share of W that isn't zero) and
        ``duals_per_example`` (entries of z).
    """
    data = read(folder, sizes)
    model = MulticlassSVC(fit_intercept=False, random_state=0, **settings)
    before = peak_megabytes()
    start = time.perf_counter()
    model.fit(data.X, data.labels)
    seconds = time.perf_counter() - start
    peak = peak_megabytes()
    return {
        "seconds": seconds,
        "megabytes": peak,
        "training_megabytes": peak - before,
        "epochs": model.n_iter_,
        "objective": model.certificate_.primal_objective,
        "gap": model.certificate_.relative_gap,
        "accuracy": float(np.mean(model.predict(data.X_test) == data.labels_test)),
        "weights_density": count_weights(model.coef_) / (sizes["d"] * sizes["k"]),
        "duals_per_example": model.history_[-1].n_duals / sizes["n"],
    }


def peak_megabytes() -> float:
    """Return the most memory that this process has held so far.

    On Linux from its own status: getrusage begins with the peak of the process that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.MULTILINE)
        return int(peak) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def count_weights(coef: Any) -> int:
    """Count the weights that aren't zero, of a dense or sparse array, a part at a time."""
    if sp.issparse(coef):
        return int(np.count_nonzero(np.abs(coef.data) > NEGLIGIBLE))
    rows = np.asarray(coef).T
    step = max(1, _WEIGHTS_AT_A_TIME // rows.shape[1])
    parts = (rows[begin : begin + step] for begin in range(0, len(rows), step))
    return sum(int(np.count_nonzero(np.abs(part) > NEGLIGIBLE)) for part in parts)
