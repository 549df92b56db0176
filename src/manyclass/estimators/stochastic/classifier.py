"""The estimator of stochastic training."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import unique_labels

from manyclass.estimators.coefficients import CallbackSupportMixin, FitTask, with_callbacks
from manyclass.estimators.offsets import Offsets
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.probabilities import ProbabilitiesMixin
from manyclass.estimators.stochastic.fit import StochasticModel
from manyclass.estimators.stochastic.run import checked_dtype, checked_width, shape_of, two_at_least
from manyclass.estimators.stochastic.samples import hold_out
from manyclass.estimators.validation import one_of, training_data, validated
from manyclass.solvers.sgd import STOCHASTIC_LOSSES, StochasticRecord
from manyclass.solvers.weights.storage import Shape
from manyclass.utils.scikit_learn import fit_context, suggests_parameters
from manyclass.utils.suggestions import OF_STOCHASTIC
from manyclass.utils.types import ClassWeight, Rows, RowsLike, StochasticLossName, WeightsName


@documented()
class StochasticClassifier(
    ProbabilitiesMixin, StochasticModel, CallbackSupportMixin, BaseEstimator
):
    """Multi-class SVM, logistic regression or perceptron, trained by stochastic steps.

    Minimizes, for examples x_i with classes y_i and weights v_i, over W = (w_1, ..., w_k),

        f(W) = alpha/2 ||W||_F^2 + sum_i v_i l(W; x_i, y_i) / sum_i v_i

        hinge        l = max(0, 1 + max_{c != y} w_c . x - w_y . x)        (Crammer-Singer)
        log_loss     l = log sum_c exp(w_c . x) - w_y . x
        perceptron   l = max(0, max_{c != y} w_c . x - w_y . x)

    by steps of length 1/(alpha t) on batches of rows. One objective for all classes, a few passes
    over the data; nothing is proven about the result (``MulticlassSVC`` does that). With
    alpha = 1/(n C), the hinge has the optimum of ``MulticlassSVC(C=C)``.

    Parameters
    ----------
    loss : {"hinge", "log_loss", "perceptron"}, default="hinge"
        "log_loss" gives probabilities. The perceptron's predictions do not depend on `alpha`.
    max_iter : int, default=1000
        Epochs (passes over the rows) at most.
    tol : float or None, default=1e-3
        Training ends when the mean loss of an epoch (or, with ``early_stopping``, the accuracy on
        the rows held out) has not improved by `tol` for `n_iter_no_change` epochs. None: it ends
        after `max_iter` epochs or `max_steps` steps.
    intercept_scaling : float or "auto", default="auto"
        Value of the constant feature; a smaller value regularizes the intercepts more. "auto": 0.1
        for sparse X, whose rows often have length one, else 1 (as with ``MulticlassSVC``).
    class_weight : dict or "balanced", default=None
        Weight of each class; a class of weight 0 is left out by ``fit``. "balanced" weights class c
        by n / (k n_c), in ``fit`` only.
    class_offset : "logit_adjustment", array-like of shape (n_classes,) or dict, default=None
        Numbers that training adds to the scores of the classes, and prediction does not: a class
        with a smaller offset ends with higher scores. "logit_adjustment", in ``fit`` only: the
        logarithm of the share of each class in the weights of the rows, which helps rare classes
        (Menon et al. 2021). An array is in the order of ``classes_``; a dict is by label, with 0
        for classes that it lacks.
    warm_start : bool, default=False
        Whether the next fit with the same classes continues from this one. Also makes a fit
        that Ctrl-C stopped resumable.
    weights : {"auto", "dense", "sparse"}, default="auto"
        How W is held in memory. "sparse": a table of classes for every feature, for "hinge" and
        "perceptron" with thousands of classes; ``coef_`` is then sparse too.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores), for prediction and for batches large enough.
    random_state : int, RandomState instance, default=None
        Orders the rows. An int gives the same result every time, for the same `n_jobs`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) when binary
        float32 for float32 X, else float64; a CSR array after sparse training or ``sparsify``. When
        binary, the difference of the two classes' weights.
    intercept_ : ndarray of shape (n_classes,), or (1,) when binary
    n_iter_ : int
        Epochs of the last call of ``fit``.
    n_steps_ : int
        Steps so far.
    weight_seen_ : float
        Weight of all examples of these steps: of weight 1, their number.
    intercept_scaling_ : float
        Value of the constant feature; 0 without an intercept.
    objective_ : float
        f on the data of ``fit``, with ``compute_objective``.
    history_ : list of StochasticRecord
        One record per epoch of the last call: seconds, steps, mean loss, validation score.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        When X had string column names.

    See Also
    --------
    MulticlassSVC : Trains to a proven distance from the optimum.
    sklearn.linear_model.SGDClassifier : One-vs-rest, one class after the other.

    References
    ----------
    D. Chen, W. Chen, Q. Yang: Characterizing inverse time dependency in multi-class learning.
    ICDM 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import StochasticClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StochasticClassifier(loss="log_loss", average=True, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    n_iter_: int
    n_steps_: int
    weight_seen_: float
    intercept_scaling_: float
    objective_: float
    history_: list[StochasticRecord]

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "loss": [one_of(STOCHASTIC_LOSSES)],
        "tol": [Interval(Real, 0.0, None, closed="left"), None],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither"), one_of(["auto"])],
    }

    @suggests_parameters(OF_STOCHASTIC)
    def __init__(
        self,
        *,
        loss: StochasticLossName = "hinge",
        alpha: float = 1e-4,
        batch_size: int = 1,
        max_iter: int = 1000,
        max_steps: int | None = None,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        average: bool | int = False,
        shuffle: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        class_weight: ClassWeight = None,
        class_offset: Offsets | None = None,
        warm_start: bool = False,
        weights: WeightsName = "auto",
        compute_objective: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.average = average
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.class_offset = class_offset
        self.warm_start = warm_start
        self.weights = weights
        self.compute_objective = compute_objective
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    @fit_context
    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples; float32 trains in float32, all else in float64. CSR without duplicate entries
            is not copied; anything else is converted to CSR.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings, at least two of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; a weight of 2 counts like two copies, of 0 like no row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y have the wrong shape, hold NaN or infinity, there are fewer than two classes,
            or a weight is negative.
        FloatingPointError
            If the weights may overflow.
        MemoryError
            If W does not fit into memory.
        """
        with self._turn():
            given = self._like_this()
            rows, targets = validated(given, X, y)
            metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
            task = FitTask(self, rows, targets, metadata, self.max_iter)
            rng = self._rng()
            score = None
            if self.early_stopping:
                share = float(self.validation_fraction)
                kept, held = hold_out(rows, targets, sample_weight, share, rng)
                score = self._scorer(*held)
                rows, targets, sample_weight = kept
            input_settings = self._input_settings(rows, go_on=self.warm_start)
            dataset, classes = training_data(
                rows,
                targets,
                sample_weight,
                self.class_weight,
                input_settings.bias,
                keeps_dense=False,
            )
            running = self._started(
                shape_of(dataset), classes, input_settings, go_on=self.warm_start
            )
            status = self._train([dataset], running, rng, task, given, score)
        self._warn(status)
        return self

    @with_callbacks
    @fit_context
    def fit_blocks(
        self,
        blocks: Iterable[tuple[Rows, ArrayLike]],
        classes: ArrayLike,
        n_features: int,
        dtype: DTypeLike = np.float32,
    ) -> Self:
        """Train on rows that come in blocks, again and again: they need not fit into memory.

        Parameters
        ----------
        blocks : iterable of (X, y)
            Gone through once in every epoch, such as a list, or ``SvmlightBlocks(...).labelled()``;
            an iterator, which can't begin again, will not do. With ``shuffle``, the rows of a block
            are visited in random order; blocks come as they do, so none should be of one class.
        classes : array-like of shape (n_classes,)
            All classes that y may hold.
        n_features : int
            Columns of every X.
        dtype : {numpy.float32, numpy.float64}, default=numpy.float32
            Type of the weights, to which X is converted.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a block is not as ``fit`` wants it, or holds another class; with ``early_stopping``,
            or "balanced" class weights, which need all rows at once.
        FloatingPointError, MemoryError
            As in ``fit``.

        Examples
        --------
        >>> import numpy as np
        >>> from manyclass import StochasticClassifier
        >>> blocks = [(np.eye(3), ["a", "b", "c"]), (2 * np.eye(3), ["a", "b", "c"])]
        >>> model = StochasticClassifier(random_state=0).fit_blocks(blocks, ["a", "b", "c"], 3)
        >>> model.predict(np.eye(3)).tolist()
        ['a', 'b', 'c']
        """
        self._refuse_for("fit_blocks")
        if iter(blocks) is blocks:
            raise ValueError("blocks is an iterator, which ends after one epoch; give a list")
        known = two_at_least(unique_labels(classes))
        shape = Shape(checked_width(n_features), len(known), checked_dtype(dtype))
        self._warn(self._train_blocks(blocks, known, shape))
        return self

    @fit_context
    def partial_fit(
        self,
        X: RowsLike,
        y: ArrayLike,
        classes: ArrayLike | Literal["grow"] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue training with some rows, each of them visited once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples, converted to the type of the first ones.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,) or "grow", default=None
            All classes that y will ever hold; needed in the first call, unless the model is fitted.
            With "grow", labels of y that are not among the classes become classes: their weights
            begin at 0, the number of steps and the other weights stay. Such a call copies all
            weights, so announce the classes that you know.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative. Rows of weight 0 count as no rows: if all have it, nothing changes. In a
            first call with classes, W is then 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``fit``, or if the classes are missing or others than before, if "grow" finds
            text beside numbers or one class only; with
            ``early_stopping``, or "balanced" class weights, which need all rows at once.
        FloatingPointError, MemoryError
            As in ``fit``.

        Notes
        -----
        With ``shuffle=False``, pieces give what ``fit`` with ``max_iter=1`` gives for the whole, if
        no batch is cut: pieces of a multiple of `batch_size` rows. After Ctrl-C the steps that were
        made count. `max_iter`, `max_steps` and `tol` are for ``fit``. An int as `random_state`
        gives every piece of the same length the same order. A mean of the coefficients (`average`)
        restarts after ``load_model``, and after a ``fit`` without ``warm_start``.

        Threads that share a model take turns in ``fit``, ``fit_blocks`` and ``partial_fit``; those
        that predict meanwhile do so with the model before or after a call.

        Examples
        --------
        >>> from manyclass import StochasticClassifier
        >>> model = StochasticClassifier(random_state=0)
        >>> for x, label in [(0.0, "no"), (1.0, "yes"), (0.1, "no")]:
        ...     model = model.partial_fit([[x]], [label], classes=["no", "yes"])
        >>> model.n_steps_
        3
        """
        self._refuse_for("partial_fit")
        self._train_piece(X, y, classes, sample_weight)
        return self
