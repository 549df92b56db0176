"""The quick form of a measurement: ``--quick``, seconds on small synthetic data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from measuring import results

HELP = "the whole command in seconds, on small synthetic data; changes no result and no page"


def parse(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None = None, **quick: Any
) -> argparse.Namespace:
    """Parse a command line that may ask for the quick form.

    Parameters
    ----------
    parser : ArgumentParser
        Gets ``--quick``.
    argv : sequence of str, default=None
        None: the arguments of the process.
    **quick
        Options that replace those of the command line in the quick form.

    Returns
    -------
    Namespace
        Whose ``quick`` says which form it is. In the quick form, results, pages and pictures go to
        a folder that is removed with the process.
    """
    parser.add_argument("--quick", action="store_true", help=HELP)
    options = parser.parse_args(argv)
    if options.quick:
        vars(options).update(quick)
        results.write_to_scratch()
    return options
