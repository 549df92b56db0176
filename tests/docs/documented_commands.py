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


# By package: what takes seconds in its quick form, and what takes longer.
QUICK = """
benchmarks.peers: reference
benchmarks.runs: consensus_rounds leave_one_out prediction profile
experiments.alber2017: sweep table1
experiments.formulations: consistency run
experiments.keerthi2008: classes_apart page seeding underflow updates
experiments.lin2008: libsvm regimes
"""
SLOW = """
benchmarks.many_classes: growth run
benchmarks: page
benchmarks.peers: plots run
benchmarks.runs: busy calibration changing_rows choosing_c cluster_estimate growth newton_rounds
benchmarks.stochastic: run
experiments.chen2011: run
experiments.keerthi2008: curves plots tables
experiments.lin2008: growth kernels page
"""


def modules_in(listed):
    """Return the modules of lines of a package and its modules."""
    lines = [line.partition(": ") for line in listed.strip().splitlines()]
    return [f"{package}.{name}" for package, _, names in lines for name in names.split()]


MPI = Quick(needs=("mpi4py", "mpiexec"), slow=True)
COMMANDS = {
    **dict.fromkeys(modules_in(QUICK), Quick()),
    **dict.fromkeys(modules_in(SLOW), Quick(slow=True)),
    "benchmarks.measure": Quick("--list"),
    "benchmarks.runs.cluster_peers": Quick("spark --quick", ("pyspark", "java"), slow=True),
    "benchmarks.runs.from_disk": Quick("sparse 1 --quick"),
    "benchmarks.runs.ranks": MPI,
    "experiments": Quick(added=""),
    "experiments.alber2017.speedup": MPI,
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
