"""
Probabilities and calibration
=============================

:class:`~manyclass.MultinomialLogisticRegression` predicts probabilities. Scikit-learn's
``CalibratedClassifierCV`` turns the scores of :class:`~manyclass.MulticlassSVC` into probabilities.
A reliability curve shows whether they are correct: 80 % of all predictions with a confidence of
80 % should be correct.
"""

# %%
# Models
# ------
# Synthetic documents in 20 classes, some with the wrong label. Temperature scaling fits one number
# for all classes; it needs scikit-learn 1.8, and is skipped with earlier versions.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.fixes import parse_version

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.datasets import make_text_corpus

X, y = make_text_corpus(
    6000,
    8000,
    20,
    topic_share=0.3,
    label_noise=0.1,
    dtype=np.float64,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0
)

methods = ["sigmoid"]
if parse_version(sklearn.__version__) >= parse_version("1.8"):
    methods.append("temperature")
models = {
    "logistic, C = 1": MultinomialLogisticRegression(
        C=1.0, random_state=0
    ),
    "logistic, C = 10": MultinomialLogisticRegression(
        C=10.0, random_state=0
    ),
}
for method in methods:
    svm = MulticlassSVC(C=0.3, random_state=0)
    models[f"SVM, {method}"] = CalibratedClassifierCV(
        svm, method=method, cv=3
    )

# %%
# Log loss and calibration error
# ------------------------------
# The log loss rewards both accuracy and calibrated probabilities. The expected calibration error
# (ECE) is the mean distance between confidence and accuracy, over ten bins of the confidence.


def reliability(probabilities, y_true, n_bins=10):
    """Return confidence, accuracy and number of rows of the bins."""
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y_true
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    count = np.bincount(bins, minlength=n_bins)
    used = count > 0
    mean = np.bincount(bins, confidence, n_bins)[used] / count[used]
    accuracy = np.bincount(bins, correct, n_bins)[used] / count[used]
    return mean, accuracy, count[used]


curves = {}
print(f"{'model':17} log loss  accuracy    ECE")
for name, model in models.items():
    probabilities = model.fit(X_train, y_train).predict_proba(X_test)
    confidence, accuracy, count = curves[name] = reliability(
        probabilities, y_test
    )
    ece = np.average(np.abs(confidence - accuracy), weights=count)
    loss = log_loss(y_test, probabilities)
    correct = accuracy_score(y_test, probabilities.argmax(axis=1))
    print(f"{name:17} {loss:8.3f}  {correct:8.3f}  {ece:5.3f}")

# %%
# Reliability curves
# ------------------
# Above the diagonal, the model is correct more often than predicted; below it, less often. Bins
# with fewer than 30 rows are omitted.

LOOKS = [
    ("#0072B2", "o-"),
    ("#56B4E9", "s--"),
    ("#E69F00", "^-"),
    ("#D55E00", "D--"),
]
figure, axes = plt.subplots(figsize=(6.4, 5), layout="constrained")
axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfect")
for (name, (confidence, accuracy, count)), (color, style) in zip(
    curves.items(), LOOKS, strict=False
):
    axes.plot(
        confidence[count >= 30],
        accuracy[count >= 30],
        style,
        color=color,
        label=name,
    )
axes.set_xlabel("confidence: probability of the predicted class")
axes.set_ylabel("accuracy of these predictions")
axes.set_xlim(0, 1)
axes.set_ylim(0, 1)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="upper left")
plt.show()
