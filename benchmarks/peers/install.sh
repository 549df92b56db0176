#!/usr/bin/env bash
# Install the solvers that manyclass is compared with: bash benchmarks/install_peers.sh PYTHON
# Each on its own, and what can't be installed here is left out; the tables then say so.
set -uo pipefail
python=$1
folder=$("$python" -c "import sys; print(sys.prefix)")

install() {
    "$python" -m pip install -q "$@" || echo "left out: ${*: -1}" >&2
}

install liblinear-official==2.50.0
# Its module has the name of the one above, so it gets a folder of its own.
install --no-deps --upgrade --target "$folder/liblinear-multicore" liblinear-multicore==2.50.0
install napkinxc==0.7.2
# It is only there as source, and that needs NumPy and Cython while it is built.
install cython setuptools wheel
install --no-build-isolation sklearn-contrib-lightning==0.6.2.post0
install cyanure==1.2.2
install snapml==1.17.2
install scikit-learn-intelex==2026.2.0
