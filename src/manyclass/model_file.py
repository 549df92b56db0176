"""Model files: safetensors with the rest of the model in the header. Loading one runs no code.

Format. Tensors: ``weights`` (features x scores, C order, as training and prediction use them; one
column when binary; float32 or float64) or, of a sparse model, the same as CSR:
``weights.indptr`` (features + 1, int64), ``weights.classes`` (int32, ascending for each feature)
and ``weights.values``; ``intercept`` (scores,), and ``classes`` (ascending) when these are numbers
(int64, float64, bool or their kin). Header, every value a string: ``format`` = "manyclass",
``format_version``, ``version``, ``model`` (JSON: estimator, params, certificate or null, n_iter,
and class names when they are strings, feature names when there were any), ``checksum`` (CRC-32 of
the tensors in the order of their names). Version 1 has neither sparse weights nor a certificate
that is null.

A dense model is read into memory. A sparse one stays in its file, mapped; loading looks at all of
it in one go for the checksum and once more, now in memory if there is enough, for its structure.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import struct
import zlib
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.utils.validation import check_is_fitted

from manyclass.coefficients import SparseCoefficients
from manyclass.console import replacement
from manyclass.estimators import MulticlassSVC
from manyclass.formulations import FORMULATIONS
from manyclass.mapped_tensors import map_vectors
from manyclass.solution import Certificate
from manyclass.sparsity import count_nonzero
from manyclass.version import __version__

FORMAT_VERSION = 2
SPARSE = ("weights.indptr", "weights.classes", "weights.values")
CHECKSUM_PART = 1 << 26  # bytes between which Ctrl-C is heard
# An array of strings takes 4 bytes for each character of the longest one, for every one: class
# names that would need more than this become Python strings.
MAX_NAME_BYTES = 64 << 20


def save_model(path: str | os.PathLike[str], estimator: MulticlassSVC) -> None:
    """Write a fitted estimator to a file.

    The file appears whole or not at all: it is written under a temporary name in the same folder
    and renamed. A link is followed, and the permissions of an existing file stay. Not kept: the
    history, what warm starts need, and a ``random_state`` that is no int.

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
        If the classes or parameters are of a kind that the file cannot hold, or the weights are
        not finite.
    OSError
        If the file cannot be written, or there is a folder, device or pipe of that name.

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
    tensors, model = _pack(estimator)
    try:
        text = json.dumps(model)
        _unpack(tensors, json.loads(text))  # what is written can be read
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ValueError(f"the model cannot be saved: {_one_line(error)}") from error
    header = {
        "format": "manyclass",
        "format_version": str(_format_version(tensors, model)),
        "version": __version__,
        "model": text,
        "checksum": _checksum(tensors),
    }
    with replacement(os.fspath(path)) as temporary:
        try:
            save_file(tensors, temporary, header)
        except safetensors.SafetensorError as error:
            raise _system_error(error) from None


def load_model(path: str | os.PathLike[str]) -> MulticlassSVC:
    """Read an estimator from a file of ``save_model``.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MulticlassSVC
        Fitted, without history. The weights of a sparse model stay in the file, mapped into memory:
        the file may be replaced or removed, but must not be overwritten in its place while the
        model is in use (``save_model`` never does that).

    Raises
    ------
    ValueError
        If the file is truncated, damaged, no model, or of a newer version.
    OSError
        If the file cannot be read.
    """
    return _load(Path(path))[0]


