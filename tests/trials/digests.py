"""Digests of what training runs find: W, z, history and certificate, to compare to the bit.

z is read from checkpoints.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyclass import MulticlassSVC
from tests.helpers.ranks import on_ranks

Facts = dict[str, Any]


def digest(*arrays: Any) -> str:
    """Hash arrays: types, shapes and bytes."""
    total = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array)
        total.update(f"{values.dtype} {values.shape}".encode())
        total.update(values.tobytes())
    return total.hexdigest()[:16]


def digest_of_matrix(matrix: Any) -> str:
    """Hash a matrix, sparse or dense, zeros of sparse ones left out."""
    if not sp.issparse(matrix):
        return digest(matrix)
    W = sp.csr_array(matrix, copy=True)
    W.sum_duplicates()
    W.eliminate_zeros()
    return digest(W.data, W.indices.astype(np.int64), W.indptr.astype(np.int64))


def digest_of_history(records: Any) -> str:
    """Hash records, the seconds left out."""
    rows = [dataclasses.asdict(record) for record in records]
    return digest([[row[name] or 0.0 for name in row if name != "seconds"] for row in rows])


def digest_of_duals(folder: Path) -> str:
    """Hash z, and a W that is not W(z), of the newest checkpoint."""
    content = max(folder.glob("checkpoint-*")).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    parts = []
    for name in sorted(set(header) - {"__metadata__", "history", "seed"}):
        begin, end = header[name]["data_offsets"]
        parts.append(name.encode() + content[8 + size + begin : 8 + size + end])
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def facts_of(model: Any) -> Facts:
    """Return what a fitted model amounts to."""
    facts: Facts = {
        "W": digest_of_matrix(model.coef_) + digest(model.intercept_),
        "history": digest_of_history(model.history_),
        "epochs": int(model.n_iter_),
    }
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        facts["certificate"] = list(certificate.as_dict().values())
    return facts


def fitted(model: Any, X: Any, y: Any, weights: Any = None, *, duals: bool = True) -> Facts:
    """Fit; z comes from a checkpoint."""
    if not duals:
        return facts_of(model.fit(X, y, weights))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoints")
        model.set_params(checkpoint=path, checkpoint_minutes=1e6)
        facts = facts_of(model.fit(X, y, weights))
        model.set_params(checkpoint=None)
        return {**facts, "z": digest_of_duals(path)}


def fitted_twice(model: Any, X: Any, y: Any, factor: float = 2.0) -> Facts:
    """Fit at C, then from there at another C."""
    model.set_params(warm_start=True)
    first = fitted(model, X, y)
    model.set_params(C=factor * model.C)
    again = fitted(model, X, y)
    return {**{f"first {name}": value for name, value in first.items()}, **again}


def resumed(model: Any, X: Any, y: Any, epochs: int) -> Facts:
    """Fit for some epochs, then to the end from the checkpoint that they left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoints")
        model.set_params(checkpoint=path, max_iter=epochs)
        model.fit(X, y)
        model.set_params(resume=True, max_iter=300)
        return {**facts_of(model.fit(X, y)), "z": digest_of_duals(path)}


def on_threads(size: int, options: Facts, X: Any, y: Any, *, warm: bool) -> Facts:
    """Fit on ranks that are threads; all must have the same model."""
    folder = tempfile.TemporaryDirectory()

    def call(rank: Any) -> Facts:
        model = MulticlassSVC(**options, communicator=rank, random_state=0)
        if warm:
            model.set_params(warm_start=True, C=0.5 * model.C).fit(X, y)
            model.set_params(C=2 * model.C)
        path = Path(folder.name, "checkpoints")
        model.set_params(checkpoint=path, checkpoint_minutes=1e6).fit(X, y)
        return facts_of(model)

    with folder:
        first, *others = on_ranks(size, call)
        if any(other != first for other in others):
            raise ValueError("ranks have different models")
        return {**first, "z": digest_of_duals(Path(folder.name, "checkpoints"))}
