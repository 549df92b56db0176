"""List the experiments: ``python -m experiments``."""

from __future__ import annotations

# Module: what it measures, how long it took on two cores where that is known, whether it has
# --quick.
EXPERIMENTS = {
    "experiments.keerthi2008.curves": ("figures 1 to 5, section 2.2", "45 minutes", True),
    "experiments.keerthi2008.updates": ("section 2.2: updates of two orders", "2 minutes", True),
    "experiments.keerthi2008.seeding": ("section 2.3: warm starts over C", "6 minutes", True),
    "experiments.keerthi2008.tables": ("tables 4.2 and 4.3; --unit-rows", "30 minutes", True),
    "experiments.keerthi2008.underflow": ("EG with and without logarithms", "2 minutes", True),
    "experiments.alber2017.table1": ("table 1: LLW and WW", "", False),
    "experiments.alber2017.speedup": ("figure 2: speed-up over ranks", "", False),
    "experiments.alber2017.sweep": ("tables 3, 4, 5, figure 3: error over C", "20 minutes", True),
    "experiments.lin2008.libsvm": ("LIBSVM beside linear solvers", "5 minutes", True),
    "experiments.lin2008.kernels": ("kernel, linear, Nystroem", "20 minutes", True),
    "experiments.lin2008.growth": ("accuracy over the number of rows", "20 minutes", True),
    "experiments.chen2011.run": ("figures 1 to 4: stochastic training", "105 minutes", False),
    "experiments.formulations.run": ("nine formulations on five data sets", "", False),
    "experiments.formulations.consistency": ("which formulations are consistent", "", False),
}


def main() -> None:
    """Print one line for each."""
    width = max(map(len, EXPERIMENTS))
    for module, (what, duration, quick) in EXPERIMENTS.items():
        notes = [*([duration] if duration else []), *(["--quick: seconds"] if quick else [])]
        tail = f" ({', '.join(notes)})" if notes else ""
        print(f"python -m {module:{width}}  {what}{tail}")


if __name__ == "__main__":
    main()