def describe_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Tell what a model file holds.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict
        JSON-ready: formulation, loss, C, n_classes, n_features, density, n_nonzero, sparse, dtype,
        n_iter, certificate (None for weights that were left out after training), format_version,
        version.

    Raises
    ------
    ValueError, OSError
        As ``load_model``.
    """
    estimator, header = _load(Path(path))
    coef, proof = estimator._coefficients, estimator.certificate_
    n_nonzero = count_nonzero(coef)
    return {
        "formulation": estimator.formulation,
        "loss": estimator.loss,
        "C": estimator.C,
        "n_classes": len(estimator.classes_),
        "n_features": estimator.n_features_in_,
        "density": n_nonzero / (coef.shape[0] * coef.shape[1]),
        "n_nonzero": n_nonzero,
        "sparse": isinstance(coef, SparseCoefficients),
        "dtype": str(coef.dtype),
        "n_iter": estimator.n_iter_,
        "certificate": proof.as_dict() if proof else None,
        "format_version": int(header["format_version"]),
        "version": header.get("version", ""),
    }


def _load(path: Path) -> tuple[MulticlassSVC, dict[str, str]]:
    """Read an estimator and the header of its file."""
    tensors, model, header = _read(path)
    try:
        return _unpack(tensors, model), header
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise _invalid(path, f"its contents do not fit together ({_one_line(error)})") from None


def _pack(estimator: MulticlassSVC) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    params = estimator.get_params()
    del params["communicator"]  # belongs to a run, not to a model
    if not isinstance(params["random_state"], int | None):
        params["random_state"] = None
    if isinstance(params["class_weight"], dict):
        params["class_weight"] = {
            "items": [[_plain(c), _plain(w)] for c, w in params["class_weight"].items()]
        }
    model: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "params": {name: _plain(value) for name, value in params.items()},
        "certificate": estimator.certificate_.as_dict() if estimator.certificate_ else None,
        "n_iter": estimator.n_iter_,
    }
    tensors = {
        **_weight_tensors(estimator._coefficients),
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


def _weight_tensors(coef: NDArray[Any] | SparseCoefficients) -> dict[str, NDArray[Any]]:
    """Return the weights by feature, without a copy if they are as training leaves them."""
    if isinstance(coef, SparseCoefficients):
        return dict(zip(SPARSE, (coef.indptr, coef.classes, coef.values), strict=True))
    return {"weights": np.ascontiguousarray(coef.T)}


def _format_version(tensors: dict[str, NDArray[Any]], model: dict[str, Any]) -> int:
    """Return the first version that knows what the model holds."""
    return 1 if "weights" in tensors and model["certificate"] else 2


def _plain(value: Any) -> Any:
    """Return NumPy scalars as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _unpack(tensors: dict[str, NDArray[Any]], model: dict[str, Any]) -> MulticlassSVC:
    """Put an estimator together; any odd content is a ValueError or another mishap of Python."""
    estimator = MulticlassSVC(**_params(model["params"]))
    _check_params(estimator)
    classes = _classes(tensors, model)
    coef, intercept = _coefficients(tensors, len(classes)), tensors["intercept"]
    _check_intercept(intercept, len(classes))
    estimator._coefficients = coef
    estimator.intercept_, estimator.classes_ = intercept, classes
    estimator.certificate_ = _certificate(model["certificate"])
    estimator.n_iter_ = _n_iter(model["n_iter"])
    estimator.n_features_in_ = coef.shape[1]
    if "feature_names" in model:
        names = _texts(model["feature_names"], "feature names")
        if len(names) != coef.shape[1]:
            raise ValueError(f"{coef.shape[1]} features, {len(names)} names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _params(stored: dict[str, Any]) -> dict[str, Any]:
    params = dict(stored)
    if isinstance(params.get("class_weight"), dict):
        params["class_weight"] = dict(params["class_weight"]["items"])
    return params


def _check_params(estimator: MulticlassSVC) -> None:
    estimator._validate_params()
    for name in ("C", "tol", "intercept_scaling"):
        if not math.isfinite(getattr(estimator, name)):
            raise ValueError(f"{name} is not finite")
    if estimator.n_jobs == 0:
        raise ValueError("n_jobs is 0")
    if estimator.loss not in FORMULATIONS[estimator.formulation].losses():
        raise ValueError(f"{estimator.loss} does not go with {estimator.formulation}")


def _n_scores(n_classes: int) -> int:
    return 1 if n_classes == 2 else n_classes


def _coefficients(
    tensors: dict[str, NDArray[Any]], n_classes: int
) -> NDArray[Any] | SparseCoefficients:
    if "weights" in tensors:
        weights = tensors["weights"]
        wrong = weights.ndim != 2 or weights.shape[0] == 0
        if wrong or weights.shape[1] != _n_scores(n_classes):
            raise ValueError(f"{n_classes} classes, weights of shape {weights.shape}")
        _check_numbers(weights)
        return weights.T
    indptr, entries, values = (tensors[name] for name in SPARSE)
    sparse = SparseCoefficients(indptr, entries, values, _n_scores(n_classes))
    if sparse.shape[1] == 0:
        raise ValueError(f"{n_classes} classes, weights of no feature")
    if not sparse.core.finite():
        raise ValueError("weights or intercepts are not finite")
    return sparse


def _check_intercept(intercept: NDArray[Any], n_classes: int) -> None:
    if intercept.shape != (_n_scores(n_classes),):
        raise ValueError(f"{n_classes} classes, intercepts of shape {intercept.shape}")
    _check_numbers(intercept)


def _check_numbers(array: NDArray[Any]) -> None:
    if array.dtype not in (np.float32, np.float64):
        raise ValueError(f"weights or intercepts of type {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError("weights or intercepts are not finite")


def _classes(tensors: dict[str, NDArray[Any]], model: dict[str, Any]) -> NDArray[Any]:
    if "classes" in tensors:
        classes = tensors["classes"]
        if classes.ndim != 1 or classes.dtype.kind not in "iufb":
            raise ValueError(f"classes of type {classes.dtype}, shape {classes.shape}")
        ascending = bool((classes[1:] > classes[:-1]).all())  # false for NaN
    else:
        names = _texts(model["classes"], "class names")
        widest = 4 * max(map(len, names), default=0)
        as_objects = model["classes_are_objects"] or widest * len(names) > MAX_NAME_BYTES
        classes = np.array(names, dtype=object if as_objects else np.str_)
        ascending = all(a < b for a, b in pairwise(names))
    if len(classes) < 2 or not ascending:
        raise ValueError("classes must be two at least, distinct and ascending")
    return classes


def _texts(texts: Any, what: str) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{what} must be a list of strings")
    for text in texts:
        text.encode()  # UnicodeEncodeError, a ValueError, for half a surrogate pair
    return texts


def _certificate(stored: dict[str, Any] | None) -> Certificate | None:
    if stored is None:
        return None
    numbers = {field.name: stored[field.name] for field in fields(Certificate)}
    ok = all(type(v) in (int, float) and math.isfinite(v) for v in numbers.values())
    if len(stored) != len(numbers) or not ok:
        raise ValueError("the certificate must be five finite numbers")
    return Certificate(**{name: float(value) for name, value in numbers.items()})


def _n_iter(stored: Any) -> int:
    if type(stored) is not int or not 0 <= stored < 2**63:
        raise ValueError("n_iter must be an integer that is not negative")
    return stored


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any], dict[str, str]]:
    """Tensors, model and header of a file, checked as far as they can be without each other."""
    if not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):  # reading may never end
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    with path.open("rb") as raw:  # a folder, a lack of permission: OSError with the name
        try:
            with safetensors.safe_open(path, framework="np") as file:
                header = file.metadata() or {}
                _check_header(path, header)
                names = set(file.keys())
                tensors = {name: file.get_tensor(name) for name in names.difference(SPARSE)}
        except (safetensors.SafetensorError, TypeError, KeyError, AttributeError) as error:
            raise _damaged(path, error) from None
        try:
            tensors.update(map_vectors(raw, names.intersection(SPARSE)))
        except (ValueError, TypeError, KeyError, RecursionError, struct.error) as error:
            raise _damaged(path, error) from None
    if header.get("checksum") != _checksum(tensors):
        raise _invalid(path, "its contents are damaged: the checksum differs")
    try:
        model = json.loads(header["model"])
    except (KeyError, ValueError, RecursionError) as error:
        raise _invalid(path, f"its header is damaged ({_one_line(error)})") from None
    if not isinstance(model, dict) or model.get("estimator") != MulticlassSVC.__name__:
        raise _invalid(path, "it holds no estimator that this version knows")
    return tensors, model, header


