"""Model files: safetensors with the rest of the model in the header. Loading one runs no code.

Format, version 1. Tensors: ``weights`` (scores x features, C order; one row when binary),
``intercept`` (scores,), and ``classes`` when these are numbers (int64, float64, bool or their
kin). Header, every value a string: ``format`` = "manyclass", ``format_version``, ``version``,
``model`` (JSON: estimator, params, certificate, n_iter, and class names when they are strings,
feature names when there were any), ``checksum`` (CRC-32 of the tensors in the order of their
names).
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors.numpy import save as to_safetensors
from sklearn.utils.validation import check_is_fitted

from manyclass.estimators import MulticlassSVC
from manyclass.solution import Certificate
from manyclass.version import __version__

FORMAT_VERSION = 1


def save_model(path: str | os.PathLike[str], estimator: MulticlassSVC) -> None:
    """Write a fitted estimator to a file.

    The file appears whole or not at all: it is written under a temporary name in the same folder
    and renamed. Not kept: the history, what warm starts need, and a ``random_state`` that is no
    int.

    Parameters
    ----------
    path : str or path-like
        Where to; an existing file is replaced.
    estimator : MulticlassSVC
        Fitted.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the classes or parameters are of a kind that the file cannot hold.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from manyclass import MulticlassSVC, load_model, save_model
    >>> model = MulticlassSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(pathlib.Path(folder, "model"), model)
    ...     load_model(pathlib.Path(folder, "model")).predict([[1.0]]).tolist()
    ['yes']
    """
    check_is_fitted(estimator)
    if sp.issparse(estimator.coef_):
        raise ValueError("coef_ is sparse; call densify() before saving the model")
    tensors, model = _pack(estimator)
    header = {
        "format": "manyclass",
        "format_version": str(FORMAT_VERSION),
        "version": __version__,
        "model": json.dumps(model),
        "checksum": _checksum(tensors),
    }
    _write_whole(Path(path), to_safetensors(tensors, header))


def load_model(path: str | os.PathLike[str]) -> MulticlassSVC:
    """Read an estimator from a file of ``save_model``.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MulticlassSVC
        Fitted, without history.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, no model, or of a newer version.
    OSError
        If the file cannot be read.
    """
    tensors, model, _ = _read(Path(path))
    try:
        return _unpack(tensors, model)
    except (KeyError, TypeError, ValueError) as error:
        raise _invalid(path, f"its contents do not fit together ({error})") from None


def describe_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Tell what a model file holds.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict
        JSON-ready: formulation, loss, C, n_classes, n_features, density, dtype, n_iter,
        certificate, format_version, version.

    Raises
    ------
    ValueError, OSError
        As ``load_model``.
    """
    estimator = load_model(path)
    header = _read(Path(path))[2]
    coef = estimator.coef_
    return {
        "formulation": estimator.formulation,
        "loss": estimator.loss,
        "C": estimator.C,
        "n_classes": len(estimator.classes_),
        "n_features": estimator.n_features_in_,
        "density": float(np.count_nonzero(coef) / max(1, coef.size)),
        "dtype": str(coef.dtype),
        "n_iter": estimator.n_iter_,
        "certificate": estimator.certificate_.as_dict(),
        "format_version": int(header["format_version"]),
        "version": header.get("version", ""),
    }


def _pack(estimator: MulticlassSVC) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    params = estimator.get_params()
    if not isinstance(params["random_state"], int | None):
        params["random_state"] = None
    if isinstance(params["class_weight"], dict):
        params["class_weight"] = {
            "items": [[_plain(c), _plain(w)] for c, w in params["class_weight"].items()]
        }
    model: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "params": {name: _plain(value) for name, value in params.items()},
        "certificate": estimator.certificate_.as_dict(),
        "n_iter": estimator.n_iter_,
    }
    tensors = {
        "weights": np.ascontiguousarray(estimator.coef_),
        "intercept": np.ascontiguousarray(estimator.intercept_),
    }
    classes = estimator.classes_
    if classes.dtype.kind in "iufb":
        tensors["classes"] = classes
    elif all(isinstance(c, str) for c in classes.tolist()):
        model["classes"] = classes.tolist()
        model["classes_are_objects"] = classes.dtype.kind == "O"
    else:
        raise ValueError(f"classes must be numbers or strings to be saved, not {classes.dtype}")
    if hasattr(estimator, "feature_names_in_"):
        model["feature_names"] = estimator.feature_names_in_.tolist()
    return tensors, model


