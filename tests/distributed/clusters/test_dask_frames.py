"""DataFrames of Dask: columns of one lazy read, whose parts line up, and columns by their names."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression

pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from manyclass.dask import DaskMulticlassSVC, DaskMultinomialLogisticRegression
from tests.helpers.dask import threads

# Of Dask's own threads, at the end of a cluster, and of its use of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]
FEATURES = list("abcdef")


@pytest.fixture(scope="module", name="client")
def client_fixture():
    yield from threads(2)


def rows():
    """A pandas frame of three classes, and weights."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    frame = pd.DataFrame(rng.normal(size=(400, 6)) + np.eye(3, 6)[y], columns=FEATURES)
    return frame.assign(label=np.array(["no", "so", "yes"])[y], weight=1.0 + y)


@pytest.fixture(name="frame")
def frame_fixture(tmp_path):
    """The same rows, of eight Parquet files, of which Dask fuses reads of few columns."""
    for number, part in enumerate(np.array_split(np.arange(400), 8)):
        rows().iloc[part].to_parquet(tmp_path / f"{number}.parquet", index=False)
    frame = dd.read_parquet(tmp_path)
    assert frame.npartitions == 8
    assert len(frame["label"].to_delayed()) < 8
    return frame


def logistic(**params):
    return DaskMultinomialLogisticRegression(tol=1e-6, **params)


def alone(weighted=False):
    known = rows()
    weights = known["weight"] if weighted else None
    model = MultinomialLogisticRegression(tol=1e-6)
    return model.fit(known[FEATURES], known["label"], weights)


def check(model, weighted=False):
    P = alone(weighted).certificate_.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(P, rel=2e-6)
    assert list(model.feature_names_in_) == FEATURES


@pytest.mark.usefixtures("client")
def test_columns_of_one_read_line_up(frame):
    model = logistic().fit(frame[FEATURES], frame["label"])
    check(model)
    expected = alone().predict(rows()[FEATURES])
    assert (model.predict(frame[FEATURES]).compute() == expected).all()
    assert model.score(frame[FEATURES], frame["label"]) == np.mean(expected == rows()["label"])
    check(logistic().fit(frame[FEATURES], frame["label"], frame["weight"]), weighted=True)


@pytest.mark.usefixtures("client")
def test_columns_have_names(frame):
    both = frame.drop(columns="weight")
    check(logistic().fit(both, "label"))
    model = logistic().fit(frame, sample_weight="weight")  # y is "label"
    check(model, weighted=True)
    assert model.feature_columns_ == FEATURES
    expected = model.to_local().predict(rows()[FEATURES])
    assert (model.predict(frame).compute() == expected).all()
    assert (model.predict(rows()) == expected).all()
    assert (model.predict(pa.Table.from_pandas(rows())) == expected).all()
    for less in (frame.drop(columns=["b", "e"]), rows().drop(columns=["b", "e"])):
        with pytest.raises(ValueError, match="X has no column for features of the model: 'b', 'e'"):
            model.predict(less)
    hits = model.to_local().predict(rows()[FEATURES]) == rows()["label"]
    score = model.score(frame, "label", "weight")
    assert score == pytest.approx(np.average(hits, weights=rows()["weight"]))
    assert not hasattr(model.fit(frame[FEATURES], frame["label"]), "feature_columns_")


@pytest.mark.usefixtures("client")
def test_vector_machines_take_names_too(frame):
    known = rows()
    model = DaskMulticlassSVC(C=0.1, tol=1e-3, random_state=0).fit(frame[[*FEATURES, "label"]])
    plain = MulticlassSVC(C=0.1, tol=1e-3, random_state=0).fit(known[FEATURES], known["label"])
    P = plain.certificate_.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(P, rel=3e-3)


@pytest.mark.usefixtures("client")
def test_columns_that_are_not_there_are_one_clear_error(frame):
    with pytest.raises(ValueError, match="no column for y: 'klass'; it has 'a', 'b'"):
        logistic().fit(frame, "klass")
    with pytest.raises(ValueError, match="for sample_weight: 'wait'; did you mean 'weight'"):
        logistic().fit(frame, "label", "wait")
    with pytest.raises(TypeError, match="y must be a dask array of the classes if X is an array"):
        logistic().fit(da.ones((4, 2)))
    with pytest.raises(TypeError, match=r"X must be a dask .*, not DataFrame; .*from_pandas"):
        logistic().fit(rows(), "label")
    with pytest.raises(ValueError, match="X has 8 parts and y 1; chunk them alike"):
        logistic().fit(frame[FEATURES], frame["label"].repartition(npartitions=1))
