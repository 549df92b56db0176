"""The command line: ``manyclass train | predict | evaluate | info | demo``.

Every command ends with exit code 0, or 2 and one line on stderr that says what is wrong, where, and
what to do. What needs NumPy or scikit-learn is imported when a command runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from manyclass import console
from manyclass.console import (
    Parser,
    UsageError,
    be_quiet,
    count,
    jobs,
    positive,
    positive_int,
    say,
    seed,
)
from manyclass.formulations import FORMULATIONS, LOSSES
from manyclass.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from manyclass.estimators import MulticlassSVC
    from manyclass.parallel.communicator import Communicator

# Lines of predictions put together at a time.
LINES_AT_A_TIME = 1 << 16
FEATURES = "Features that the model was not trained on are ignored."
LABELS = f"""\
{FEATURES}
How labels are compared: when the file's labels and the model's classes are both numbers, or both
text, as they are (1 equals 1.0, 'cat' equals 'cat'). When one side is text, what reads as a number
there counts as that number. A label that equals no class of the model counts as an error.
"""
SHORTHANDS = {
    "cs": "crammer_singer",
    "ww": "weston_watkins",
    "llw": "lee_lin_wahba",
    "rm": "reinforced",
    "ovr": "one_vs_rest",
}
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
        Exit code: 0, 2 after an error, 130 after Ctrl-C.
    """
    try:
        with console.plain_warnings():
            args = _parser().parse_args(argv)
            with console.interrupt_held_back():
                for name in args.needs:
                    importlib.import_module(name)
            args.run(args)
            console.flush()
    except KeyboardInterrupt:
        return console.failed("manyclass: interrupted; nothing was written", console.INTERRUPTED)
    except BrokenPipeError:
        console.give_up_stdout()
        return console.BROKEN_PIPE
    except OSError as error:
        return console.failed(f"manyclass: error: {console.explain(error)}")
    except MemoryError as error:
        what = str(error) or "the memory does not suffice"
        advice = "" if ";" in what else "; use --dtype float32 or less data"
        return console.failed(f"manyclass: error: out of memory: {what}{advice}")
    except (RuntimeError, ImportError) as error:
        if not _lacks_memory(error):
            raise
        return console.failed(f"manyclass: error: out of memory: {error}; raise the limit on it")
    except (ValueError, FloatingPointError) as error:
        return console.failed(f"manyclass: error: {error}")
    return 0


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
        sub.set_defaults(run=run, needs=NEEDS)
        return sub

    _train_options(command("train", _train, "train a model on a data file"))
    predict = command("predict", _predict, "write the predicted label of every row", FEATURES)
    _data_options(predict)
    predict.add_argument("out", metavar="OUT", help="file to write, one line per row; - for stdout")
    predict.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help="write the K best labels, the best first, separated by tabs",
    )
    evaluate = command("evaluate", _evaluate, "compare predictions with a file's labels", LABELS)
    _data_options(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print JSON, shares as fractions")
    info = command("info", _info, "describe a model file")
    info.add_argument("model", metavar="MODEL")
    info.add_argument("--json", action="store_true", help="print JSON")
    demo = command("demo", _demo, "train on digits and on made-up text, beside LinearSVC")
    demo.set_defaults(needs=["manyclass.demo"])
    return parser


def _data_options(parser: Parser) -> None:
    parser.add_argument("data", metavar="DATA", help="svmlight file, plain or compressed")
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="threads; -1: all cores")
    parser.add_argument("--zero-based", action="store_true", help="feature numbers count from 0")


def _train_options(parser: Parser) -> None:
    add = parser.add_argument
    _data_options(parser)
    add(
        "--formulation",
        type=_formulation,
        default="crammer_singer",
        metavar="F",
        help=f"which machine: {_formulations()}; default crammer_singer",
    )
    add("-C", type=positive, default=1.0, help="cost of a unit of loss (default 1)")
    add("--loss", choices=LOSSES, default="hinge", help="default hinge; squared_hinge if F sums")
    add("--tol", type=positive, default=1e-3, metavar="T", help="when to stop (default 0.001)")
    add(
        "--stopping",
        choices=["gap", "kkt"],
        default="gap",
        help="what T means: relative duality gap (default), or violation of the conditions",
    )
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
    add("--dtype", choices=["float32", "float64"], default="float32", help="type of the weights")
    add("--n-features", type=positive_int, metavar="N", help="columns, if more than DATA uses")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")


def _formulation(name: str) -> str:
    """Return the full name of a formulation."""
    full = SHORTHANDS.get(name, name)
    if full not in FORMULATIONS:
        raise argparse.ArgumentTypeError(f"must be one of {_formulations()}; not {name!r}")
    return full


def _formulations() -> str:
    short = {full: f" ({short})" for short, full in SHORTHANDS.items()}
    return ", ".join(name + short.get(name, "") for name in FORMULATIONS)


def _train(args: argparse.Namespace) -> None:
    """Train here, or with all processes that mpiexec started; of these one tells an error."""
    from manyclass.parallel.agreement import OtherRankError, world

    ranks = world()
    try:
        _train_on(args, ranks)
    except (OSError, MemoryError, ValueError, FloatingPointError, OtherRankError) as error:
        if ranks.rank != getattr(error, "told_by", 0):
            raise SystemExit(console.FAILED) from error
        raise
    except BaseException as error:
        ranks.abort(error)
        raise


