"""Model files: safetensors with the other content in the header. Loading a file runs no code.

Format. Tensors: ``weights`` (features x scores, C order, as in training and prediction; one column
when binary; float32 or float64) or, for a sparse model, the same as CSR:
``weights.indptr`` (features + 1, int64), ``weights.classes`` (int32, ascending for each feature)
and ``weights.values``; ``intercept`` (scores,), ``classes`` (ascending) if these are numbers
(int64, float64, bool or similar), and ``history`` (records, fields; float64) if there is one, which
readers may ignore. Header, every value a string: ``format`` = "manyclass",
``format_version``, ``version``, ``model`` (JSON: estimator, params, n_iter; certificate or null, or
n_steps, weight_seen and objective or null; class names if they are strings, feature names if there
are any), ``checksum`` (CRC-32 of each tensor, in the order of their names), ``header_checksum``
(CRC-32 of the header with its length, computed with eight zeros instead of this checksum). A
MultilabelSVC has ``thresholds`` (labels,), a score for each label, and labels in any order. A model
with costs of mistakes has ``costs`` (classes, classes; float64). For estimators with CV, see
search_schema.py; for scikit-learn models that contain such classifiers, see composites.py.

A model is read into memory: later changes to its file do not affect it. Only a large sparse model
stays memory-mapped; loading checks its checksum and structure.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TypeAlias

from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from manyclass.estimators.coefficients import coefficients_of
from manyclass.io.atomic import open_regular
from manyclass.io.tensors import (
    PART,
    TensorFormat,
    checksum,
    fill_tensors,
    one_line,
    read_header,
    read_tensors,
    write_tensors,
)
from manyclass.persistence.composites import (
    Model,
    check_composite,
    classifier_of,
    describe_composite,
    describe_steps,
    is_composite,
    last_of,
    pack_composite,
    unpack_composite,
)
from manyclass.persistence.model_schema import KINDS, SPARSE
from manyclass.persistence.search_schema import (
    CLASSIFIERS,
    is_own,
    pack_classifier,
    unpack_classifier,
)
from manyclass.prediction.scoring import count_nonzero
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.utils.machine import available_memory
from manyclass.utils.types import Array, Settings

FORMAT = TensorFormat(
    name="manyclass",
    version=1,
    kind="model file",
    damaged_message="cannot be read as a manyclass model: {why}; save it again",
    other_message="cannot be read as a manyclass model: it holds {what}",
)
Source: TypeAlias = str | os.PathLike[str] | IO[bytes]
# A sparse model is mapped if its file has more bytes, or a larger share of the memory, than this.
LARGE, SHARE_OF_MEMORY = 1 << 30, 0.25
# Errors of inconsistent contents.
ODDITIES = (LookupError, TypeError, ValueError, OverflowError, AttributeError)


def save_model(path: Source, estimator: Model) -> None:
    """Save a fitted estimator, or a scikit-learn model that contains one, to a file.

    The file is written completely or not at all: it is written under a temporary name in the same
    folder and renamed. Links are followed, and the permissions of an existing file are kept. At
    most 400 records of ``history_`` are stored, evenly spaced. The file does not contain the state
    for warm starts, nor parameters that describe a run: ``n_jobs``, ``verbose``, ``memory``, the
    parameters of checkpoints and processes, and a ``random_state`` that is not an int.

    Parameters
    ----------
    path : str, path-like or binary file
        File to write; an existing file is replaced. A file object, such as ``io.BytesIO``, is
        written to at its position.
    estimator : estimator
        A fitted classifier of manyclass, also one with CV; or a Pipeline, GridSearchCV,
        CalibratedClassifierCV or ensemble of scikit-learn that contains such classifiers (this
        needs skops: ``pip install skops``). In estimators with CV, a ``cv`` that is not a number
        or a ``scoring`` that is not a name is not stored. The other steps must be scikit-learn's,
        of types whose contents ``load_model`` can check (no trees, neighbors or kernel machines),
        with functions of NumPy and SciPy only.

    Raises
    ------
    TypeError
        If `estimator` is of a different type, or a part cannot be stored; the message names it.
    ImportError
        If `estimator` is a scikit-learn model and skops is not installed.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the types of classes or parameters cannot be stored, or the weights are not finite.
    OSError
        If the file cannot be written, or a folder, device or pipe has this name.

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
    _check_target(path)
    check_kind(estimator)
    check_is_fitted(estimator)
    if not is_own(estimator):
        check_composite(estimator)
    tensors, model = (pack_classifier if is_own(estimator) else pack_composite)(estimator)
    metadata = metadata_of(tensors, model)
    if isinstance(path, str | os.PathLike):
        write_tensors(path, tensors, metadata)
        return
    with tempfile.TemporaryFile() as whole:
        fill_tensors(whole, tensors, metadata)
        whole.seek(0)
        while part := memoryview(whole.read(PART)):
            while part:  # raw files may write only a part
                part = part[path.write(part) or 0 :]


