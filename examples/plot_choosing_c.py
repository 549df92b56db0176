"""
Choosing C
==========

``C`` weighs the losses against the size of the weights. Cross-validation compares several values;
:func:`~manyclass.c_path` returns a model that is proven to be near the optimum for every value of a
range.
"""

# %%
# Cross-validation
# ----------------
# :class:`~manyclass.MulticlassSVCCV` trains all values on five folds. It trains those that are
# significantly worse than the best to a gap of 1 % only, and stops after two such values in a row.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from manyclass import CPathDisplay, MulticlassSVCCV, c_path

X_train, X_test, y_train, y_test = train_test_split(
    *load_digits(return_X_y=True), random_state=0
)
X_train, X_test = X_train / 16, X_test / 16

search = MulticlassSVCCV(
    Cs=np.geomspace(1e-3, 10, 9), cv=5, random_state=0
)
search.fit(X_train, y_train)
print("      C  accuracy  largest gap")
for C, scores, gaps in zip(
    search.Cs_, search.scores_.T, search.gaps_.T, strict=True
):
    print(f"{C:7.3g}  {scores.mean():8.4f}  {gaps.max():11.1e}")
print(f"chosen: C = {search.C_:.3g}")
print(
    f"accuracy on the test rows: {search.score(X_test, y_test):.4f}"
)

# %%
# A C whose score differs from the best by less than the spread of the folds is about as good. The
# band shows that spread; the crosses show the proven gap of each fit.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
CPathDisplay.from_estimator(search, ax=axes)
axes.set_title("five folds of digits")
plt.show()

# %%
# Every C of a range
# ------------------
# The path adds models where the gap is largest, until every C has a stored model whose objective is
# within ``epsilon`` of the optimum at that C, even if no model was trained there.

path = c_path(
    X_train,
    y_train,
    C_min=1e-3,
    C_max=10.0,
    epsilon=0.05,
    validation=(X_test, y_test),
    random_state=0,
)
print(len(path.Cs), "models for all C from 0.001 to 10")
for C in (0.0123, 0.777, 5.0):
    low, high = path.bounds_at(C)
    print(
        f"C = {C}: the optimum lies between {low:.3f} and {high:.3f}"
    )
    accuracy = path.model_at(C).score(X_test, y_test)
    print(f"  gap {path.gap_at(C):.1%}, accuracy {accuracy:.4f}")

# %%
# The gray curve is the proven gap at every C; it is lowest where a model was trained (the dots).
# The dashed line is at the best accuracy on the held-out rows. If you use it to choose C, keep
# different rows for the final test.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
CPathDisplay.from_path(path, ax=axes)
axes.set_title("certified path, epsilon = 5 %")
plt.show()
