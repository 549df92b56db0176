"""Bases of the Estimators and Models on Spark: parameters, training, columns, files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
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

from manyclass.distributed.clusters.cluster import ClusterTraining
from manyclass.distributed.clusters.estimator import ClusterMixin
from manyclass.distributed.clusters.spark_parts import SparkParts, matrix_of
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.parameters.documented import defaults_of
from manyclass.estimators.parameters.table import PARAMETERS
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import check_parameters
from manyclass.persistence.model_file import load_model, save_model
from manyclass.utils.types import Array, Numbers, Settings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from manyclass.distributed.clusters.part import Model as Local

COLUMNS: Settings = {
    "featuresCol": "features",
    "labelCol": "label",
    "weightCol": None,
    "predictionCol": "prediction",
}
DOCS: Mapping[str, str] = {
    **{name: " ".join(described.text.split()) for name, described in PARAMETERS.items()},
    "featuresCol": "column of vectors or of arrays of numbers",
    "labelCol": "column of the classes",
    "weightCol": "column of the weights of the rows",
    "predictionCol": "column that the model adds: the predicted class",
    "probabilityCol": "column that the model adds: the probability of every class",
    "rawPredictionCol": "column that the model adds: the score of every class",
}


def training_of(estimator: type[ClusterMixin]) -> Settings:
    """Return the training parameters of a Spark Estimator, with their defaults."""
    found = defaults_of(estimator)
    return {name: value for name, value in found.items() if name not in ("warm_start", "device")}


class ColumnParams(Params):
    """Parameters of both Estimator and Model: names of columns.

    ``outputs`` has the default name of the column of the model's numbers, by its parameter.
    """

    outputs: ClassVar[Settings] = {}

    def __init__(self) -> None:
        super().__init__()
        self._declare({**COLUMNS, **self.outputs})

    def _declare(self, defaults: Settings) -> None:
        for name, value in defaults.items():
            setattr(self, name, Param(self, name, DOCS[name], TypeConverters.identity))
            self._setDefault(**{name: value})

    def _column(self, table: DataFrame) -> Column:
        """Return the column of features in the form that the tasks read."""
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


class SparkEstimator(Estimator, ColumnParams, DefaultParamsReadable, DefaultParamsWritable):
    """Base of the Estimators."""

    plain: ClassVar[type[Local]]  # of one process
    training: ClassVar[Settings]  # its parameters that a user may set, with their defaults
    trained: ClassVar[type[SparkModel]]  # what fit returns

    @classmethod
    def defaults(cls) -> Settings:
        """Return all parameters with their defaults."""
        return {**COLUMNS, **cls.outputs, **cls.training}

    def __init__(self, **params: object) -> None:
        super().__init__()
        self._declare(self.training)
        self.set_params(**params)

    def set_params(self, **params: object) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params
            Parameters by name.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If a parameter does not exist.
        """
        for name in params:
            if not self.hasParam(name):
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}")
        self._set(**params)
        return self

    def _fit(self, dataset: DataFrame) -> SparkModel:
        """Train; ``fit`` calls it."""
        given = {name: self.getOrDefault(name) for name in self.training}
        local = self.plain(**given, merge_columns=False)
        check_parameters(local)
        if not hasattr(dataset.sparkSession, "sparkContext"):
            raise RuntimeError(
                "fit needs a session in the driver, as Spark Connect does not support RDDs"
            )
        columns = [self._column(dataset).alias("X")]
        for name, alias in (("labelCol", "y"), ("weightCol", "w")):
            column = self.getOrDefault(name)
            if column is not None and column not in dataset.columns:
                raise ValueError(f"the DataFrame has no column {column!r} ({name})")
            columns += [functions.col(column).alias(alias)] if column is not None else []
        parts = SparkParts(dataset.select(*columns))
        ClusterTraining(local, parts).run(dataset, dataset, None)  # y is a column
        model = self.trained(local)
        self._copyValues(model)
        return model


class SparkModel(Model, ColumnParams, MLReadable, MLWritable):
    """Base of the Models."""

    def __init__(self, local: Local | None = None) -> None:
        super().__init__()
        self._local = local

    def __getattr__(self, name: str) -> Any:
        """Return a fitted attribute."""
        local = self.__dict__.get("_local")
        if local is None or name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(local, name)

    def to_local(self) -> Local:
        """Return the same model as an estimator for one process, for example for ``save_model``.

        Returns
        -------
        MulticlassSVC or MultinomialLogisticRegression
        """
        assert self._local is not None
        return self._local

    def write(self) -> MLWriter:
        """Return the writer of the model.

        Returns
        -------
        pyspark.ml.util.MLWriter
        """
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[SparkModel]:
        """Return the reader of a model.

        Returns
        -------
        pyspark.ml.util.MLReader
        """
        return _ModelReader(cls)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the columns; ``transform`` calls it."""
        local = self.to_local()
        text = local.classes_.dtype.kind in "OUT"
        kind = "string" if text else "double"

        @functions.arrow_udf(f"prediction {kind}, numbers array<double>")
        def results(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
            for batch in batches:
                yield outputs_of(local, batch)

        found = dataset.withColumn("__results", results(self._column(dataset)))
        for parameter in self.outputs:
            if name := self.getOrDefault(parameter):
                vectors = array_to_vector(functions.col("__results.numbers"))
                found = found.withColumn(name, vectors)
        if prediction := self.getOrDefault("predictionCol"):
            found = found.withColumn(prediction, functions.col("__results.prediction"))
        return found.drop("__results")


class _ModelWriter(MLWriter):
    """Writes the parameters like Spark, and a model file (persistence/model_file.py)."""

    def __init__(self, model: SparkModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:  # of pyspark
        """Write to a folder."""
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        file = io.BytesIO()
        save_model(file, self.model.to_local())
        table = self.sparkSession.createDataFrame([(bytearray(file.getvalue()),)], "model binary")
        table.coalesce(1).write.parquet(_file_in(path))


class _ModelReader(MLReader[SparkModel]):
    """Reads models of ``_ModelWriter``."""

    def __init__(self, kind: type[SparkModel]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> SparkModel:
        """Read from a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        row = self.sparkSession.read.parquet(_file_in(path)).first()
        local = load_model(io.BytesIO(bytes(row.model)))
        assert isinstance(local, MulticlassSVC | MultinomialLogisticRegression)
        model = self.kind(local)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _file_in(path: str) -> str:
    return f"{path.rstrip('/')}/model"


def outputs_of(model: Local, column: pa.Array) -> pa.StructArray:
    """Return the structs of class and numbers, probabilities or scores, for rows of features."""
    numbers = np.empty((0, len(model.classes_)))
    if len(column):
        numbers = _numbers_of(model, matrix_of(column))
    best = model.classes_[numbers.argmax(axis=1)]
    text = best.dtype.kind in "OUT"
    classes = pa.array(best.tolist(), pa.string()) if text else pa.array(best.astype(np.float64))
    ends = pa.array(np.arange(len(numbers) + 1, dtype=np.int32) * numbers.shape[1])
    lists = pa.ListArray.from_arrays(ends, pa.array(numbers.ravel()))
    return pa.StructArray.from_arrays([classes, lists], ["prediction", "numbers"])


def _numbers_of(model: Local, X: Array) -> Numbers:
    """Return the probability or the score of every class, shape (n, k)."""
    if isinstance(model, MultinomialLogisticRegression):
        return np.asarray(model.predict_proba(X), np.float64)
    scores = np.asarray(model.decision_function(X), np.float64)
    return scores if scores.ndim == 2 else np.column_stack([-scores, scores])
