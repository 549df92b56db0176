"""scikit-learn estimators."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from manyclass.callbacks import WRAPPERS, CallbackSupportMixin, FitTask, with_callbacks
from manyclass.checkpoints import opened
from manyclass.fingerprints import Facts
from manyclass.formulations import FORMULATIONS, LOSSES
from manyclass.identity import facts_of_problem, facts_of_rank
from manyclass.linear import split_weights
from manyclass.parallel.agreement import agreed, check_same, of_first
from manyclass.parallel.communicator import Communicator, as_communicator
from manyclass.problem import Problem
from manyclass.solution import EpochRecord, Solution, Start, Status, Weights
from manyclass.solvers.base import Interrupted, Progress
from manyclass.solvers.choice import Choice, choose_for_ranks, choose_weights
from manyclass.solvers.spread_weights import SpreadWeights
from manyclass.solvers.stopping import RULES
from manyclass.solvers.training import check_ranks, in_parts, train
from manyclass.sparsify import SparsifyMixin
from manyclass.threads import effective_n_jobs
from manyclass.training_data import validated
from manyclass.warm_start import WarmStart


class _Given(NamedTuple):
    """What ``fit`` makes of its arguments."""

    rows: Any
    targets: NDArray[Any]
    problem: Problem
    choice: Choice
    classes: NDArray[Any]


class MulticlassSVC(SparsifyMixin, CallbackSupportMixin, BaseEstimator):
    """Multi-class linear support vector machine, trained to a proven distance from its optimum.

    Solves, for the examples (x_i, y_i), i = 1..n, and W = (w_1, ..., w_k),

        min_W  1/2 ||W||_F^2 + sum_i C_i agg_{c in T_i} max(0, gamma_c - mu_c(x_i, y_i))

    with margins mu, targets T_i and an aggregation agg that the formulation chooses
    (C_i = C * sample_weight_i * class_weight_{y_i}), by the sequential dual method, until the
    relative duality gap is at most ``tol``. For the default, Crammer-Singer, the loss is
    max(0, max_{c != y_i} 1 - (w_{y_i} - w_c) . x_i).

    Parameters
    ----------
    formulation : str, default="crammer_singer"
        "crammer_singer", "weston_watkins", "lee_lin_wahba", "adm", "ats", "atm", "reinforced",
        "mmr" or "one_vs_rest"; see ``manyclass.formulations``. All predict the class of the
        largest score.
    C : float, default=1.0
        Cost of a unit of loss; smaller regularises more.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a margin; "squared_hinge" for the formulations that add losses (not
        "crammer_singer", "adm" and "atm", which take their maximum).
    tol : float, default=1e-3
        With ``stopping="gap"``, relative duality gap (P - D) / P at which training stops: the
        objective is then proven to be within a share ``tol`` of the optimum. With "kkt", the
        largest violation of the optimality conditions, in units of the score (the papers' epsilon;
        they use 0.1).
    stopping : {"gap", "kkt"}, default="gap"
        What ``tol`` means.
    fit_intercept : bool, default=True
        Whether to append a constant feature; its weights are regularised like the others.
    intercept_scaling : float, default=1.0
        Value of that feature. A larger one regularises the intercept less.
    class_weight : dict or "balanced", default=None
        Weight of each class; a class of weight 0 is left out. "balanced" weights class c by
        n / (k n_c).
    max_iter : int, default=1000
        Epochs at most (of each part, where "one_vs_rest" with sparse weights trains some classes
        after the other). An epoch is one loop over all examples and classes, with up to ten times
        its effort in loops over the examples and classes that still move; or, where examples far
        outnumber features, a round of Newton steps.
    warm_start : bool, default=False
        Whether the next fit on the same rows and classes starts where this one ended: from its dual
        variables, scaled when C or the weights changed, and from its W where that is not theirs.
        Also makes a fit that Ctrl-C stopped resumable.
    weights : {"auto", "dense", "sparse"}, default="auto"
        How W is held in memory. "dense": n_features x n_classes numbers. "sparse": a table of
        classes for every feature, for "crammer_singer", "weston_watkins" and "one_vs_rest" with
        thousands of classes; ``coef_`` is then sparse too. "auto" chooses by the number of classes
        and the memory that the machine, or a limit on the process, leaves; ``verbose`` shows what
        was chosen, and why.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for the groups of classes of "one_vs_rest", for sparse
        weights, for Newton steps, the certificate and prediction. Other formulations visit on one
        thread. In a worker of joblib no more than its share of the cores.
    random_state : int, RandomState instance, default=None
        Orders the visits. An int gives the same result every time, for the same `n_jobs`.
    communicator : mpi4py.MPI.Comm, default=None
        Processes among which the classes are spread, such as ``MPI.COMM_WORLD``; for all
        formulations but "adm" and "atm". Every rank calls ``fit`` with the same X, y and
        parameters, and has the same fitted model afterwards; rank 0 alone prints and warns. With
        "one_vs_rest", ``weights`` then says how W is returned. An error on one rank ends all of
        them.
    checkpoint : str or path-like, default=None
        Folder for checkpoints of the training, from which it goes on after a crash, with `resume`;
        rank 0 writes them. The last one is of the end. Must hold none yet, unless with `resume`.
    checkpoint_minutes : float, default=10.0
        Between two checkpoints, at least; they are written after an epoch, and on Ctrl-C.
    resume : bool, default=False
        Whether to go on from the newest checkpoint in `checkpoint`, which must be of the same X, y,
        weights, formulation, C, loss and intercept; all else, such as the number of processes, may
        differ. ``history_`` goes on, and its epochs count for `max_iter`.
    verbose : int, default=0
        1 prints one line per epoch, and before them how large weights are held, and why.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) when binary
        float32 for float32 X, else float64; a CSR array after sparse training or ``sparsify``. When
        binary, the difference of the two classes' weights.
    intercept_ : ndarray of shape (n_classes,), or (1,) when binary
    n_iter_ : int
        Epochs, of all parts together.
    certificate_ : Certificate
        primal_objective, dual_objective, gap, relative_gap, max_violation at the returned weights;
        None once ``sparsify`` has changed them.
    sparsity_report_ : SparsityReport
        After ``sparsify``: what it cost.
    history_ : list of EpochRecord
        One record per epoch: seconds, primal and gap estimates, violation, active share, numbers
        of W and z that are held.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        When X had string column names.

    Notes
    -----
    Binary problems: ``coef_`` is w_1 - w_0, for "one_vs_rest" w_1 alone (of the two machines that
    it trains, each the other's negative).

    See Also
    --------
    sklearn.svm.LinearSVC : With ``multi_class="crammer_singer"``, the same problem.

    References
    ----------
    S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin: A sequential dual method
    for large scale multi-class linear SVMs. KDD 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import MulticlassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(tol=1e-4, random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-4
    True
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    certificate_: Any  # a Certificate, or None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "formulation": [StrOptions(set(FORMULATIONS))],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions(set(LOSSES))],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "stopping": [StrOptions(set(RULES))],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "weights": [StrOptions({"auto", "dense", "sparse"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "communicator": [HasMethods("Get_rank"), HasMethods("send_receive"), None],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_minutes": [Interval(Real, 0.0, None, closed="left")],
        "resume": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        formulation: str = "crammer_singer",
        C: float = 1.0,
        loss: str = "hinge",
        tol: float = 1e-3,
        stopping: str = "gap",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = 1000,
        warm_start: bool = False,
        weights: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        communicator: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_minutes: float = 10.0,
        resume: bool = False,
        verbose: int = 0,
    ) -> None:
        self.formulation = formulation
        self.C = C
        self.loss = loss
        self.tol = tol
        self.stopping = stopping
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.weights = weights
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.communicator = communicator
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume
        self.verbose = verbose

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples; float32 trains in float32, all else in float64. CSR without duplicate entries
            is used where it lies; anything else is converted to CSR.
        y : array-like of shape (n_samples,)
            Classes: numbers or strings, at least two of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; a weight of 2 equals two copies, of 0 no row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y have the wrong shape, hold NaN or infinity, there are fewer than two classes,
            or a weight is negative; if ``checkpoint`` and ``resume`` do not fit what is there.
        OSError
            If ``checkpoint`` is no folder that can be written to.
        FloatingPointError
            If the weights overflow.
        MemoryError
            If W does not fit into memory, before training if that can be known.
        """
        with self._input_restored():
            self._fit(X, y, sample_weight)
        return self

    def _fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, gathers: bool = True
    ) -> Solution:
        ranks = as_communicator(self.communicator)
        given = agreed(ranks, lambda: self._given(X, y, sample_weight, ranks.size, gathers))
        problem, choice, classes = given.problem, given.choice, given.classes
        facts: Facts = {}
        if ranks.size > 1 or self.checkpoint is not None:
            facts = facts_of_problem(problem, classes)
            self._check_same(ranks, given, facts)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        parts = ranks.size == 1 and in_parts(problem, choice.kind)
        max_epochs = None if parts else self.max_iter
        task = FitTask(self, given.rows, given.targets, metadata, max_epochs)
        gathers = gathers or len(classes) == 2  # whose weights are told by their difference
        solution = self._solve(given, facts, task, ranks, gathers=gathers)
        self._set_fitted(solution, classes)
        self._remember(problem, solution.start, classes)
        if ranks.rank == 0:
            self._warn(solution)
        task.end()
        return solution

    def _validate_params(self) -> None:
        """Check the parameters; ``fit`` on several ranks does so where all of them can end."""
        if getattr(as_communicator(self.communicator), "size", 1) == 1:
            super()._validate_params()

    def _given(self, X: Any, y: Any, sample_weight: Any, n_ranks: int, gathers: bool) -> _Given:
        """Turn the arguments of ``fit`` into a problem."""
        if n_ranks > 1:
            super()._validate_params()
        rows, targets = validated(self, X, y)
        dataset, classes = self._dataset(rows, targets, sample_weight)
        problem = Problem(dataset, FORMULATIONS[self.formulation], float(self.C), self.loss)
        if n_ranks == 1:
            choice = choose_weights(problem, self.weights, effective_n_jobs(self.n_jobs))
        else:
            check_ranks(problem)
            choice = choose_for_ranks(problem, self.weights, n_ranks, gathers=gathers)
        return _Given(rows, targets, problem, choice, classes)

    def _check_same(self, ranks: Communicator, given: _Given, facts: Facts) -> None:
        """Refuse ranks that would train different things, or end at different times."""
        params = self.get_params()
        del params["communicator"], params["verbose"], params["random_state"], params["n_jobs"]
        others = {
            "how weights are returned": given.choice.kind,
            "an earlier fit to go on from": hasattr(self, "_warm_start"),
        }
        check_same(ranks, facts_of_rank(facts, {**params, **others}))

    def _solve(
        self, given: _Given, facts: Facts, task: FitTask, ranks: Communicator, *, gathers: bool
    ) -> Solution:
        problem, choice, classes = given.problem, given.choice, given.classes
        tells = self.verbose and ranks.rank == 0
        if tells and choice.matters:
            print(choice, flush=True)
        seed = of_first(ranks, check_random_state(self.random_state).randint(2**31 - 1))
        with opened(
            self.checkpoint, self.checkpoint_minutes, problem, facts, ranks, resume=self.resume
        ) as checkpoints:
            start = checkpoints.start or self._remembered(problem, classes)
            n_before = 0 if start is None else len(start.history)
            if tells and n_before:
                print(f"going on after epoch {n_before}, from {checkpoints.newest}", flush=True)

            def on_epoch(progress: Progress) -> bool:
                if tells:
                    print(progress.record, flush=True)
                checkpoints.on_epoch(progress)
                return task.epoch(lambda: self._attributes(progress.weights(), classes))

            try:
                solution = train(
                    problem,
                    choice.kind,
                    lambda: RULES[self.stopping](float(self.tol)),
                    rng=np.random.default_rng([seed, n_before] if n_before else seed),
                    n_jobs=effective_n_jobs(self.n_jobs),
                    max_iter=self.max_iter,
                    start=start,
                    on_epoch=on_epoch,
                    keep_duals=self.warm_start or self.checkpoint is not None,
                    communicator=ranks,
                    gathers=gathers,
                )
            except Interrupted as interrupt:
                checkpoints.write(interrupt.start)
                self._remember(problem, interrupt.start, classes)
                raise
            except (MemoryError, RuntimeError) as error:
                # The latter from a thread pool, where there is no memory for one more thread.
                if isinstance(error, RuntimeError) and "new thread" not in str(error):
                    raise
                raise MemoryError(
                    f"training needs more memory than there is ({choice}); use float32, fewer "
                    "features (hashing, selection), a smaller C or fewer classes"
                ) from error
            checkpoints.write(solution.start)
        return solution

    def _remembered(self, problem: Problem, classes: NDArray[Any]) -> Start | None:
        """Return where an earlier fit ended, if this one is to begin there."""
        remembered: WarmStart | None = getattr(self, "_warm_start", None)
        return remembered.start_for(problem, classes) if self.warm_start and remembered else None

    @property
    def _bias(self) -> float:
        """Value of the appended feature."""
        return self.intercept_scaling if self.fit_intercept else 0.0

    def _attributes(self, W: Weights, classes: NDArray[Any]) -> dict[str, Any]:
        """Return what prediction needs, from W of shape (d + 1, k)."""
        separate = FORMULATIONS[self.formulation].sum_to_zero == "no"
        coef, intercept = split_weights(W, self._bias, one_is_enough=separate)
        return {"classes_": classes, "coef_": coef, "intercept_": intercept}

    def _set_fitted(self, solution: Solution, classes: NDArray[Any]) -> None:
        if isinstance(solution.weights, SpreadWeights):
            self.classes_ = classes
            self.__dict__.pop("_coefficients", None)
        else:
            for name, value in self._attributes(solution.weights, classes).items():
                setattr(self, name, value)
        self.__dict__.pop("sparsity_report_", None)
        self.certificate_ = solution.certificate
        self.history_: list[EpochRecord] = solution.history
        self.n_iter_ = len(solution.history)

    def _remember(self, problem: Problem, start: Start, classes: NDArray[Any]) -> None:
        self.__dict__.pop("_warm_start", None)
        if self.warm_start:
            self._warm_start = WarmStart(
                start,
                problem.costs,
                problem.dataset.labels,
                classes,
                self.formulation,
                self.loss,
            )

    def _warn(self, solution: Solution) -> None:
        if solution.status in (Status.MAX_ITER, Status.STALLED):
            reached = solution.certificate
            warnings.warn(
                f"training stopped after {len(solution.history)} epoch(s) at relative gap "
                f"{reached.relative_gap:.2e}, violation {reached.max_violation:.2e} (asked for: "
                f"{self.stopping} {self.tol:g}): {solution.status.value}",
                ConvergenceWarning,
                stacklevel=5 + WRAPPERS,  # the caller of fit
            )
