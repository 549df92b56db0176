"""``manyclass info``: describe a model file."""

from __future__ import annotations

import argparse
import json
from typing import Any

from manyclass.cli.console import Parser, count, proven, say


def info_options(parser: Parser) -> None:
    """Add the options of ``manyclass info``."""
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def info(args: argparse.Namespace) -> None:
    """Run ``manyclass info``."""
    from manyclass.persistence.model_file import describe_model

    about = describe_model(args.model)
    if args.json:
        say(json.dumps(about))
        return
    say(f"model        {args.model} (format {about['format_version']}, by {about['version']})")
    for step in about["steps"]:
        say(f"step         {_shown(step)}")
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
    seconds = "" if about["seconds"] is None else f", {about['seconds']:.2f} s"
    say(f"training     {count(about['n_iter'], 'epoch')}{steps}{seconds}")
    proof = about["certificate"]
    if not about["formulation"]:
        say("certificate  none: stochastic steps prove nothing")
        return
    if proof is None:
        imported = "the model was not trained by manyclass"
        why = "small weights were left out after training" if about["n_iter"] else imported
        say(f"certificate  none: {why}")
        return
    say(f"objective    {proof['primal_objective']:.6g}")
    say(f"certificate  {proven(proof['relative_gap'])}")
    say(f"violation    {proof['max_violation']:.2g} at most, of the optimality conditions")


def _shown(step: dict[str, Any]) -> str:
    """Return a step of a pipeline as Python writes it; it may come from a hostile file."""
    from manyclass.io.tensors import one_line

    params = ", ".join(f"{name}={value!r}" for name, value in step["params"].items())
    return one_line(f"{step['kind']}({params})")