def _check_target(path: object) -> None:
    is_path = isinstance(path, str | os.PathLike)
    if not is_path and (not hasattr(path, "write") or isinstance(path, io.TextIOBase)):
        raise TypeError(
            f"save_model takes a path or a file opened in mode 'wb', not {path!r}; the path comes "
            "first: save_model(path, model)"
        )


def check_kind(estimator: object) -> None:
    """Refuse what a model file cannot hold."""
    if is_own(estimator) or is_composite(estimator):
        return
    hint = ""
    if isinstance(estimator, Pipeline | BaseSearchCV):
        hint = f" of {type(last_of(estimator)).__name__}"
    elif isinstance(estimator, type):
        hint = ", fitted, not the class"
    elif hasattr(estimator, "best_estimator_"):
        hint = "; save its best_estimator_"
    elif hasattr(estimator, "to_local"):
        hint = "; save its to_local()"
    name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    raise TypeError(
        f"save_model takes a {' or a '.join(CLASSIFIERS)}, or scikit-learn's own Pipeline, "
        f"GridSearchCV or the like with one of them, not {name}{hint}"
    )


def metadata_of(tensors: dict[str, Array], model: Settings) -> dict[str, str]:
    """Return the metadata of a model's file, but for the checksums; it can be read again."""
    try:
        text = json.dumps(model)
        _unpacked(tensors, json.loads(text))
    except ODDITIES as error:
        raise ValueError(f"the model cannot be saved: {one_line(error)}") from error
    return FORMAT.metadata(model=text)


def load_model(path: Source) -> Model:
    """Load a model from a file of ``save_model``.

    Loading does not run code from the file. But the parameters of pipeline steps come from the
    file: a file from an untrusted source may cause errors and wrong predictions, and a
    ``token_pattern`` may take exponential time on some texts (``manyclass info`` shows non-default
    parameters).

    Parameters
    ----------
    path : str, path-like or binary file
        A file object is read from its position to its end.

    Returns
    -------
    MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier, one with CV, or another
        The saved model, fitted; without ``history_`` if the file has none. The weights of a sparse
        model larger than 1 GiB, or than a quarter of the memory, stay in the file, memory-mapped:
        while the model is in use, such a file may be replaced or removed, but must not be
        overwritten in place, as ``cp`` does (``save_model`` replaces it).

    Raises
    ------
    ValueError
        If the file is truncated, damaged, not a model, or of a newer version.
    ImportError
        If the file holds a scikit-learn model and skops is not installed.
    OSError
        If the file cannot be read.
    """
    return _load(path)[0]


