"""Fitted pipelines of text and of numbers."""

from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import MulticlassSVC

X, Y = load_iris(return_X_y=True)
TEXTS = [
    "The cat sat on the mat, and the cat slept.",
    "A dog barked; the dog ran after a cat!",
    "Über allen Gipfeln ist Ruh, in allen Wipfeln",
    "Stocks fell as the market closed on Friday.",
    "The market rose: stocks gained, bonds fell.",
    "Dogs and cats, cats and dogs.",
]
TOPICS = ["animals", "animals", "poems", "money", "money", "animals"]
UNSEEN = ["a cat and a bond", "", "Ruh and stocks", "\ud83d\ude00 the the the dog\n\nran"]


def text_pipeline(*steps, **params):
    steps = steps or (TfidfVectorizer(),)
    return make_pipeline(*steps, MulticlassSVC(random_state=0, **params)).fit(TEXTS, TOPICS)


def scaled(*steps, X=X, y=Y, classifier=None):
    steps = steps or (StandardScaler(),)
    return make_pipeline(*steps, classifier or MulticlassSVC(random_state=0)).fit(X, y)
