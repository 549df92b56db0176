"""``manyclass info``: describe a model file."""

from __future__ import annotations

import argparse
import json

from manyclass.cli.console import count, proven, say


def info(args: argparse.Namespace) -> None:
    """Run ``manyclass info``."""
    from manyclass.persistence.model_file import describe_model

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
