"""
Rare classes and costly errors
==============================

A rare class has little weight in the objective, so all its examples may be misclassified.
``class_weight`` multiplies C for all examples of a class, ``sample_weight`` for single examples.
Both change the objective, and the certificate is for the weighted objective.
"""

# %%
# Data
# ----
# Three overlapping groups of 1,000, 250 and 40 points.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import recall_score

from manyclass import MulticlassSVC

NAMES = np.array(["common", "medium", "rare"])
CENTERS = np.array([[0.0, 0.0], [2.2, 0.6], [0.8, 2.2]])


def points(sizes, rng):
    """Return so many points of each class."""
    y = np.repeat(NAMES, sizes)
    X = np.repeat(CENTERS, sizes, axis=0) + 0.9 * rng.standard_normal(
        (len(y), 2)
    )
    return X, y


rng = np.random.default_rng(0)
X_train, y_train = points([1000, 250, 40], rng)
X_test, y_test = points([10_000, 2_500, 400], rng)

# %%
# Class weights
# -------------
# "balanced" gives every class the same total weight. A dict sets the weights: here an error on a
# rare point costs ten times as much.

settings = {
    "none": None,
    "rare: 10": {"rare": 10.0},
    "balanced": "balanced",
}
models, recalls = {}, {}
print("class_weight   common  medium    rare  accuracy")
for name, class_weight in settings.items():
    model = MulticlassSVC(class_weight=class_weight, random_state=0)
    models[name] = model.fit(X_train, y_train)
    predicted = model.predict(X_test)
    recalls[name] = recall_score(
        y_test, predicted, average=None, labels=NAMES
    )
    row = " ".join(f"{recall:7.3f}" for recall in recalls[name])
    print(f"{name:12} {row}  {np.mean(predicted == y_test):8.3f}")

# %%
# The table shows the recall of each class: the share of its test points that are predicted
# correctly. The recall of the rare class rises, the others fall, and so does the accuracy, in which
# common points count most. Which setting is best depends on what an error costs.
#
# Sample weights
# --------------
# If you know the cost of an error for each example, such as an amount of money, use it as the
# weight of the example. Here the amounts are random, and mostly larger in the rarer classes.

MEAN_AMOUNT = {"common": 1.0, "medium": 5.0, "rare": 30.0}


def amounts(y, rng):
    """Return a random amount for each point."""
    means = np.array([MEAN_AMOUNT[label] for label in y])
    return means * rng.gamma(2.0, 0.5, len(y))


amount, amount_test = amounts(y_train, rng), amounts(y_test, rng)
weighted = MulticlassSVC(random_state=0)
weighted.fit(X_train, y_train, sample_weight=amount)
print("sample_weight  test points wrong  mean amount lost")
for name, model in {
    "none": models["none"],
    "amounts": weighted,
}.items():
    wrong = model.predict(X_test) != y_test
    lost = np.mean(amount_test * wrong)
    print(f"{name:13}  {wrong.mean():17.3f}  {lost:16.3f}")

# %%
# Class boundaries
# ----------------
# With weights, the boundaries move away from the rare points (triangles).

COLORS = ["#0072B2", "#E69F00", "#CC3311"]
across, up = np.meshgrid(
    np.linspace(-3.5, 5, 300), np.linspace(-3.5, 5, 300)
)
grid = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(
    1, 2, figsize=(7.6, 4.2), sharey=True, layout="constrained"
)
for panel, name in zip(axes, ("none", "balanced"), strict=True):
    classes = np.searchsorted(NAMES, models[name].predict(grid))
    panel.contourf(
        across,
        up,
        classes.reshape(across.shape),
        levels=[-0.5, 0.5, 1.5, 2.5],
        colors=COLORS,
        alpha=0.25,
    )
    for label, color, marker in zip(
        NAMES, COLORS, "os^", strict=True
    ):
        mine = X_train[y_train == label]
        panel.scatter(
            *mine.T,
            s=16,
            color=color,
            marker=marker,
            linewidths=0,
            label=label,
        )
    panel.set(xlim=(-3.5, 5), ylim=(-3.5, 5))
    panel.set(title=f"class_weight: {name}", xlabel="first feature")
axes[0].set_ylabel("second feature")
axes[0].legend(loc="lower right")
plt.show()

# %%
# Recall of each class
# --------------------

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
places = np.arange(len(NAMES))
for step, (name, color) in enumerate(
    zip(recalls, ["0.6", "#56B4E9", "#0072B2"], strict=True)
):
    bars = axes.bar(
        places + 0.27 * (step - 1),
        recalls[name],
        0.25,
        color=color,
        label=name,
    )
    axes.bar_label(bars, fmt="%.2f", fontsize=8)
axes.set_xticks(places, NAMES)
axes.set_ylabel("recall on the test points")
axes.set_ylim(0, 1.1)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(
    frameon=False, loc="outside right", title="class_weight"
)
plt.show()
