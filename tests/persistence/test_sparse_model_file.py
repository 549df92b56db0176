"""Files of sparse models: read or mapped, checked, and no way to do harm."""

import contextlib
import json
import mmap
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.io.tensors import header_bytes, read_header, with_checksum, write_tensors
from manyclass.persistence import model_file, model_schema
from manyclass.persistence.model_file import describe_model
from tests.helpers.memory import peak_of
from tests.helpers.model_files import NAMES, X, Y, refused, rewritten, with_tensors


def fitted(y=Y, threshold=0.3, dtype=np.float64):
    return MulticlassSVC(random_state=0).fit(X.astype(dtype), y).sparsify(threshold)


@pytest.mark.parametrize("y", [Y, NAMES[Y], Y > 0], ids=["numbers", "names", "binary"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 100.0])
def test_round_trip(y, dtype, threshold, path):
    model = fitted(y, threshold, dtype)
    save_model(path, model)
    loaded = load_model(path)
    assert (loaded.coef_ != model.coef_).nnz == 0
    assert loaded.coef_.dtype == dtype
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.certificate_ == model.certificate_
    save_model(path, loaded)  # over the file that it is mapped from
    assert (load_model(path).predict_top_k(X, 2) == loaded.predict_top_k(X, 2)).all()
    assert isinstance(loaded.densify().fit(X, y).coef_, np.ndarray)


def test_dense_models_whose_weights_were_thresholded(path):
    save_model(path, fitted().densify())
    assert load_model(path).certificate_ is None
    save_model(path, fitted(threshold=0.0).densify())
    assert load_model(path).certificate_ is not None


def test_what_becomes_of_the_file_does_no_harm(path):
    """As ``cp`` does it: shorter at once, and other content then."""
    model = fitted()
    save_model(path, model)
    loaded = load_model(path)
    with path.open("r+b") as file:
        file.truncate(0)
    assert (loaded.predict(X) == model.predict(X)).all()
    path.write_bytes(bytes(100_000))
    assert (loaded.predict(X) == model.predict(X)).all()


def test_large_weights_stay_in_the_file(path, monkeypatch):
    monkeypatch.setattr(model_file, "LARGE", 1 << 20)
    d, rng = 200_000, np.random.default_rng(0)
    model = MulticlassSVC(random_state=0, tol=1.0).fit(np.eye(10, 1000), np.arange(10))
    model.coef_ = sp.random_array((10, d), density=0.3, random_state=rng)
    model.n_features_in_ = d

    def back():
        save_model(path, model)
        return load_model(path)

    loaded, peak = peak_of(back)
    assert peak < 12 * model._coefficients.nnz / 3
    arrays = loaded._coefficients
    for array in (arrays.indptr, arrays.classes, arrays.values):
        assert not array.flags.writeable
        while not isinstance(array, mmap.mmap):
            array = array.base
    path.unlink()
    rows = sp.random_array((5, d), density=1e-3, random_state=rng).tocsr()
    assert (loaded.predict(rows) == model.predict(rows)).all()


def test_description_and_command_line(path, run, tmp_path):
    model = fitted(threshold=0.3)
    save_model(path, model)
    about = json.loads(run.works("info", path, "--json")[0])
    assert about == describe_model(path)
    assert (about["sparse"], about["format_version"], about["certificate"]) == (True, 1, None)
    assert about["n_nonzero"] == model.coef_.nnz == pytest.approx(12 * about["density"])
    lines = run.works("info", path)
    share = 100 * about["density"]
    weights = f"weights      sparse float64, {share:.3g} % non-zero ({about['n_nonzero']})"
    assert weights in lines
    assert "certificate  none: small weights were removed after training" in lines
    dump_svmlight_file(X, Y, str(tmp_path / "data"), zero_based=False)
    scores = json.loads(run.works("evaluate", tmp_path / "data", path, "--json")[0])
    assert scores["accuracy"] == pytest.approx(model.score(X, Y))
    run.works("predict", tmp_path / "data", path, tmp_path / "out", "--top-k", "2")
    rows = [line.split("\t") for line in (tmp_path / "out").read_text().splitlines()]
    assert rows == model.predict_top_k(X, 2).astype(str).tolist()


