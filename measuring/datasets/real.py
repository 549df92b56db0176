"""Real data sets in svmlight format, from a folder that is not part of the project.

The folder is ../shared/data beside the project, or what the environment variable MANYCLASS_DATA
names. In it NAME.scale.bz2 is the training part and NAME.t.scale.bz2 the test part (or NAME.bz2 and
NAME.t.bz2).
"""

from __future__ import annotations

import os
from pathlib import Path

from manyclass import load_svmlight
from measuring.datasets.base import BaseDataset, Data

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def folder_of_data() -> Path:
    """Return the folder of the files."""
    return Path(os.environ.get("MANYCLASS_DATA", _BESIDE))


class RealDataset(BaseDataset):
    """A pair of files.

    Parameters
    ----------
    name : str
    suffix : str, default=".scale"
        What stands between the name and ".bz2".
    default : bool, default=True
        Whether it is part of a run that names no data sets.
    """

    def __init__(self, name: str, *, suffix: str = ".scale", default: bool = True) -> None:
        self.name = name
        self.suffix = suffix
        self.default = default

    def skip(self) -> tuple[bool, str]:
        """Skip where a file is absent."""
        missing = [path.name for path in self._paths() if not path.is_file()]
        if missing:
            return True, f"no {' and '.join(missing)}; set MANYCLASS_DATA to the folder with them"
        return False, ""

    def load(self) -> Data:
        """Read both parts."""
        train, test = (load_svmlight(path, n_jobs=-1) for path in self._paths())
        return Data.from_parts(train, test)

    def _paths(self) -> list[Path]:
        folder = folder_of_data()
        return [folder / f"{self.name}{part}{self.suffix}.bz2" for part in ("", ".t")]


class RealLabelSets(RealDataset):
    """A pair of files in LIBSVM's multi-label format."""

    multilabel = True

    def __init__(self, name: str) -> None:
        super().__init__(name, suffix="", default=False)

    def load(self) -> Data:
        """Read both parts."""
        train, test = (load_svmlight(path, multilabel=True) for path in self._paths())
        return Data.from_label_sets(train, test)


DATASETS = [
    RealDataset("news20"),
    RealDataset("sector"),
    RealDataset("letter"),
    RealDataset("usps", suffix="", default=False),
    RealDataset("satimage"),
    RealDataset("dna"),
    RealDataset("mnist", default=False),
    RealDataset("covtype100k", default=False),
    RealDataset("lshtc1", default=False),
    RealDataset("wordnet", default=False),
    RealLabelSets("bibtex"),
    RealLabelSets("delicious"),
]
