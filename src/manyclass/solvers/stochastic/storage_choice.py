"""Choice of dense or sparse storage in the stochastic solver."""

from __future__ import annotations

from joblib import cpu_count

from manyclass.solvers.weights.accumulators import DenseAccumulator, Sums
from manyclass.solvers.weights.storage_choice import LARGE_SHARE, Choice, Kind, Shape, size_text
from manyclass.solvers.weights.tables import TableAccumulator
from manyclass.utils.memory import available_memory

# Number of classes from which hinge and perceptron are faster with sparse weights.
MANY_CLASSES = 2000


def check_weights(loss: str, wanted: str) -> None:
    """Refuse sparse weights for a loss whose steps move the weights of all classes.

    Raises
    ------
    ValueError
    """
    if loss == "log_loss" and wanted == "sparse":
        raise ValueError(
            "weights='sparse' does not go with loss='log_loss', which moves the weights of all "
            "classes in every step; use weights='auto', or loss='hinge' or 'perceptron'"
        )


def choose_sums(
    shape: Shape, loss: str, wanted: str, *, averages: bool, is_sparse: bool, batch_size: int
) -> Choice:
    """Choose the storage of W.

    Parameters
    ----------
    shape : Shape
    loss : {"hinge", "log_loss", "perceptron"}
    wanted : {"auto", "dense", "sparse"}
        "sparse" not for log_loss (``check_weights``).
    averages : bool
        Whether there is a second array of the size of W.
    is_sparse : bool
        Whether rows share few features.
    batch_size : int
        Rows in a batch; log_loss keeps the scores of all of them.

    Returns
    -------
    Choice

    Raises
    ------
    MemoryError
        If dense weights must be and do not fit.
    """
    rows = (1 + averages) * (shape.n_features + 1) + (batch_size if loss == "log_loss" else 0)
    dense = rows * shape.n_classes * shape.dtype.itemsize
    memory = available_memory()
    may = loss != "log_loss" and wanted != "dense"
    many = is_sparse and shape.n_classes > MANY_CLASSES
    better = many or dense > LARGE_SHARE * memory
    kind: Kind = "sparse" if may and (wanted == "sparse" or better) else "dense"
    if kind == "dense" and dense > memory:
        advice = "use float32, fewer features (hashing, selection) or fewer classes"
        words = f"dense weights for {shape.n_features} features and {shape.n_classes} classes"
        if loss == "log_loss":
            words += f", and the scores of a batch of {batch_size},"
        else:
            advice = "use weights='sparse'"
        raise MemoryError(
            f"{words} need {size_text(dense)}; there are {size_text(memory)}. Advice: {advice}"
        )
    return Choice(kind, dense, None)


def new_sums(shape: Shape, choice: Choice, *, averages: bool, n_jobs: int) -> Sums:
    """Return S = 0 and, if averages are wanted, U = 0."""
    if choice.kind == "dense":
        return DenseAccumulator(shape, averages=averages)
    spacious = choice.dense_bytes < LARGE_SHARE * available_memory()
    n_shards = min(n_jobs, cpu_count())  # more would only wait
    return TableAccumulator(shape, averages=averages, n_shards=n_shards, spacious=spacious)
