"""The command line: ``manyclass train | predict | evaluate | info | convert | plan | demo``.

Every command ends with exit code 0, or 2 and one line on stderr that says what is wrong, where, and
what to do. What needs NumPy or scikit-learn is imported when a command runs.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from manyclass import console
from manyclass.cli_data import convert, read
from manyclass.cli_options import (
    convert_options,
    data_options,
    force_option,
    in_flags,
    train_options,
)
from manyclass.cli_plan import plan, plan_options
from manyclass.cli_train import train
from manyclass.console import Parser, UsageError, be_quiet, count, positive_int, proven, say
from manyclass.parallel import launcher
from manyclass.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from manyclass.model_contents import Estimator

# Lines of predictions put together at a time.
LINES_AT_A_TIME = 1 << 16
SCORES_AT_A_TIME = 1 << 22
FEATURES = "Features that the model was not trained on are ignored."
LABELS = f"""\
{FEATURES}
How labels are compared: when the file's labels and the model's classes are both numbers, or both
text, as they are (1 equals 1.0, 'cat' equals 'cat'). When one side is text, what reads as a number
there counts as that number. A label that equals no class of the model counts as an error.
"""
CONVERTED = """\
DATA is read twice, in blocks. OUT takes the place of DATA in every command: it is mapped into
memory and not parsed, and processes that use it share one copy.
"""
# What a command imports is loaded before it begins.
NEEDS = ("manyclass.model_file", "manyclass.svmlight", "manyclass.label_matching")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; those of the process when None.

    Returns
    -------
    int
        Exit code: 0, 2 after an error, 130 after Ctrl-C, 143 after SIGTERM where it is heard.
    """
    words: Callable[[str], str] = str
    try:
        args = _parsed(argv)
        words = partial(in_flags, args=args)
        with console.plain_warnings(words):
            with console.interrupt_held_back():
                for name in args.needs:
                    importlib.import_module(name)
            args.run(args)
            console.flush()
    except KeyboardInterrupt as error:
        code = console.interrupted(error)
        if launcher.started() > 1:
            console.die_of_interrupt()
        return code
    except BrokenPipeError:
        console.give_up_stdout()
        return console.BROKEN_PIPE
    except OSError as error:
        return console.failed(f"manyclass: error: {console.explain(error)}")
    except MemoryError as error:
        what = words(str(error)) or "the memory does not suffice"
        advice = "" if ";" in what else "; use --dtype float32 or less data"
        return console.failed(f"manyclass: error: out of memory: {what}{advice}")
    except (RuntimeError, ImportError) as error:
        if not _lacks_memory(error):
            raise
        return console.failed(f"manyclass: error: out of memory: {error}; raise the limit on it")
    except (ValueError, FloatingPointError) as error:
        return console.failed(f"manyclass: error: {words(str(error))}")
    return 0


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments; of several processes that were started, one tells what is wrong."""
    try:
        args = _parser().parse_args(argv)
        if args.run is not train and launcher.started() > 1:
            raise UsageError(
                f"manyclass {args.command} runs in one process, and mpiexec started "
                f"{launcher.started()}; leave out mpiexec"
            )
    except UsageError as error:
        if not _tells(error):
            raise SystemExit(console.FAILED) from error
        raise
    return args


def _tells(error: UsageError) -> bool:
    """Whether this process is the one that tells what is wrong; no other waits for it any more."""
    if launcher.started() == 1:
        return True
    from manyclass.parallel.agreement import agreed, world

    def fail() -> None:
        raise error

    try:
        ranks = world()
    except ValueError:
        return launcher.is_first()
    with contextlib.suppress(UsageError):
        agreed(ranks, fail)
    return ranks.rank == getattr(error, "told_by", 0)


def _lacks_memory(error: Exception) -> bool:
    """Whether there was no memory for a thread or a library."""
    signs = ("new thread", "failed to map", "cannot allocate", "Cannot allocate")
    return any(sign in str(error) for sign in signs)


def _parser() -> Parser:
    parser = Parser(
        prog="manyclass",
        description="Train linear classifiers for many classes to a proven distance from their "
        "optimum. Data files are in svmlight / LIBSVM format: LABEL INDEX:VALUE ...",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"manyclass {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[Any], None], text: str, epilog: str = "") -> Parser:
        sub: Parser = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.set_defaults(command=name, run=run, needs=NEEDS)
        return sub

    train_options(command("train", train, "train a model on a data file"))
    predict = command("predict", _predict, "write the predicted label of every row", FEATURES)
    data_options(predict)
    predict.add_argument("out", metavar="OUT", help="file to write, one line per row; - for stdout")
    predict.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help="write the K best labels, the best first, separated by tabs",
    )
    predict.add_argument(
        "--probabilities",
        action="store_true",
        help="write its probability behind every label (models trained with --loss log_loss)",
    )
    force_option(predict)
    evaluate = command("evaluate", _evaluate, "compare predictions with a file's labels", LABELS)
    data_options(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print JSON, shares as fractions")
    info = command("info", _info, "describe a model file")
    info.add_argument("model", metavar="MODEL")
    info.add_argument("--json", action="store_true", help="print JSON")
    convert_options(
        command("convert", convert, "write a data file as one that training maps", CONVERTED)
    )
    plan_parser = command("plan", plan, "say what training on several ranks would take")
    plan_options(plan_parser)
    plan_parser.set_defaults(needs=["manyclass.plan"])
    demo = command("demo", _demo, "train on digits and on made-up text, beside LinearSVC")
    demo.set_defaults(needs=["manyclass.demo"])
    return parser


def _predict(args: argparse.Namespace) -> None:
    from manyclass.file_kinds import check_output, labels_of

    model = _load(args)
    n_classes = len(model.classes_)
    if args.top_k is not None and args.top_k > n_classes:
        raise UsageError(
            f"argument --top-k: must be from 1 to {n_classes}, the number of classes in "
            f"{args.model}, not {args.top_k}"
        )
    if any(mark in str(name) for name in model.classes_.tolist() for mark in "\t\n\r"):
        raise ValueError(
            f"{args.model}: class names with a tab or line break cannot be written one row per "
            "line; predict in Python, with load_model"
        )
    check_output(
        args.out,
        [args.data, args.model],
        labels_of(model.classes_.tolist()),
        force=args.force,
        special=True,
    )
    if args.probabilities and not hasattr(model, "predict_proba"):
        raise UsageError(
            f"argument --probabilities: {args.model} has none; train with --solver stochastic "
            "--loss log_loss"
        )
    X, _ = _read_for(args, model, be_quiet)
    top = args.top_k or 1
    with console.output(args.out) as file:
        step = max(1, SCORES_AT_A_TIME // n_classes) if args.probabilities else LINES_AT_A_TIME
        for begin in range(0, X.shape[0], step):
            columns = _columns(model, X[begin : begin + step], top, args.probabilities)
            lines = zip(*columns, strict=True)
            file.write("".join("\t".join(map(str, line)) + "\n" for line in lines).encode())


def _columns(model: Any, X: Any, top: int, probabilities: bool) -> list[list[Any]]:
    """Return the best labels of rows, the best first, each with its probability if wanted."""
    import numpy as np

    if not probabilities:
        best = model.predict_top_k(X, top) if top > 1 else model.predict(X)[:, None]
        return [column.tolist() for column in best.T]
    chances = model.predict_proba(X)
    order = np.argsort(-chances, axis=1, kind="stable")[:, :top]
    labels, shares = model.classes_[order], np.take_along_axis(chances, order, axis=1)
    return [column.tolist() for pair in zip(labels.T, shares.T, strict=True) for column in pair]


def _evaluate(args: argparse.Namespace) -> None:
    from manyclass.label_matching import compare

    model = _load(args)
    X, y = _read_for(args, model, be_quiet if args.json else say)
    scores, n_unseen = compare(model.classes_, y, model.predict(X))
    if n_unseen:
        warnings.warn(
            f"{args.data}: {count(n_unseen, 'row')} with a label that is no class of the "
            "model; counted as errors",
            stacklevel=2,
        )
    if args.json:
        say(json.dumps(scores))
        return
    say(f"accuracy  {100 * scores['accuracy']:6.2f} %  (and micro F1: one label per row)")
    say(f"macro F1  {100 * scores['macro_f1']:6.2f} %")


def _info(args: argparse.Namespace) -> None:
    from manyclass.model_file import describe_model

    about = describe_model(args.model)
    if args.json:
        say(json.dumps(about))
        return
    say(f"model        {args.model} (format {about['format_version']}, by {about['version']})")
    if about["formulation"]:
        say(f"formulation  {about['formulation']}, {about['loss']} loss, C = {about['C']:g}")
    else:
        say(f"loss         {about['loss']}, stochastic steps, alpha = {about['alpha']:g}")
    say(f"classes      {about['n_classes']}")
    say(f"features     {about['n_features']}")
    kind = f"sparse {about['dtype']}" if about["sparse"] else about["dtype"]
    share = f"{100 * about['density']:.3g} % of them not zero ({about['n_nonzero']})"
    say(f"weights      {kind}, {share}")
    steps = f", {count(about['n_steps'], 'step')}" if "n_steps" in about else ""
    say(f"training     {count(about['n_iter'], 'epoch')}{steps}")
    proof = about["certificate"]
    if not about["formulation"]:
        say("certificate  none: stochastic steps prove nothing")
        return
    if proof is None:
        say("certificate  none: small weights were left out after training")
        return
    say(f"objective    {proof['primal_objective']:.6g}")
    say(f"certificate  {proven(proof['relative_gap'])}")
    say(f"violation    {proof['max_violation']:.2g} at most, of the optimality conditions")


def _demo(_: argparse.Namespace) -> None:
    from manyclass.demo import run_demo

    run_demo(say)


def _load(args: argparse.Namespace) -> Estimator:
    from manyclass.model_file import load_model

    model = load_model(args.model)
    model.n_jobs = args.jobs
    return model


def _read_for(
    args: argparse.Namespace, model: Estimator, tell: Callable[[str], None]
) -> tuple[csr_array[Any], NDArray[Any]]:
    """Read data with the columns of a model; it knows nothing about any other."""
    X, y = read(args, model.intercept_.dtype, tell)
    X.resize((len(y), model.n_features_in_))
    return X, y
