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

    by steps of length 1/(alpha t) on batches of rows. All classes are trained together, in a few
    passes over the data. There is no certificate (``MulticlassSVC`` has one). With
    alpha = 1/(n C), the hinge loss has the same optimum as ``MulticlassSVC(C=C)``.

    Parameters
    ----------
    loss : {"hinge", "log_loss", "perceptron"}, default="hinge"
        "log_loss" gives probabilities. The perceptron's predictions do not depend on `alpha`.
    max_iter : int, default=1000
        Maximum number of epochs (passes over the rows).
    tol : float or None, default=1e-3
        Training ends when the mean loss of an epoch (with ``early_stopping``, the accuracy on the
        held-out rows) has not improved by `tol` for `n_iter_no_change` epochs. None: training ends
        after `max_iter` epochs or `max_steps` steps.
    intercept_scaling : float or "auto", default="auto"
        Value of the constant feature; a smaller value regularizes the intercepts more. "auto": 0.1
        for sparse X, because its rows often have length one; else 1 (as in ``MulticlassSVC``).
    class_weight : dict or "balanced", default=None
        Weight of each class; a class of weight 0 is left out by ``fit``. "balanced" weights class c
        by n / (k n_c), in ``fit`` only.
    class_offset : "logit_adjustment", array-like of shape (n_classes,) or dict, default=None
        Numbers that are added to the scores of the classes in training, but not in prediction: a
        class with a smaller offset gets higher scores in prediction. "logit_adjustment", in ``fit``
        only: the logarithm of each class's share of the sample weights, which helps rare classes
        (Menon et al. 2021). An array is in the order of ``classes_``; a dict is by label, and
        missing classes have the offset 0.
    warm_start : bool, default=False
        Whether the next fit with the same classes continues from this one. A fit that was stopped
        by Ctrl-C can then be resumed.
    weights : {"auto", "dense", "sparse"}, default="auto"
        Storage of W during training. "sparse": a hash table of classes for every feature, for
        "hinge" and "perceptron" with thousands of classes; ``coef_`` is then sparse, too.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for prediction and for large batches.
    random_state : int, RandomState instance, default=None
        Orders the rows. An int gives the same result every time, for the same `n_jobs`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) when binary
        float32 for float32 X, else float64; a CSR array after sparse training or ``sparsify``. When
        binary, the weights of the second class minus the weights of the first.
    intercept_ : ndarray of shape (n_classes,), or (1,) when binary
    n_iter_ : int
        Number of epochs in the last call of ``fit``.
    n_steps_ : int
        Number of steps so far.
    weight_seen_ : float
        Total weight of the examples in these steps; their number, if all have weight 1.
    intercept_scaling_ : float
        Value of the constant feature; 0 without an intercept.
    objective_ : float
        f on the data of ``fit``, with ``compute_objective``.
    history_ : list of StochasticRecord
        One record per epoch of the last call: seconds, steps, mean loss, validation score.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Only if X had string column names.

    See Also
    --------
    MulticlassSVC : Training to a proven distance from the optimum.
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
            Training examples. float32 is trained in float32, any other dtype in float64. CSR
            without duplicate entries is not copied; other formats are converted to CSR.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings, at least two of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. A weight of 2 counts like two copies of the row; a weight of 0
            leaves the row out.

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
        """Train on blocks of rows over several epochs; the data need not fit into memory.

        Parameters
        ----------
        blocks : iterable of (X, y)
            Iterated once per epoch, for example a list or ``SvmlightBlocks(...).labelled()``; an
            iterator is not accepted, as it ends after one epoch. With ``shuffle``, the rows of a
            block are used in random order. The order of the blocks is kept, so each block should
            hold several classes.
        classes : array-like of shape (n_classes,)
            All classes that may occur in y.
        n_features : int
            Number of columns of every X.
        dtype : {numpy.float32, numpy.float64}, default=numpy.float32
            Type of the weights; X is converted to it.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If ``fit`` would not accept a block, or y holds a label that is not in `classes`; with
            ``early_stopping``, "balanced" class weights or "logit_adjustment", which need all rows
            at once.
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
        """Continue training with some rows, using each row once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training examples, converted to the dtype of the first call.
        y : array-like of shape (n_samples,)
            Classes of the rows.
        classes : array-like of shape (n_classes,) or "grow", default=None
            All classes that may ever occur in y. Required in the first call, unless the model is
            fitted. With "grow", new labels in y become classes: their weights start at 0; the other
            weights and the number of steps do not change. Adding classes copies all weights, so
            pass the classes that you know in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored. If all weights are 0, the model does
            not change; in a first call with classes, W is then 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in ``fit``; if the classes are missing or differ from earlier calls; if "grow" finds
            both text and numbers, or only one class; with ``early_stopping``, "balanced" class
            weights or "logit_adjustment", which need all rows at once.
        FloatingPointError, MemoryError
            As in ``fit``.

        Notes
        -----
        With ``shuffle=False``, calls with parts of the data give the same result as ``fit`` with
        ``max_iter=1`` on all data, if the number of rows per call is a multiple of `batch_size`.
        After Ctrl-C, the completed steps are kept. `max_iter`, `max_steps` and `tol` are ignored.
        With an int as `random_state`, calls with the same number of rows use the same order. The
        average of the coefficients (`average`) restarts after ``load_model``, and after a ``fit``
        without ``warm_start``.

        If threads share a model, one at a time runs ``fit``, ``fit_blocks`` or ``partial_fit``.
        Predictions in other threads use the model before or after such a call.

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
