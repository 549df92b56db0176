"""Seconds of training on a GPU, beside PyTorch's L-BFGS and this package's core on the CPU.

    python -m benchmarks.runs.devices [--parts small imagenet real path stream] [--threads 16]

Parts: 60,000 x 384 made-up rows of 300 classes; ImageNet's shape, 1,281,167 x 768 of 1,000; real
sentence embeddings (a folder of data given by --data); a path over 13 values of C on ImageNet's
shape; ImageNet's shape in host memory, streamed to a device that has half as much memory free. Each
line: the least seconds of `fit` of two, epochs and the proven relative gap. Rows are made on the
device.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import sklearn
import torch
from sklearn.linear_model import LogisticRegression

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.arrays import namespace
from manyclass.arrays.places.blocks import PinnedCopier

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "logistic": (MultinomialLogisticRegression, {}),
    "one_vs_rest": (MulticlassSVC, {"formulation": "one_vs_rest"}),
    "crammer_singer": (MulticlassSVC, {"formulation": "crammer_singer"}),
    "weston_watkins": (MulticlassSVC, {"formulation": "weston_watkins"}),
}


def made_up(n: int, d: int, k: int, spread: float = 2.0) -> tuple[torch.Tensor, np.ndarray]:
    """Draw unit rows around class means that come in groups, noise of a decaying spectrum."""
    device, generator = torch.device("cuda"), torch.Generator(device="cuda").manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=device)

    spectrum = torch.arange(1, d + 1, device=device).float() ** -0.35
    spectrum *= math.sqrt(d) / spectrum.norm()
    groups = torch.randint(0, 40, (k,), generator=generator, device=device)
    means = (normal(40, d) * spectrum)[groups] * 0.7 + normal(k, d) * spectrum * 0.5
    y = torch.randint(0, k, (n,), generator=generator, device=device)
    X = torch.empty(n, d, device=device)
    for begin in range(0, n, 200_000):
        part = slice(begin, min(n, begin + 200_000))
        rows = means[y[part]] + normal(len(y[part]), d) * spectrum * spread
        X[part] = rows / rows.norm(dim=1, keepdim=True)
    return X, y.cpu().numpy()


def fit(
    kind: str, X: Any, y: np.ndarray, C: float, tol: float, repeats: int = 2, **given: Any
) -> None:
    """Train and print a line."""
    estimator, own = MODELS[kind]
    seconds = math.inf
    for _ in range(repeats):
        model = estimator(C=C, tol=tol, random_state=0, fit_intercept=False, **own, **given)
        began = time.perf_counter()
        model.fit(X, y)
        seconds = min(seconds, time.perf_counter() - began)
    loops = sum(record.loops for record in model.history_)
    where = str(X.device) if hasattr(X, "device") and not isinstance(X, np.ndarray) else "cpu"
    print(
        f"  {where:7s} {kind:15s} C {C:<5g} tol {tol:.0e}  {seconds:7.3f} s  "
        f"{model.n_iter_:4d} epochs + {loops:4d} loops, {model.history_[-1].seconds:7.3f} s  "
        f"gap {model.certificate_.relative_gap:.1e}  {given or ''}",
        flush=True,
    )


def lbfgs(X: torch.Tensor, y: np.ndarray, k: int, C: float, tol: float) -> None:
    """Minimize the same P of logistic regression by PyTorch's L-BFGS, float32, no proof."""
    labels = torch.as_tensor(y, device=X.device)
    W = torch.zeros(X.shape[1], k, device=X.device, requires_grad=True)
    method = torch.optim.LBFGS([W], max_iter=1, history_size=10, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        method.zero_grad()
        loss = 0.5 * (W * W).sum() + C * torch.nn.functional.cross_entropy(
            X @ W, labels, reduction="sum"
        )
        loss.backward()
        return loss

    torch.cuda.synchronize()
    began, steps = time.perf_counter(), 0
    while steps < 200:
        primal = float(method.step(closure).detach())
        steps += 1
        gap = 0.5 * float((W.grad.double() ** 2).sum())
        if gap <= tol * primal:
            break
    seconds = time.perf_counter() - began
    what = f"  cuda:0  torch L-BFGS    C {C:<5g} tol {tol:.0e}  {seconds:7.3f} s"
    print(f"{what}  {steps:4d} steps (not proven)", flush=True)


def scikit_learn(X: torch.Tensor, y: np.ndarray, C: float) -> None:
    """Train scikit-learn's LogisticRegression where X lies, as far as it goes by itself."""
    labels = torch.as_tensor(y, device=X.device)
    model = LogisticRegression(C=C, fit_intercept=False, tol=1e-4, max_iter=1000)
    try:
        with sklearn.config_context(array_api_dispatch=True):
            torch.cuda.synchronize()
            began = time.perf_counter()
            model.fit(X, labels)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - began
    except Exception as error:  # a release without it
        print(f"  scikit-learn {sklearn.__version__}: {type(error).__name__}: {error}", flush=True)
        return
    print(f"  cuda:0  scikit-learn     C {C:<5g}            {seconds:7.3f} s", flush=True)


def small(arguments: argparse.Namespace) -> None:
    """60,000 x 384, 300 classes."""
    print("60,000 x 384, 300 classes", flush=True)
    X, y = made_up(60_000, 384, 300)
    host = X.cpu().numpy()
    for kind in arguments.models:
        for C in (1.0, 10.0):
            fit(kind, X, y, C, 1e-3)
        if arguments.threads:
            fit(kind, host, y, 1.0, 1e-3, repeats=1, n_jobs=arguments.threads)
    lbfgs(X, y, 300, 1.0, 1e-3)
    scikit_learn(X, y, 1.0)


def imagenet(arguments: argparse.Namespace) -> None:
    """1,281,167 x 768, 1,000 classes."""
    print("1,281,167 x 768, 1,000 classes", flush=True)
    X, y = made_up(1_281_167, 768, 1000)
    for kind in arguments.models:
        for C in arguments.C:
            fit(kind, X, y, C, 1e-3, repeats=1)
    if "logistic" in arguments.models:
        fit("logistic", X, y, 1.0, 1e-5, repeats=1)
        lbfgs(X, y, 1000, 1.0, 1e-3)


def path(_: argparse.Namespace) -> None:
    """Train 13 values of C from 1e-3 to 1e3, each from the one before."""
    print("13 values of C, 1,281,167 x 768, 1,000 classes, to 1e-3", flush=True)
    X, y = made_up(1_281_167, 768, 1000)
    model = MultinomialLogisticRegression(fit_intercept=False, warm_start=True, random_state=0)
    total, gaps = 0.0, []
    for C in np.logspace(-3, 3, 13):
        began = time.perf_counter()
        model.set_params(C=float(C)).fit(X, y)
        seconds = time.perf_counter() - began
        total += seconds
        gaps.append(model.certificate_.relative_gap)
        print(f"  C {C:<8.3g} {seconds:7.3f} s  gap {gaps[-1]:.1e}", flush=True)
    print(f"  in all {total:.2f} s, the largest gap {max(gaps):.1e}", flush=True)


def bus() -> float:
    """Return the bytes a second of copies from page-locked memory."""
    buffer = torch.empty(1 << 28, dtype=torch.float32, pin_memory=True)
    seconds = math.inf
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        buffer.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        seconds = min(seconds, time.perf_counter() - began)
    return buffer.numel() * 4 / seconds


def stream(arguments: argparse.Namespace) -> None:
    """Train rows in host memory, of which the device has half the memory free."""
    X, y = made_up(1_281_167, 768, 1000)
    host = X.cpu().numpy()
    del X
    torch.cuda.empty_cache()
    speed, copied, send = bus(), [0], PinnedCopier.send

    def counted(self: PinnedCopier, part: slice) -> Any:
        copied[0] += host[part].nbytes
        return send(self, part)

    print(f"streamed, the bus copies {speed / 1e9:.1f} GB/s", flush=True)
    few = mock.patch.object(namespace, "FREE_MEMORY", host.nbytes // 2)
    with mock.patch.object(PinnedCopier, "send", counted), few:
        for kind in arguments.models:
            copied[0] = 0
            began = time.perf_counter()
            fit(kind, host, y, 1.0, 1e-3, repeats=1, device="cuda", max_iter=20)
            rate = copied[0] / (time.perf_counter() - began)
            print(
                f"    {copied[0] / 1e9:.1f} GB, {rate / 1e9:.1f} GB/s, "
                f"{rate / speed:.2f} of the bus",
                flush=True,
            )


def real(arguments: argparse.Namespace) -> None:
    """Sentence embeddings, 10,003 x 384, 77 classes."""
    with np.load(arguments.data / "banking.minilm.npz") as file:
        X, y = (file[name] for name in list(file)[:2])
    print(f"sentence embeddings, {X.shape}", flush=True)
    X = torch.as_tensor(X.astype(np.float32), device="cuda")
    for kind in arguments.models:
        for C in (1.0, 10.0):
            fit(kind, X, y, C, 1e-3)


PARTS = {"small": small, "imagenet": imagenet, "real": real, "path": path, "stream": stream}


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    for part in arguments.parts:
        PARTS[part](arguments)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
