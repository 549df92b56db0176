"""Command line: commands, their options and console messages.

May import all other packages. Begin with commands.py.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; see manyclass.cli.commands.main."""
    from manyclass.cli import commands

    return commands.main(argv)
