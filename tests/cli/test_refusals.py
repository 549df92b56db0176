"""Commands that are refused: one line each, and no file is written or changed."""

import shlex
from pathlib import Path

import pytest

from tests.helpers.command_line import TINY, names

# By the beginning of the command: more arguments | what the error says. In the folder are the data
# `tiny`, the model `abc` of them, `one`, a word, and `empty`.
REFUSED = {
    "": """
 | the following arguments are required: COMMAND; see manyclass --help
nonsense | invalid choice: 'nonsense'
trian tiny m | did you mean 'train'?; see manyclass --help
train | the following arguments are required: DATA, MODEL; see manyclass train --help
train nix m | nix: no such file or directory; check the name
train . m | .: is a directory; give the name of a file
train tiny . | .: is a directory; give the name of a file
train tiny - | -: a manyclass model goes to a file, not to standard output
train tiny m --start nix | nix: no such file or directory; check the name
train tiny m --start one | one: cannot be read as a manyclass model
train tiny m --start abc -C auto | argument --start: cannot be combined with -C auto; leave it out
train tiny m --start abc --resume c | argument --start: cannot be combined with --resume; leave one
train tiny m --state s --solver stochastic | --state: cannot be combined with --solver stochastic
train tiny m --state m | m: is also the name of the model; choose another
train tiny m --state tiny | tiny: is an input too and would be overwritten
train tiny nix/m | cannot write nix/m: no such file or directory; check the name
train tiny tiny/m | cannot write tiny/m: not a directory; check the name
train tiny tiny | tiny: is an input too and would be overwritten
train tiny ./tiny | ./tiny: is an input too and would be overwritten
train tiny /dev/null | /dev/null: is not a regular file; choose another name
""",
    f"train tiny {'m' * 256}": " | file name too long; choose a shorter name",
    "train tiny m": """
--nonsense | unrecognized arguments: --nonsense
--formulaton cs | did you mean '--formulation'?; see manyclass train
--formulation crammer-singr | ; did you mean 'crammer_singer'?
--formulation x | one of crammer_singer (cs), weston_watkins (ww),
-s 4 | -s; LIBLINEAR's options: -s is --formulation (4: crammer
-q -B 1 -w-2 3 | -q is --quiet, -B is --bias, -w-2 is --class-weight
-v 5 | -v is manyclass cv --folds N; see manyclass train --help
--C 2 | unrecognized arguments: --C; did you mean '-C'?; see
--C=2 | unrecognized arguments: --C=2; did you mean '-C'?; see
--max 3 | unrecognized arguments: --max
-C 0 | argument -C/-c: must be a positive number or auto, not '0'
-C -1 | argument -C/-c: must be a positive number or auto, not '-1'
-C nan | argument -C/-c: must be a positive number or auto, not 'nan'
-C inf | argument -C/-c: must be a positive number or auto, not 'inf'
-C x | argument -C/-c: must be a positive number or auto, not 'x'
-C best | argument -C/-c: must be a positive number or auto, not 'best'
-C auto --stopping kkt | argument --stopping: cannot be combined with -C auto
-C auto --checkpoint points | argument --checkpoint: cannot be combined with -C auto
-C auto --solver stochastic | argument -C: requires --solver dual
--tol 0 | argument --tol: must be a positive number
--tol -1e-3 | argument --tol:
--max-iter 0 | argument --max-iter: must be a positive integer, not '0'
--max-iter 1.5 | argument --max-iter: must be a positive integer
--n-features 0 | argument --n-features: must be a positive integer
--n-features 2 | tiny:3: a feature's index is beyond n_features
--jobs 0 | argument --jobs: must be a number of threads
--jobs 9999999 | argument --jobs: must be a number of threads
--seed -1 | argument --seed: must be an integer from 0
--seed 4294967296 | argument --seed: must be an integer from 0
--stopping x | argument --stopping: invalid choice: 'x'
--dtype int8 | argument --dtype: invalid choice: 'int8'
--bias 1e300 | tiny: --bias 1e+300 is inf in float32; choose about 1
--loss x | argument --loss: invalid choice: 'x' (choose from
--loss squared_hinge | crammer_singer takes the largest loss
--loss squared_hinge --formulation atm | requires one of weston_watkins,
--loss log_loss | argument --loss: log_loss requires --solver stochastic
--formulation adm --loss squared_hinge | argument --loss: adm takes
--regularize-intercept | argument --regularize-intercept: requires --formulation logistic
--weights sparse --formulation lee_lin_wahba | tiny: the weights of this formulation are always
--checkpoint nix/c | cannot write to nix/c: no such file or directory
--checkpoint tiny | cannot write to tiny: is not a folder
--resume nix | nix: no such file or directory; check the name
--resume . | .: holds no checkpoint to resume from
--resume a --checkpoint b | argument --resume: writes to its own folder
--checkpoint-minutes 5 | argument --checkpoint-minutes: requires --check
--checkpoint-minutes 0 | argument --checkpoint-minutes: must be a positive
--alpha 1 | argument --alpha: requires --solver stochastic
--out-of-core | argument --out-of-core: requires --solver stochastic
--threshold 1 | argument --threshold: requires --multilabel
--prune 1 | argument --prune: requires --multilabel
--cost-scaling slack | requires --costs or --taxonomy
--cost-scaling both | invalid choice: 'both'
--costs c --cost-scaling slack | requires --formulation weston_watkins
--costs c --formulation logistic | logistic does not support costs
--costs c --solver stochastic | requires --solver dual
--costs c --multilabel | cannot be combined with --multilabel
--class-offset z=1 | no row of tiny has the label 'z'
--class-offset a | must be logit_adjustment or LABEL=O
--class-offset a=many | many
--class-offset a=1 --class-offset a=2 | a is given twice
--class-offset a=1 --class-offset logit_adjustment | cannot be combined
--class-offset a=1 --multilabel | cannot be combined with --multilabel
--taxonomy t --formulation logistic | does not support costs
--taxonomy t --costs t | cannot be combined with --costs
--taxonomy none.csv | none.csv
--taxonomy t --solver stochastic | requires --solver dual
""",
    "train tiny m --formulation logistic": """
--loss hinge | argument --loss: hinge cannot be combined with --formulation logistic
--solver cutting_plane | argument --solver: cutting_plane cannot be combined with --formulation log
--stopping kkt | argument --stopping: logistic stops by the gap
--weights sparse | argument --weights: logistic uses dense weights
--solver stochastic | argument --formulation: requires --solver dual
""",
    "train tiny m --solver stochastic": f"""
-C 2 | argument -C: requires --solver dual
--formulation ww | argument --formulation: requires
--loss squared_hinge | argument --loss: squared_hinge
--out-of-core --n-features {2**63 - 1} | tiny: --n-features
--out-of-core --early-stopping | argument --early-stopping:
--alpha 0 | argument --alpha: must be a positive
--loss log_loss --weights sparse | argument --weights:
--checkpoint c | argument --checkpoint: requires --solver dual
--resume c | argument --resume: requires --solver dual
""",
    "train tiny m --multilabel": """
--formulation ww | argument --formulation: cannot be combined with --multilabel
-C auto --prune -1 | argument --prune
--solver stochastic | argument --solver: cannot be combined with --multilabel
--class-weight balanced | argument --class-weight: cannot be combined
--checkpoint x | argument --checkpoint: cannot be combined
--loss log_loss | argument --loss
--cost-scaling slack | cannot be combined with --multilabel
--threshold tunedd | must be a finite number or tuned, not 'tunedd'
""",
    "cv tiny": """
-C 1,x | argument -C/-c: must be a positive number, not 'x'
-C 1 --path | argument --path: replaces -C
--C-range 1 2 | argument --C-range: requires --path
--epsilon 1 | argument --epsilon: requires --path
--path --C-range 2 1 | argument --C-range: MIN must be less than MAX
--folds 1 | argument --folds: must be at least 2
--folds 1000 | argument --folds: must be at most
--scoring log_loss | argument --scoring: log_loss requires
--scoring f1macro | did you mean 'f1_macro'?
--scoring cost | cost requires --costs or --taxonomy
--scoring top_accuracy | must be accuracy, f1_micro, f1_macro, log_loss, cost or top_3_accuracy
--scoring f1_micro | argument --scoring: f1_micro requires --multilabel
--formulation logistic --loss hinge | argument --loss: hinge cannot be combined
--formulation logistic --weights sparse | argument --weights: logistic
--loss squared_hinge | argument --loss: crammer_singer takes
--regularize-intercept | argument --regularize-intercept: requires
--plot plot.txt | argument --plot: plot.txt must end with
--plot nowhere/plot.png | cannot write nowhere/plot.png
--multilabel --path | argument --path: cannot be combined with --multilabel
--multilabel --formulation ww | argument --formulation: cannot be combined
--multilabel --scoring log_loss | argument --scoring: with --multilabel, must be one of
""",
    "predict": """
tiny abc out --top-k 0 | argument --top-k: must be a positive integer
tiny abc out --top-k 4 | argument --top-k: must be from 1 to 3
nix abc out | nix: no such file or directory; check the name
tiny nix out | nix: no such file or directory; check the name
tiny tiny out | tiny: cannot be read as a manyclass model
tiny abc nix/out | cannot write nix/out: no such file
tiny abc abc | abc: is an input too
tiny abc tiny | tiny: is an input too
tiny abc out --reject -1 | argument --reject:
tiny abc out --reject-label x | argument --reject-label: give --reject, the threshold, too
tiny abc out --reject 1 --top-k 2 | argument --reject: not allowed with argument --top-k
tiny abc out --reject 1 --reject-label 'a\tb' | must not contain a tab or line break
tiny abc out --reject 1 --reject-label a | argument --reject-label: 'a' is a class
tiny abc out --probabilities | argument --probabilities: abc has none; calibrate it
""",
    "report": """
abc | the following arguments are required: -o/--output
tiny -o p | tiny: cannot be read as a manyclass model
nix -o p | nix: no such file or directory; check the name
abc nix -o p | nix: no such file or directory; check the name
abc -o nix/p | cannot write nix/p: no such file or directory
abc -o p --feature-names nix | nix: no such file or directory; check the name
abc -o p --feature-names abc | abc: is not in UTF-8 (byte
abc -o p --feature-names one | --feature-names: one has 1 lines, and the model 3
abc -o p --top-features 0 | argument --top-features: must be a positive integer
abc empty -o p | empty:1: no examples
""",
    "evaluate tiny": """
abc --jobs x | argument --jobs: must be
. | .: is a directory
tiny --json | tiny: cannot be read as a manyclass model
""",
    "info": """
nix | nix: no such file or directory; check the name
tiny | tiny: cannot be read as a manyclass model
""",
    "import": """
- out | argument MODEL: import reads a file, not standard input
tiny - | -: a manyclass model goes to a file, not to standard output
tiny out | tiny:1: is not a LIBLINEAR model: these begin with solver_type
abc out | abc:1:
nix out | nix: no such file or directory
tiny tiny | tiny: is an input too
abc tiny | tiny: is not a manyclass model and would be overwritten
""",
    "export": """
abc out | --format is required unless OUT ends in .onnx
abc out --format pmml | argument --format: invalid choice: 'pmml'
tiny out --format onnx | tiny: cannot be read as a manyclass model
nix out --format onnx | nix: no such file or directory
abc abc --format onnx | abc: is an input too and would be overwritten
abc tiny --format onnx | tiny: is not a model in ONNX format and would be overwritten
abc tiny --format liblinear | tiny: is not a LIBLINEAR model and would be
abc nix/out --format onnx | cannot write nix/out: no such file
abc out --format onnx --encode-labels | argument --encode-labels: requires
abc out --format liblinear --dtype float32 | argument --dtype: requires
""",
}
# Both of `train` and of `cv`.
CLASSES_AND_BIAS = """
--class-weight x | argument --class-weight: must be balanced, or LABEL=W
--class-weight z=2 | argument --class-weight: no row of tiny has the label 'z'
--class-weight a | argument --class-weight: must be balanced, or LABEL=W
--class-weight a=-1 | argument --class-weight: must be balanced, or LABEL=W
--class-weight balanced --class-weight a=1 | argument --class-weight: balanced cannot be combined
--class-weight a=2 --class-weight a=1 | argument --class-weight: a is given twice
--bias 2 --no-intercept | argument --bias: cannot be combined with --no-intercept
--bias nan | argument --bias: must be a finite number
"""
REFUSED["train tiny m"] += CLASSES_AND_BIAS
REFUSED["cv tiny --folds 2"] = CLASSES_AND_BIAS


@pytest.mark.parametrize("begin", REFUSED, ids=lambda begin: begin[:40])
def test_one_line_for_what_cannot_be(run, tiny, begin):
    Path("one").write_text("word")
    Path("empty").touch()
    for row in filter(None, REFUSED[begin].split("\n")):
        more, _, message = row.partition(" | ")
        error = run.fails(*begin.split(), *shlex.split(more))
        begins = message.startswith("argument ")
        assert error.startswith(message) if begins else message in error, (begin, row)
        assert names(tiny) == ["abc", "empty", "one", "tiny"]
    assert Path("tiny").read_text() == TINY
