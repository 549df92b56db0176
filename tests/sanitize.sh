#!/usr/bin/env bash
# Builds the compiled core with sanitizers and runs the tests that go into it: those of the kernels
# under address and undefined, those of the threads under thread. Usage: tests/sanitize.sh PYTHON
set -euo pipefail
python=$1
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/build/sanitize/tools
if [ ! -x "$tools/bin/python" ]; then
  "$python" -m venv "$tools"
  "$tools/bin/python" -m pip install -q cmake ninja nanobind
fi

# sanitized SANITIZERS LIBRARIES TESTS: build with the sanitizers, run sanitized.py with the libraries.
sanitized() {
  local build=$root/build/sanitize/$3 preload="" library
  PATH=$tools/bin:$PATH cmake -S "$root" -B "$build/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DMANYCLASS_SANITIZE="$1" -DPython_EXECUTABLE="$(cd "$root" && realpath -s "$python")" \
    -Dnanobind_DIR="$("$tools/bin/python" -m nanobind --cmake_dir)" -Wno-dev >/dev/null
  PATH=$tools/bin:$PATH cmake --build "$build/cmake" >"$build/log" || { cat "$build/log"; exit 1; }
  mkdir -p "$build/site"
  rm -rf "$build/site/manyclass"
  cp -r "$root/src/manyclass" "$build/site/manyclass"
  cp "$build"/cmake/_core.*.so "$build/site/manyclass/"
  for library in $2; do preload=$preload:$(g++ -print-file-name="$library"); done
  # Leaks are not looked for: the interpreter itself keeps memory to its end.
  (cd "$root" && LD_PRELOAD=${preload#:} ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
    "$python" tests/sanitized.py "$build/site" "$3")
}

sanitized address,undefined "libasan.so libubsan.so libstdc++.so.6" kernels
sanitized thread "libtsan.so" threads
