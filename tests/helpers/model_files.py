"""Small models to save, and changed headers of their files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from manyclass import MulticlassSVC
from manyclass.io.tensors import header_bytes, read_header

X, Y = load_iris(return_X_y=True)


NAMES = np.array(["setosa", "versicolor", "virginica"])


def fitted(y=Y, X=X, **params):
    return MulticlassSVC(random_state=0, **params).fit(X, y)


def without_seconds(path: Path) -> tuple[str, tuple[tuple[str, bytes], ...]]:
    """What a model file holds but for its history, which has the seconds of each epoch."""
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(path, "numpy") as file:
        names = sorted(set(file.keys()) - {"history"})
        tensors = tuple((name, file.get_tensor(name).tobytes()) for name in names)
        return file.metadata()["model"], tensors


def rewritten(path: Path, change) -> None:
    """Change the header of a model file, whose checksum is right then."""
    with path.open("rb") as file:
        header = read_header(file)
    metadata, tensors = header.metadata, path.read_bytes()[len(header.content) :]
    model = json.loads(metadata["model"])
    change(metadata, model)
    metadata.setdefault("model", json.dumps(model))
    if metadata["model"] != "[]":
        metadata["model"] = json.dumps(model)
    path.write_bytes(header_bytes(header.tensors, metadata) + tensors)
