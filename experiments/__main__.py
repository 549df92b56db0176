"""List the experiments: ``python -m experiments``."""

from __future__ import annotations

# Module: what it measures, how long it took on two cores where that is known.
EXPERIMENTS = {
    "experiments.keerthi2008.curves": ("figures 1 to 5, sections 2.2, 3", "50 minutes"),
    "experiments.keerthi2008.updates": ("section 2.2: updates of two orders", "2 minutes"),
    "experiments.keerthi2008.seeding": ("section 2.3: warm starts over C", "6 minutes"),
    "experiments.keerthi2008.classes_apart": ("section 4: k T(l) against T(k l)", "6 minutes"),
    "experiments.keerthi2008.tables": ("tables 4.2 and 4.3; --unit-rows", "30 minutes"),
    "experiments.keerthi2008.underflow": ("EG with and without logarithms", "2 minutes"),
    "experiments.alber2017.table1": ("table 1: LLW and WW", ""),
    "experiments.alber2017.speedup": ("figure 2: speed-up over ranks", ""),
    "experiments.alber2017.sweep": ("tables 3, 4, 5, figure 3: error over C", "20 minutes"),
    "experiments.lin2008.libsvm": ("LIBSVM beside linear solvers", "5 minutes"),
    "experiments.lin2008.kernels": ("kernel, linear, Nystroem", "20 minutes"),
    "experiments.lin2008.growth": ("accuracy over the number of rows", "20 minutes"),
    "experiments.lin2008.regimes": ("many rows, many features, both", "3 minutes"),
    "experiments.chen2011.run": ("figures 1 to 4: stochastic training", "105 minutes"),
    "experiments.formulations.run": ("nine formulations on five data sets", ""),
    "experiments.formulations.consistency": ("which formulations are consistent", ""),
}


def main() -> None:
    """Print one line for each."""
    width = max(map(len, EXPERIMENTS))
    for module, (what, duration) in EXPERIMENTS.items():
        print(f"python -m {module:{width}}  {what}{f' ({duration})' if duration else ''}")
    print("\nEach has a quick form, --quick, of seconds on small data.")


if __name__ == "__main__":
    main()
