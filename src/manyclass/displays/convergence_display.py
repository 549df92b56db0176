"""Plot of the objective and the gap of a training against seconds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyclass.displays import axes_for

Numbers = NDArray[np.float64]


class ConvergenceDisplay:
    """Relative gap against seconds, with what was proven at the end.

    Use ``from_estimator``. The gaps of the epochs are estimates; the last point is the certificate.

    Parameters
    ----------
    seconds : ndarray of shape (n_epochs,)
        Since training began, at the end of each epoch.
    objectives : ndarray of shape (n_epochs,)
        Estimates of P.
    gaps : ndarray of shape (n_epochs,)
        Estimates of the relative gap.
    objective, gap : float, default=None
        Of the certificate: P, and the relative gap.
    tol : float, default=None
        What was asked for.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Of the gap.
    objective_ax_ : matplotlib Axes, or None
        Of the objective, if it was asked for.
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
        cls, estimator: Any, *, ax: Any = None, objective: bool = False, **options: Any
    ) -> Self:
        """Plot the ``history_`` of a fitted estimator.

        Parameters
        ----------
        estimator : MulticlassSVC, MultinomialLogisticRegression, or one of them with CV
        ax : matplotlib Axes, default=None
            Those of a new figure when None.
        objective : bool, default=False
            Whether to plot the objective, too.
        **options
            Of the line of the gaps.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it keeps no history of gaps.
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

    def plot(self, ax: Any = None, *, objective: bool = False, **options: Any) -> Self:
        """Plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Those of a new figure when None.
        objective : bool, default=False
            Whether to plot the objective, too.
        **options
            Of the line of the gaps.

        Returns
        -------
        self
        """
        ax = axes_for(ax, "ConvergenceDisplay")
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        style = {"marker": ".", "label": "relative gap, estimate"} | options
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
