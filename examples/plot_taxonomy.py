"""
Classes in a tree
=================

``Taxonomy`` represents a tree of classes. Its distances are costs of mistakes. With probabilities,
it predicts an inner node if no single class is likely enough.
"""

# %%
# Data
# ----
# Overlapping groups of points, near each other if their classes are near in the tree.

import matplotlib.pyplot as plt
import numpy as np

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    Taxonomy,
)

tree = Taxonomy.from_nested(
    {
        "animal": {"mammal": ["cat", "dog"], "bird": ["owl", "gull"]},
        "plant": {"tree": ["oak", "elm"]},
    }
)
CENTERS = {
    "cat": (0.0, 0.0),
    "dog": (0.7, 0.3),
    "owl": (1.2, -1.0),
    "gull": (1.9, -0.6),
    "oak": (-1.2, 1.2),
    "elm": (-0.6, 1.6),
}


def points(n, rng):
    """Return points around the center of their class."""
    names = np.array(list(CENTERS))[
        rng.integers(len(CENTERS), size=n)
    ]
    centers = np.array([CENTERS[name] for name in names])
    return centers + 0.9 * rng.standard_normal((n, 2)), names


rng = np.random.default_rng(0)
X, y = points(600, rng)
X_test, y_test = points(4_000, rng)

# %%
# Training
# --------
# For the flat model, a dog is no nearer to a cat than to an oak.

models = {
    "flat": MulticlassSVC(random_state=0).fit(X, y),
    "tree": MulticlassSVC(costs=tree, random_state=0).fit(X, y),
}
for name, model in models.items():
    y_pred = model.predict(X_test)
    levels = " ".join(
        f"{share:.3f}"
        for share in tree.accuracy_by_level(y_test, y_pred)
    )
    print(
        f"{name}: accuracy by level {levels}; F1 "
        f"{tree.f1_score(y_test, y_pred):.3f}; "
        f"{tree.mean_distance(y_test, y_pred):.3f} edges off"
    )

# %%
# Predicting inner nodes
# ----------------------
# ``predict_node`` returns the deepest node that is more likely than the threshold.

model = MultinomialLogisticRegression().fit(X, y)
grid = np.stack(
    np.meshgrid(np.linspace(-3, 4, 200), np.linspace(-3, 4, 200)),
    axis=-1,
).reshape(-1, 2)
found = tree.predict_node(model, grid, threshold=0.7)
nodes = [node for node in tree.nodes if node in set(found)]
numbers = np.array([nodes.index(node) for node in found])

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
image = axes.pcolormesh(
    *grid.T.reshape(2, 200, 200),
    numbers.reshape(200, 200),
    cmap=plt.get_cmap("tab20", len(nodes)),
    vmin=-0.5,
    vmax=len(nodes) - 0.5,
)
bar = figure.colorbar(image, ticks=range(len(nodes)))
bar.ax.set_yticklabels(
    ["anything" if node is None else str(node) for node in nodes]
)
axes.set_title("the deepest node with more than 70 %")
plt.show()