def _plain(value: Any) -> Any:
    """Return NumPy scalars as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _unpack(tensors: dict[str, NDArray[Any]], model: dict[str, Any]) -> MulticlassSVC:
    weights, intercept = tensors["weights"], tensors["intercept"]
    params = dict(model["params"])
    if isinstance(params.get("class_weight"), dict):
        params["class_weight"] = dict(params["class_weight"]["items"])
    estimator = MulticlassSVC(**params)
    estimator._validate_params()
    classes = _classes(tensors, model)
    n_scores = 1 if len(classes) == 2 else len(classes)
    if weights.ndim != 2 or weights.dtype.kind != "f" or weights.shape[0] != n_scores:
        raise ValueError(f"{len(classes)} classes, weights of shape {weights.shape}")
    if intercept.shape != (n_scores,) or len(classes) < 2:
        raise ValueError(f"{len(classes)} classes, intercepts of shape {intercept.shape}")
    estimator.coef_, estimator.intercept_, estimator.classes_ = weights, intercept, classes
    estimator.certificate_ = Certificate(**{k: float(v) for k, v in model["certificate"].items()})
    estimator.n_iter_ = int(model["n_iter"])
    estimator.n_features_in_ = weights.shape[1]
    if "feature_names" in model:
        estimator.feature_names_in_ = _names(model["feature_names"], weights.shape[1])
    return estimator


def _classes(tensors: dict[str, NDArray[Any]], model: dict[str, Any]) -> NDArray[Any]:
    if "classes" in tensors:
        classes = tensors["classes"]
    else:
        names = model["classes"]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("class names must be strings")
        classes = np.array(names, dtype=object if model["classes_are_objects"] else np.str_)
    if classes.ndim != 1 or len(np.unique(classes)) != len(classes):
        raise ValueError("classes must be distinct")
    return classes


def _names(names: list[str], n_features: int) -> NDArray[Any]:
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{n_features} features, {len(names)} names")
    return np.array(names, dtype=object)


def _write_whole(path: Path, content: bytes) -> None:
    """Write under a temporary name and rename, so that no reader ever sees half a file."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any], dict[str, str]]:
    """Tensors, model and header of a file, checked as far as they can be without each other."""
    with path.open("rb"):  # a missing file, a folder, a lack of permission: OSError with the name
        pass
    try:
        with safetensors.safe_open(path, framework="np") as file:
            header = file.metadata() or {}
            _check_header(path, header)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, TypeError, KeyError) as error:
        raise _invalid(path, f"it is damaged, truncated or no model file ({error})") from None
    if header.get("checksum") != _checksum(tensors):
        raise _invalid(path, "its contents are damaged: the checksum differs")
    try:
        model = json.loads(header["model"])
    except (KeyError, ValueError, RecursionError) as error:
        raise _invalid(path, f"its header is damaged ({error})") from None
    if not isinstance(model, dict) or model.get("estimator") != MulticlassSVC.__name__:
        raise _invalid(path, "it holds no estimator that this version knows")
    return tensors, model, header


def _checksum(tensors: dict[str, NDArray[Any]]) -> str:
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(np.ascontiguousarray(tensors[name]).view(np.uint8).data, total)
    return f"{total:08x}"


def _check_header(path: Path, header: dict[str, str]) -> None:
    if header.get("format") != "manyclass":
        raise _invalid(path, "it is a safetensors file of something else")
    version = header.get("format_version", "")
    if not version.isdecimal():
        raise _invalid(path, "its format version is damaged")
    if int(version) > FORMAT_VERSION:
        raise ValueError(
            f"{path}: model file of format {version}, written by manyclass "
            f"{header.get('version', '?')}; this version reads up to {FORMAT_VERSION}: upgrade"
        )


def _invalid(path: str | os.PathLike[str], why: str) -> ValueError:
    return ValueError(
        f"{os.fspath(path)}: cannot be read as a manyclass model: {why}; save it again"
    )
