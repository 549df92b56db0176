"""Functions that write files take the path first; other orders raise an error that says so."""

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    save_data,
    save_liblinear,
    save_model,
    save_state,
    write_report,
)
from tests.helpers.cases import each

X, Y = np.eye(6)[:, :3] + 1.0, np.arange(6) % 3


@pytest.fixture(scope="module", name="model")
def model_fixture():
    return MulticlassSVC(warm_start=True, random_state=0).fit(X, Y)


@each("write", [save_model, save_state, save_liblinear, write_report])
def test_a_model_in_the_place_of_the_path(write, model, tmp_path):
    name = write.__name__
    message = (
        f"{name} takes a path.*, not MulticlassSVC.*the path comes first: {name}\\(path, model"
    )
    for path in (tmp_path / "new", str(tmp_path / "new")):
        with pytest.raises(TypeError, match=message):
            write(model, path)
    assert not any(tmp_path.iterdir())


def test_rows_in_the_place_of_the_path(tmp_path):
    path = tmp_path / "new"
    for arguments in ((X, Y, path), (X, path, Y), (X.tolist(), Y), (None, X, Y)):
        with pytest.raises(TypeError, match=r"the path comes first: save_data\(path, X, y\)"):
            save_data(*arguments)
    assert not any(tmp_path.iterdir())


def test_onnx_takes_no_path(model):
    pytest.importorskip("skl2onnx")
    from manyclass.onnx import to_onnx

    with pytest.raises(TypeError, match=r"not str; it takes no path: Path\(path\).write_bytes"):
        to_onnx("model.onnx", model)
    with pytest.raises(ValueError, match=r"dtype must be .*, not 'model.onnx'; it takes no path"):
        to_onnx(model, "model.onnx")
