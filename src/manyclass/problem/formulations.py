"""The catalog of formulations, each given by five fields, and of losses.

Every formulation is an instance of

    min_W  1/2 ||W||_F^2 + sum_i C_i agg_{c in T_i} max(0, gamma_c - mu_c(x_i, y_i))

with W (d x k; column c is w_c), margins mu, targets T_i, an aggregation agg, and perhaps the
constraint sum_c w_c = 0. Its dual has the variables z_{i,c} >= 0 for c in T_i:

    max_z  sum_{i,c} gamma_c z_ic - 1/2 ||W(z)||_F^2
    s.t.   z_ic <= C_i  (agg = sum)    or    sum_c z_ic <= C_i  (agg = max)

    relative margins:  w_c(z) = sum_i ([c = y_i] sum_m z_im - z_ic) x_i
    absolute margins:  u_c(z) = sum_i ([c = y_i] - [c != y_i]) z_ic x_i,  w_c = u_c, or
                       w_c = u_c - mean_m u_m with the constraint sum_c w_c = 0

``loss="squared_hinge"`` squares max(0, .), for agg = sum only; the dual then has no upper bounds
and the additional term - sum z_ic^2 / (4 C_i).

Losses of a slack xi, and their dual variables:

                     loss(xi)          bounds         ridge R(z)      best z at xi
    hinge            max(0, xi)        0 <= z <= C    0               C if xi > 0
    squared_hinge    max(0, xi)^2      0 <= z         z^2 / (4 C)     2 C max(0, xi)

D contains -R(z). Losses are defined in this file, in ``cpp/data/loss.hpp``
and, for devices, in ``arrays/smooth/losses.py``.

Input: x_i, y_i, C_i. Sources: Dogan, Glasmachers, Igel, JMLR 17(45), 2016 (the family, there with
halved relative margins); Keerthi et al. 2008, eq. 1, 4, 14, 16 (CS, WW); Alber et al. 2017, eq. 2
and 3 (LLW, WW); Lin 2008 (one-vs-rest).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line reads the names without NumPy
    from manyclass.utils.types import Array
from typing import Literal


@dataclass(frozen=True, slots=True)
class Loss:
    """A power of max(0, xi); costs C are broadcast.

    Attributes
    ----------
    power : {1, 2}
    """

    power: int

    @property
    def has_ridge(self) -> bool:
        """Whether D has a ridge R(z); z then has no upper bound."""
        return self.power == 2

    def of_positive(self, xi: Array) -> Array:
        """Return the loss for xi >= 0."""
        return xi if self.power == 1 else xi**2

    def slope(self, xi: Array) -> Array:
        """Return the derivative, which is the best z for C = 1."""
        return (xi > 0) * 1.0 if self.power == 1 else 2 * xi.clip(0)

    def upper(self, costs: Array) -> Array:
        """Return the upper bound of z."""
        return costs if self.power == 1 else costs + math.inf

    def ridge(self, z: Array, costs: Array) -> Array:
        """Return R(z)."""
        return 0.0 * z if self.power == 1 else z**2 / (4 * costs)

    def gradient(self, z: Array, xi: Array, costs: Array) -> Array:
        """Return dD/dz = xi - R'(z)."""
        return xi if self.power == 1 else xi - z / (2 * costs)


LOSSES = {"hinge": Loss(power=1), "squared_hinge": Loss(power=2)}


# Losses for each aggregation: the dual of a maximum must have simplex constraints.
LOSSES_OF = {
    "max": tuple(name for name, loss in LOSSES.items() if not loss.has_ridge),
    "sum": tuple(LOSSES),
    "log_sum_exp": ("log_loss",),
}


@dataclass(frozen=True)
class Formulation:
    """A multi-class SVM as data.

    Attributes
    ----------
    margin : {"relative", "absolute"}
        relative: mu_c = (w_y - w_c) . x. absolute: mu_c = -w_c . x for c != y, mu_y = w_y . x.
    targets : {"others", "all", "own"}
        T_i, the classes whose margins count: c != y_i, all, or only y_i.
    aggregation : {"max", "sum", "log_sum_exp"}
        The loss of an example: the largest loss of the targets, the sum of the losses, or
        log(1 + sum_c exp(-mu_c)).
    gamma_own : {"1", "k-1"}
        Required margin of y_i if it is a target; the margin of the other classes is 1.
    sum_to_zero : {"implied", "enforced", "no"}
        implied: sum_c w_c = 0 holds at every W(z) without a constraint.
    """

    margin: Literal["relative", "absolute"]
    targets: Literal["others", "all", "own"]
    aggregation: Literal["max", "sum", "log_sum_exp"]
    gamma_own: Literal["1", "k-1"]
    sum_to_zero: Literal["implied", "enforced", "no"]

    @cached_property
    def centred(self) -> bool:
        """Whether W is constrained to mean zero over the classes."""
        return self.sum_to_zero == "enforced"

    @cached_property
    def is_separable(self) -> bool:
        """Whether each class is a binary problem of its own."""
        return self.sum_to_zero == "no"

    @cached_property
    def takes_maximum(self) -> bool:
        """Whether the loss is the largest loss of the targets instead of the sum."""
        return self.aggregation == "max"

    @cached_property
    def is_relative(self) -> bool:
        """Whether margins are differences of two scores."""
        return self.margin == "relative"

    def margins(self, n_classes: int) -> tuple[float, float]:
        """gamma_c of c != y, and gamma_y."""
        return 1.0, 1.0 if self.gamma_own == "1" else n_classes - 1.0

    @cached_property
    def losses(self) -> tuple[str, ...]:
        """Names of the losses that can be combined with it."""
        return LOSSES_OF[self.aggregation]


FORMULATIONS: dict[str, Formulation] = {
    "crammer_singer": Formulation("relative", "others", "max", "1", "implied"),
    "weston_watkins": Formulation("relative", "others", "sum", "1", "implied"),
    "lee_lin_wahba": Formulation("absolute", "others", "sum", "1", "enforced"),
    "adm": Formulation("absolute", "others", "max", "1", "enforced"),
    "ats": Formulation("absolute", "all", "sum", "1", "enforced"),
    "atm": Formulation("absolute", "all", "max", "1", "enforced"),
    "reinforced": Formulation("absolute", "all", "sum", "k-1", "enforced"),
    "mmr": Formulation("absolute", "own", "sum", "1", "enforced"),
    "one_vs_rest": Formulation("absolute", "all", "sum", "1", "no"),
}

SHORT_NAMES = {
    "cs": "crammer_singer",
    "ww": "weston_watkins",
    "llw": "lee_lin_wahba",
    "rm": "reinforced",
    "ovr": "one_vs_rest",
}

# Multinomial logistic regression: log(1 + sum_{c != y} exp((w_c - w_y) . x)), the log loss of the
# softmax of all scores. It has its own solver and dual (solvers/logistic/multinomial.py).
LOGISTIC = Formulation("relative", "others", "log_sum_exp", "1", "implied")


def full_name(formulation: str) -> str:
    """Return the full name of a formulation, given its full or short name."""
    return SHORT_NAMES.get(formulation, formulation)


def named(formulation: str) -> Formulation:
    """Return a formulation by its short or full name."""
    return FORMULATIONS[SHORT_NAMES.get(formulation, formulation)]
