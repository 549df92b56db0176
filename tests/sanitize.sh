#!/usr/bin/env bash
# Builds the compiled core with the address and undefined-behaviour sanitizers and runs the tests
# that go into it. Usage: tests/sanitize.sh PYTHON
set -euo pipefail
python=$1
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/sanitize
tools=$build/tools
if [ ! -x "$tools/bin/python" ]; then
  "$python" -m venv "$tools"
  "$tools/bin/python" -m pip install -q cmake ninja nanobind
fi
PATH=$tools/bin:$PATH cmake -S "$root" -B "$build/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DMANYCLASS_SANITIZE=address,undefined -DPython_EXECUTABLE="$(cd "$root" && realpath -s "$python")" \
  -Dnanobind_DIR="$("$tools/bin/python" -m nanobind --cmake_dir)" -Wno-dev >/dev/null
PATH=$tools/bin:$PATH cmake --build "$build/cmake" >"$build/log" || { cat "$build/log"; exit 1; }
mkdir -p "$build/site"
rm -rf "$build/site/manyclass"
cp -r "$root/src/manyclass" "$build/site/manyclass"
cp "$build"/cmake/_core.*.so "$build/site/manyclass/"
# Leaks are not looked for: the interpreter itself keeps memory to its end.
cd "$root"
LD_PRELOAD="$(g++ -print-file-name=libasan.so):$(g++ -print-file-name=libubsan.so):$(g++ -print-file-name=libstdc++.so.6)" \
  ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  "$python" tests/sanitized.py "$build/site"
