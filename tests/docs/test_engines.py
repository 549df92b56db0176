"""The examples of docs/clusters.md and docs/distributed.md that need an engine run on it.

They are behind ``<!-- engine: name -->``. What stands there for the reader's own data is given
here: rows of digits, and folders in place of addresses.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_examples import engine_blocks, make_files

ROOT = Path(__file__).resolve().parents[2]
DATA = """
import numpy as np
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
X = X[:400] / 16
y = y[:400]
"""
BEGIN = {
    "mpi": """
from mpi4py import MPI
mine = slice(MPI.COMM_WORLD.rank, None, MPI.COMM_WORLD.size)
X_mine, y_mine = X[mine], y[mine]
""",
    "ray": """
import pandas as pd
import ray
ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 << 20)
table = pd.DataFrame(X, columns=[f"f{i}" for i in range(64)]).assign(label=y)
ray.data.from_pandas([table[:200], table[200:]]).write_parquet("rows")
pieces = [(X[:150], y[:150]), (X[150:], y[150:])]
parts_of_X = [ray.put(X[:10]), ray.put(X[10:30])]
""",
    "spark": """
from pyspark.sql import SparkSession
make = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = make.config("spark.driver.host", "127.0.0.1").getOrCreate()
names = [f"f{i}" for i in range(64)]
records = [(*row.tolist(), float(c)) for row, c in zip(X, y)]
rows = spark.createDataFrame(records, [*names, "label"]).repartition(2)
""",
}
END = {"mpi": "", "ray": "ray.shutdown()\n", "spark": "spark.stop()\n"}
PLACES = {"s3://bucket/": "", "hdfs:///models/": "models/"}
NEEDS = {"mpi": "mpi4py", "ray": "ray", "spark": "pyspark"}
LAUNCHERS = {"mpi": "mpiexec", "ray": "python", "spark": "java"}
CASES = [
    ("clusters.md", "mpi"),
    ("clusters.md", "ray"),
    ("clusters.md", "spark"),
    ("distributed.md", "mpi"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "engine"), CASES)
def test_examples_of_an_engine(page, engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    if importlib.util.find_spec(NEEDS[engine]) is None or not shutil.which(LAUNCHERS[engine]):
        pytest.skip(f"needs {NEEDS[engine]} and {LAUNCHERS[engine]}")
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    blocks, commands = engine_blocks(ROOT / "docs" / page, engine)
    assert blocks
    source = "".join([DATA, BEGIN[engine], *blocks, END[engine]])
    for place, here in PLACES.items():
        source = source.replace(place, here)
    Path("script.py").write_text(source)
    ranks = ["mpiexec", "-n", "2"] if engine == "mpi" else []
    run([*ranks, sys.executable, "script.py"])
    for command in commands:
        run(shlex.split(command, comments=True))
        assert Path("MODEL").exists()


def test_all_engines_of_the_pages_are_run():
    marked = {
        (page, engine)
        for page in ("clusters.md", "distributed.md")
        for engine in re.findall("<!-- engine: (.+) -->", (ROOT / "docs" / page).read_text())
    }
    assert marked == set(CASES)


def run(command):
    """Run a command, which must end well."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
