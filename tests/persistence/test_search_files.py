"""Model files of estimators that have chosen C, and of file objects."""

import io

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVCCV,
    MultinomialLogisticRegressionCV,
    load_model,
    save_model,
)
from manyclass.cli import commands
from manyclass.persistence.model_file import describe_model
from tests.helpers.model_files import refused, rewritten, with_tensors

X, Y = load_iris(return_X_y=True)
GRID = [0.01, 0.1, 1.0, 100.0, 1e4]
SEARCHES = {
    "svc": MulticlassSVCCV(Cs=GRID, cv=3, random_state=0, class_weight={0: 1.0, 1: 2.0, 2: 1.0}),
    "logistic": MultinomialLogisticRegressionCV(Cs=np.array(GRID), cv=3, scoring="neg_log_loss"),
    "path": MulticlassSVCCV(Cs="path", C_range=(0.1, 1.0), cv=3, random_state=0),
    "means": MulticlassSVCCV(Cs=3, cv=StratifiedKFold(3), refit=False, random_state=0),
}


@pytest.fixture(name="fitted", scope="module", params=SEARCHES)
def fitted_fixture(request):
    return SEARCHES[request.param].fit(X, Y)


KEPT = "C_", "Cs_", "scores_", "gaps_", "fit_times_", "best_score_", "refit_time_"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A file of a search among five values of C in three folds."""
    path = tmp_path_factory.mktemp("search") / "model"
    save_model(path, clone(SEARCHES["svc"]).fit(X, Y))
    return path.read_bytes()


def test_what_goes_in_comes_out(fitted, path):
    save_model(path, fitted)
    loaded = load_model(path)
    assert type(loaded) is type(fitted)
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    for name in KEPT:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    assert repr(loaded.certificates_) == repr(fitted.certificates_)
    assert loaded.certificate_ == fitted.certificate_
    wanted = {**fitted.best_estimator_.get_params(), "n_jobs": None}
    assert loaded.best_estimator_.get_params() == wanted
    assert loaded.cv_results_["params"] == fitted.cv_results_["params"]
    assert describe_model(path)["estimator"] == type(fitted).__name__
    assert describe_model(path)["C"] == fitted.C_


def test_parameters_that_are_kept(fitted, path):
    save_model(path, fitted)
    before, after = fitted.get_params(), load_model(path).get_params()
    kept = set(before) - {"Cs", "cv"}
    assert {name: before[name] for name in kept} == {name: after[name] for name in kept}
    assert after["cv"] == (before["cv"] if isinstance(before["cv"], int) else None)
    assert after["Cs"] == (before["Cs"] if isinstance(before["Cs"], int | str) else GRID)


def test_a_loaded_search_can_be_trained_again(path, content):
    path.write_bytes(content)
    loaded = load_model(path)
    first = loaded.coef_.copy()
    np.testing.assert_array_equal(loaded.fit(X, Y).coef_, first)


def test_at_the_end_of_a_pipeline(path):
    pytest.importorskip("skops")
    search = MulticlassSVCCV(Cs=[0.1, 1.0], cv=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), search).fit(X, Y)
    save_model(path, pipeline)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))
    assert loaded[-1].C_ == search.C_


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(
        "".join(f"{y} 1:{x[2]} 2:{x[3]}\n" for x, y in zip(X, Y, strict=True))
    )
    for command in (
        "train data model -C auto --quiet",
        "predict data model out",
        "info model",
        "report model data -o page",
        "export model plain --format liblinear",
    ):
        assert commands.main(command.split()) == 0, capsys.readouterr()
    assert isinstance(load_model("model"), MulticlassSVCCV)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"search.Cs": np.array([1.0, 0.1])}, "ascending"),
        ({"search.Cs": np.array([-1.0, 0.1])}, "values of C"),
        ({"search.Cs": np.zeros(0)}, "values of C"),
        ({"search.Cs": np.ones(5, np.float32)}, "values of C"),
        ({"search.scores": np.zeros((3, 4))}, "scores of shape"),
        ({"search.scores": np.zeros(5)}, "scores of shape"),
        ({"search.gaps": np.zeros((2, 5))}, "different shapes"),
        ({"search.seconds": np.zeros((3, 5), np.int64)}, "different shapes"),
        ({"search.certificates": np.zeros((3, 5, 4))}, "certificates"),
        ({"search.certificates": -np.ones((3, 5, 6))}, "is negative"),
    ],
)
def test_hostile_tensors(change, message, path, content):
    path.write_bytes(content)
    with_tensors(path, change)
    refused(path, f"cannot be read as a manyclass model.*{message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 3.0}, "is not a C of the search"),
        ({"C": "x"}, "C must be a number"),
        ({"refit_time": -1.0}, "is not a C of the search"),
        ({"best_score": None}, "best_score must be a number"),
        ({"estimator": "MultinomialLogisticRegressionCV"}, ""),
        ({"params": {"Cs": -1}}, ""),
        ({"best": {}}, ""),
    ],
)
def test_hostile_headers(change, message, path, content):
    path.write_bytes(content)
    rewritten(path, lambda _, model: model.update(change))
    with pytest.raises(ValueError, match=f"cannot be read as a manyclass model.*{message}"):
        load_model(path)


def test_file_objects():
    model, file = MulticlassSVC(random_state=0).fit(X, Y), io.BytesIO()
    file.write(b"before")
    save_model(file, model)
    file.seek(len(b"before"))
    np.testing.assert_array_equal(load_model(file).coef_, model.coef_)
    file.seek(6)
    assert describe_model(file)["n_classes"] == 3


def test_file_objects_that_hold_no_model():
    with pytest.raises(ValueError, match="the file object: cannot be read as a manyclass model"):
        load_model(io.BytesIO(b"nothing of the kind"))
    for wrong in (io.StringIO(), None, 7):
        with pytest.raises(TypeError, match="a file opened in mode"):
            load_model(wrong)
        with pytest.raises(TypeError, match="a file opened in mode"):
            save_model(wrong, MulticlassSVC().fit(X, Y))


class Slow(io.RawIOBase):
    """Takes a few bytes at a time."""

    content = b""

    def writable(self):
        return True

    def write(self, part):
        self.content += bytes(part[:1000])
        return min(len(part), 1000)


def test_files_that_take_parts_are_written_whole():
    model, slow, whole = MulticlassSVC(random_state=0).fit(X, Y), Slow(), io.BytesIO()
    save_model(slow, model)
    save_model(whole, model)
    assert slow.content == whole.getvalue()


def test_the_weights_of_now_are_saved(path):
    search = MulticlassSVCCV(Cs=[0.1, 1.0], cv=2, random_state=0).fit(X, Y).calibrate(X, Y)
    search.sparsify(0.3)
    save_model(path, search)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.decision_function(X), search.decision_function(X))
    assert not hasattr(loaded, "temperature_")
    assert loaded.certificate_ is None


def test_search_over_sets_of_labels(path):
    sets = [{"a", "b"} if row[0] > 6 else {"b"} if row[2] > 2 else set() for row in X]
    search = MultilabelSVCCV(Cs=[0.01, 0.1, 1.0], cv=3, threshold=0.2, random_state=0).fit(X, sets)
    save_model(path, search)
    loaded = load_model(path)
    assert type(loaded) is MultilabelSVCCV
    assert loaded.get_params() == search.get_params()
    assert loaded.predict_labels(X) == search.predict_labels(X)
    np.testing.assert_array_equal(loaded.predict(X).toarray(), search.predict(X).toarray())
    for name in KEPT:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(search, name))
    assert repr(loaded.certificates_) == repr(search.certificates_)
    assert loaded.best_estimator_.get_params() == search.best_estimator_.get_params()
    assert loaded.certificate_ == search.certificate_
    np.testing.assert_array_equal(loaded.fit(X, sets).coef_, search.coef_)


def test_search_over_pruned_weights(path):
    sets = [{"a"} if row[2] > 2 else set() for row in X]
    search = MultilabelSVCCV(Cs=[0.1, 1.0], prune=0.01, random_state=0).fit(X, sets)
    save_model(path, search)
    loaded = load_model(path)
    assert loaded.certificate_ is None
    assert np.isnan(loaded.gaps_).all()
    np.testing.assert_array_equal(loaded.decision_function(X), search.decision_function(X))
