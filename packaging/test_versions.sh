#!/bin/bash
# Build the package and run the tests of its estimators with one Python and one set of dependencies.
#
#   packaging/test_versions.sh PYTHON [oldest | newest]
#
# oldest: the versions of packaging/oldest.txt, which are those that pyproject.toml allows.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
versions=${2:-newest}
env=$PWD/build/versions-env
rm -rf "$env"
"$python" -m venv "$env"
# pyarrow and frames of polars need newer versions of NumPy and scikit-learn than the oldest, whose
# checks of estimators expect one class for each row.
if [ "$versions" = oldest ]; then
  constraints=(-c packaging/oldest.txt)
  others=(polars)
  left_out=(--ignore tests/multilabel/test_sklearn_checks.py
    --ignore tests/estimators/test_input_rows.py
    --deselect "tests/estimators/test_validation.py::test_frames_give_feature_names")
else
  constraints=()
  others=(polars pyarrow)
  left_out=()
fi
"$env/bin/python" -m pip install -q "${constraints[@]}" ".[skops]" pytest pytest-xdist hypothesis pandas \
  clarabel safetensors "${others[@]}"
"$env/bin/python" -m pip list --format=freeze | grep -iE "^(numpy|scipy|scikit-learn|pandas)="
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests pyproject.toml "$work"
cd "$work"
"$env/bin/python" -m pytest -q -n 2 -m "not slow" -o testpaths=tests "${left_out[@]}" tests/estimators \
  tests/problem tests/solvers tests/training tests/model_selection tests/persistence tests/multilabel
