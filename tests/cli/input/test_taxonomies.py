"""Trees of classes and offsets on the command line."""

import json

import numpy as np
import pytest

from manyclass import MulticlassSVC, Taxonomy, load_model, load_svmlight

TREE = "a,letter\nb,letter\nc,late\nlate,letter\nletter,\n"


def test_a_tree_of_labels(run, tiny, here):
    X, y = load_svmlight("tiny")
    (here / "tree.csv").write_text(TREE)
    run.works("train", "tiny", "m", "--taxonomy", "tree.csv", "--dtype", "float64")
    parents = {"a": "letter", "b": "letter", "c": "late", "late": "letter", "letter": None}
    tree = Taxonomy(parents)
    same = MulticlassSVC(costs=tree, random_state=0).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(load_model("m").coef_, same.coef_)
    (here / "more").write_text("a 1:1\nb 1:1\nc 3:1\nletter 1:1\n")
    found = json.loads(
        run("evaluate", "more", "m", "--json", "--report", "--taxonomy", "tree.csv")[1][0]
    )
    predicted = same.predict(load_svmlight("more", 3)[0])
    assert found["mean_distance"] == tree.mean_distance(["a", "b", "c", "letter"], predicted)
    shown = run.works("evaluate", "tiny", "m", "--taxonomy", "tree.csv")
    assert any(line.startswith("distance") for line in shown)
    shown = run.works("cv", "tiny", "--folds", "2", "-C", "1", "--taxonomy", "tree.csv",
                      "--scoring", "cost", "--json")  # fmt: skip
    assert 0 <= json.loads(shown[-1])["score"] <= 1


def test_numbers_as_labels(run, corpus, here):
    data = corpus / "train.txt"
    labels = np.unique(load_svmlight(data)[1])
    lines = [f"{label:.1f},{'even' if label % 2 == 0 else 'odd'}" for label in labels]
    (here / "tree.csv").write_text("\n".join(["even", "odd", *lines]))
    run.works("train", data, "m", "--taxonomy", "tree.csv")
    assert set(load_model("m").costs.costs_of(labels).ravel()) == {0, 0.5, 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,x\nb,x\n", "has no line of 'c'"),
        (TREE + "a,late\n", "line 6: the node a is given twice"),
        ("a,b\nb,c\nc,a\n", "form a cycle"),
        ("a,b,c\n", "line 1: must hold a node and its parent"),
        ("", "needs a dict|one at least"),
    ],
)
def test_trees_that_are_none(run, tiny, here, text, message):
    (here / "tree.csv").write_text(text)
    error = run.fails("train", "tiny", "m", "--taxonomy", "tree.csv")
    assert message.split("|")[-1] in error
    assert "argument --taxonomy" in error


def test_offsets_of_labels(run, tiny, here):
    X, y = load_svmlight("tiny")
    X = X.astype(np.float64)
    run.works("train", "tiny", "m", "--class-offset", "a=-1.5", "--class-offset", "c=2",
              "--dtype", "float64")  # fmt: skip
    same = MulticlassSVC(class_offset={"a": -1.5, "c": 2.0}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load_model("m").coef_, same.coef_)
    for flags in ([], ["--formulation", "logistic"]):
        run.works("train", "tiny", "m", "--class-offset", "logit_adjustment", *flags)
        assert load_model("m").class_offset == "logit_adjustment"
    run.works("cv", "tiny", "--folds", "2", "-C", "1", "--class-offset", "a=1", "--json")


def test_labels_are_paths(run, here):
    lines = ["a/b 1:1", "a/c 2:1", "d 1:-1 2:-1", "a/b 1:2", "a/c 2:2", "d 1:-2 2:-1"]
    (here / "data").write_text("\n".join(lines))
    paths = ["--taxonomy-paths", "/"]
    run.works("train", "data", "m", *paths)
    tree = Taxonomy.from_paths(["a/b", "a/c", "d"])
    same = MulticlassSVC(costs=tree, random_state=0).fit(*load_svmlight("data"))
    np.testing.assert_array_equal(load_model("m").coef_, same.coef_)
    shown = run.works("evaluate", "data", "m", *paths)
    assert any(line.startswith("distance") for line in shown)
    assert run.works("evaluate", "data", "m")[1:] == shown[1:]  # the model contains its tree
    assert "distances in a taxonomy of 5 nodes, depth 2" in "".join(run.works("info", "m"))
    run.works("cv", "data", *paths, "-C", "1", "--folds", "2", "--scoring", "cost")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--taxonomy-paths", "/"], "argument --taxonomy-paths: "),
        (["--taxonomy-paths", ""], "argument --taxonomy-paths: must not be empty"),
        (["--taxonomy", "t", "--taxonomy-paths", "/"], "not allowed with argument --taxonomy"),
    ],
)
def test_what_is_wrong_with_paths(run, here, options, message):
    (here / "data").write_text("1 1:1\n2 1:2\n")
    assert message in run.fails("train", "data", "m", *options)


def test_errors_name_the_option_that_was_given(run, here):
    (here / "data").write_text("a/b 1:1\na/c 1:2\n")
    options = ["--taxonomy-paths", "/", "--formulation", "logistic"]
    error = run.fails("train", "data", "m", *options)
    assert "argument --taxonomy-paths: logistic does not support" in error
    assert "leave out --taxonomy-paths" in error
    error = run.fails("train", "data", "m", "--taxonomy-paths", ">")
    assert "argument --taxonomy-paths: no label contains '>'" in error
