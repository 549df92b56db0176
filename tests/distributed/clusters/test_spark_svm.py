"""Support vector machines on Spark: their optimum, and dual variables that are lost or repeated."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from manyclass import MulticlassSVC
from manyclass.distributed.clusters import mapped
from manyclass.distributed.clusters.part import ArraySpec, Part, Plan
from manyclass.distributed.rows.data import global_info
from manyclass.distributed.rows.svm_rows import COUNTS, TERMS
from tests.helpers.parts import DATA, WEIGHTS, X, Y, at_question, primal

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'pyspark[sql]'")

from pyspark.ml import Pipeline, PipelineModel

from manyclass.distributed.clusters import spark_parts, spark_state
from manyclass.spark import SparkMulticlassSVC
from tests.helpers.spark import frame, kill_python, local_spark

# Warnings are Spark's own.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
TOL = 1e-3


@pytest.fixture(scope="module", name="spark")
def spark_fixture():
    with local_spark() as session:
        yield session


def alone(X, y, weights=None, **params):
    return MulticlassSVC(**{"C": 0.1, "tol": 1e-6, **params}).fit(X, y, weights)


def check_proof(model, best):
    """The gap is small, and D at most the least P."""
    assert model.certificate_.relative_gap <= TOL
    assert model.certificate_.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert model.certificate_.primal_objective >= best.dual_objective


@pytest.mark.parametrize(
    ("formulation", "loss", "rows", "parts"),
    [
        ("weston_watkins", "squared_hinge", "sparse", 2),
        ("one_vs_rest", "hinge", "dense", 3),
    ],
)
def test_parts_reach_the_optimum_of_one_process(spark, monkeypatch, formulation, loss, rows, parts):
    monkeypatch.setattr(spark_parts, "ADDED_AT_ONCE", 4)
    params = {"formulation": formulation, "loss": loss, "C": 0.1}
    table = frame(spark, DATA[rows], Y, parts=parts)
    model = SparkMulticlassSVC(tol=TOL, random_state=0, **params).fit(table)
    check_proof(model, alone(DATA[rows], Y, **params).certificate_)
    local = model.to_local()
    P = primal(local, DATA[rows], Y)
    assert pytest.approx(model.certificate_.primal_objective, rel=1e-9) == P
    found = model.transform(table).select("prediction", "rawPrediction").toPandas()
    scores = np.stack(found["rawPrediction"].map(lambda v: v.toArray()))
    np.testing.assert_allclose(scores, local.decision_function(DATA[rows]), atol=1e-12)
    np.testing.assert_array_equal(found["prediction"], local.predict(DATA[rows]))


def test_a_pipeline_of_two_classes_is_written_and_read(spark, tmp_path):
    y = np.where(Y > 1, "yes", "no")
    table = frame(spark, X, y, WEIGHTS)
    params = {"C": 0.1, "class_weight": "balanced"}
    estimator = SparkMulticlassSVC(weightCol="weight", tol=TOL, **params)
    model = Pipeline(stages=[estimator]).fit(table)
    trained = model.stages[0]
    check_proof(trained, alone(X, y, WEIGHTS, **params).certificate_)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    found = loaded.transform(table).select("prediction", "rawPrediction").toPandas()
    local = trained.to_local()
    np.testing.assert_array_equal(found["prediction"], local.predict(X))
    scores = local.decision_function(X)
    raw = np.stack(found["rawPrediction"].map(lambda v: v.toArray()))
    np.testing.assert_allclose(raw, np.column_stack([-scores, scores]))
    estimator.write().overwrite().save(str(tmp_path / "estimator"))
    again = SparkMulticlassSVC.load(str(tmp_path / "estimator"))
    assert (again.getOrDefault("C"), again.getOrDefault("weightCol")) == (0.1, "weight")


def files_of(parts):
    """The files of the rounds of all parts."""
    rows = [Path(row.file) for row in parts.cluster.files.collect()]
    return [file for one in rows for file in spark_state.states(one)]


@pytest.mark.parametrize("question", [5, 6])
def test_lost_files_of_a_round_cost_dual_variables_only(spark, monkeypatch, question):
    """Before a round, and between a round and its certificate."""
    lost = []

    def lose(parts):
        kill_python()
        lost.extend(files_of(parts)[:2])
        for file in lost:
            file.unlink()

    asked = at_question(monkeypatch, question, lose)
    model = SparkMulticlassSVC(C=0.1, tol=TOL, random_state=0).fit(frame(spark, X, Y, parts=2))
    assert len(lost) == 2
    assert len(asked) > question
    check_proof(model, alone(X, Y).certificate_)
    assert primal(model.to_local(), X, Y) == pytest.approx(model.certificate_.primal_objective)


def test_ctrl_c_removes_the_files(spark, monkeypatch):
    files = []

    def interrupt(parts):
        files.extend(files_of(parts))
        os.kill(os.getpid(), signal.SIGINT)

    at_question(monkeypatch, 6, interrupt)
    with pytest.raises(KeyboardInterrupt):
        SparkMulticlassSVC(C=0.1, tol=TOL).fit(frame(spark, X, Y, parts=2))
    assert len(files) >= 2
    assert not any(file.exists() for file in files)
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


# Of one part, in this process


class Asked:
    """A part whose rows and rounds are in files, asked as a task asks it."""

    def __init__(self, folder):
        self.file = folder / "part"
        self.part = self.loaded()
        common = global_info([self.part.known()[0]], None, 1.0)
        self.plan = Plan(common, MulticlassSVC(C=0.1, random_state=0))
        self.V, self.scale = np.zeros((X.shape[1] + 1, 5)), np.ones((X.shape[1] + 1, 1))

    def loaded(self):
        """The part as another process has it."""
        if not self.file.exists():
            with self.file.open("wb") as file:
                mapped.dump(Part(0, X, Y), file)
        with self.file.open("rb") as file:
            return mapped.load(file)

    def round(self, part, number):
        """What_r + U_r, W(z) and counts."""
        like = [ArraySpec(self.V.shape, self.V.dtype)] * 2 + [ArraySpec((1, COUNTS), self.V.dtype)]
        given = number, self.V, self.scale, 4.0, 1.7, 0
        return spark_state.answer_of(part, str(self.file), "round", like, self.plan, *given)

    def mark(self, part):
        """The mark of z."""
        like = [ArraySpec((1, TERMS), self.V.dtype)]
        given = self.V, self.scale, np.zeros(self.V.shape[0]), 0.0
        asked = spark_state.answer_of(part, str(self.file), "inspect", like, self.plan, *given)
        return asked[0][0, -1]


@pytest.fixture(name="asked")
def asked_fixture(tmp_path, monkeypatch):
    monkeypatch.setattr(spark_state, "CACHED", spark_state.CachedPart())
    return Asked(tmp_path)


def test_a_task_that_is_repeated_answers_as_before(asked):
    asked.round(asked.part, 1)
    before = asked.round(asked.part, 2)
    for part in (asked.part, asked.loaded()):
        for one, other in zip(before, asked.round(part, 2), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
        assert asked.mark(part) == before[-1][0, -1]


def test_another_process_continues_from_the_file(asked):
    total, _, _ = asked.round(asked.part, 1)
    asked.V = total / 2
    other = asked.loaded()
    asked.round(other, 2)
    left = asked.mark(other)
    assert asked.mark(asked.part) == left
    asked.round(asked.part, 3)
    assert asked.mark(other) == asked.mark(asked.part) != left
    assert {file.name for file in spark_state.states(asked.file)} == {
        "part.round-2",
        "part.round-3",
    }


def test_of_two_tasks_of_a_round_the_first_file_counts(asked, monkeypatch):
    """A task that ends second takes over what the first one has written."""
    first = {}
    write = spark_state.CachedPart.write

    def slower(self, file):
        if not first:
            monkeypatch.setattr(spark_state, "CACHED", spark_state.CachedPart())
            first["answer"] = None
            first["answer"] = asked.round(asked.loaded(), 1)
        return write(self, file)

    monkeypatch.setattr(spark_state.CachedPart, "write", slower)
    second = asked.round(asked.part, 1)
    assert second[-1][0, -1] == first["answer"][-1][0, -1]
    np.testing.assert_allclose(second[1], first["answer"][1], rtol=1e-13, atol=1e-14)


def test_a_lost_file_begins_at_zero(asked):
    _, W, counts = asked.round(asked.part, 1)
    assert W.any()
    assert counts[0, -1] > 0
    spark_state.of_round(asked.file, 1).unlink()
    assert asked.mark(asked.loaded()) == 0
