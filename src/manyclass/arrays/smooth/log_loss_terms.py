"""Terms of the gap of logistic regression, from the scores of some rows, in float64.

With u = softmax(s), a share of which is moved between classes:

    u'_c = u_c - l_c u_c + e_c sum_b l_b u_b
"""

from __future__ import annotations

from dataclasses import dataclass

from manyclass.arrays.rows import ArrayRows
from manyclass.utils.types import DeviceArray


@dataclass(frozen=True, slots=True)
class LogLossTerms:
    """Numbers of each row, shape (m,)."""

    others: DeviceArray  # 1 - u_y, the sum over the other classes
    log_own: DeviceArray  # log u_y
    own: DeviceArray  # u'_y
    rest: DeviceArray  # 1 - u'_y
    entropy: DeviceArray  # -sum_{c != y} u'_c log u'_c
    moved: DeviceArray  # sum_c u'_c (s_c - s_y)
    largest: DeviceArray  # max_c |s_c|


Shift = tuple[DeviceArray, DeviceArray]  # l and e


def log_loss_terms(
    rows: ArrayRows, S: DeviceArray, labels: DeviceArray, shift: Shift | None
) -> tuple[DeviceArray, LogLossTerms]:
    """Return e_y - u' of each row, which may take the memory of S, and what the gap is made of."""
    if rows.place.is_torch:
        from manyclass.arrays.smooth import log_loss_kernels

        if log_loss_kernels.serves(S):
            R, numbers = log_loss_kernels.terms(S, labels, shift)
            return R, LogLossTerms(*numbers)
    return _by_functions(rows, S, labels, shift)


def _by_functions(
    rows: ArrayRows, S: DeviceArray, labels: DeviceArray, shift: Shift | None
) -> tuple[DeviceArray, LogLossTerms]:
    xp, own = rows.xp, rows.own(labels)
    others = xp.astype(~own, xp.float64)
    top = xp.max(S, axis=1, keepdims=True)
    U = xp.exp(S - top)
    sum_of = xp.sum(U, axis=1, keepdims=True)
    own_scores = rows.pick(S, labels)
    log_own = own_scores - top - xp.log(sum_of)
    U /= sum_of
    of_others = xp.sum(U * others, axis=1)
    if shift is not None:
        leaving = U * shift[0][None, :]
        U = U - leaving + xp.sum(leaving, axis=1, keepdims=True) * shift[1][None, :]
    rest = xp.sum(U * others, axis=1)
    safe = xp.where(U > 0, U, xp.ones_like(U))
    terms = LogLossTerms(
        others=of_others,
        log_own=log_own[:, 0],
        own=rows.pick(U, labels)[:, 0],
        rest=rest,
        entropy=-xp.sum(U * xp.log(safe) * others, axis=1),
        moved=xp.sum(U * (S - own_scores), axis=1),
        largest=xp.max(xp.abs(S), axis=1),
    )
    return xp.where(own, rest[:, None], -U), terms
