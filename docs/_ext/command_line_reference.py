"""Write command_line.md, the reference of the command line, from its argument parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manyclass.cli.commands import build_parser

PAGE = Path(__file__).parents[1] / "command_line.md"
TITLE = """\
# Command line

The commands and their options, as `manyclass COMMAND --help` prints them. Data files are in
svmlight / LIBSVM format, plain or compressed, or [converted](data_files.md). Every command ends
with exit code 0, or 2 and one line on the error stream: what is wrong, where, and what to do.
"""


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", lambda _: write())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write() -> None:
    """Write the page, if it has changed."""
    text = "\n".join([TITLE, *page_lines(build_parser())])
    if not PAGE.exists() or PAGE.read_text() != text:
        PAGE.write_text(text)


def page_lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield an overview of the commands, then their sections."""
    commands = next(
        a
        for a in parser._actions
        if isinstance(a, argparse._SubParsersAction)
    )
    helps = {
        choice.dest: choice.help or ""
        for choice in commands._choices_actions
    }
    for name, summary in helps.items():
        yield f"- [`manyclass {name}`](#manyclass-{name}): {escaped(summary)}"
    yield ""
    for name, sub in commands.choices.items():
        yield from section(name, sub)


def section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the section of a command: how it is called, then a list for each group of options."""
    operands = [
        operand(action)
        for action in parser._actions
        if not action.option_strings
    ]
    yield from (f"## manyclass {name}", "")
    yield from (
        "```",
        " ".join(["manyclass", name, *operands, "[options]"]),
        "```",
        "",
    )
    yield from (escaped(parser.description or ""), "")
    for group in parser._action_groups:
        actions = [
            action
            for action in group._group_actions
            if action.dest != "help"
        ]
        if actions and group.title not in (
            "positional arguments",
            "options",
        ):
            yield from (f"**{escaped(group.title or '')}**", "")
        for action in actions:
            yield from (term(action), f": {escaped(action.help or '')}", "")
    if parser.epilog:
        yield from (escaped(parser.epilog), "")


def operand(action: argparse.Action) -> str:
    """Return an operand, in brackets where it may be left out."""
    return f"[{meta(action)}]" if action.nargs == "?" else meta(action)


def term(action: argparse.Action) -> str:
    """Return an operand, or the names of an option and its value."""
    if not action.option_strings:
        return f"`{meta(action)}`"
    value = "" if action.nargs == 0 else f" {meta(action)}"
    return ", ".join(f"`{name}{value}`" for name in action.option_strings)


def meta(action: argparse.Action) -> str:
    """Return what stands for a value."""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar is None and action.choices is not None:
        return "{" + ", ".join(map(str, action.choices)) + "}"
    return action.metavar or (
        action.dest.upper() if action.option_strings else action.dest
    )


def escaped(text: str) -> str:
    """Return text of the parser as Markdown."""
    text = text.replace("%%", "%")
    return "".join(
        "\\" + char if char in "*_<>$`" else char for char in text
    )
