"""The commands that the pages name, and the table of their quick forms."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"_build", "generated", "gallery"}
MODULE = re.compile(r"python3? -m ([\w.]+)([^`\n]*)")
# "`python -m package.one`, `.two`, then `.three`"
MORE = re.compile(r"`python3? -m ([\w.]+)\.\w+[^`\n]*`((?:(?:,|\s|and|then)+`\.\w+`)+)")
PROGRAM = re.compile(r"`manyclass ([a-z][^`]*)`")
OWN = ("benchmarks", "experiments", "measuring", "manyclass", "tests")


@dataclass(frozen=True)
class Quick:
    """The quick form of a documented command.

    Attributes
    ----------
    added : str
        What follows the documented arguments.
    needs : tuple of str
        Modules and programs without which the test is skipped.
    slow : bool
        Whether it takes more than a second.
    """

    added: str = "--quick"
    needs: tuple[str, ...] = ()
    slow: bool = False


QUICK, SLOW = Quick(), Quick(slow=True)
MPI = Quick(needs=("mpi4py", "mpiexec"), slow=True)
COMMANDS = {
    "benchmarks.many_classes.growth": SLOW,
    "benchmarks.many_classes.run": SLOW,
    "benchmarks.page": SLOW,
    "benchmarks.peers.plots": SLOW,
    "benchmarks.peers.reference": QUICK,
    "benchmarks.peers.run": SLOW,
    "benchmarks.runs.busy": SLOW,
    "benchmarks.runs.calibration": SLOW,
    "benchmarks.runs.choosing_c": SLOW,
    "benchmarks.runs.cluster_estimate": SLOW,
    "benchmarks.runs.cluster_peers": Quick("spark --quick", ("pyspark", "java"), slow=True),
    "benchmarks.runs.consensus_rounds": QUICK,
    "benchmarks.runs.from_disk": Quick("sparse 1 --quick"),
    "benchmarks.runs.growth": SLOW,
    "benchmarks.runs.newton_rounds": SLOW,
    "benchmarks.runs.prediction": QUICK,
    "benchmarks.runs.profile": QUICK,
    "benchmarks.runs.ranks": MPI,
    "benchmarks.stochastic.run": SLOW,
    "experiments": Quick(added=""),
    "experiments.alber2017.speedup": MPI,
    "experiments.alber2017.sweep": QUICK,
    "experiments.alber2017.table1": QUICK,
    "experiments.chen2011.run": SLOW,
    "experiments.formulations.consistency": QUICK,
    "experiments.formulations.run": QUICK,
    "experiments.keerthi2008.curves": SLOW,
    "experiments.keerthi2008.page": QUICK,
    "experiments.keerthi2008.plots": SLOW,
    "experiments.keerthi2008.seeding": QUICK,
    "experiments.keerthi2008.tables": SLOW,
    "experiments.keerthi2008.underflow": QUICK,
    "experiments.keerthi2008.updates": QUICK,
    "experiments.lin2008.growth": SLOW,
    "experiments.lin2008.kernels": SLOW,
    "experiments.lin2008.libsvm": QUICK,
    "experiments.lin2008.page": SLOW,
}
# Words of the pages that stand for something of the reader's.
STAND_FOR = {"NAME": "news20"}


def pages():
    """Return the pages that are written by hand."""
    folders = [ROOT / name for name in ("docs", "benchmarks", "experiments", "examples")]
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found += [page for folder in folders for page in sorted(folder.rglob("*.md"))]
    return [page for page in found if not GENERATED & set(page.relative_to(ROOT).parts)]


def modules_of(text):
    """Yield the modules that a page runs with ``python -m``, with their arguments."""
    text = re.sub(r"\\\n\s*", "", text)
    for match in MODULE.finditer(text):
        yield match[1].rstrip("."), match[2].split("#")[0].strip()
    for match in MORE.finditer(text):
        for name in re.findall(r"`\.(\w+)`", match[2]):
            yield f"{match[1]}.{name}", ""


def documented():
    """Return all of them, the ones of other packages left out."""
    found = {command for page in pages() for command in modules_of(page.read_text())}
    return sorted(command for command in found if command[0].split(".")[0] in OWN)


def arguments_of(module, given):
    """Return the arguments of the quick form of a documented command."""
    words = shlex.split(f"{given} {COMMANDS[module].added}")
    return [STAND_FOR.get(word, word) for word in words]


def program_lines():
    """Yield the commands of the program within sentences, as words, with their page."""
    for page in pages():
        for match in PROGRAM.finditer(page.read_text()):
            yield page, shlex.split(match[1])
