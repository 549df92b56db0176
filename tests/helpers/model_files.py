"""Small models to save, and changed headers of their files."""

import io
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.io.tensors import header_bytes, read_header, write_tensors
from manyclass.persistence import model_file
from manyclass.persistence.model_file import describe_model

X, Y = load_iris(return_X_y=True)


NAMES = np.array(["setosa", "versicolor", "virginica"])


def fitted(y=Y, X=X, **params):
    return MulticlassSVC(random_state=0, **params).fit(X, y)


def stored(model):
    """The model, from a file that it was saved to."""
    file = io.BytesIO()
    save_model(file, model)
    file.seek(0)
    return load_model(file)


def with_tensors(path, changes):
    """Change tensors of a model file, or leave out those that are None; checksums are right."""
    tensors, _, metadata = model_file.read_parts(path)
    tensors = {name: value for name, value in {**tensors, **changes}.items() if value is not None}
    write_tensors(path, tensors, metadata)


def refused(path, message):
    """One clear error of a file that is not a model."""
    for read in (load_model, describe_model):
        with pytest.raises(ValueError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 1000


def without_seconds(path):
    """What a model file holds but for its history, which has the seconds of each epoch."""
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(path, "numpy") as file:
        names = sorted(set(file.keys()) - {"history"})
        tensors = tuple((name, file.get_tensor(name).tobytes()) for name in names)
        return file.metadata()["model"], tensors


def rewritten(path, change):
    """Change the header of a model file, whose checksum is right then."""
    with path.open("rb") as file:
        header = read_header(file)
    metadata, tensors = header.metadata, path.read_bytes()[len(header.content) :]
    before = metadata["model"]
    model = json.loads(before)
    change(metadata, model)
    if metadata["model"] == before:
        metadata["model"] = json.dumps(model)
    path.write_bytes(header_bytes(header.tensors, metadata) + tensors)
