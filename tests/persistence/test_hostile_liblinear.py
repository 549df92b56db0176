"""LIBLINEAR files that are damaged or hostile give one error each, with the file and the line."""

import contextlib
import os
import re

import numpy as np
import pytest

from manyclass import load_liblinear
from tests.helpers.memory import peak_of

GOOD = (
    "solver_type MCSVM_CS\nnr_class 3\nlabel 1 2 3\nnr_feature 2\nbias 1\nw\n"
    "1 2 3 \n4 5 6 \n7 8 9 \n"
)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("solver_type MCSVM_CS", "a 1:1", 1, "is not a LIBLINEAR model: these begin with"),
        ("MCSVM_CS", "L2R_L2LOSS_SVR", 1, "L2R_L2LOSS_SVR is not a classifier"),
        ("MCSVM_CS", "ONECLASS_SVM", 1, "is not a classifier"),
        ("MCSVM_CS", "MAGIC", 1, "the solver 'MAGIC' is not a classifier of LIBL"),
        ("solver_type MCSVM_CS\n", "solver_type\n", 1, "the solver '' is not"),
        ("nr_class 3", "nr_class 1", 2, "nr_class must be an integer of at least 2, not '1'"),
        ("nr_class 3", "nr_class 3_0", 2, "not '3_0'"),
        ("nr_class 3", "nr_class 3 3", 2, "not '3 3'"),
        ("nr_class 3", "nr_class 99999999999", 2, "not '99999999999'"),
        ("nr_class 3", "nr_class 2147483648", 2, "not '2147483648'"),
        ("label 1 2 3", "label 1 2", 3, "holds 2 labels for 3 classes"),
        ("label 1 2 3", "label 1 2 2", 3, "a label is given twice"),
        ("label 1 2 3", "label 1 2 cat", 3, "a label must be a 32-bit integer, not 'cat'"),
        ("label 1 2 3", "label 1 2 3.5", 3, "not '3.5'"),
        ("nr_class 3\nlabel 1 2 3", "label 1 2 3\nnr_class 3", 2, "nr_class must come before"),
        ("nr_feature 2", "nr_feature 0", 4, "nr_feature must be an integer of at least 1"),
        ("nr_feature 2", "nr_feature 2\nnr_feature 2", 5, "nr_feature is given twice"),
        ("nr_feature 2", "nr_feature 2000000000", 6, "the file is too short for 2000000001 x 3"),
        ("bias 1", "bias nan", 5, "'nan' is not a finite number"),
        ("bias 1", "bias", 5, "bias must be one number"),
        ("bias 1\n", "", 5, "the line bias is missing before the weights"),
        ("bias 1", "rho 1", 5, "'rho' is not a line of a LIBLINEAR classifier"),
        ("bias 1", "\n", 5, "'' is not a line"),
        ("bias 1", "bias 1\nw 1", 6, "'w' is not a line"),
        ("4 5 6", "4 5", 8, "holds 2 weights, not 3"),
        ("4 5 6", "4 5 6 7", 8, "holds 4 weights, not 3"),
        ("4 5 6", "4 5 inf", 8, "'inf' is not a finite number"),
        ("4 5 6", "4 5 1e999", 8, "'1e999' is not a finite number"),
        ("4 5 6", "4 5 1_0", 8, "'1_0' is not a finite number"),
        ("4 5 6", "4 5 --6", 8, "'--6' is not a finite number"),
        ("4 5 6", "4 5 " + "6" * 3000, 8, "the line is too long"),
        ("7 8 9 \n", "", 9, "the file ends here"),
        ("7 8 9 \n", "7 8 9\n1 1 1\n", 10, "more weights follow"),
        ("7 8 9 \n", "7 8 -12.5", 9, "the file ends within this line; it is truncated"),
        ("7 8 9 \n", "7 8 9", 9, "the file ends within this line; it is truncated"),
        ("bias 1\nw\n1 2 3 \n4 5 6 \n7 8 9 \n", "bias 1", 5, "ends within this line"),
        ("\nbias 1", "\nbias 1\0\x1b", 5, "is not a finite number"),
    ],
)  # fmt: skip
def test_errors_name_the_line(old, new, line, message, path):
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load_liblinear(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_what_a_file_may_look_like(path):
    path.write_text(GOOD.replace("\n", "\r\n").replace("1 2 3 ", "\t1.  +2e0\t.3e1") + "\n \n")
    model = load_liblinear(path)
    np.testing.assert_array_equal(model.coef_, [[1, 4], [2, 5], [3, 6]])
    np.testing.assert_array_equal(model.intercept_, [7, 8, 9])


@pytest.mark.parametrize("change", [("bias 1", "bias 1e200"), ("MCSVM_CS", "MCSVM_CS")])
def test_weights_that_overflow(change, path):
    two = "nr_class 2\nlabel 1 2\nnr_feature 2\nbias 1\nw\n1 1\n1e308 -1e308\n1e200 1\n"
    path.write_text(f"solver_type MCSVM_CS\n{two}".replace(*change))
    with pytest.raises(ValueError, match="the weights overflow") as caught:
        load_liblinear(path)
    assert str(path) in str(caught.value)


def test_truncations_and_altered_bytes(path):
    content = GOOD.encode()
    rng = np.random.default_rng(0)
    damaged = [content[:size] for size in range(len(content))]
    for _ in range(200):
        altered = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 4)):
            altered[place] = rng.integers(256)
        damaged.append(bytes(altered))
    loaded = 0
    for case in damaged:
        path.write_bytes(case)
        with contextlib.suppress(ValueError):
            model = load_liblinear(path)
            assert model.predict(np.ones((2, model.n_features_in_))).shape == (2,)
            loaded += 1
            continue
        with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}:[0-9]+: "):
            load_liblinear(path)
    assert 0 < loaded < 200


def test_a_line_without_end_takes_little_memory(path):
    path.write_bytes(b"solver_type " + b"x" * 20_000_000)

    def load():
        with pytest.raises(ValueError, match="too long"):
            load_liblinear(path)

    assert peak_of(load)[1] < 1e6


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_liblinear(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        load_liblinear(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a regular file"):
        load_liblinear(tmp_path / "pipe")
