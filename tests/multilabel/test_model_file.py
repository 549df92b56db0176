"""Model files of MultilabelSVC."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import MultilabelSVC, load_model, save_liblinear, save_model
from manyclass.cli.commands import main
from manyclass.persistence.model_file import describe_model
from manyclass.persistence.model_schema import pack, unpack
from tests.helpers.damaged_files import check_flipped_bits, check_truncations

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))


def labels(k):
    return (RNG.random((40, k)) < 0.4).astype(int)


def sets_of(Y):
    return [{"abc"[c] for c in np.flatnonzero(row)} for row in Y]


def framed(Y):
    return pd.DataFrame(Y, columns=list("cab")[: Y.shape[1]])


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("weights", ["dense", "sparse"])
@pytest.mark.parametrize(
    "given",
    [
        np.asarray,
        sp.csr_array,
        lambda Y: pd.DataFrame(Y, columns=list("cab")[: Y.shape[1]]),
        sets_of,
    ],
    ids=["array", "csr", "frame", "sets"],
)
def test_round_trip(k, weights, given, tmp_path):
    model = MultilabelSVC(weights=weights, threshold="tuned", random_state=0)
    model.fit(X, given(labels(k)))
    save_model(tmp_path / "model", model)
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert loaded.predict_labels(X) == model.predict_labels(X)
    assert type(loaded.predict(X)) is type(model.predict(X))
    assert loaded.certificate_ == model.certificate_
    assert loaded.n_iter_ == model.n_iter_
    assert describe_model(tmp_path / "model")["formulation"] == "one_vs_rest"


def test_pipeline(tmp_path):
    pytest.importorskip("skops")
    model = make_pipeline(StandardScaler(), MultilabelSVC(random_state=0)).fit(X, labels(3))
    save_model(tmp_path / "model", model)
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), model.predict(X))


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model"
    save_model(path, MultilabelSVC(random_state=0).fit(X, sets_of(labels(3))))
    content = path.read_bytes()
    check_truncations(path)
    path.write_bytes(content)
    check_flipped_bits(path)


@pytest.mark.parametrize(
    "changed",
    [{"thresholds": np.zeros(2)}, {"thresholds": np.full(3, np.nan)}, {"intercept": np.zeros(2)}],
    ids=["few", "nan", "intercept"],
)
def test_tensors_that_do_not_fit_are_refused(changed):
    tensors, entry = pack(MultilabelSVC(random_state=0).fit(X, labels(3)))
    with pytest.raises(ValueError, match=r"thresholds|intercepts"):
        unpack(tensors | changed, entry)


def test_what_is_of_one_class_for_each_row_refuses_it(tmp_path, capsys):
    model = MultilabelSVC(random_state=0).fit(X, labels(3))
    with pytest.raises(TypeError, match="not MultilabelSVC"):
        save_liblinear(tmp_path / "out", model)
    path = str(tmp_path / "model")
    save_model(path, model)
    assert main(["info", path]) == 0
    assert "one_vs_rest" in capsys.readouterr().out
    assert main(["export", path, str(tmp_path / "out"), "--format", "liblinear"]) == 2
    assert "which LIBLINEAR files do not support; use --format onnx" in capsys.readouterr().err
