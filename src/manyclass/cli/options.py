"""Options that several commands have."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from manyclass.cli.console import Parser, jobs, positive_int, seed

if TYPE_CHECKING:
    from manyclass.utils.types import Settings


def data_options(parser: Parser) -> None:
    """Add what every command on a data file and a model has."""
    parser.add_argument(
        "data", metavar="DATA", help="svmlight file, plain or compressed; or one of convert"
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    reader_options(parser)


def convert_options(parser: Parser) -> None:
    """Add the options of ``manyclass convert``."""
    parser.add_argument("data", metavar="DATA", help="svmlight file, plain or compressed")
    parser.add_argument("out", metavar="OUT", help="file to write")
    reader_options(parser)
    shape_options(parser)
    force_option(parser)


def force_option(parser: Parser) -> None:
    """Add what lets a command overwrite any file."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace an existing file whatever it is (default: one of the same kind only)",
    )


def reader_options(parser: Parser) -> None:
    """Add what every command that reads data has."""
    add = parser.add_argument
    add("--jobs", type=jobs, default=1, metavar="N", help="threads; -1: all cores")
    add("--zero-based", action="store_true", help="feature numbers count from 0")
    add("--sort", action="store_true", help="sort rows whose feature numbers are not ascending")
    add("--sum-duplicates", action="store_true", help="add up values of a feature given twice")


def estimator_options(parser: Parser) -> None:
    """Add what every command that trains has."""
    add = parser.add_argument
    add("--no-intercept", action="store_true", help="leave out the constant feature")
    add("--class-weight", choices=["balanced"], help="give every class the same total weight")
    add(
        "--weights",
        choices=["auto", "dense", "sparse"],
        default="auto",
        help="how weights are held: for thousands of classes sparse (default: what fits)",
    )
    add("--max-iter", type=positive_int, default=1000, metavar="N", help="epochs at most (1000)")
    add("--seed", type=seed, default=0, metavar="S", help="orders the visits (default 0)")
    add(
        "--regularize-intercept",
        action="store_true",
        default=None,
        help="with logistic: regularise the intercepts, too (the others always do)",
    )
    shape_options(parser)
    force_option(parser)


def shape_options(parser: Parser) -> None:
    """Add what every command that reads text as numbers of a type has."""
    add = parser.add_argument
    add("--dtype", choices=["float32", "float64"], default="float32", help="type of the values")
    add("--n-features", type=positive_int, metavar="N", help="columns, if more than DATA uses")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")


def parameters(args: argparse.Namespace) -> Settings:
    """Return what ``estimator_options`` and the like say, as parameters of an estimator."""
    return {
        "loss": args.loss,
        "tol": args.tol,
        "fit_intercept": not args.no_intercept,
        "class_weight": args.class_weight,
        "max_iter": args.max_iter,
        "weights": args.weights,
        "n_jobs": args.jobs,
        "random_state": args.seed,
        "verbose": 0 if args.quiet else 1,
    }