def _train_on(args: argparse.Namespace, ranks: Communicator) -> None:
    import numpy as np

    from manyclass.estimators import MulticlassSVC
    from manyclass.label_matching import check_labels
    from manyclass.model_file import save_model
    from manyclass.parallel.agreement import agreed

    _check_loss(args.formulation, args.loss)
    first = ranks.rank == 0
    tell = say if first and not args.quiet else be_quiet
    model = MulticlassSVC(
        formulation=args.formulation,
        C=args.C,
        loss=args.loss,
        tol=args.tol,
        stopping=args.stopping,
        fit_intercept=not args.no_intercept,
        class_weight=args.class_weight,
        max_iter=args.max_iter,
        weights=args.weights,
        n_jobs=args.jobs,
        random_state=args.seed,
        communicator=ranks if ranks.size > 1 else None,
        verbose=0 if args.quiet else 1,
    )

    def read() -> tuple[csr_array[Any], NDArray[Any]]:
        if first:
            console.check_target(args.model, [args.data], special=False)
        X, y = _read(args, np.dtype(args.dtype), tell, args.n_features)
        check_labels(args.data, y)
        return X, y

    X, y = agreed(ranks, read)
    began = time.perf_counter()
    try:
        model.fit(X, y)
    except (ValueError, FloatingPointError) as error:
        named = type(error)(f"{args.data}: {error}")
        named.told_by = getattr(error, "told_by", 0)  # type: ignore[union-attr]
        raise named from error
    seconds = time.perf_counter() - began
    if not first:
        return
    save_model(args.model, model)
    proof = model.certificate_
    tell(
        f"trained {count(model.n_iter_, 'epoch')} in {seconds:.2f} s: "
        f"objective {proof.primal_objective:.6g}, "
        f"proven within {100 * proof.relative_gap:.2g} % of the optimum"
    )
    tell(f"saved {args.model}")


def _predict(args: argparse.Namespace) -> None:
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
    if args.out != "-":
        console.check_target(args.out, [args.data, args.model], special=True)
    X, _ = _read_for(args, model, be_quiet)
    best = model.predict(X) if args.top_k is None else model.predict_top_k(X, args.top_k)
    rows = best.reshape(len(best), -1)
    with console.output(args.out) as file:
        for begin in range(0, len(rows), LINES_AT_A_TIME):
            part = rows[begin : begin + LINES_AT_A_TIME].tolist()
            file.write("".join("\t".join(map(str, row)) + "\n" for row in part).encode())


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
    say(f"formulation  {about['formulation']}, {about['loss']} loss, C = {about['C']:g}")
    say(f"classes      {about['n_classes']}")
    say(f"features     {about['n_features']}")
    kind = f"sparse {about['dtype']}" if about["sparse"] else about["dtype"]
    share = f"{100 * about['density']:.3g} % of them not zero ({about['n_nonzero']})"
    say(f"weights      {kind}, {share}")
    say(f"training     {count(about['n_iter'], 'epoch')}")
    proof = about["certificate"]
    if proof is None:
        say("certificate  none: small weights were left out after training")
        return
    say(f"objective    {proof['primal_objective']:.6g}")
    say(f"certificate  within {100 * proof['relative_gap']:.2g} % of the optimum")
    say(f"violation    {proof['max_violation']:.2g} at most, of the optimality conditions")


def _demo(_: argparse.Namespace) -> None:
    from manyclass.demo import run_demo

    run_demo(say)


def _check_loss(formulation: str, loss: str) -> None:
    """Refuse what the estimator would refuse, before the data are read."""
    if loss not in FORMULATIONS[formulation].losses():
        others = [name for name, f in FORMULATIONS.items() if loss in f.losses()]
        raise UsageError(
            f"argument --loss: {formulation} takes the largest loss of a row, which must be hinge; "
            f"{loss} goes with {', '.join(others)}"
        )


def _load(args: argparse.Namespace) -> MulticlassSVC:
    from manyclass.model_file import load_model

    model = load_model(args.model)
    model.n_jobs = args.jobs
    return model


def _read(
    args: argparse.Namespace, dtype: Any, tell: Callable[[str], None], n_features: int | None = None
) -> tuple[csr_array[Any], NDArray[Any]]:
    import numpy as np

    from manyclass.svmlight import load_svmlight

    began = time.perf_counter()
    with console.naming(args.data):
        X, y = load_svmlight(args.data, n_features, dtype, args.jobs, zero_based=args.zero_based)
    seconds = time.perf_counter() - began
    tell(
        f"read {args.data} in {seconds:.2f} s: {count(len(y), 'row')}, "
        f"{count(X.shape[1], 'feature')}, {len(np.unique(y))} classes, "
        f"{count(X.nnz, 'non-zero')}"
    )
    return X, y


def _read_for(
    args: argparse.Namespace, model: MulticlassSVC, tell: Callable[[str], None]
) -> tuple[csr_array[Any], NDArray[Any]]:
    """Read data with the columns of a model; it knows nothing about any other."""
    X, y = _read(args, model.intercept_.dtype, tell)
    X.resize((len(y), model.n_features_in_))
    return X, y