def test_damaged_arrays_with_a_right_checksum_never_do_harm(path):
    """As a hostile writer would make them: every byte of the three arrays, changed in turn."""
    save_model(path, fitted())
    tensors, _, metadata = model_file.read_parts(path)
    rng = np.random.default_rng(0)
    for name in model_schema.SPARSE:
        for at in range(0, tensors[name].nbytes, 2):
            bytes_ = np.array(tensors[name]).view(np.uint8)
            bytes_[at] ^= rng.integers(1, 256)
            write_tensors(path, {**tensors, name: bytes_.view(tensors[name].dtype)}, metadata)
            with contextlib.suppress(ValueError):
                assert load_model(path).predict(X).shape == (150,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights.classes": np.zeros(3, np.int32)}, "shapes disagree"),
        ({"weights.classes": np.zeros(2, np.int32)[:0]}, "shapes disagree"),
        ({"weights.classes": np.zeros(2, np.int64)}, "types int64, int64"),
        ({"weights.values": np.zeros(2, np.float16)}, "not a vector of numbers|float16"),
        ({"weights.values": np.array([1.0, np.nan])}, "not finite"),
        ({"weights.values": np.zeros((1, 2))}, "not (a )?vector"),
        ({"weights.values": np.zeros(())}, "not (a )?vector"),
        ({"weights.indptr": np.zeros(0, np.int64)}, "shapes disagree"),
        ({"weights.indptr": np.array([0, 2, 1, 2, 2])}, "indptr is inconsistent"),
        ({"weights.indptr": np.array([0, 1, 2])}, "are inconsistent"),
        ({"intercept": np.zeros(2)}, "intercepts of shape"),
        ({"weights.values": None}, "weights.values"),
        ({"weights.indptr": None}, "weights.indptr"),
    ],
)
@pytest.mark.parametrize("large", [False, True], ids=["read", "mapped"])
def test_hostile_tensors(change, message, path, large, monkeypatch):
    monkeypatch.setattr(model_file, "LARGE", 0 if large else 1 << 20)
    save_model(path, MulticlassSVC().fit(X, NAMES[Y]))
    sparse = {
        "weights": None,
        "weights.indptr": np.array([0, 1, 2, 2, 2]),
        "weights.classes": np.array([0, 2], np.int32),
        "weights.values": np.ones(2),
    }
    with_tensors(path, sparse)
    rewritten(path, lambda _, model: model.update(feature_names=list("abcd")))
    assert load_model(path).coef_.nnz == 2
    with_tensors(path, change)
    refused(path, f"cannot be read as a manyclass model.*({message})")


@pytest.mark.parametrize("dtype", ["U8", "F32", "I32", [], {}, None])
def test_headers_that_lie_about_types(dtype, path):
    save_model(path, fitted())
    with path.open("rb") as file:
        header = read_header(file)
        values = file.read()
    header.tensors["weights.values"]["dtype"] = dtype
    path.write_bytes(header_bytes(header.tensors, header.metadata) + values)
    with pytest.raises(ValueError, match="cannot be read as a manyclass model"):
        load_model(path)


def test_unaligned_tensors_cannot_be_mapped(path, monkeypatch):
    save_model(path, fitted())
    monkeypatch.setattr(model_file, "LARGE", 0)
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    text = content[8 : 8 + size] + b" "
    header = with_checksum(struct.pack("<Q", len(text)) + text)
    path.write_bytes(header + content[8 + size :])
    with pytest.raises(ValueError, match=r"the offsets of .* in the header are invalid"):
        load_model(path)


def test_infinite_weights_are_not_saved(path):
    model = fitted()
    model.coef_ = sp.csr_array(np.full((3, 4), np.inf))
    with pytest.raises(ValueError, match="not finite"):
        save_model(path, model)
    assert not path.exists()


@pytest.mark.parametrize("large", [False, True], ids=["read", "mapped"])
def test_more_than_the_header_says(path, large, monkeypatch):
    monkeypatch.setattr(model_file, "LARGE", 0 if large else 1 << 20)
    save_model(path, fitted())
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(ValueError, match="does not match its header"):
        load_model(path)
