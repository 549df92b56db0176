"""What the pages show, made to run: Python blocks and lines of the command line."""

from __future__ import annotations

import bz2
import importlib.util
import re
import shlex
from pathlib import Path

from manyclass.cli import commands

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (not run|needs): (.+) -->\s*\Z")
ROWS = [f"{1 + i % 3} {1 + i % 3}:1 {4 + i % 5}:0.{1 + i % 7}" for i in range(60)]
# The names of data files on the pages.
DATA_FILES = ("DATA", "train.txt", "test.txt", "news20.scale.bz2", "news20.t.scale.bz2")


def make_files(folder: Path) -> None:
    """Write small files of the names that the pages use."""
    text = "\n".join(ROWS).encode() + b"\n"
    for name in DATA_FILES:
        (folder / name).write_bytes(bz2.compress(text) if name.endswith(".bz2") else text)


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Language, text and first line of each block of a page that is to run here."""
    text, found = page.read_text(), []
    for match in BLOCK.finditer(text):
        mark = MARK.search(text[: match.start()])
        if mark and (mark[1] == "not run" or importlib.util.find_spec(mark[2]) is None):
            continue
        found.append((match[1], match[2], text.count("\n", 0, match.start()) + 2))
    return found


def command_lines(block: str) -> list[str]:
    """The lines of a block that begin with the name of the program."""
    return [line for line in block.splitlines() if line.startswith("manyclass ")]


def has_examples(page: Path) -> bool:
    """Whether anything of a page can run."""
    return any(
        language == "python" or (not language and command_lines(block))
        for language, block, _ in blocks(page)
    )


def run_page(page: Path) -> None:
    """Run the blocks of a page, top to bottom, in one namespace and in the current folder."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for language, block, line in blocks(page):
        if language == "python":
            source = "\n" * (line - 1) + block
            exec(compile(source, str(page), "exec"), namespace)
        elif not language:
            for command in command_lines(block):
                code = commands.main(shlex.split(command, comments=True)[1:])
                assert code == 0, f"{page.name}: {command} ends with {code}"