def describe_model(path: Source) -> Settings:
    """Describe a model file, ready for JSON.

    ``seconds`` of training is None if the file lacks it, ``certificate`` is None if weights were
    removed after training. A StochasticClassifier has alpha, n_steps, weight_seen and objective
    (None if it was not computed) in place of formulation, C, certificate and temperature, which are
    None. ``costs`` are the form of the costs of mistakes, their size and scaling, or None.
    ``steps`` are the steps of a pipeline before the classifier: name, kind, non-default params, and
    columns within a ColumnTransformer. ``composite`` describes a model that contains several
    classifiers, such as "VotingClassifier of 5 classifiers"; the other entries then describe the
    first one.
    """
    loaded, metadata = _load(path)
    estimator, composite = classifier_of(loaded), describe_composite(loaded)
    coef, name = coefficients_of(estimator), type(estimator).__name__
    n_nonzero = count_nonzero(coef)
    history = getattr(estimator, "history_", None)
    return {
        "estimator": type(classifier_of(loaded) if composite else last_of(loaded)).__name__,
        "loss": estimator.loss,
        "n_classes": len(estimator.classes_),
        "n_features": estimator.n_features_in_,
        "density": n_nonzero / (coef.shape[0] * coef.shape[1]),
        "n_nonzero": n_nonzero,
        "sparse": isinstance(coef, SparseCoefficients),
        "dtype": str(coef.dtype),
        "n_iter": estimator.n_iter_,
        "seconds": history[-1].seconds if history else None,
        **KINDS[name].describe(estimator),
        "steps": describe_steps(loaded),
        "composite": composite,
        "format_version": int(metadata["format_version"]),
        "version": metadata.get("version", ""),
    }


def _unpacked(tensors: dict[str, Array], model: Settings) -> Model:
    if "classifiers" in model:
        return unpack_composite(tensors, model)
    return unpack_classifier(tensors, model)


def _load(source: Source) -> tuple[Model, dict[str, str]]:
    """Load an estimator and the metadata of its file."""
    tensors, model, metadata = read_parts(source)
    try:
        return _unpacked(tensors, model), metadata
    except ODDITIES as error:
        raise FORMAT.damaged(
            _name_of(source), f"its contents are inconsistent ({one_line(error)})"
        ) from None


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    """Open a file for reading; a file object is first copied to a temporary file."""
    if isinstance(source, str | os.PathLike):
        with open_regular(source) as file:  # a folder, a lack of permission: OSError with the name
            yield file
        return
    if not hasattr(source, "read") or isinstance(source.read(0), str):
        raise TypeError(f"load_model takes a path or a file opened in mode 'rb', not {source!r}")
    with tempfile.TemporaryFile() as copied:
        shutil.copyfileobj(source, copied, PART)
        copied.seek(0)
        yield copied


def _name_of(source: Source) -> Path:
    """Return the name of a file for messages."""
    return Path(source) if isinstance(source, str | os.PathLike) else Path("the file object")


def read_parts(
    source: Source, form: TensorFormat = FORMAT
) -> tuple[dict[str, Array], Settings, dict[str, str]]:
    """Tensors, model and metadata of a file, checked as far as they can be without each other."""
    path = _name_of(source)
    with _opened(source) as file:
        try:
            header = read_header(file)
        except ValueError as error:
            raise _damaged(path, error, form) from None
        form.check(path, header)
        try:
            tensors = _read(file, set(header.tensors))
        except ValueError as error:
            raise _damaged(path, error, form) from None
    metadata = header.metadata
    if metadata.get("checksum") != checksum(tensors):
        raise form.damaged(path, "its contents are damaged: the checksum differs")
    try:
        model = json.loads(metadata["model"])
    except (KeyError, ValueError, RecursionError) as error:
        raise form.damaged(path, f"its header is damaged ({one_line(error)})") from None
    if not (isinstance(model, dict) and _is_known(model)):
        raise form.damaged(path, "it holds no estimator that this version supports")
    return tensors, model, metadata


def _is_known(model: Settings) -> bool:
    return "classifiers" in model or str(model.get("estimator")) in CLASSIFIERS


def _read(file: IO[bytes], names: set[str]) -> dict[str, Array]:
    """Read tensors; sparse weights of large files are mapped."""
    large = os.fstat(file.fileno()).st_size > min(LARGE, SHARE_OF_MEMORY * available_memory())
    sparse = {name for name in names if name.rpartition("/")[2] in SPARSE}
    return read_tensors(file, names, sparse if large else ())


def _damaged(path: Path, error: Exception, form: TensorFormat) -> ValueError:
    why = f"it is damaged, truncated or not a {form.kind} ({one_line(error)})"
    return form.damaged(path, why)
