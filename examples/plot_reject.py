"""
Reject option
=============

An uncertain model can leave a row to a person: ``predict(X, reject=threshold)`` predicts a class if
its confidence is at least the threshold. The more rows it rejects, the fewer of its predictions are
wrong.
"""

# %%
# Data
# ----
# Handwritten digits; every tenth row is for training.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.reports.evaluation import evaluate

X, y = load_digits(return_X_y=True)
X = X / 16
train = np.arange(len(y)) % 10 == 0
logistic = MultinomialLogisticRegression().fit(X[train], y[train])
svm = MulticlassSVC(random_state=0).fit(X[train], y[train])

# %%
# Predictions
# -----------
# Confidence is the largest probability. Rows below the threshold get the label -1, or "" if labels
# are text. ``reject_label`` sets a different label.

y_pred = logistic.predict(X[~train], reject=0.6)
kept = y_pred != -1
correct = y_pred == y[~train]
print(f"{kept.mean():.1%} of the rows have a prediction")
print(f"{np.mean(~correct[kept]):.1%} of these predictions are wrong")

# %%
# Errors at each coverage
# -----------------------
# ``evaluate`` finds the thresholds that keep about 100, 95, 90, ... 50 % of the rows, and the share
# of wrong predictions among them; the HTML report and ``manyclass evaluate --report`` have the same
# table. For a model without probabilities, confidence is the top-2 margin: the largest score minus
# the second largest.

found = {
    "probability": evaluate(logistic, X[~train], y[~train]).coverage,
    "top-2 margin": evaluate(svm, X[~train], y[~train]).coverage,
}
print("\n".join(found["probability"].lines()))

# %%
# Both confidences
# ----------------

figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for (measure, covered), color, marker in zip(
    found.items(), ["#0072B2", "#E69F00"], "os", strict=True
):
    axes.plot(
        100 * covered.coverage,
        100 * covered.errors,
        color=color,
        marker=marker,
        label=measure,
    )
axes.set(xlabel="rows kept (%)", ylabel="wrong predictions (%)")
axes.set_ylim(bottom=0)
axes.legend(title="confidence", frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
