"""The picture and the table of the front page, from results as the benchmark writes them."""

import pytest

pytest.importorskip("matplotlib")

from matplotlib.image import imread

from benchmarks.peers import front_page
from measuring import results

LOGISTIC = {"manyclass": 0.05, "sklearn_logistic_lbfgs": 0.9, "sklearn_logistic_saga": 0.125}


def entry(problem, data, seconds):
    solvers = [
        {"name": name, "levels": {"0.001": s and {"seconds": s}}} for name, s in seconds.items()
    ]
    sizes = {"n": 15935, "d": 62061, "k": 20}
    return {"problem": problem, "data": data, **sizes, "solvers": solvers}


RESULT = {
    "entries": [
        entry("crammer_singer", "news20", {"manyclass": 0.1071, "sklearn_linear_svc": 0.4663}),
        entry("one_vs_rest_squared", "news20", {"manyclass": 0.04, "sklearn_linear_svc": None}),
        entry("logistic", "letter", LOGISTIC),
        entry(
            "multilabel_squared",
            "bibtex",
            {"manyclass": 0.4, "sklearn_linear_svc": 30.0, "sklearn_linear_svc_primal": 13.0},
        ),
        entry("weston_watkins", "news20", {"manyclass": 0.1}),
    ]
}


def test_the_table_has_the_fastest_setting_of_each_pair_that_reaches_the_level():
    assert front_page.table(RESULT).splitlines()[2:] == [
        "| news20 (15,935 x 62,061 x 20) | Crammer-Singer | 0.107 s |"
        ' `LinearSVC(multi_class="crammer_singer")` 0.466 s | 4.4 |',
        "| letter (15,935 x 62,061 x 20) | logistic | 0.0500 s |"
        ' `LogisticRegression(solver="saga")` 0.125 s | 2.5 |',
        "| bibtex (15,935 x 62,061 x 20) | multi-label | 0.400 s |"
        " `OneVsRestClassifier(LinearSVC(dual=False))` 13.0 s | 32 |",
    ]


def test_the_picture_has_a_panel_for_each_kind_of_data(monkeypatch):
    monkeypatch.setattr(results, "_scratch", None)
    results.write_to_scratch()
    assert [len(row) for row in front_page.pairs(RESULT).values()] == [1, 2]
    link = front_page.picture(RESULT)
    assert link.endswith("for manyclass and scikit-learn](figures/speed.png)")
    assert front_page.link_in_readme(RESULT) == link.replace("(figures", "(docs/figures")
    drawn = imread(results.place(results.FIGURES / "speed.png"))
    assert drawn.shape[1] == 644
    assert drawn[..., :3].min() < 0.1  # text
    assert drawn[0, 0, 3] == 1  # the background is opaque, for dark pages
