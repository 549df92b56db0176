"""
Reading the certificate and the convergence plot
================================================

Every fit ends with a certificate: a lower and an upper bound of the optimum of the training
objective. This example reads it, and compares it with the test accuracy, which it does not bound.
"""

# %%
# The certificate
# ---------------
# P is the primal objective of the returned weights. The dual objective D is a lower bound of every
# objective, so the optimum lies between D and P. The relative gap is P - D divided by P or, if it
# is smaller, by P(0) - D, the possible improvement over W = 0, whose objective is P(0).

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from manyclass import ConvergenceDisplay, MulticlassSVC

X_train, X_test, y_train, y_test = train_test_split(
    *load_digits(return_X_y=True), random_state=0, test_size=0.5
)
X_train, X_test = X_train / 16, X_test / 16

model = MulticlassSVC(C=1.0, tol=1e-4, random_state=0).fit(
    X_train, y_train
)
proof = model.certificate_
print(f"primal objective  {proof.primal_objective:.6f}")
print(f"dual objective    {proof.dual_objective:.6f}")
print(f"gap               {proof.gap:.6f}")
print(
    f"relative gap      {proof.relative_gap:.2e} (tol: {model.tol})"
)
print(f"largest violation {proof.max_violation:.2e}")

# %%
# The largest violation of the optimality conditions is in units of the score:
# ``stopping="kkt"`` uses it to stop, as in the papers.
#
# The convergence plot
# --------------------
# ``history_`` has a record for each epoch. Its gaps are estimates, because W changes during an
# epoch; the diamond is the certificate, from a last pass that does not change W.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=axes, objective=True)
axes.set_title("digits, C = 1")
plt.show()

# %%
# A smaller gap is not a better prediction
# ----------------------------------------
# From row to row of the table, the gap decreases by orders of magnitude. The accuracy soon changes
# by single test rows only.

tolerances = [1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]
gaps, accuracies = [], []
print("requested   proven    epochs  test accuracy")
for tol in tolerances:
    model = MulticlassSVC(C=1.0, tol=tol, random_state=0)
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    gap = model.certificate_.relative_gap
    print(
        f"{tol:9.0e}   {gap:.1e}  {model.n_iter_:6}  {accuracy:.4f}"
    )
    gaps.append(gap)
    accuracies.append(accuracy)

# %%
# A certificate does not choose C
# -------------------------------
# All models below have a proven gap of at most 1e-3. Their accuracies differ because C differs.

Cs = [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0]
by_c = []
print("     C   proven   test accuracy")
for C in Cs:
    model = MulticlassSVC(C=C, tol=1e-3, random_state=0)
    by_c.append(model.fit(X_train, y_train).score(X_test, y_test))
    gap = model.certificate_.relative_gap
    print(f"{C:6g}  {gap:.1e}  {by_c[-1]:.4f}")

# %%
# In the left panel the gap decreases from left to right. In the right panel C grows.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.6), sharey=True, layout="constrained"
)
left.semilogx(gaps, accuracies, "o-", color="#0072B2")
left.invert_xaxis()
left.set_xlabel("proven relative gap, at C = 1")
left.set_ylabel("accuracy on the test rows")
right.semilogx(Cs, by_c, "s-", color="#D55E00")
right.set_xlabel("C, at a gap of at most 1e-3")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
# sphinx_gallery_thumbnail_number = 1
