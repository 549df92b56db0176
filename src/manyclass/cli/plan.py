"""``manyclass plan``: what training on several ranks would take, from the sizes of the data."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli import console
from manyclass.cli.console import Parser, UsageError, count, positive, positive_int, say
from manyclass.cli.data import read_in_blocks
from manyclass.cli.formulation_names import formulation_name, formulation_names
from manyclass.cli.options import reader_options
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.planning.plan import Option, Question
    from manyclass.planning.rates import Measured
    from manyclass.planning.work import Shape
    from manyclass.utils.types import Settings

RANKS = "1,2,4,8,16,32,64,128,256,512,1024"
MOST_RANKS = 1 << 16
SIZES = ("rows", "features", "classes", "nonzeros")
# Where nothing tells the largest class, it has this share of the rows.
LARGEST_SHARE = 0.01
# Non-zeros of a row of a made-up corpus for each of its words: some words are repeated.
NONZEROS_PER_WORD = 0.8
TABLED = (
    ("ranks", "epoch", "talking", "in all", "memory", "moved", "efficiency", ""),
    "{:>7} {:>9} {:>8} {:>9} {:>9} {:>9} {:>11}  {}",
)


def plan_options(parser: Parser) -> None:
    """Add the options of ``manyclass plan``."""
    parser.add_argument("data", metavar="DATA", nargs="?", help="svmlight or converted file")
    parser.set_defaults(n_features=None)
    reader_options(parser)
    _size_options(parser.add_argument_group("sizes, where there is no DATA"))
    _place_options(parser.add_argument_group("where it is to be trained"))
    _habit_options(parser.add_argument_group("what is known better than assumed"))
    parser.add_argument("--json", action="store_true", help="print JSON: seconds and bytes")


def _size_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--rows", type=positive_int, metavar="N", help="how many")
    group.add_argument("--features", type=positive_int, metavar="N", help="how many")
    group.add_argument("--classes", type=positive_int, metavar="N", help="how many")
    group.add_argument("--nonzeros", type=positive_int, metavar="N", help="of all rows")
    group.add_argument(
        "--corpus",
        metavar="NAME",
        help="the sizes of a published corpus instead, such as lshtc-2011",
    )
    group.add_argument(
        "--scale", type=positive, default=1.0, metavar="F", help="times all sizes of the corpus"
    )
    group.add_argument(
        "--largest-class",
        type=positive_int,
        metavar="N",
        help="rows of the largest class (default: a hundredth of all)",
    )


def _place_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--formulation",
        type=formulation_name,
        default="weston_watkins",
        metavar="F",
        help=f"which machine: {formulation_names()}; default weston_watkins",
    )
    add("--ranks", type=_ranks, default=_ranks(RANKS), metavar="P,P,...", help=f"default {RANKS}")
    add("--latency", type=positive, default=50.0, metavar="US", help="of a message (50)")
    add("--bandwidth", type=positive, default=10.0, metavar="GBIT", help="of a rank (10)")
    add("--memory", type=positive, metavar="GB", help="of a rank (default: this machine's)")
    add("--weights", choices=["auto", "dense", "sparse"], default="auto", help="as of train")
    add("--dtype", choices=["float32", "float64"], default="float32", help="type of the weights")
    add("--rates", type=Path, metavar="FILE", help="measured elsewhere (benchmarks.rank_costs)")


def _habit_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--epochs", type=positive, metavar="E", help="of one process, or two ranks")
    add("--growth", type=positive, metavar="G", help="epochs grow like ranks^G")
    add("--scores", type=positive, metavar="S", help="in an epoch, for each row and class")
    add("--duals", type=positive, metavar="Z", help="dual variables that are not 0, for each row")
    add("--density", type=_share, metavar="D", help="share of the weights that is not 0")


def _ranks(text: str) -> list[int]:
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = [0]
    if not 1 <= found[0] <= found[-1] <= MOST_RANKS:
        raise argparse.ArgumentTypeError(
            f"must be numbers from 1 to {MOST_RANKS} with commas between, not {text!r}"
        )
    return found


def _share(text: str) -> float:
    value: float = console.number(text, float, "above 0 and at most 1", lambda v: 0 < v <= 1)
    return value


def plan(args: argparse.Namespace) -> None:
    """Run the command."""
    from manyclass.planning.plan import Question, options
    from manyclass.planning.rates import FILE, Measured
    from manyclass.planning.work import Network
    from manyclass.utils.memory import available_memory

    with atomic.naming(str(args.rates or FILE)):
        measured = Measured.read(args.rates or FILE)
    shape = _shape(args)
    names = ("epochs", "growth", "scores", "duals", "density")
    known = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    question = Question(
        formulation=args.formulation,
        shape=shape,
        network=Network(1e-6 * args.latency, 1e9 / 8 * args.bandwidth),
        memory=1e9 * args.memory if args.memory else float(available_memory()),
        weights=args.weights,
        known=known,
    )
    found = options(question, args.ranks, measured)
    if args.json:
        say(json.dumps([_entry(option) for option in found]))
        return
    _tell(args, question, found, measured)


def _shape(args: argparse.Namespace) -> Shape:
    """Return the sizes that were given one way or another."""
    from manyclass.planning.work import Shape

    item = 4 if args.dtype == "float32" else 8
    given = [name for name in SIZES if getattr(args, name) is not None]
    ways = [bool(args.data), bool(args.corpus), bool(given)]
    if sum(ways) != 1 or (given and len(given) < len(SIZES)):
        raise UsageError(
            "give either DATA, or --corpus, or all of --rows, --features, --classes and --nonzeros"
        )
    if args.data:
        return _counted(args, item)
    if args.corpus:
        from manyclass.datasets.synthetic import corpus_shape

        try:
            found = corpus_shape(args.corpus, args.scale)
        except ValueError as error:
            raise UsageError(f"argument --corpus: {error}") from error
        n, d, k = found["n_examples"], found["n_features"], found["n_classes"]
        nonzeros = round(NONZEROS_PER_WORD * found["words_per_example"] * n)
    else:
        n, d, k, nonzeros = (getattr(args, name) for name in SIZES)
    if not 2 <= k <= n:
        raise UsageError(f"argument --classes: must be from 2 to the number of rows, not {k}")
    if nonzeros > n * d:
        raise UsageError(f"argument --nonzeros: {n} rows of {d} features have no {nonzeros}")
    largest = args.largest_class or max(round(LARGEST_SHARE * n), -(-n // k))
    if not n <= largest * k:
        raise UsageError(f"argument --largest-class: {k} classes of {largest} are less than {n}")
    return Shape(n, d, k, nonzeros, min(largest, n - k + 1), item)


def _counted(args: argparse.Namespace, item: int) -> Shape:
    """Count what is in a file."""
    from manyclass.planning.work import Shape

    found = read_in_blocks(args, console.be_quiet)
    if len(found.classes) < 2:
        raise ValueError(f"{args.data}: has one class only; there is nothing to plan")
    sizes = found.n_rows, found.n_features, len(found.classes), found.n_nonzero
    return Shape(*sizes, int(found.class_counts.max()), item)


def _entry(option: Option) -> Settings:
    found = option.forecast
    return {
        "ranks": found.n_ranks,
        "seconds": found.seconds,
        "seconds_of_epoch": found.epoch,
        "seconds_talking": found.talking,
        "epochs": found.epochs,
        "epochs_beside": found.beside,
        "memory": found.memory,
        "moved": found.moved,
        "efficiency": option.efficiency,
        "fits": option.fits,
        "weights": option.kind,
        "measured_with": option.like,
    }


def _tell(
    args: argparse.Namespace, question: Question, found: list[Option], measured: Measured
) -> None:
    from manyclass.planning.plan import best, thriftiest
    from manyclass.solvers.weights.storage_choice import size_text

    shape = question.shape
    what = args.data or args.corpus or "these sizes"
    say(
        f"{what}: {shape.n_examples:,} rows, {shape.n_features:,} features, "
        f"{shape.n_classes:,} classes, {shape.n_nonzero:,} non-zeros; "
        f"{shape.largest_class:,} rows in the largest class"
    )
    say(f"{question.formulation}, {args.dtype}; {args.bandwidth:g} Gbit/s, {args.latency:g} us")
    say("")
    head, line = TABLED
    say(line.format(*head).rstrip())
    for option in found:
        say(line.format(*_cells(option)).rstrip())
    say("")
    for text in _assumed(args, found, measured):
        say(text)
    fastest, thrifty = best(found), thriftiest(found)
    if fastest is None:
        say(f"does not fit: no number of ranks with {size_text(int(question.memory))} each")
        return
    say(f"fastest       {count(fastest.forecast.n_ranks, 'rank')}")
    if thrifty is not None and thrifty is not fastest:
        say(f"thrifty       {count(thrifty.forecast.n_ranks, 'rank')}: half of the effort pays")


def _cells(option: Option) -> tuple[str, ...]:
    from manyclass.solvers.weights.storage_choice import size_text

    found = option.forecast
    return (
        f"{found.n_ranks:,}",
        time_text(found.epoch),
        f"{100 * found.talking / found.epoch:.0f} %",
        time_text(found.seconds),
        size_text(int(found.memory)),
        size_text(int(found.moved)),
        f"{100 * option.efficiency:.0f} %",
        option.kind if option.fits else f"{option.kind}, does not fit",
    )


def _assumed(args: argparse.Namespace, found: list[Option], measured: Measured) -> list[str]:
    """Say what the forecasts rest on."""
    habits = found[-1].habits
    first, last = found[0].forecast, found[-1].forecast
    epochs = f"{first.epochs:.0f}"
    if last.epochs != first.epochs:
        epochs += f" epochs on {first.n_ranks} to {last.epochs:.0f} on {last.n_ranks} ranks"
    else:
        epochs += " epochs"
    besides = f"{first.beside:.2g} epochs on {count(first.n_ranks, 'rank')}"
    if last.n_ranks != first.n_ranks:
        besides += f", {last.beside:.2g} on {last.n_ranks:,}"
    words = [
        f"assumed       {epochs};",
        f"              for the certificate, and what the first takes more, the work of {besides};",
        f"              {habits.scores:.2g} scores for each row and class, "
        f"{habits.duals:.3g} dual variables for each row, {100 * habits.density:.2g} % of W not 0",
        f"rates of      {measured.machine}, measured {measured.date}; a core for each rank",
        "left out      reading the data",
    ]
    likes = {option.like.split()[0] for option in found} - {args.formulation}
    if likes:
        words.insert(4, f"              those of {', '.join(sorted(likes))}, for want of others")
    return words


def time_text(seconds: float) -> str:
    """Seconds for people."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
