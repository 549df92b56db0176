"""Elements escape what they hold; axes and formulas."""

import pytest

from manyclass.problem.formulations import FORMULATIONS, LOGISTIC
from manyclass.reports.charts import Axis
from manyclass.reports.formulas import FORMULATION_WORDS, exact_objective
from manyclass.reports.html import Markup, element, joined
from tests.helpers.cases import each

HOSTILE = "<script>alert('\"')</script>&"


def test_text_and_attributes_are_escaped():
    made = element("p", HOSTILE, element("b", HOSTILE), title=HOSTILE, data_n=3, hidden=None)
    assert isinstance(made, Markup)
    assert "<script" not in made
    assert made.count("&lt;script&gt;alert(&#x27;&quot;&#x27;)&lt;/script&gt;&amp;") == 3
    assert made.startswith('<p title="')
    assert 'data-n="3">' in made
    assert "hidden" not in made
    assert joined(["<", Markup("<b>")]) == "&lt;<b>"


@pytest.mark.parametrize("name", [*FORMULATIONS, "logistic"])
@each("loss", ["hinge", "squared_hinge"])
def test_every_formulation_has_words_and_a_formula(name, loss):
    machine = FORMULATIONS.get(name, LOGISTIC)
    shown = exact_objective(machine, loss, intercept=True)
    assert FORMULATION_WORDS[name][0]
    assert ("subject to" in shown) == machine.centred
    assert ("max(" in shown.split("where")[0]) == (machine.takes_maximum and name == "atm")
    assert ("log ∑" in shown) == (name == "logistic")


def test_formulas_are_those_of_the_catalogue():
    def plain(name, loss="hinge", **given):
        text = exact_objective(FORMULATIONS[name], loss, intercept=False, **given)
        for tag in ("sub", "sup", "i"):
            text = text.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
        return text

    assert "ℓ = maxc ≠ y [1 − (sy − sc)]+</p>" in plain("crammer_singer")
    assert "ℓ = ∑c ≠ y [1 − (sy − sc)]+2</p>" in plain("weston_watkins", "squared_hinge")
    assert "ℓ = [k − 1 − sy]+ + ∑c ≠ y [1 + sc]+</p>" in plain("reinforced")
    assert "ℓ = max([1 − sy]+, maxc ≠ y [1 + sc]+)</p>" in plain("atm")
    assert "ℓ = [1 − sy]+</p>" in plain("mmr")
    assert "ℓ = maxc ≠ y [Δ(y, c) − (sy − sc)]+</p>" in plain("crammer_singer", costs="margin")
    sets = plain("one_vs_rest", "squared_hinge", multilabel=True)
    assert "ℓ = ∑c ∈ y [1 − sc]+2 + ∑c ∉ y [1 + sc]+2</p>" in sets
    assert "sc = wc · x + oc while training</p>" in plain("adm", offsets=True)
    assert "Δ(y, c) + sc" in plain("lee_lin_wahba", costs="margin", offsets=True)


@pytest.mark.parametrize(
    "axis",
    [
        Axis.from_values("x", [0.0, 0.0], zero=True),
        Axis.from_values("x", [5.0, 5.0]),
        Axis.from_values("x", [-1e17, 1e17]),
        Axis.from_values("x", [1e-17, 1e17], log=True),
        Axis.from_values("x", [1.0], log=True),
        Axis("x", 0.0, 1.0),
    ],
)
def test_axes_have_a_few_marks_within(axis):
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 8
    assert all(-1e-9 <= axis.share(value) <= 1 + 1e-9 for value, _ in ticks)


def test_marks_are_round():
    marks = [name for _, name in Axis.from_values("x", [0.0, 1.4], zero=True).ticks()]
    assert marks == ["0", "0.5", "1"]
    marks = [name for _, name in Axis.from_values("x", [2e-4, 0.9], log=True).ticks()]
    assert marks == ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"]
