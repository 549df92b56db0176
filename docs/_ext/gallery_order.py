"""The order of the examples in the gallery: from first steps to special cases."""

from __future__ import annotations

import os
from pathlib import Path

ORDER = (
    "plot_raw_text",
    "plot_from_linear_svc",
    "plot_certificate",
    "plot_choosing_c",
    "plot_probabilities",
    "plot_imbalanced_classes",
    "plot_costs",
    "plot_taxonomy",
    "plot_reject",
    "plot_multilabel",
    "plot_embeddings",
    "plot_device_arrays",
    "plot_sparse_models",
    "plot_formulations",
    "plot_many_classes",
    "plot_changing_data",
    "plot_streaming",
    "plot_dask_cluster",
    "plot_several_processes",
)


def place_of(filename: str | os.PathLike[str]) -> int:
    """Return the place of an example, which must be in ``ORDER``."""
    return ORDER.index(Path(filename).stem)