def _checksum(tensors: dict[str, NDArray[Any]]) -> str:
    total = 0
    for name in sorted(tensors):
        content = np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8)
        for begin in range(0, len(content), CHECKSUM_PART):
            total = zlib.crc32(content[begin : begin + CHECKSUM_PART].data, total)
    return f"{total:08x}"


def _check_header(path: Path, header: dict[str, str]) -> None:
    if header.get("format") != "manyclass":
        raise _invalid(path, "it is a safetensors file of something else")
    version = header.get("format_version", "")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", version):
        raise _invalid(path, "its format version is damaged")
    if int(version) > FORMAT_VERSION:
        writer = _one_line(header.get("version", "?"))
        raise ValueError(
            f"{path}: model file of format {version}, written by manyclass "
            f"{writer}; this version reads up to {FORMAT_VERSION}: upgrade"
        )


def _invalid(path: Path, why: str) -> ValueError:
    return ValueError(
        f"{os.fspath(path)}: cannot be read as a manyclass model: {why}; save it again"
    )


def _damaged(path: Path, error: Exception) -> ValueError:
    return _invalid(path, f"it is damaged, truncated or no model file ({_one_line(error)})")


def _one_line(what: object) -> str:
    """Return a text that may come from a hostile file, short and printable."""
    text = " ".join(str(what)[:1000].split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 300 else f"{text[:300]}..."


def _system_error(error: safetensors.SafetensorError) -> OSError:
    """Return what the system said to safetensors, which keeps it in its message."""
    code = re.search(r"\(os error (\d+)\)", str(error))
    number = int(code[1]) if code else errno.EIO
    return OSError(number, os.strerror(number))
