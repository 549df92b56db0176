"""The optimization problems that solvers are compared on: a formulation with its loss.

    min_W  P(W) = 1/2 ||W||_F^2 + C sum_i loss_i(W)

without an intercept. With m = w_{y_i} . x_i and s_c = w_c . x_i, loss_i is

    crammer_singer        max(0, max_{c != y_i} 1 - m + s_c)
    weston_watkins        sum_{c != y_i} max(0, 1 - m + s_c)
    one_vs_rest           max(0, 1 - m) + sum_{c != y_i} max(0, 1 + s_c)
    one_vs_rest_squared   the same with each term squared
    logistic              log sum_c exp(s_c) - m

In multi-label problems, a row has any number of classes, its labels. With t_c = 1 for the labels of
row i and -1 for the other classes, loss_i is

    multilabel            sum_c max(0, 1 - t_c s_c)
    multilabel_squared    the same with each term squared
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """What is minimized; formulation and loss as ``MulticlassSVC`` calls them, or logistic.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
        What tables and pictures call it.
    multilabel : bool, default=False
        Whether rows have any number of labels.
    """

    name: str
    title: str
    formulation: str
    loss: str = "hinge"
    multilabel: bool = False


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("crammer_singer", "Crammer-Singer", "crammer_singer"),
        Problem("weston_watkins", "Weston-Watkins", "weston_watkins"),
        Problem("one_vs_rest", "One-vs-rest, hinge", "one_vs_rest"),
        Problem(
            "one_vs_rest_squared", "One-vs-rest, squared hinge", "one_vs_rest", "squared_hinge"
        ),
        Problem("logistic", "Multinomial logistic regression", "logistic", "log_loss"),
        Problem("multilabel", "Multi-label, hinge", "one_vs_rest", multilabel=True),
        Problem(
            "multilabel_squared",
            "Multi-label, squared hinge",
            "one_vs_rest",
            "squared_hinge",
            multilabel=True,
        ),
    )
}
