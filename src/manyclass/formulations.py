"""The catalogue of formulations: each is five fields of data.

Every one is an instance of

    min_W  1/2 ||W||_F^2 + sum_i C_i * agg_{c in T_i} max(0, gamma - mu_c(x_i, y_i))

with W (d x k; column c is w_c), margins mu, targets T_i, an aggregation agg, and perhaps the
constraint sum_c w_c = 0. The dual variables are z_{i,c} >= 0 for c in T_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Formulation:
    """A multi-class SVM as data.

    Attributes
    ----------
    margin : {"relative"}
        relative: mu_c = (w_y - w_c) . x.
    targets : {"others"}
        T_i: the classes c whose margins count. others: c != y_i.
    aggregation : {"max"}
        agg. max: the dual has sum_c z_{i,c} <= C_i.
    gamma : float
        The margin that is asked for.
    sum_to_zero : {"implied"}
        implied: sum_c w_c = 0 holds at every W(z) without being asked for.
    """

    margin: Literal["relative"]
    targets: Literal["others"]
    aggregation: Literal["max"]
    gamma: float
    sum_to_zero: Literal["implied"]


# Crammer-Singer:
#
#   primal   min_W  1/2 ||W||_F^2 + sum_i C_i max(0, max_{c != y_i} 1 - (w_{y_i} - w_c) . x_i)
#   dual     max_z  sum_{i,c} z_ic - 1/2 ||W(z)||_F^2   s.t.  z_ic >= 0,  sum_{c != y_i} z_ic <= C_i
#            w_c(z) = sum_i ([c = y_i] sum_m z_im - z_ic) x_i
#
# Given: x_i, y_i, C_i. Source: Keerthi et al. 2008, eq. 1 and 4 (alpha_i^c = -z_ic for c != y_i).
FORMULATIONS: dict[str, Formulation] = {
    "crammer_singer": Formulation(
        margin="relative", targets="others", aggregation="max", gamma=1.0, sum_to_zero="implied"
    ),
}
