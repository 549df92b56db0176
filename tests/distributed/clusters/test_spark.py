"""Rows of Spark's DataFrames: the optimum of one process, pipelines, hostile columns."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from tests.helpers.parts import DATA, WEIGHTS, D, K, X, Y, at_question, check_certificate

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'pyspark[sql]'")

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler

from manyclass.distributed.clusters import spark_parts
from manyclass.spark import SparkMultinomialLogisticRegression
from tests.helpers.spark import (
    fits_while_executors_are_lost,
    frame,
    kill_python,
    local_spark,
)

# Warnings are Spark's own.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
NAMES = [f"f{i}" for i in range(D)]


@pytest.fixture(scope="module", name="spark")
def spark_fixture():
    with local_spark() as session:
        yield session


@pytest.mark.parametrize(("parts", "rows"), [(3, "sparse"), (5, "float32")])
def test_parts_reach_the_optimum_of_one_process(spark, monkeypatch, parts, rows):
    monkeypatch.setattr(spark_parts, "ADDED_AT_ONCE", 4)
    kind = "float" if rows == "float32" else "double"
    table = frame(spark, DATA[rows], Y, parts=parts, kind=kind)
    model = SparkMultinomialLogisticRegression(tol=1e-3).fit(table)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.coef_.dtype == DATA[rows].dtype
    check_certificate(model.to_local(), DATA[rows], Y)
    found = model.transform(table).select("prediction", "probability").toPandas()
    P = model.to_local().predict_proba(DATA[rows])
    np.testing.assert_allclose(np.stack(found["probability"].map(lambda v: v.toArray())), P)
    np.testing.assert_array_equal(found["prediction"], P.argmax(axis=1))


def test_a_pipeline_is_written_and_read(spark, tmp_path):
    names = np.array(["a", "bb", "ccc", "dddd", "e"])[Y]
    columns = [*NAMES, "label", "weight"]
    records = [(*x.tolist(), str(c), float(w)) for x, c, w in zip(X, names, WEIGHTS, strict=True)]
    table = spark.createDataFrame(spark.sparkContext.parallelize(records, 3), columns)
    params = {"tol": 1e-4, "class_weight": "balanced"}
    estimator = SparkMultinomialLogisticRegression(weightCol="weight", C=0.5, **params)
    stages = [VectorAssembler(inputCols=NAMES, outputCol="features"), estimator]
    model = Pipeline(stages=stages).fit(table)
    alone = MultinomialLogisticRegression(C=0.5, **params).fit(X, names, WEIGHTS)
    trained = model.stages[-1]
    assert list(trained.classes_) == list(alone.classes_)
    P = alone.certificate_.primal_objective
    assert trained.certificate_.primal_objective == pytest.approx(P, rel=2e-4)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.stages[-1].coef_, trained.coef_)
    assert loaded.stages[-1].uid == trained.uid
    found = loaded.transform(table).select("prediction").toPandas()["prediction"]
    np.testing.assert_array_equal(found, trained.to_local().predict(X))
    estimator.write().overwrite().save(str(tmp_path / "estimator"))
    again = SparkMultinomialLogisticRegression.load(str(tmp_path / "estimator"))
    assert again.getOrDefault("C") == 0.5
    assert len(trained.to_local().predict_proba(X)[0]) == K


HOSTILE = {
    "lengths": (lambda X, y: [[*X[0], 1.0], *X[1:]], "part 0: vectors have 7 to 8 elements"),
    "NaN": (lambda X, y: [[np.nan] * D, *X[1:]], "part 0: Input X contains NaN"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_parts_that_do_not_fit_are_one_error(spark, case):
    change, words = HOSTILE[case]
    rows = change(X.tolist(), Y)
    records = list(zip(rows, Y.tolist(), strict=True))
    table = spark.createDataFrame(
        spark.sparkContext.parallelize(records, 2), "features array<double>, label int"
    )
    with pytest.raises(ValueError, match=words):
        SparkMultinomialLogisticRegression().fit(table)


def test_arguments_that_are_no_rows_are_refused(spark):
    table = frame(spark, X, Y)
    with pytest.raises(TypeError, match="no parameter 'penalty'"):
        SparkMultinomialLogisticRegression(penalty="l2")
    with pytest.raises(ValueError, match=re.escape("no column 'y' (labelCol)")):
        SparkMultinomialLogisticRegression(labelCol="y").fit(table)
    with pytest.raises(TypeError, match="must hold vectors or arrays of numbers"):
        SparkMultinomialLogisticRegression(featuresCol="label").fit(table)
    with pytest.raises(ValueError, match="'tol' parameter"):
        SparkMultinomialLogisticRegression(tol=-1.0).fit(table)
    with pytest.raises(ValueError, match="no rows"):
        SparkMultinomialLogisticRegression().fit(table.limit(0))


def kill_processes_and_remove_files(parts):
    """Lose the processes of Python that have mapped the parts, and the files."""
    kill_python()
    for row in parts.cluster.files.collect():
        Path(row.file).unlink()


def test_killed_processes_and_lost_files_change_nothing(spark, monkeypatch):
    asked = at_question(monkeypatch, 5, kill_processes_and_remove_files)
    table = frame(spark, X[:40], Y[:40], parts=2)
    table = table.filter("label < 0").union(table)  # some parts are empty
    model = SparkMultinomialLogisticRegression(tol=1e-3).fit(table)
    assert len(asked) > 5
    check_certificate(model.to_local(), X[:40], Y[:40])


def test_ctrl_c_removes_the_files(spark, monkeypatch):
    files = []

    def interrupt(parts):
        files.extend(Path(row.file) for row in parts.cluster.files.collect())
        os.kill(os.getpid(), signal.SIGINT)

    asked = at_question(monkeypatch, 5, interrupt)
    table = frame(spark, X[:40], Y[:40], parts=2)
    with pytest.raises(KeyboardInterrupt):
        SparkMultinomialLogisticRegression(tol=1e-5).fit(table)
    assert len(asked) == 5
    assert len(files) == 2
    assert not any(file.exists() for file in files)
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    model = SparkMultinomialLogisticRegression(tol=1e-3).fit(table)
    assert model.certificate_.relative_gap <= 1e-3


def test_an_executor_that_is_lost_costs_its_parts_only(tmp_path):
    """Of support vector machines, its dual variables too."""
    X, y = DATA["dense"][:40], Y[:40]
    fits = {
        "SparkMultinomialLogisticRegression(tol=1e-2)": MultinomialLogisticRegression(tol=1e-9),
        "SparkMulticlassSVC(C=0.1, tol=1e-2)": MulticlassSVC(C=0.1, tol=1e-6),
    }
    found = fits_while_executors_are_lost(tmp_path, list(fits), X, y)
    for (P, gap), alone in zip(found, fits.values(), strict=True):
        best = alone.fit(X, y).certificate_
        assert gap <= 1e-2
        assert best.dual_objective <= P <= best.primal_objective * (1 + 1e-2)
