"""
Data that change every day
==========================

On ten days, rows arrive and others are deleted, and a new class appears. With ``warm_start=True``
each day's training starts from the dual variables of the rows that are still there. The certificate
proves that the result is the optimum of that day's rows.
"""

# %%
# Ten days
# --------
# Every day, 60 of about 6,000 rows are deleted and 60 are added. The last class appears on the
# sixth day.

import matplotlib.pyplot as plt
import numpy as np

from manyclass import MulticlassSVC
from manyclass.datasets import make_text_corpus

X, y = make_text_corpus(
    7_000,
    20_000,
    30,
    topic_share=0.2,
    label_noise=0.1,
    random_state=0,
)
is_late = y == y.max()
late = np.flatnonzero(is_late)
early = np.flatnonzero(~is_late)


def rows_of(day):
    """Return the numbers of the rows of a day."""
    begin = 60 * day
    rows = early[begin : begin + 6_000]
    return rows if day < 5 else np.concatenate([rows, late])


# %%
# Training
# --------
# One model is kept for all days. For comparison, a second one is trained from the start every day.

kept = MulticlassSVC(warm_start=True, random_state=0)
epochs = {"warm start": [], "from the start": []}
seconds = {"warm start": [], "from the start": []}
for day in range(10):
    rows = rows_of(day)
    anew = MulticlassSVC(random_state=0)
    for name, model in (
        ("warm start", kept),
        ("from the start", anew),
    ):
        model.fit(X[rows], y[rows])
        epochs[name].append(model.n_iter_)
        history = model.history_
        seconds[name].append(history[-1].seconds if history else 0.0)
    print(
        f"day {day + 1}: {len(kept.classes_)} classes,"
        f" {kept.n_iter_} and {anew.n_iter_} epochs,"
        f" gap {kept.certificate_.relative_gap:.1e}"
    )

# %%
# Both models have nearly the same objective: each is within ``tol`` of the optimum.

objectives = [
    model.certificate_.primal_objective for model in (kept, anew)
]
print(np.round(objectives, 2).tolist())
for name, values in seconds.items():
    print(f"{name}: {sum(values[1:]):.2f} s for nine days")

# %%
# The first day is the same for both. The dotted line is the day of the new class. The seconds are
# for the epochs only; both models also need time to check the rows.

figure, axes = plt.subplots(
    1, 2, figsize=(8, 3.6), layout="constrained"
)
days = np.arange(1, 11)
colours = {"warm start": "#0072B2", "from the start": "#D55E00"}
for panel, (what, table) in zip(
    axes, (("epochs", epochs), ("seconds", seconds)), strict=True
):
    for name, values in table.items():
        panel.plot(
            days, values, "o-", color=colours[name], label=name
        )
    panel.axvline(6, color="0.6", linestyle=":")
    panel.set_xlabel("day")
    panel.set_ylabel(what)
    panel.set_ylim(bottom=0)
    panel.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False)
plt.show()
