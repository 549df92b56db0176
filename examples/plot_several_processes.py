"""
Several MPI processes
=====================

With ``mpiexec``, every process holds some of the classes, so W may be too large for one machine.
The optimum and the kind of certificate are the same as with one process. This example needs
``mpi4py`` and an MPI library (``pip install mpi4py mpich``); without them it trains in
one process and says so.
"""

# %%
# A program for any number of processes
# -------------------------------------
# Every process (rank) calls ``fit`` with the same data and parameters; ``communicator`` connects
# them. Afterwards every rank has the whole model; only rank 0 prints.

import json
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt

PROGRAM = """
import json
from manyclass import MulticlassSVC
from manyclass.datasets import make_text_corpus

try:
    from mpi4py import MPI
    communicator = MPI.COMM_WORLD
except (ImportError, RuntimeError):  # no mpi4py, or no MPI library
    communicator = None

X, y = make_text_corpus(2000, 5000, 100, random_state=0)
model = MulticlassSVC(
    formulation="weston_watkins",
    tol=1e-3,
    random_state=0,
    communicator=communicator,
).fit(X, y)
if communicator is None or communicator.Get_rank() == 0:
    proof = model.certificate_
    print(json.dumps({
        "primal": proof.primal_objective,
        "dual": proof.dual_objective,
        "gaps": [record.relative_gap for record in model.history_],
    }))
"""

# %%
# Running it
# ----------
# The launcher is in the folder of Python if pip installed ``mpich``, and on the search path
# otherwise.

mpiexec = shutil.which(
    "mpiexec", path=str(Path(sys.executable).parent)
) or shutil.which("mpiexec")
has_mpi = mpiexec is not None and find_spec("mpi4py") is not None
if not has_mpi:
    print("MPI is not installed: this run shows one process only")

found = {}
with tempfile.TemporaryDirectory() as folder:
    program = Path(folder, "program.py")
    program.write_text(PROGRAM)
    for n_processes in (1, 2) if has_mpi else (1,):
        launcher = (
            [mpiexec, "-n", str(n_processes)]
            if n_processes > 1
            else []
        )
        done = subprocess.run(
            [*launcher, sys.executable, str(program)],
            capture_output=True,
            text=True,
            check=True,
        )
        found[n_processes] = result = json.loads(done.stdout)
        print(
            "$",
            *(["mpiexec -n", n_processes] if launcher else []),
            "python program.py",
        )
        low, high = result["dual"], result["primal"]
        print(f"  the optimum lies between {low:.3f} and {high:.3f}")
        print(f"  {len(result['gaps'])} epochs")

# %%
# The command line needs no program; each rank reads only its part of the file, and the model is
# written in parts::
#
#     mpiexec -n 2 manyclass train DATA MODEL --formulation ww
#
# The same gap
# ------------
# The estimated gap after each epoch. The numbers of epochs differ, because each process works on
# its own classes. The optimum is the same.

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (n_processes, result), color, style in zip(
    found.items(), ["#0072B2", "#D55E00"], ["o-", "s--"], strict=False
):
    name = (
        "1 process"
        if n_processes == 1
        else f"{n_processes} processes"
    )
    epochs = range(1, len(result["gaps"]) + 1)
    axes.semilogy(
        epochs, result["gaps"], style, color=color, label=name
    )
axes.axhline(1e-3, color="0.5", linestyle=":", label="tol")
axes.set_xlabel("epochs")
axes.set_ylabel("relative gap, estimate")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
