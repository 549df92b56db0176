"""Estimators and Models for Spark DataFrames, with certificates."""

from __future__ import annotations

from typing import ClassVar

try:
    import pyspark.ml  # noqa: F401  # is it there?
except ImportError as missing:
    raise ImportError(
        f"manyclass.spark needs PySpark ({missing}); pip install 'pyspark[sql]'"
    ) from missing

from manyclass.distributed.clusters.estimator import ClusterLogisticRegression, ClusterSVC
from manyclass.distributed.clusters.spark_ml import SparkEstimator, SparkModel, training_of
from manyclass.estimators.logistic import MultinomialLogisticRegression
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.svc import MulticlassSVC
from manyclass.utils.types import Settings

__all__ = [
    "SparkMulticlassSVC",
    "SparkMulticlassSVCModel",
    "SparkMultinomialLogisticRegression",
    "SparkMultinomialLogisticRegressionModel",
]


class SparkMultinomialLogisticRegressionModel(SparkModel):
    """A trained model: adds predictions and probabilities to a DataFrame.

    It has the fitted attributes of ``MultinomialLogisticRegression``: ``classes_``, ``coef_``,
    ``intercept_``, ``certificate_``, ``history_`` and the others.

    Parameters
    ----------
    local : MultinomialLogisticRegression
        The fitted estimator.
    """

    outputs: ClassVar[Settings] = {"probabilityCol": "probability"}


@documented(like=ClusterLogisticRegression)
class SparkMultinomialLogisticRegression(SparkEstimator):
    """Multinomial logistic regression on Spark DataFrames, with a certificate.

    An Estimator for pipelines of ``pyspark.ml``; parameters are set by name. The problem and its
    parameters are the same as in ``MultinomialLogisticRegression``. The rows stay on the executors,
    which compute sums. Newton's method runs in the driver. The certificate covers all rows.

    Parameters
    ----------
    featuresCol : str, default="features"
        Column of dense or sparse vectors, or of arrays of numbers. Arrays of type float are
        trained in float32, other types in float64.
    labelCol : str, default="label"
        Column of the classes: numbers or strings.
    weightCol : str, default=None
        Column of the non-negative weights of the rows.
    predictionCol : str, default="prediction"
        Column that the model adds: the predicted class.
    probabilityCol : str, default="probability"
        Column that the model adds: the probability of every class.
    n_jobs : int, default=None
        Threads of each task.

    See Also
    --------
    SparkMultinomialLogisticRegressionModel : The type that ``fit`` returns.

    Notes
    -----
    A task writes each partition to a file on its executor, which later tasks memory-map. If an
    executor is lost, its partitions are read again from the DataFrame. The partitions must not
    change when they are read again.
    """

    outputs = SparkMultinomialLogisticRegressionModel.outputs
    plain = MultinomialLogisticRegression
    training: ClassVar[Settings] = training_of(ClusterLogisticRegression)
    trained = SparkMultinomialLogisticRegressionModel


class SparkMulticlassSVCModel(SparkModel):
    """A trained model: adds predictions and scores to a DataFrame.

    It has the fitted attributes of ``MulticlassSVC``: ``classes_``, ``coef_``, ``intercept_``,
    ``certificate_``, ``history_`` and the others.

    Parameters
    ----------
    local : MulticlassSVC
        The fitted estimator.
    """

    outputs: ClassVar[Settings] = {"rawPredictionCol": "rawPrediction"}


@documented(like=ClusterSVC)
class SparkMulticlassSVC(SparkEstimator):
    """Support vector machines on Spark DataFrames, with a certificate.

    An Estimator for pipelines of ``pyspark.ml``; parameters are set by name. The problem and its
    parameters are the same as in ``MulticlassSVC``. The rows and their dual variables stay on the
    executors, which update them in rounds of consensus ADMM. The certificate covers all rows. The
    method suits many classes or many features; if rows far outnumber features, it needs many
    rounds.

    Parameters
    ----------
    featuresCol : str, default="features"
        Column of dense or sparse vectors, or of arrays of numbers. Arrays of type float are
        trained in float32, other types in float64.
    labelCol : str, default="label"
        Column of the classes: numbers or strings.
    weightCol : str, default=None
        Column of the non-negative weights of the rows.
    predictionCol : str, default="prediction"
        Column that the model adds: the predicted class.
    rawPredictionCol : str, default="rawPrediction"
        Column that the model adds: the score of every class.
    n_jobs : int, default=None
        Threads of each task.

    See Also
    --------
    SparkMulticlassSVCModel : The type that ``fit`` returns.

    Notes
    -----
    A task writes each partition to a file on its executor, and in every round writes the dual
    variables to a second file, from which the next round continues. If an executor is lost, both
    files are lost: Spark reads the partitions again, their dual variables restart at 0, and
    training continues.
    """

    outputs = SparkMulticlassSVCModel.outputs
    plain = MulticlassSVC
    training: ClassVar[Settings] = training_of(ClusterSVC)
    trained = SparkMulticlassSVCModel
