"""The launcher of MPI processes."""

import importlib.util
import sys
from pathlib import Path

import pytest

MPIEXEC = Path(sys.executable).parent / "mpiexec"


needs_mpi = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("mpi4py") is None or not MPIEXEC.exists(),
        reason="needs mpi4py and mpich: pip install mpi4py mpich",
    ),
]
