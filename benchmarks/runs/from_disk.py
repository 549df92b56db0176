"""Train on a converted file of a size, with a limit on the memory.

    python -m benchmarks.runs.from_disk dense 6000 --limit 1500 --solver logistic [--evict]

makes build/from_disk/dense-6000.data (megabytes) unless it is there, and trains on it in a process
whose data are limited to what its imports took and LIMIT megabytes (RLIMIT_DATA: what is mapped
from a file does not count, as the system may drop it). ``--evict`` drops the file's pages from
memory every 50 ms, as on a machine that has no room for them. One line: seconds, CPU seconds, the
most memory of its own, bytes read from the disk, epochs, the certified gap.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.linalg

from manyclass import MulticlassSVC, MultinomialLogisticRegression, load_data, save_data
from manyclass.datasets import iter_text_corpus
from manyclass.utils.types import Array
from measuring.datasets.embeddings import around
from measuring.quick import parse
from measuring.results import ROOT, place

FOLDER = ROOT / "build" / "from_disk"
MB = 10**6
N_FEATURES, N_CLASSES, BATCH = 768, 100, 10_000
TEXT = {"n_features": 20_000, "n_classes": 100, "words_per_example": 100}
BYTES_OF_TEXT = 610  # a row; repeated words are one number
MODELS: dict[str, Any] = {
    "logistic": MultinomialLogisticRegression,
    "crammer_singer": MulticlassSVC,
    "weston_watkins": MulticlassSVC,
    "one_vs_rest": MulticlassSVC,
}
DONT_NEED = 4  # of madvise and posix_fadvise


def batches(kind: str, megabytes: int) -> Iterator[tuple[Any, Array]]:
    """Yield rows and labels: dense embeddings, or sparse text."""
    if kind == "sparse":
        n = megabytes * MB // BYTES_OF_TEXT
        yield from iter_text_corpus(n, **TEXT, random_state=0)  # type: ignore[arg-type]  # settings of several types
        return
    rng = np.random.default_rng(0)
    spectrum = np.geomspace(1, 0.2, N_FEATURES, dtype=np.float32)
    centres = rng.standard_normal((N_CLASSES, N_FEATURES), np.float32) * spectrum
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    for _ in range(max(1, megabytes * MB // (4 * N_FEATURES * BATCH))):
        yield around(rng, centres, spectrum, rng.integers(0, N_CLASSES, BATCH), 6.0)


def made(kind: str, megabytes: int) -> Path:
    """Return the file."""
    path = place(FOLDER / f"{kind}-{megabytes}.data")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        save_data(path, batches(kind, megabytes))
    return path


@contextlib.contextmanager
def evicted(path: Path, arrays: list[Array]) -> Iterator[None]:
    """Drop the pages of a mapped file now and then."""
    libc, ended = ctypes.CDLL(None), threading.Event()
    page = resource.getpagesize()

    def drop() -> None:
        with path.open("rb") as file:
            while not ended.wait(0.05):
                for array in arrays:
                    begin = -(-array.ctypes.data // page) * page
                    size = array.nbytes - page
                    libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(size), DONT_NEED)
                os.posix_fadvise(file.fileno(), 0, 0, DONT_NEED)

    thread = threading.Thread(target=drop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class OwnPeak:
    """The most memory of this process's own since it was made, the files' pages left out."""

    def __init__(self) -> None:
        self.before = self.most = self._now()
        threading.Thread(target=self._look, daemon=True).start()

    def _now(self) -> int:
        used = psutil.Process().memory_info()
        return int(used.rss - used.shared)

    def _look(self) -> None:
        while True:
            time.sleep(0.02)
            self.most = max(self.most, self._now())

    def added(self) -> int:
        """Return by how much it has grown at most."""
        return self.most - self.before


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("dense", "sparse"))
    parser.add_argument("megabytes", type=int)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--solver", choices=MODELS, default="logistic")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--evict", action="store_true")
    options = parse(parser, megabytes=1)
    path = made(options.kind, options.megabytes)
    if options.limit is not None:
        scipy.linalg.cho_factor(np.eye(300) @ np.eye(300))  # both BLAS take their buffers
        limit = psutil.Process().memory_info().data + options.limit * MB
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    named = {} if options.solver == "logistic" else {"formulation": options.solver}
    model = MODELS[options.solver](C=options.C, tol=options.tol, verbose=1, **named)
    X, y = load_data(path)
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices]
    read = psutil.Process().io_counters().read_bytes
    began, spent, peak = time.perf_counter(), time.process_time(), OwnPeak()
    with evicted(path, arrays) if options.evict else contextlib.nullcontext():
        model.fit(X, y)
    print(
        f"{options.kind} {path.stat().st_size / MB:.0f} MB {X.shape} {options.solver}: "
        f"{time.perf_counter() - began:.1f} s, CPU {time.process_time() - spent:.1f} s, "
        f"{peak.added() / MB:.0f} MB of its own, "
        f"{(psutil.Process().io_counters().read_bytes - read) / MB:.0f} MB read, "
        f"{model.n_iter_} epochs, gap {model.certificate_.relative_gap:.2e}"
    )


if __name__ == "__main__":
    main()
