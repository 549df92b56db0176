"""
Multi-label: thresholds tuned for F1
====================================

:class:`~manyclass.MultilabelSVC` trains one binary SVM per label. The scores of rare labels seldom
reach 0; with thresholds tuned by cross-validation, these labels are predicted more often.
"""

# %%
# Data
# ----
# Synthetic documents with 30 labels, the last of which are rare. A row has 3 labels on average.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from manyclass import MultilabelSVC
from manyclass.multilabel import f1_scores, precision_at_k

rng = np.random.default_rng(0)
n_rows, n_features, n_labels = 3_000, 60, 30
share = np.geomspace(0.3, 0.03, n_labels)
topics = rng.standard_normal((n_features, n_labels))
X = rng.standard_normal((n_rows, n_features)).astype(np.float32)
strength = X @ topics + 8 * rng.standard_normal((n_rows, n_labels))
cut = [
    np.quantile(s, 1 - p)
    for s, p in zip(strength.T, share, strict=True)
]
Y = (strength > cut).astype(int)
X_train, X_test, Y_train, Y_test = train_test_split(
    X, Y, random_state=0
)
print(f"{Y.sum(axis=1).mean():.1f} labels per row")

# %%
# Training
# --------
# The certificate is for the sum over the labels.

models = {
    "threshold 0": MultilabelSVC(C=0.1, random_state=0),
    "tuned": MultilabelSVC(C=0.1, threshold="tuned", random_state=0),
}
for name, model in models.items():
    model.fit(X_train, Y_train)
    found = f1_scores(Y_test, model.predict(X_test))
    print(
        f"{name:12} micro F1 {found.micro:.3f}, macro F1 {found.macro:.3f}"
    )
model = models["tuned"]
print(f"proven gap {model.certificate_.relative_gap:.1e}")
best = precision_at_k(Y_test, model.decision_function(X_test), 1)
print(f"precision of the best label {best:.3f}")

# %%
# F1 of each label
# ----------------
# The rarer the label, the more its threshold matters.


def f1_of_labels(predicted):
    """Compute the F1 of every label."""
    hits = (predicted & Y_test).sum(axis=0)
    return 2 * hits / (predicted.sum(axis=0) + Y_test.sum(axis=0))


figure, axes = plt.subplots(layout="constrained")
for (name, model), marker in zip(models.items(), "ox", strict=True):
    axes.plot(
        Y_train.mean(axis=0),
        f1_of_labels(model.predict(X_test)),
        marker,
        label=name,
    )
axes.set_xscale("log")
axes.set_xlabel("share of the rows that have the label")
axes.set_ylabel("F1 on the test rows")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
