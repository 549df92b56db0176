#!/bin/bash
# Install the wheel of dist/ into an environment of its own, and test it there, without the sources.
#
#   packaging/test_wheel.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
env=$PWD/build/wheel-test-env
rm -rf "$env"
"$python" -m venv "$env"
"$env/bin/python" -m pip install -q dist/*.whl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && "$env/bin/manyclass" demo)
"$env/bin/python" -m pip install -q "$(echo dist/*.whl)[onnx,plots,skops]" pytest pytest-xdist hypothesis \
  pandas safetensors onnxruntime
cp -r tests pyproject.toml "$work"
cd "$work"
"$env/bin/python" -m pytest -q -n 2 -o testpaths=tests tests/estimators/test_svc.py \
  tests/estimators/test_logistic.py tests/model_selection/test_c_path.py tests/persistence \
  tests/reports tests/cli/test_exchange.py tests/cli/test_commands.py tests/cli/test_convert.py
