"""
From LinearSVC and LogisticRegression
=====================================

:class:`~manyclass.MulticlassSVC` solves the problems of scikit-learn's ``LinearSVC``, and
:class:`~manyclass.MultinomialLogisticRegression` solves the problem of ``LogisticRegression``. The
same C gives the same coefficients. This example trains the pairs and compares them.
"""

# %%
# The pairs
# ---------
# ``LinearSVC`` trains one-vs-rest with the squared hinge loss by default, and Crammer-Singer on
# request; ``MulticlassSVC`` trains Crammer-Singer by default. Both regularize the intercept. In
# ``MulticlassSVC``, ``tol`` is a proven relative gap; it is small here to compare digits.

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, MultinomialLogisticRegression

X_train, X_test, y_train, y_test = train_test_split(
    *load_digits(return_X_y=True), random_state=0
)
X_train, X_test = X_train / 16, X_test / 16

exact = {"tol": 1e-7, "max_iter": 100_000, "random_state": 0}
pairs = {
    "one-vs-rest, squared hinge": (
        LinearSVC(C=0.1, **exact),
        MulticlassSVC(
            formulation="ovr", loss="squared_hinge", C=0.1, **exact
        ),
    ),
    "one-vs-rest, hinge": (
        LinearSVC(loss="hinge", C=0.1, **exact),
        MulticlassSVC(formulation="ovr", C=0.1, **exact),
    ),
    "Crammer-Singer": (
        LinearSVC(multi_class="crammer_singer", C=0.1, **exact),
        MulticlassSVC(C=0.1, **exact),
    ),
    "logistic": (
        LogisticRegression(C=0.1, tol=1e-6, max_iter=10_000),
        MultinomialLogisticRegression(C=0.1, **exact),
    ),
}

# %%
# The same coefficients
# ---------------------
# The table shows the largest coefficient, the largest difference of any coefficient, the number of
# test rows with different predictions, and the proven gap.

print(f"{'problem':27} largest  difference  rows       gap")
for name, (theirs, ours) in pairs.items():
    theirs.fit(X_train, y_train)
    ours.fit(X_train, y_train)
    largest = np.abs(theirs.coef_).max()
    difference = np.abs(ours.coef_ - theirs.coef_).max()
    rows = np.sum(ours.predict(X_test) != theirs.predict(X_test))
    gap = ours.certificate_.relative_gap
    print(f"{name:27} {largest:7.3f}  {difference:10.0e}", end="")
    print(f"  {rows:4}  {gap:8.0e}")

# %%
# Certificates
# ------------
# ``certificate_`` bounds the distance of a model from the optimum. ``LinearSVC`` warns when
# ``max_iter`` ends training, without such a bound.

for number, value in (
    pairs["Crammer-Singer"][1].certificate_.as_dict().items()
):
    print(f"{number:17} {value:.6g}")

# %%
# Parameters that only scikit-learn has raise an error that explains them:

try:
    MulticlassSVC(multi_class="crammer_singer")
except TypeError as error:
    print(textwrap.fill(str(error), 70))

# %%
# Coefficient by coefficient
# --------------------------
# Every point is a weight; on the diagonal both libraries agree.

COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"]
figure, axes = plt.subplots(
    2, 2, figsize=(6.4, 6.4), layout="constrained"
)
for panel, (name, (theirs, ours)), color in zip(
    axes.flat, pairs.items(), COLORS, strict=True
):
    limit = 1.1 * np.abs(theirs.coef_).max()
    panel.axline((0, 0), slope=1, color="0.7", linewidth=1, zorder=0)
    panel.scatter(
        theirs.coef_, ours.coef_, s=12, color=color, linewidths=0
    )
    panel.set(xlim=(-limit, limit), ylim=(-limit, limit), title=name)
    panel.set_xlabel(type(theirs).__name__)
    panel.set_ylabel(type(ours).__name__)
plt.show()
