"""Plots with the interface of scikit-learn's Display classes; they need matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from manyclass.model_selection.cv_fit import CrossValidationMixin
from manyclass.model_selection.path import CPath
from manyclass.utils.types import Numbers, Settings

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

N_POINTS = 400  # points of the curve of a gap


def _axes_for(ax: Axes | None, name: str) -> Axes:
    """Return the given axes, or the axes of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{name} needs matplotlib: pip install matplotlib") from error
    new: Axes = plt.subplots(layout="constrained")[1]
    return new


class CPathDisplay:
    """Score and proven gap against C.

    Use ``from_estimator`` or ``from_path``.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Values of C with a score, ascending.
    score_mean : ndarray of shape (n_Cs,), or None
        Mean score.
    score_std : ndarray of shape (n_Cs,), or None
        Standard deviation over the folds.
    gap_Cs, gaps : ndarray of shape (n_gaps,)
        Values of C, and the proven relative gap at each.
    C : float, default=None
        The chosen C.
    score_name : str, default="score"

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the score, or of the gaps if there is no score.
    gap_ax_ : matplotlib Axes
        Axes of the gaps, with the same axis of C.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Artist

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import CPathDisplay, MulticlassSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVCCV(Cs=[0.01, 0.1, 1.0], random_state=0).fit(X, y)
    >>> display = CPathDisplay.from_estimator(model)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        Cs: Numbers,
        score_mean: Numbers | None,
        score_std: Numbers | None,
        gap_Cs: Numbers,
        gaps: Numbers,
        C: float | None = None,
        score_name: str = "score",
    ) -> None:
        self.Cs = Cs
        self.score_mean = score_mean
        self.score_std = score_std
        self.gap_Cs = gap_Cs
        self.gaps = gaps
        self.C = C
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, estimator: object, *, ax: Axes | None = None, **options: object
    ) -> Self:
        """Plot the scores of a fitted ``MulticlassSVCCV`` or ``MultinomialLogisticRegressionCV``.

        Parameters
        ----------
        estimator : estimator
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.
        **options
            Options of the line of the score.

        Returns
        -------
        CPathDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator has no scores for several C.
        """
        if not isinstance(estimator, CrossValidationMixin):
            raise TypeError(
                f"CPathDisplay plots an estimator that chooses C, such as MulticlassSVCCV, not "
                f"{type(estimator).__name__}"
            )
        check_is_fitted(estimator)
        return cls.from_scores(
            estimator.Cs_,
            estimator.scores_,
            estimator.gaps_,
            C=estimator.C_,
            scoring=estimator.scoring,
        ).plot(ax=ax, **options)

    @classmethod
    def from_scores(
        cls, Cs: Numbers, scores: Numbers, gaps: Numbers, *, C: float, scoring: object
    ) -> Self:
        """Return a display for a table of scores, without plotting it.

        Parameters
        ----------
        Cs : ndarray of shape (n_Cs,)
        scores, gaps : ndarray of shape (n_folds, n_Cs)
            Values of C with NaN are left out.
        C : float
            The chosen C.
        scoring : str, callable or None
            Used as the name of the score.

        Returns
        -------
        CPathDisplay
        """
        known = np.isfinite(scores).all(axis=0)
        default = "accuracy" if scoring is None else "score"
        Cs = Cs[known]
        return cls(
            Cs=Cs,
            score_mean=scores[:, known].mean(axis=0),
            score_std=scores[:, known].std(axis=0),
            gap_Cs=Cs,
            gaps=gaps[:, known].max(axis=0),
            C=C,
            score_name=scoring if isinstance(scoring, str) else default,
        )

    @classmethod
    def from_path(cls, path: CPath, *, ax: Axes | None = None, **options: object) -> Self:
        """Plot a path: the gap at every C, and the accuracies if it has a validation set.

        Parameters
        ----------
        path : CPath
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.
        **options
            Options of the line of the accuracies.

        Returns
        -------
        CPathDisplay
        """
        Cs = np.geomspace(path.C_min, path.C_max, N_POINTS)
        gaps = path.envelope.gap(Cs)
        accuracies = path.accuracies
        best = None if accuracies is None else float(path.Cs[int(np.argmax(accuracies))])
        return cls(
            Cs=path.Cs,
            score_mean=accuracies,
            score_std=None,
            gap_Cs=Cs,
            gaps=np.asarray(gaps),
            C=best,
            score_name="accuracy",
        ).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, **options: object) -> Self:
        """Plot with the options of ``from_estimator``; return self."""
        ax = _axes_for(ax, "CPathDisplay")
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Artist] = []
        ax.set_xscale("log")
        ax.set_xlabel("C")
        has_scores = self.score_mean is not None
        self.gap_ax_ = ax.twinx() if has_scores else ax
        if has_scores:
            self._plot_scores(ax, options)
        shown = 100 * np.asarray(self.gaps)
        looks = {"marker": "x", "linestyle": ""} if self.gap_Cs is self.Cs else {"linewidth": 1.0}
        style: Settings = {"color": "0.6", "label": "proven gap"} | looks
        self.lines_ += self.gap_ax_.plot(self.gap_Cs, shown, **style)
        self.gap_ax_.set_ylabel("proven gap, %")
        self.gap_ax_.set_ylim(0, 1.25 * max(float(shown.max()), 1e-12))
        if self.C is not None:
            label = f"C = {self.C:.3g}"
            self.lines_.append(ax.axvline(self.C, color="C3", linestyle="--", label=label))
        ax.legend(handles=self.lines_, loc="best")
        return self

    def _plot_scores(self, ax: Axes, options: Settings) -> None:
        mean = np.asarray(self.score_mean)
        style: Settings = {
            "marker": "o",
            "markersize": 4,
            "label": f"{self.score_name}, mean",
        } | options
        self.lines_ += ax.plot(self.Cs, mean, **style)
        ax.set_ylabel(self.score_name)
        if self.score_std is not None:
            low, high = mean - self.score_std, mean + self.score_std
            label = "one deviation of the folds"
            self.lines_.append(ax.fill_between(self.Cs, low, high, alpha=0.2, label=label))


class ConvergenceDisplay:
    """Relative gap against seconds, with the certificate at the end.

    Use ``from_estimator``. The gaps of the epochs are estimates; the last point is the certificate.

    Parameters
    ----------
    seconds : ndarray of shape (n_epochs,)
        Time since the start of training, at the end of each epoch.
    objectives : ndarray of shape (n_epochs,)
        Estimates of P.
    gaps : ndarray of shape (n_epochs,)
        Estimates of the relative gap.
    objective, gap : float, default=None
        P and the relative gap of the certificate.
    tol : float, default=None
        Requested tolerance.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the gap.
    objective_ax_ : matplotlib Axes, or None
        Axes of the objective, if plotted.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Artist

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import ConvergenceDisplay, MulticlassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ConvergenceDisplay.from_estimator(MulticlassSVC(random_state=0).fit(X, y))
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        seconds: Numbers,
        objectives: Numbers,
        gaps: Numbers,
        objective: float | None = None,
        gap: float | None = None,
        tol: float | None = None,
    ) -> None:
        self.seconds = seconds
        self.objectives = objectives
        self.gaps = gaps
        self.objective = objective
        self.gap = gap
        self.tol = tol

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        ax: Axes | None = None,
        objective: bool = False,
        **options: object,
    ) -> Self:
        """Plot the ``history_`` of a fitted estimator.

        Parameters
        ----------
        estimator : MulticlassSVC, MultinomialLogisticRegression, or one of them with CV
        ax : matplotlib Axes, default=None
            None: the axes of a new figure.
        objective : bool, default=False
            Whether to plot the objective, too.
        **options
            Options of the line of the gaps.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator has no history of gaps.
        """
        check_is_fitted(estimator)
        history = getattr(estimator, "history_", None)
        if not history or not hasattr(history[0], "gap_estimate"):
            raise TypeError(
                f"ConvergenceDisplay plots the gaps of a MulticlassSVC or a "
                f"MultinomialLogisticRegression, not {type(estimator).__name__}"
            )
        primal = np.array([record.primal_estimate for record in history])
        gap = np.array([record.gap_estimate for record in history])
        proof = estimator.certificate_
        stops_at_gap = getattr(estimator, "stopping", "gap") == "gap"
        return cls(
            seconds=np.array([record.seconds for record in history]),
            objectives=primal,
            gaps=np.divide(gap, primal, out=np.zeros_like(gap), where=primal > 0),
            objective=None if proof is None else proof.primal_objective,
            gap=None if proof is None else proof.relative_gap,
            tol=estimator.tol if stops_at_gap else None,
        ).plot(ax=ax, objective=objective, **options)

    def plot(self, ax: Axes | None = None, *, objective: bool = False, **options: object) -> Self:
        """Plot with the options of ``from_estimator``; return self."""
        ax = _axes_for(ax, "ConvergenceDisplay")
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Artist] = []
        style: Settings = {"marker": ".", "label": "relative gap, estimate"} | options
        shown = np.where(self.gaps > 0, self.gaps, np.nan)
        self.lines_ += ax.plot(self.seconds, shown, **style)
        ax.set_yscale("log")
        ax.set_xlabel("seconds")
        ax.set_ylabel("relative duality gap")
        if self.gap:
            style = {"marker": "D", "linestyle": "", "color": "C2"}
            label = f"certificate: {self.gap:.1e}"
            self.lines_ += ax.plot(self.seconds[-1:], [self.gap], label=label, **style)
        if self.tol:
            label = f"tol = {self.tol:g}"
            self.lines_.append(ax.axhline(self.tol, color="0.5", linestyle="--", label=label))
        self.objective_ax_ = ax.twinx() if objective else None
        if self.objective_ax_ is not None:
            style = {"color": "C1", "marker": ".", "label": "objective, estimate"}
            self.lines_ += self.objective_ax_.plot(self.seconds, self.objectives, **style)
            self.objective_ax_.set_ylabel("objective P")
        ax.legend(handles=self.lines_, loc="best")
        return self
