"""A linear probe of ImageNet's shape: 1,281,167 x 768 float32 rows, 1,000 classes, made up.

    python -m benchmarks.runs.imagenet_probe [--logistic] [--rows 1281167] [--n-jobs 2] [--tol 1e-2]
                                        [--folder DIR]

makes the rows in blocks into a mapped file (3.9 GB), trains on them where they lie, and prints
seconds, the certificate, the memory that training took and the accuracy on further rows.
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from measuring.datasets.embeddings import around

D, K, NOISE = 768, 1000, 9.0
N_TEST = 20_000
BLOCK = 1 << 14


def make(folder: Path, n_rows: int) -> tuple[Path, np.ndarray, np.ndarray, np.ndarray]:
    """Write the rows, unless they are there; return their file, their labels and test rows."""
    rng = np.random.default_rng(2008)
    spectrum = np.geomspace(1, 0.2, D, dtype=np.float32)
    centres = normalize(rng.standard_normal((K, D), np.float32) * spectrum)
    y = rng.choice(K, n_rows + N_TEST, p=rng.dirichlet(np.full(K, 20.0)))
    path = folder / f"probe-{n_rows}-{NOISE:g}.npy"
    if not path.exists():
        new = path.with_suffix(".part")
        rows = np.lib.format.open_memmap(new, "w+", np.float32, (n_rows, D))
        for begin in range(0, n_rows, BLOCK):
            block = np.random.default_rng([1, begin])
            part = slice(begin, min(begin + BLOCK, n_rows))
            rows[part], _ = around(block, centres, spectrum, y[part], NOISE)
        rows.flush()
        del rows
        new.rename(path)
    X_test, _ = around(np.random.default_rng(2), centres, spectrum, y[n_rows:], NOISE)
    return path, y[:n_rows], X_test, y[n_rows:]


class AnonymousPeak:
    """The most memory of the process that is not a mapped file, watched ten times a second."""

    def __enter__(self) -> AnonymousPeak:
        """Begin to watch."""
        self.peak, self._ends = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ends.wait(0.1):
            lines = Path("/proc/self/status").read_text().splitlines()
            kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.peak = max(self.peak, 1024 * kilobytes)


def train(model: Any, path: Path, y: np.ndarray) -> dict[str, Any]:
    """Train on the mapped rows; return what it took."""
    X = np.load(path, mmap_mode="r")
    with AnonymousPeak() as memory:
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
    return {"seconds": round(seconds, 1), "gigabytes": round(memory.peak / 1e9, 2)}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logistic", action="store_true", help="logistic regression, not an SVM")
    parser.add_argument("--rows", type=int, default=1_281_167)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--folder", type=Path, default=Path("build"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    path, y, X_test, y_test = make(arguments.folder, arguments.rows)
    estimator = MultinomialLogisticRegression if arguments.logistic else MulticlassSVC
    model = estimator(tol=arguments.tol, n_jobs=arguments.n_jobs, random_state=0, verbose=1)
    found = train(model, path, y)
    found |= {
        "rows": arguments.rows,
        "n_jobs": arguments.n_jobs,
        "epochs": model.n_iter_,
        "gap": model.certificate_.relative_gap,
        "accuracy": model.score(X_test, y_test),
    }
    print(found)


if __name__ == "__main__":
    main()
