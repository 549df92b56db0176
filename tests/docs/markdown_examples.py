"""What the pages show, made to run: Python blocks and lines of the command line.

A block without a language directly behind a Python block is what that prints: the same words, and
numbers that are about the same, as they differ between machines. A line "..." is any lines.
"""

import bz2
import contextlib
import importlib.util
import io
import re
import shlex
from dataclasses import dataclass

from manyclass.cli import commands

BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\b\d+(?:\.\d*)?(?:e[-+]?\d+)?")
SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b")  # of a clock, which no test reads
SAME, ABOUT = (
    0.05,
    0.2,
)  # numbers differ by at most the sum of this, and this share of the shown one
MOST = 76  # characters in a line of code
MARK = re.compile(r"<!-- (not run|needs|engine): (.+) -->\s*\Z")
ROWS = [f"{1 + i % 3} {1 + i % 3}:1 {4 + i % 5}:0.{1 + i % 7}" for i in range(60)]
SAID = ["my card was charged twice", "where is my parcel", "the screen is broken"]
TICKETS = "message,team\n" + "".join(
    f"{SAID[i % 3]},{('billing', 'delivery', 'repair')[i % 3]}\n" for i in range(60)
)
# The names of data files on the pages.
DATA_FILES = ("DATA", "train.txt", "test.txt", "news20.scale.bz2", "news20.t.scale.bz2")


def make_files(folder):
    """Write small files of the names that the pages use."""
    text = "\n".join(ROWS).encode() + b"\n"
    for name in DATA_FILES:
        (folder / name).write_bytes(bz2.compress(text) if name.endswith(".bz2") else text)
    for name in ("tickets.csv", "new_tickets.csv"):
        (folder / name).write_text(TICKETS)


@dataclass(frozen=True)
class Block:
    """Language, text and first line of a block, and what the page shows that it prints."""

    language: str
    text: str
    line: int
    output: str | None


def blocks(page):
    """Return the blocks of a page that are to run here."""
    text, found = page.read_text(), []
    for match in BLOCK.finditer(text):
        mark = MARK.search(text[: match.start()])
        if mark and (mark[1] != "needs" or importlib.util.find_spec(mark[2]) is None):
            continue
        line = text.count("\n", 0, match.start()) + 2
        output = OUTPUT.match(text, match.end() + 1) if match[1] == "python" else None
        shown = output[1] if output and not command_lines(output[1]) else None
        found.append(Block(match[1], match[2], line, shown))
    return found


def engine_blocks(page, engine):
    """Return the Python blocks, and the lines of commands, that are to run on an engine."""
    text = page.read_text()
    marked = []
    for match in BLOCK.finditer(text):
        mark = MARK.search(text[: match.start()])
        if mark and (mark[1], mark[2]) == ("engine", engine):
            marked.append(match)
    python = [match[2] for match in marked if match[1] == "python"]
    lines = [line for match in marked if not match[1] for line in match[2].splitlines()]
    return python, [line for line in lines if line.startswith("mpiexec ")]


def command_lines(block):
    """The lines of a block that begin with the name of the program."""
    return [line for line in block.splitlines() if line.startswith("manyclass ")]


def long_lines(page):
    """Lines of code that a window of 1280 pixels cuts, beside the sidebars of a page."""
    found = [match for match in BLOCK.finditer(page.read_text()) if match[1] in {"", "python"}]
    return [line for match in found for line in match[2].splitlines() if len(line) > MOST]


def has_examples(page):
    """Whether anything of a page can run."""
    return any(
        block.language == "python" or (not block.language and command_lines(block.text))
        for block in blocks(page)
    )


def run_page(page):
    """Run the blocks of a page, top to bottom, in one namespace and in the current folder."""
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(source, str(page), "exec"), namespace)
            if block.output is not None:
                wrong = difference(printed.getvalue(), block.output)
                assert not wrong, f"{page.name}, line {block.line}: {wrong}"
        elif not block.language:
            for command in command_lines(block.text):
                code = commands.main(shlex.split(command, comments=True)[1:])
                assert code == 0, f"{page.name}: {command} ends with {code}"


def difference(printed, shown):
    """Say where what is printed is not what the page shows; nothing where it is."""
    found, wanted = printed.split("\n"), shown.split("\n")
    if "..." in wanted:
        gap = wanted.index("...")
        n_last = len(wanted) - gap - 1
        found = [*found[:gap], "...", *found[len(found) - n_last :]]
    if len(found) != len(wanted):
        return f"{len(found) - 1} lines are printed, {len(wanted) - 1} shown:\n{printed}"
    for line, expected in zip(found, wanted, strict=True):
        if not _alike(line, expected):
            return f"{line!r} is printed, {expected!r} shown"
    return ""


def _alike(line, expected):
    line, expected = (SECONDS.sub("s", text) for text in (line, expected))
    words = ["".join(NUMBER.sub("#", text).split()) for text in (line, expected)]
    pairs = zip(NUMBER.findall(line), NUMBER.findall(expected), strict=words[0] == words[1])
    return words[0] == words[1] and all(
        abs(float(a) - float(b)) <= SAME + ABOUT * abs(float(b)) for a, b in pairs
    )
