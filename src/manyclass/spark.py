"""Certified models on the rows of Spark's DataFrames: Estimators and their Models."""

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

    Its fitted attributes are those of ``MultinomialLogisticRegression``: ``classes_``, ``coef_``,
    ``intercept_``, ``certificate_``, ``history_`` and the rest.

    Parameters
    ----------
    local : MultinomialLogisticRegression
        Fitted.
    """

    outputs: ClassVar[Settings] = {"probabilityCol": "probability"}


@documented(like=ClusterLogisticRegression)
class SparkMultinomialLogisticRegression(SparkEstimator):
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
    predictionCol : str, default="prediction"
        Column that the model adds: the predicted class.
    probabilityCol : str, default="probability"
        Column that the model adds: the probability of every class.
    n_jobs : int, default=None
        Threads of each task.

    See Also
    --------
    SparkMultinomialLogisticRegressionModel : What ``fit`` returns.

    Notes
    -----
    A task writes each partition to a file of its executor, which the others map. Executors that
    are lost cost the reading of their partitions, from the DataFrame, whose partitions must not
    change when they are read again.
    """

    outputs = SparkMultinomialLogisticRegressionModel.outputs
    plain = MultinomialLogisticRegression
    training: ClassVar[Settings] = training_of(ClusterLogisticRegression)
    trained = SparkMultinomialLogisticRegressionModel


class SparkMulticlassSVCModel(SparkModel):
    """A trained model: adds predictions and scores to a DataFrame.

    Its fitted attributes are those of ``MulticlassSVC``: ``classes_``, ``coef_``, ``intercept_``,
    ``certificate_``, ``history_`` and the rest.

    Parameters
    ----------
    local : MulticlassSVC
        Fitted.
    """

    outputs: ClassVar[Settings] = {"rawPredictionCol": "rawPrediction"}


@documented(like=ClusterSVC)
class SparkMulticlassSVC(SparkEstimator):
    """Support vector machines, certified, on the rows of a DataFrame of Spark.

    The problem and its parameters are those of ``MulticlassSVC``. The rows and their dual variables
    stay on the executors: consensus ADMM visits them there with exact steps, and its certificate is
    of all rows. It suits many classes or many features; where rows far outnumber features it takes
    many rounds. An Estimator for pipelines of ``pyspark.ml``; parameters are set by name.

    Parameters
    ----------
    featuresCol : str, default="features"
        Column of vectors, dense or sparse, or of arrays of numbers. Arrays of float train in
        float32, all else in float64.
    labelCol : str, default="label"
        Column of the classes: numbers or strings.
    weightCol : str, default=None
        Column of the rows' weights, not negative.
    predictionCol : str, default="prediction"
        Column that the model adds: the predicted class.
    rawPredictionCol : str, default="rawPrediction"
        Column that the model adds: the score of every class.
    n_jobs : int, default=None
        Threads of each task.

    See Also
    --------
    SparkMulticlassSVCModel : What ``fit`` returns.

    Notes
    -----
    A task writes each partition to a file of its executor, and in every round its dual variables
    to another one, from which the next round continues. Executors that are lost cost both: Spark
    reads their partitions again, whose dual variables begin at 0, and training continues.
    """

    outputs = SparkMulticlassSVCModel.outputs
    plain = MulticlassSVC
    training: ClassVar[Settings] = training_of(ClusterSVC)
    trained = SparkMulticlassSVCModel
