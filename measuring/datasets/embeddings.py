"""Dense embeddings, rows of unit length: of sentences, TruncatedSVD of text, and made-up ones.

TruncatedSVD of the real text data sets takes up to a minute and is kept in the folder
build/embeddings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from measuring.datasets.base import BaseDataset, Data
from measuring.datasets.real import RealDataset, folder_of_data

CACHE = Path(__file__).resolve().parents[2] / "build" / "embeddings"
PARTS = ("X", "labels", "X_test", "labels_test")


class TextEmbeddings(BaseDataset):
    """A real text data set in so many dimensions."""

    default = False

    def __init__(self, text: str, n_dimensions: int) -> None:
        self.name = f"{text}-{n_dimensions}d"
        self.text, self.n_dimensions = RealDataset(text), n_dimensions

    def skip(self) -> tuple[bool, str]:
        """Skip where the text is absent."""
        return self.text.skip()

    def load(self) -> Data:
        """Read it, or make and keep it."""
        path = CACHE / f"{self.name}.npz"
        if not path.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            np.savez(path, **dict(zip(PARTS, self._made(), strict=True)))
        with np.load(path) as file:
            X, labels, X_test, labels_test = (file[part] for part in PARTS)
        return Data.from_parts((X, labels), (X_test, labels_test))

    def _made(self) -> tuple[NDArray[np.generic], ...]:
        data = self.text.load()
        svd = TruncatedSVD(self.n_dimensions, random_state=0).fit(data.X)
        X, X_test = (
            normalize(svd.transform(part)).astype(np.float32) for part in (data.X, data.X_test)
        )
        known = data.labels_test >= 0
        return X, data.labels, X_test[known], data.labels_test[known]


class SentenceEmbeddings(BaseDataset):
    """Sentence embeddings of a file NAME.minilm.npz, which has X, y, Xt and yt."""

    default = False

    def __init__(self, name: str) -> None:
        self.name = name

    def skip(self) -> tuple[bool, str]:
        """Skip where the file is absent."""
        path = self._path()
        reason = f"no {path.name}; set MANYCLASS_DATA to the folder with it"
        return (False, "") if path.is_file() else (True, reason)

    def load(self) -> Data:
        """Read both parts."""
        with np.load(self._path()) as file:
            X, y, X_test, y_test = (file[name] for name in ("X", "y", "Xt", "yt"))
        X, X_test = (normalize(part.astype(np.float32)) for part in (X, X_test))
        return Data.from_parts((X, y), (X_test, y_test))

    def _path(self) -> Path:
        return folder_of_data() / f"{self.name}.minilm.npz"


class MadeUpEmbeddings(BaseDataset):
    """Clusters on a sphere: centres and noise of falling spectrum, classes of unequal size."""

    default = False

    def __init__(self, name: str, n: int, d: int, k: int, noise: float) -> None:
        self.name, self.n, self.d, self.k, self.noise = name, n, d, k, noise

    def load(self) -> Data:
        """Make it; the same one every time."""
        n_test = self.n // 10
        X, y = clusters(np.random.default_rng(2008), self.n + n_test, self.d, self.k, self.noise)
        rows = sp.csr_array(X)
        return Data.from_parts((rows[: self.n], y[: self.n]), (rows[self.n :], y[self.n :]))


def clusters(
    rng: np.random.Generator, n: int, d: int, k: int, noise: float
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw n unit rows around k centres; the share of errors grows with the noise."""
    spectrum = np.geomspace(1, 0.2, d, dtype=np.float32)
    centres = normalize(rng.standard_normal((k, d), np.float32) * spectrum)
    return around(rng, centres, spectrum, rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))), noise)


def around(
    rng: np.random.Generator,
    centres: NDArray[np.float32],
    spectrum: NDArray[np.float32],
    y: NDArray[np.int64],
    noise: float,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw a unit row for each label."""
    d = len(spectrum)
    X = rng.standard_normal((len(y), d), np.float32)
    X *= spectrum * np.float32(noise / np.sqrt(d))
    X += centres[y]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


DATASETS: list[BaseDataset] = [
    TextEmbeddings(text, n_dimensions)
    for text in ("news20", "sector", "lshtc1", "wordnet")
    for n_dimensions in (256, 384)
]
DATASETS += [
    SentenceEmbeddings("banking"),
    MadeUpEmbeddings("embeddings-256", 50_000, 256, 284, 7.0),
    MadeUpEmbeddings("embeddings-768", 60_000, 768, 1000, 8.0),
]
