"""Which solver serves a problem, and how it holds W: what fits into memory, then what is faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from manyclass.memory import available_memory
from manyclass.problem import Problem

Kind = Literal["dense", "sparse"]

# From so many classes on, Crammer-Singer and Weston-Watkins are faster with sparse weights.
MANY_CLASSES = 2000
# Dense weights that take more than this share of the memory give way to sparse ones.
LARGE_SHARE = 0.25
# What sparse weights are expected to need: so many classes with a weight for every non-zero of X
# (16 to 52 are in the lists of an example, but examples share them), so many bytes for each in
# tables that are partly vacant, and in the copy that is returned.
CLASSES_PER_ENTRY = 16
BYTES_PER_WEIGHT = 24
WORTH_TELLING = 10**8


@dataclass(frozen=True, slots=True)
class Choice:
    """How W is held, and what both ways would need.

    Attributes
    ----------
    kind : {"dense", "sparse"}
    dense_bytes : int
        Memory of dense weights (one-vs-rest: and of z), exactly.
    sparse_bytes : int or None
        Memory of sparse weights, roughly; None where the formulation has none.
    """

    kind: Kind
    dense_bytes: int
    sparse_bytes: int | None

    @property
    def matters(self) -> bool:
        """Whether it is worth telling: that dense weights of a small problem fit is not."""
        return self.kind == "sparse" or self.dense_bytes > WORTH_TELLING

    def __str__(self) -> str:
        """One line for people."""
        dense = f"dense {self.dense_bytes / 1e9:.2g} GB"
        if self.sparse_bytes is None:
            return f"weights are dense: {dense}"
        return f"weights are {self.kind}: {dense}, sparse about {self.sparse_bytes / 1e9:.2g} GB"


def choose_weights(problem: Problem, wanted: str) -> Choice:
    """Choose how W is held.

    Parameters
    ----------
    problem : Problem
    wanted : {"auto", "dense", "sparse"}

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If sparse weights are wanted of a formulation whose W is dense by nature.
    MemoryError
        If neither fits, or not the one that is wanted.
    """
    dense, sparse = dense_bytes(problem), sparse_bytes(problem)
    if wanted == "sparse" and sparse is None:
        raise ValueError(
            "weights='sparse' does not go with this formulation, whose weights are dense by "
            "nature; use weights='auto', or formulation='crammer_singer', 'weston_watkins' or "
            "'one_vs_rest'"
        )
    memory = available_memory()
    if sparse is None or wanted == "dense":
        kind: Kind = "dense"
    elif wanted == "sparse":
        kind = "sparse"
    else:
        many = problem.formulation.margin == "relative" and problem.dataset.n_classes > MANY_CLASSES
        kind = "sparse" if many or dense > LARGE_SHARE * memory else "dense"
    choice = Choice(kind, dense, sparse)
    needed = dense if kind == "dense" else sparse
    if needed is not None and needed > memory:
        raise MemoryError(_refusal(problem, choice, memory))
    return choice


def dense_bytes(problem: Problem) -> int:
    """Bytes of dense weights while training."""
    data = problem.dataset
    weights = (data.n_features + 1) * data.n_classes * data.dtype.itemsize
    if problem.formulation.sum_to_zero != "no":
        return weights
    # The groups' weights, and those of all that are put together from them; z of all classes.
    return 2 * weights + data.n_examples * data.n_classes * data.dtype.itemsize


def sparse_bytes(problem: Problem) -> int | None:
    """Bytes of sparse weights while training, roughly; None where there are none."""
    if problem.formulation.centred:
        return None
    data = problem.dataset
    everything = (data.n_features + 1) * data.n_classes
    weights = min(everything, CLASSES_PER_ENTRY * (len(data.values) + data.n_examples))
    return weights * BYTES_PER_WEIGHT * data.dtype.itemsize // 4


def _refusal(problem: Problem, choice: Choice, memory: int) -> str:
    data = problem.dataset
    asked = f"{data.n_features} features and {data.n_classes} classes"
    words = f"dense weights for {asked} need {choice.dense_bytes / 1e9:.1f} GB"
    if choice.sparse_bytes is not None:
        words += f", sparse ones about {choice.sparse_bytes / 1e9:.1f} GB"
    advice = "use float32, fewer features (hashing, selection) or fewer classes"
    if choice.sparse_bytes is not None and choice.sparse_bytes <= memory:
        advice = "use weights='sparse'"
    elif choice.sparse_bytes is None:
        advice += ", or 'crammer_singer', 'weston_watkins' or 'one_vs_rest' with weights='sparse'"
    return f"{words}; there are {memory / 1e9:.1f} GB. Advice: {advice}"
