"""Scores of predictions in a taxonomy: distances, hierarchical F1, accuracy of each level.

Formulas and sources: ``manyclass.problem.taxonomy``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyclass.problem.taxonomy import Taxonomy
from manyclass.utils.types import Array, Settings


@dataclass(frozen=True, slots=True, eq=False)
class TreeMetrics:
    """Scores by a taxonomy."""

    mean_distance: float  # of the predictions from the true labels, not scaled
    f1: float  # hierarchical
    # Share below the true label's ancestor of depth 1, 2, ...; NaN: none is as deep.
    by_level: NDArray[np.float64]

    @classmethod
    def from_predictions(cls, tree: Taxonomy, y: Array, predicted: Array) -> TreeMetrics:
        """Compute the scores from labels that are nodes of the tree.

        Examples
        --------
        >>> import numpy as np
        >>> from manyclass import Taxonomy
        >>> from manyclass.reports.tree_metrics import TreeMetrics
        >>> tree = Taxonomy.from_paths(["a/x", "a/y", "b"])
        >>> y, predicted = np.array(["a/x", "b"]), np.array(["a/y", "b"])
        >>> found = TreeMetrics.from_predictions(tree, y, predicted)
        >>> found.mean_distance, found.by_level.tolist()
        (1.0, [1.0, 0.0])
        """
        levels = tree.accuracy_by_level(y, predicted)
        return cls(tree.mean_distance(y, predicted), tree.f1_score(y, predicted), levels)

    def as_dict(self) -> Settings:
        """Return the scores as JSON values; a level that no true label reaches is None."""
        levels = [None if np.isnan(share) else share for share in self.by_level.tolist()]
        return {
            "mean_distance": self.mean_distance,
            "hierarchical_f1": self.f1,
            "accuracy_by_level": levels,
        }

    def lines(self) -> list[str]:
        """Return the scores as text."""
        shares = [f"{100 * share:.1f}" for share in self.by_level[~np.isnan(self.by_level)]]
        return [
            f"distance  {self.mean_distance:7.3f}  on average, in the taxonomy",
            f"tree F1   {100 * self.f1:6.2f} %",
            f"by level  {' '.join(shares)} %",
        ]
