"""
Rows without an answer
======================

A model that is not sure may leave a row to someone else: ``predict(X, reject=threshold)`` answers
where its confidence is at least the threshold. The more rows it leaves out, the fewer of its
answers are wrong.
"""

# %%
# Data
# ----
# Handwritten digits, of which every tenth one is to train on.

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
# Answers
# -------
# Confidence is the largest probability. Rows below the threshold get the label -1; text would get
# "". ``reject_label`` names another one.

answers = logistic.predict(X[~train], reject=0.6)
answered = answers != -1
right = answers == y[~train]
print(f"{answered.mean():.1%} of the rows have an answer")
print(f"{np.mean(~right[answered]):.1%} of these answers are wrong")

# %%
# Errors at each coverage
# -----------------------
# ``evaluate`` finds the thresholds that keep about 100, 95, 90, ... 50 % of the rows, and the share
# of wrong answers among them; the HTML report and ``manyclass evaluate --report`` have the same
# table. For a model without probabilities, confidence is the top-2 margin: the largest score less
# the second.

found = {
    "probability": evaluate(logistic, X[~train], y[~train]).coverage,
    "lead": evaluate(svm, X[~train], y[~train]).coverage,
}
print("\n".join(found["probability"].lines()))

# %%
# A picture of both
# -----------------

figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for (measure, covered), colour, marker in zip(
    found.items(), ["#0072B2", "#E69F00"], "os", strict=True
):
    axes.plot(
        100 * covered.coverage,
        100 * covered.errors,
        color=colour,
        marker=marker,
        label=measure,
    )
axes.set(xlabel="rows with an answer (%)", ylabel="wrong answers (%)")
axes.set_ylim(bottom=0)
axes.legend(title="confidence", frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
