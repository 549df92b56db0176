"""Logistic regression on the rows of Spark's DataFrames: an Estimator and its Model."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

try:
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector
    from pyspark.ml.linalg import VectorUDT
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, NumericType
except ImportError as missing:
    raise ImportError(
        f"manyclass.spark needs PySpark ({missing}); pip install 'manyclass[spark]'"
    ) from missing

from manyclass.distributed.clusters.cluster import ClusterTraining
from manyclass.distributed.clusters.spark_parts import SparkParts, matrix_of
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.validation import check_parameters
from manyclass.persistence.model_file import load_model, save_model
from manyclass.utils.types import Settings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["SparkMultinomialLogisticRegression", "SparkMultinomialLogisticRegressionModel"]

TRAINING: Settings = {
    "C": 1.0,
    "tol": 1e-4,
    "fit_intercept": True,
    "regularize_intercept": False,
    "intercept_scaling": 1.0,
    "class_weight": None,
    "max_iter": 1000,
    "n_jobs": None,
    "checkpoint": None,
    "checkpoint_minutes": 10.0,
    "resume": False,
    "verbose": 0,
}
COLUMNS: Settings = {
    "featuresCol": "features",
    "labelCol": "label",
    "weightCol": None,
    "predictionCol": "prediction",
    "probabilityCol": "probability",
}


DOCS: Settings = {
    "featuresCol": "column of vectors or of arrays of numbers",
    "labelCol": "column of the classes",
    "weightCol": "column of the rows' weights",
    "predictionCol": "column that the model adds: the predicted class",
    "probabilityCol": "column that the model adds: the probability of every class",
    "C": "cost of a unit of loss; smaller regularises more",
    "tol": "relative duality gap at which training stops",
    "fit_intercept": "whether there are intercepts",
    "regularize_intercept": "whether intercepts are regularised",
    "intercept_scaling": "value of the feature of regularised intercepts",
    "class_weight": "weight of each class: a dict, 'balanced' or None",
    "max_iter": "Newton steps at most",
    "n_jobs": "threads of each task",
    "checkpoint": "folder of checkpoints",
    "checkpoint_minutes": "minutes between two checkpoints",
    "resume": "whether to continue from the newest checkpoint",
    "verbose": "1 shows the progress in the driver",
}


class _Columns(Params):
    """Parameters that Estimator and Model share: names of columns."""

    def __init__(self) -> None:
        super().__init__()
        self._declare(COLUMNS)

    def _declare(self, defaults: Settings) -> None:
        for name, value in defaults.items():
            setattr(self, name, Param(self, name, DOCS[name], TypeConverters.identity))
            self._setDefault(**{name: value})

    def _column(self, table: DataFrame) -> Column:
        """Return the column of features, as the tasks read it."""
        name = self.getOrDefault("featuresCol")
        if name not in table.columns:
            raise ValueError(f"the DataFrame has no column {name!r}; it has {table.columns}")
        kind = table.schema[name].dataType
        if isinstance(kind, VectorUDT):
            return functions.unwrap_udt(functions.col(name))
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return functions.col(name)
        raise TypeError(
            f"column {name!r} must hold vectors or arrays of numbers, not {kind.simpleString()}; "
            "use VectorAssembler"
        )


class SparkMultinomialLogisticRegression(
    Estimator, _Columns, DefaultParamsReadable, DefaultParamsWritable
):
    """Multinomial logistic regression, certified, on the rows of a DataFrame of Spark.

    The problem and its parameters are those of ``MultinomialLogisticRegression``. The rows stay on
    the executors, which answer with sums; Newton's method runs in the driver, and its certificate
    is of all rows. An Estimator for pipelines of ``pyspark.ml``; parameters are set by name.

    Parameters
    ----------
    featuresCol : str, default="features"
        Column of vectors, dense or sparse, or of arrays of numbers. Arrays of float train in
        float32, all else in float64.
    labelCol : str, default="label"
        Column of the classes: numbers or strings.
    weightCol : str, default=None
        Column of the rows' weights, not negative.
    predictionCol, probabilityCol : str, default="prediction", "probability"
        Columns that the model adds.
    C, tol, fit_intercept, regularize_intercept, intercept_scaling, class_weight, max_iter
        As of ``MultinomialLogisticRegression``.
    n_jobs : int, default=None
        Threads of each task.
    checkpoint, checkpoint_minutes, resume
        As of ``MultinomialLogisticRegression``; the driver writes the weights.
    verbose : int, default=0
        1 shows the progress in the driver.

    See Also
    --------
    SparkMultinomialLogisticRegressionModel : What ``fit`` returns.

    Notes
    -----
    A task writes each partition to a file of its executor, which the others map. Executors that
    are lost cost the reading of their partitions, from the DataFrame, whose partitions must not
    change when they are read again.
    """

    def __init__(self, **params: object) -> None:
        super().__init__()
        self._declare(TRAINING)
        self.set_params(**params)

    def set_params(self, **params: object) -> SparkMultinomialLogisticRegression:
        """Set parameters.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If there is no parameter of a name.
        """
        for name in params:
            if not self.hasParam(name):
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}")
        self._set(**params)
        return self

    def _fit(self, dataset: DataFrame) -> SparkMultinomialLogisticRegressionModel:
        """Train; ``fit`` calls it."""
        local = MultinomialLogisticRegression(
            **{name: self.getOrDefault(name) for name in TRAINING}, merge_columns=False
        )
        check_parameters(local)
        if not hasattr(dataset.sparkSession, "sparkContext"):
            raise RuntimeError("fit needs a session in the driver; Spark Connect has no RDDs")
        columns = [self._column(dataset).alias("X")]
        for name, alias in (("labelCol", "y"), ("weightCol", "w")):
            column = self.getOrDefault(name)
            if column is not None and column not in dataset.columns:
                raise ValueError(f"the DataFrame has no column {column!r} ({name})")
            columns += [functions.col(column).alias(alias)] if column is not None else []
        parts = SparkParts(dataset.select(*columns))
        ClusterTraining(local, parts).run(dataset, dataset, None)  # y is a column
        model = SparkMultinomialLogisticRegressionModel(local)
        self._copyValues(model)
        return model


class SparkMultinomialLogisticRegressionModel(Model, _Columns, MLReadable, MLWritable):
    """A trained model: adds predictions and probabilities to a DataFrame.

    Its fitted attributes are those of ``MultinomialLogisticRegression``: ``classes_``, ``coef_``,
    ``intercept_``, ``certificate_``, ``history_`` and the rest.

    Parameters
    ----------
    local : MultinomialLogisticRegression
        Fitted.
    """

    def __init__(self, local: MultinomialLogisticRegression | None = None) -> None:
        super().__init__()
        self._local = local

    def __getattr__(self, name: str) -> Any:
        """Return a fitted attribute."""
        local = self.__dict__.get("_local")
        if local is None or name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(local, name)

    def to_local(self) -> MultinomialLogisticRegression:
        """Return the plain estimator, which ``save_model`` takes.

        Returns
        -------
        MultinomialLogisticRegression
        """
        assert self._local is not None
        return self._local

    def write(self) -> MLWriter:
        """Return what writes the model.

        Returns
        -------
        pyspark.ml.util.MLWriter
        """
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[SparkMultinomialLogisticRegressionModel]:
        """Return what reads a model.

        Returns
        -------
        pyspark.ml.util.MLReader
        """
        return _ModelReader()

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the columns; ``transform`` calls it."""
        local = self.to_local()
        text = local.classes_.dtype.kind in "OUT"
        kind = "string" if text else "double"

        @functions.arrow_udf(f"prediction {kind}, probability array<double>")
        def results(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
            for batch in batches:
                yield outputs_of(local, batch)

        found = dataset.withColumn("__results", results(self._column(dataset)))
        prediction, probability = (
            self.getOrDefault(n) for n in ("predictionCol", "probabilityCol")
        )
        if probability:
            vectors = array_to_vector(functions.col("__results.probability"))
            found = found.withColumn(probability, vectors)
        if prediction:
            found = found.withColumn(prediction, functions.col("__results.prediction"))
        return found.drop("__results")


class _ModelWriter(MLWriter):
    """Writes parameters as Spark does, and the model file (persistence/model_file.py)."""

    def __init__(self, model: SparkMultinomialLogisticRegressionModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:  # of pyspark
        """Write to a folder."""
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        file = io.BytesIO()
        save_model(file, self.model.to_local())
        table = self.sparkSession.createDataFrame([(bytearray(file.getvalue()),)], "model binary")
        table.coalesce(1).write.parquet(_file_in(path))


class _ModelReader(MLReader[SparkMultinomialLogisticRegressionModel]):
    """Reads what ``_ModelWriter`` wrote."""

    def load(self, path: str) -> SparkMultinomialLogisticRegressionModel:
        """Read from a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        row = self.sparkSession.read.parquet(_file_in(path)).first()
        local = load_model(io.BytesIO(bytes(row.model)))
        model = SparkMultinomialLogisticRegressionModel(local)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _file_in(path: str) -> str:
    return f"{path.rstrip('/')}/model"


def outputs_of(model: MultinomialLogisticRegression, column: pa.Array) -> pa.StructArray:
    """Return the structs of class and probabilities for a column of features."""
    if not len(column):
        P = np.empty((0, len(model.classes_)))
    else:
        P = model.predict_proba(matrix_of(column)).astype(np.float64)
    best = model.classes_[P.argmax(axis=1)]
    text = best.dtype.kind in "OUT"
    classes = pa.array(best.tolist(), pa.string()) if text else pa.array(best.astype(np.float64))
    ends = pa.array(np.arange(len(P) + 1, dtype=np.int32) * P.shape[1])
    probabilities = pa.ListArray.from_arrays(ends, pa.array(P.ravel()))
    return pa.StructArray.from_arrays([classes, probabilities], ["prediction", "probability"])
