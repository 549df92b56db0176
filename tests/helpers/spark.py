"""A local Spark, DataFrames in parts, and processes that are killed."""

import contextlib
import os
import shutil
import subprocess
import sys

import numpy as np
import psutil
import pytest
import scipy.sparse as sp

pytest.importorskip("pyspark", reason="needs PySpark: pip install 'pyspark[sql]'")
if shutil.which("java") is None:
    pytest.skip("needs Java 17", allow_module_level=True)

from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession


@contextlib.contextmanager
def local_spark():
    """A session of two threads, whose tasks may fail three times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        make = SparkSession.builder.master("local[2, 4]")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
        }.items():
            make = make.config(name, value)
        session = make.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def frame(spark, rows, y, weights=None, parts=3, kind="double"):
    """A DataFrame in parts; sparse rows become sparse vectors."""
    if sp.issparse(rows):
        features = [
            Vectors.sparse(rows.shape[1], row.indices.tolist(), row.data.tolist())
            for row in (rows[[i]].tocsr() for i in range(rows.shape[0]))
        ]
        schema = None
    else:
        features = [row.tolist() for row in rows]
    w = np.ones(len(y)) if weights is None else weights
    records = list(zip(features, y.tolist(), w.tolist(), strict=True))
    name = "string" if y.dtype.kind == "U" else "int"
    schema = f"features array<{kind}>, label {name}, weight double"
    if sp.issparse(rows):
        schema = ["features", "label", "weight"]
    return spark.createDataFrame(spark.sparkContext.parallelize(records, parts), schema)


def kill_python():
    """Kill the processes of Python that answer for the executors of this process."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "pyspark.daemon" in " ".join(process.cmdline()):
                process.kill()


EXECUTORS = """
import contextlib, os, sys
import numpy as np, psutil
from pyspark.sql import SparkSession
from manyclass.distributed.clusters.cluster import RemoteParts
from manyclass.spark import SparkMulticlassSVC, SparkMultinomialLogisticRegression

make = SparkSession.builder.master("local-cluster[2,1,1024]")
for name, value in {
    "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1", "spark.executor.memory": "1g",
}.items():
    make = make.config(name, value)
spark = make.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
asked, original = [], RemoteParts.add

def add(self, *arguments):
    asked.append(len(asked))
    if len(asked) == 4:
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
                    process.kill()
                    break
        else:
            sys.exit("no executor is left")
    original(self, *arguments)

RemoteParts.add = add
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
records = list(zip(X.tolist(), y.tolist()))
rows = spark.sparkContext.parallelize(records, 2)
table = spark.createDataFrame(rows, "features array<double>, label int")
for fit in sys.argv[3:]:
    asked.clear()
    model = eval(fit).fit(table)
    print(len(asked), model.certificate_.primal_objective, model.certificate_.relative_gap)
spark.stop()
"""


def fits_while_executors_are_lost(folder, fits, X, y):
    """P and the gap of each fit on two executors of their own processes, of which one is killed.

    Spark starts another one, which reads the rows of the lost one.
    """
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    done = subprocess.run(
        [sys.executable, "-c", EXECUTORS, folder / "X.npy", folder / "y.npy", *fits],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    assert len(found) == len(fits)
    assert all(asked > 4 for asked, _, _ in found)
    return [(P, gap) for _, P, gap in found]
