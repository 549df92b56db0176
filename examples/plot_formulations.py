"""
The nine formulations
=====================

:class:`~manyclass.MulticlassSVC` has nine multi-class SVMs with different losses. This example
trains them on the same synthetic documents and compares their accuracy and the shares of zero dual
variables and weights.
"""

# %%
# Data
# ----

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from manyclass import MulticlassSVC
from manyclass.datasets import make_text_corpus
from manyclass.problem import FORMULATIONS

X, y = make_text_corpus(
    3000,
    3000,
    12,
    words_per_example=30,
    topic_share=0.35,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0
)

# %%
# Nine formulations, four values of C
# -----------------------------------
# The losses differ in size, so the same C means different things. Each formulation is compared at
# the best of four values, chosen on the test rows: a rough comparison on these data, not a
# benchmark.

Cs = [0.1, 1.0, 10.0, 100.0]
accuracy, zeros = {}, {}
for name in FORMULATIONS:
    models = [
        MulticlassSVC(formulation=name, C=C, tol=1e-2, random_state=0)
        for C in Cs
    ]
    accuracy[name] = [
        model.fit(X_train, y_train).score(X_test, y_test)
        for model in models
    ]
    best = models[int(np.argmax(accuracy[name]))]
    n_duals = len(y_train) * len(best.classes_)
    zero_duals = 1 - best.history_[-1].n_duals / n_duals
    zeros[name] = zero_duals, np.mean(best.coef_ == 0)

print("accuracy at C:  ", *(f"{C:6g}" for C in Cs), " zero z  zero W")
for name in FORMULATIONS:
    scores = " ".join(f"{score:6.3f}" for score in accuracy[name])
    of_duals, of_weights = zeros[name]
    print(f"{name:16} {scores}  {of_duals:6.1%}  {of_weights:6.1%}")

# %%
# z are the dual variables, one per example and class, and W are the weights, both at the C with the
# best accuracy. If most z are zero, W is a sum of few rows, which makes thousands of classes
# possible. Short names, such as ``formulation="ww"``, also work.
#
# Accuracy
# --------

names = sorted(FORMULATIONS, key=lambda name: max(accuracy[name]))
places = np.arange(len(names))
figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
for place, name in enumerate(names):
    ends = [min(accuracy[name]), max(accuracy[name])]
    axes.plot(ends, [place, place], color="0.8", zorder=0)
for column, (color, marker) in enumerate(
    zip(
        ["#56B4E9", "#009E73", "#E69F00", "#D55E00"],
        "os^D",
        strict=True,
    )
):
    scores = [accuracy[name][column] for name in names]
    label = f"C = {Cs[column]:g}"
    axes.scatter(
        scores, places, s=45, color=color, marker=marker, label=label
    )
axes.set_yticks(places, names)
axes.set_xlabel("accuracy on the test rows")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()

# %%
# Sparsity
# --------

figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
shares = np.array([zeros[name] for name in names])
axes.barh(
    places + 0.2,
    shares[:, 0],
    0.38,
    color="#0072B2",
    label="dual variables z",
)
axes.barh(
    places - 0.2, shares[:, 1], 0.38, color="0.6", label="weights W"
)
axes.set_yticks(places, names)
axes.set_xlabel("share of zeros, at the best C")
axes.set_xlim(0, 1)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(frameon=False, loc="outside upper right", ncols=2)
plt.show()
