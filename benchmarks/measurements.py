"""The list of all measurements that pages show.

Each writes one file of ``benchmarks/results`` and fills sections of pages. Other tables of
measurements are written by hand, mostly because they need other machines.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from measuring.fingerprint import CORE, ROOT

DOCS = ROOT / "docs"


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a page between ``<!-- marker -->`` and ``<!-- end of marker -->``.

    Attributes
    ----------
    page : str
        Below docs, or ../README.md.
    marker : str
    writers : str
        "module:function" once or more: functions that return Markdown for the results.
    """

    page: str
    marker: str
    writers: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement.

    Attributes
    ----------
    name : str
    commands : tuple of str
        What is run one after the other, each after ``python -m``.
    file : str
        What they write, in ``benchmarks/results``.
    sections : tuple of Section
    duration : str, default=""
        About how long it takes on two cores; empty if unknown.
    data : str, default=""
        Data sets without which it is skipped.
    needs : str, default=""
        Modules and programs without which it is skipped.
    code : tuple of str
        Packages of manyclass whose changes make the results old.
    """

    name: str
    commands: tuple[str, ...]
    file: str
    sections: tuple[Section, ...]
    duration: str = ""
    data: str = ""
    needs: str = ""
    code: tuple[str, ...] = CORE

    def missing(self) -> str:
        """Say what is not there; an empty string if nothing is missing."""
        from measuring.datasets.base import find_datasets

        absent = [f"needs {name}" for name in self.needs.split() if not _is_there(name)]
        if self.data:
            datasets = find_datasets(multilabel=True)
            skips = [datasets[name].skip() for name in self.data.split()]
            absent += [reason for skipped, reason in skips if skipped]
        return "; ".join(absent)


def _is_there(name: str) -> bool:
    """Return whether there is a module or a program of this name."""
    beside = Path(sys.executable).with_name(name).exists()
    return beside or shutil.which(name) is not None or importlib.util.find_spec(name) is not None


_TEXTS = "news20 sector lshtc1"
_OURS_AND_LINEAR_SVC = "--solvers manyclass manyclass_2 sklearn_linear_svc"
_LOGISTIC = (
    "benchmarks.peers.run --update --problems logistic --levels 1e-3 1e-5 --repeats 3"
    " --solvers manyclass manyclass_2 cyanure intelex_logistic_lbfgs sklearn_sgd"
    " sklearn_logistic_lbfgs sklearn_logistic_newton-cg sklearn_logistic_saga"
)
_TABLES, _PLOTS = "benchmarks.peers.tables", "benchmarks.peers.plots"
_FRONT_PAGE = "benchmarks.peers.front_page"
_FRONT = (
    "benchmarks.peers.run --file front_page.json --levels 1e-3 --repeats 3 --fewest 3"
    " --time-limit 15 banking=40"
)
_MANY, _STOCHASTIC = "benchmarks.many_classes", "benchmarks.stochastic"
_DISTRIBUTED = (*CORE, "distributed")

MEASUREMENTS = (
    Measurement(
        "peers",
        (
            "benchmarks.peers.run --data news20 sector letter satimage dna --time-limit 3 sector=6"
            " --problems crammer_singer weston_watkins one_vs_rest one_vs_rest_squared",
            "benchmarks.peers.run --update --data usps --problems crammer_singer one_vs_rest"
            f" {_OURS_AND_LINEAR_SVC} --repeats 3 --time-limit 12",
            "benchmarks.peers.run --update --data mnist --problems crammer_singer"
            f" {_OURS_AND_LINEAR_SVC} --repeats 3 --time-limit 40",
            "benchmarks.peers.run --update --data lshtc1 covtype100k --problems crammer_singer"
            f" weston_watkins {_OURS_AND_LINEAR_SVC} --levels 1e-3 1e-5 --time-limit 6",
            f"{_LOGISTIC} sklearn_logistic_newton-cholesky --data letter satimage dna covtype100k"
            " --time-limit 3 covtype100k=15",
            f"{_LOGISTIC} --data news20 sector sector-256d usps embeddings-256 mnist lshtc1"
            " --time-limit 10 sector=20 usps=15 embeddings-256=25 mnist=40 lshtc1=60",
        ),
        "latest.json",
        (
            Section(
                "development/benchmarks.md", "measured", f"{_TABLES}:all_tables {_PLOTS}:pictures"
            ),
            Section("benchmarks.md", "measured", f"{_TABLES}:short_table {_TABLES}:short_notes"),
        ),
        duration="an hour or more",
        data=f"{_TEXTS} letter satimage dna usps mnist covtype100k",
        needs="matplotlib liblinear",
    ),
    Measurement(
        "front_page",
        (
            f"{_FRONT} --data news20 sector banking --problems crammer_singer one_vs_rest_squared"
            " --solvers manyclass sklearn_linear_svc",
            f"{_FRONT} --update --data bibtex --problems multilabel_squared"
            " --solvers manyclass sklearn_linear_svc sklearn_linear_svc_primal",
            f"{_FRONT} --update --data news20 banking letter --problems logistic --solvers"
            " manyclass sklearn_logistic_lbfgs sklearn_logistic_newton-cg sklearn_logistic_saga",
        ),
        "front_page.json",
        (
            Section("../README.md", "speed", f"{_FRONT_PAGE}:link_in_readme"),
            Section("index.md", "speed", f"{_FRONT_PAGE}:link"),
            Section("benchmarks.md", "front-page", f"{_FRONT_PAGE}:table {_FRONT_PAGE}:picture"),
        ),
        duration="10 minutes",
        data="news20 sector letter banking bibtex",
        needs="matplotlib",
        code=(*CORE, "multilabel"),
    ),
    Measurement(
        "growth",
        ("benchmarks.runs.growth",),
        "growth.json",
        (
            Section(
                "development/benchmarks.md",
                "growth",
                "benchmarks.runs.growth:table benchmarks.runs.growth:picture",
            ),
        ),
        needs="matplotlib",
    ),
    Measurement(
        "profile",
        ("benchmarks.runs.profile",),
        "profile.json",
        (
            Section("development/performance.md", "profile", "benchmarks.runs.profile:table"),
            Section("performance.md", "profile", "benchmarks.runs.profile:short_table"),
        ),
        data="news20 sector letter satimage usps",
    ),
    Measurement(
        "changing_rows",
        ("benchmarks.runs.changing_rows",),
        "changing_rows.json",
        (
            Section(
                "development/performance.md",
                "changing-rows",
                "benchmarks.runs.changing_rows:table",
            ),
        ),
        data=f"{_TEXTS} mnist",
    ),
    Measurement(
        "choosing_c",
        (
            "benchmarks.runs.choosing_c --limit 240",
            "benchmarks.runs.choosing_c --paths",
            "benchmarks.runs.choosing_c --draw",
        ),
        "choosing_c.json",
        (
            Section("choosing_c.md", "searches", "benchmarks.runs.choosing_c:searches_table"),
            Section("choosing_c.md", "paths", "benchmarks.runs.choosing_c:paths_table"),
        ),
        data="satimage letter news20 sector",
        needs="matplotlib liblinear",
        code=(*CORE, "model_selection"),
    ),
    Measurement(
        "leave_one_out",
        ("benchmarks.runs.leave_one_out",),
        "leave_one_out.json",
        (Section("choosing_c.md", "leave-one-out", "benchmarks.runs.leave_one_out:table"),),
        data="satimage letter news20 sector mnist",
        code=(*CORE, "model_selection"),
    ),
    Measurement(
        "calibration",
        ("benchmarks.runs.calibration",),
        "calibration.json",
        (
            Section(
                "logistic.md",
                "calibration",
                "benchmarks.runs.calibration:table benchmarks.runs.calibration:picture",
            ),
        ),
        data="news20 sector",
        needs="matplotlib",
        code=(*CORE, "estimators"),
    ),
    Measurement(
        "stochastic",
        (f"{_STOCHASTIC}.run",),
        "stochastic.json",
        (
            Section(
                "development/stochastic_benchmarks.md", "data", f"{_STOCHASTIC}.tables:levels_table"
            ),
            Section(
                "development/stochastic_benchmarks.md",
                "seconds",
                f"{_STOCHASTIC}.tables:seconds_tables {_STOCHASTIC}.plots:picture",
            ),
            Section(
                "development/stochastic_benchmarks.md",
                "epochs",
                f"{_STOCHASTIC}.tables:epochs_table",
            ),
            Section(
                "development/stochastic_benchmarks.md",
                "memory",
                f"{_STOCHASTIC}.tables:memory_table",
            ),
            Section("stochastic_benchmarks.md", "seconds", f"{_STOCHASTIC}.tables:short_table"),
        ),
        duration="half an hour",
        data=f"{_TEXTS} mnist",
        needs="matplotlib",
    ),
    Measurement(
        "many_classes",
        (
            f"{_MANY}.run --data lshtc1 lshtc-small lshtc-tenth",
            f"{_MANY}.run --data wordnet lshtc-large --weights sparse --tol 1e-2"
            " --formulations crammer_singer weston_watkins",
            f"{_MANY}.run --data lshtc1 --weights dense --jobs 1 --tol 1e-3"
            " --costs 0.01 0.1 10 100",
            f"{_MANY}.run --data lshtc1 --weights dense --jobs 1 --tol 1e-3"
            " --costs 1 100 10000 --formulations lee_lin_wahba",
        ),
        "many_classes.json",
        (
            Section(
                "development/many_classes_benchmarks.md", "measured", f"{_MANY}.tables:all_tables"
            ),
            Section(
                "development/many_classes_benchmarks.md", "costs", f"{_MANY}.tables:costs_table"
            ),
            Section("many_classes.md", "measured", f"{_MANY}.tables:short_table"),
        ),
        duration="20 minutes",
        data="lshtc1 wordnet",
    ),
    Measurement(
        "many_classes_growth",
        (f"{_MANY}.growth --formulations crammer_singer",),
        "many_classes_growth.json",
        (
            Section(
                "development/many_classes_benchmarks.md",
                "growth",
                f"{_MANY}.growth:growth_table {_MANY}.growth:picture",
            ),
        ),
        needs="matplotlib",
    ),
    Measurement(
        "formulations",
        ("experiments.formulations.run",),
        "formulations.json",
        (
            Section(
                "development/formulations_measured.md",
                "measured",
                "experiments.formulations.run:all_tables",
            ),
        ),
        data="news20 sector letter satimage",
    ),
    Measurement(
        "consistency",
        ("experiments.formulations.consistency",),
        "consistency.json",
        (
            Section(
                "development/formulations_measured.md",
                "consistency",
                "experiments.formulations.consistency:table",
            ),
        ),
        code=("problem",),
    ),
    Measurement(
        "consensus_rounds",
        ("benchmarks.runs.consensus_rounds",),
        "consensus_rounds.json",
        (
            Section(
                "development/clusters_measured.md",
                "rounds",
                "benchmarks.runs.consensus_rounds:table",
            ),
        ),
        duration="more than 35 minutes",
        data="news20",
        code=_DISTRIBUTED,
    ),
    Measurement(
        "newton_rounds",
        (
            "benchmarks.runs.newton_rounds --data digits",
            "benchmarks.runs.newton_rounds --data letter covtype100k --C 1 10",
        ),
        "newton_rounds.json",
        (
            Section(
                "development/clusters_measured.md", "newton", "benchmarks.runs.newton_rounds:table"
            ),
        ),
        data="letter covtype100k",
        code=_DISTRIBUTED,
    ),
    Measurement(
        "cluster_estimate",
        ("benchmarks.runs.cluster_estimate",),
        "cluster_estimate.json",
        (
            Section(
                "development/clusters_measured.md",
                "estimate",
                "benchmarks.runs.cluster_estimate:table",
            ),
        ),
        code=_DISTRIBUTED,
    ),
    Measurement(
        "cluster_peers",
        (
            "benchmarks.runs.cluster_peers dask --rows 100000 --repeats 1",
            "benchmarks.runs.cluster_peers spark --rows 50000 --repeats 1",
            "benchmarks.runs.cluster_peers spark --rows 50000 --repeats 1 --least 0.03",
        ),
        "cluster_peers.json",
        (
            Section(
                "development/clusters_measured.md", "peers", "benchmarks.runs.cluster_peers:table"
            ),
        ),
        needs="dask_ml pyspark java",
        code=_DISTRIBUTED,
    ),
    Measurement(
        "rank_costs",
        ("benchmarks.runs.ranks costs",),
        "rank_costs.json",
        (
            Section("development/ranks.md", "costs", "benchmarks.runs.ranks:costs_table"),
            Section("distributed.md", "measured", "benchmarks.runs.ranks:short_table"),
        ),
        duration="an hour",
        data="sector lshtc1",
        needs="mpi4py mpiexec",
        code=_DISTRIBUTED,
    ),
    Measurement(
        "rank_epochs",
        ("benchmarks.runs.ranks epochs --data sector lshtc1 lshtc-small",),
        "rank_epochs.json",
        (Section("development/ranks.md", "epochs", "benchmarks.runs.ranks:epochs_table"),),
        data="sector lshtc1",
        needs="mpi4py mpiexec",
        code=_DISTRIBUTED,
    ),
)
