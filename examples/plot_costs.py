"""
Grades: costs that grow with the distance
=========================================

If classes are grades, a prediction that is off by three is worse than one that is off by one.
``MulticlassSVC(costs=...)`` requires margins as large as the cost.
"""

# %%
# Data
# ----
# The progression of a disease in five grades of equal size.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from manyclass import MulticlassSVC, MulticlassSVCCV

X, y = load_diabetes(return_X_y=True)
grades = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])) + 1
X = StandardScaler().fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(
    X, grades, test_size=0.4, random_state=0
)

# %%
# Costs
# -----
# The row is the true grade, the column the predicted one.

costs = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
print(costs)

# %%
# Training
# --------
# Without costs, all mistakes are equal. With costs, distant grades need a larger margin.

models = {
    "no costs": MulticlassSVC(C=0.1, random_state=0),
    "costs": MulticlassSVC(C=0.1, costs=costs, random_state=0),
}
y_pred = {}
for name, model in models.items():
    y_pred[name] = model.fit(X_train, y_train).predict(X_test)
    off = costs[y_test - 1, y_pred[name] - 1]
    print(
        f"{name:9} correct {np.mean(off == 0):.2f}, off by {off.mean():.2f} on "
        f"average, by three or four {np.mean(off >= 3):.2f}; proven to "
        f"{model.certificate_.relative_gap:.0e}"
    )

# %%
# About as many predictions are correct, and the wrong ones are closer.

figure, panels = plt.subplots(
    1, 2, figsize=(9, 4), layout="constrained"
)
for panel, (name, predicted) in zip(
    panels, y_pred.items(), strict=True
):
    ConfusionMatrixDisplay.from_predictions(
        y_test, predicted, ax=panel, colorbar=False, cmap="Blues"
    )
    panel.set_title(name)
plt.show()

# %%
# Choosing C
# ----------
# ``scoring="cost"`` chooses C by the mean cost on the held-out rows.

search = MulticlassSVCCV(
    Cs=[0.001, 0.01, 0.1, 1.0],
    costs=costs,
    scoring="cost",
    random_state=0,
).fit(X_train, y_train)
for C, score in zip(
    search.Cs_, search.scores_.mean(axis=0), strict=True
):
    print(f"C = {C:5g}: off by {-score:.2f}")
print(f"chosen: C = {search.C_:g}")
