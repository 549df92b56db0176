#!/usr/bin/env bash
# Builds the compiled core with sanitizers and runs the tests that go into it. Usage:
# tests/sanitize.sh PYTHON all|quick. all: the tests of the kernels under address and undefined, those
# of the threads under thread. quick: some of the first, with the baseline's kernels alone, in the folder
# where all compiles the others.
set -euo pipefail
python=$1
mode=$2
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$(cd "$(dirname "$python")" && pwd)  # cmake and ninja lie beside Python

# build NAME SANITIZERS INSTRUCTION_SETS: compile the core with the sanitizers, beside a copy of the
# package, for these instruction sets.
build() {
  local folder=$root/build/sanitize/$1
  PATH=$tools:$PATH cmake -S "$root" -B "$folder/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DMANYCLASS_INSTRUCTION_SETS="$3" -DMANYCLASS_SANITIZE="$2" -DMANYCLASS_WERROR=ON -DMANYCLASS_TESTS=ON -DPython_EXECUTABLE="$(cd "$root" && realpath -s "$python")" \
    -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -Wno-dev >/dev/null
  PATH=$tools:$PATH cmake --build "$folder/cmake" >"$folder/log" || { cat "$folder/log"; exit 1; }
  mkdir -p "$folder/site"
  rm -rf "$folder/site/manyclass"
  cp -r "$root/src/manyclass" "$folder/site/manyclass"
  cp "$folder"/cmake/_core.*.so "$folder/site/manyclass/"
}

# run NAME LIBRARIES GROUP: sanitized.py's group of tests on that build, with the libraries.
run() {
  local preload="" library
  for library in $2; do preload=$preload:$(g++ -print-file-name="$library"); done
  # Leaks are not looked for: the interpreter itself keeps memory to its end.
  (cd "$root" && OPENBLAS_NUM_THREADS=1 LD_PRELOAD=${preload#:} ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
    "$python" tests/sanitized.py "$root/build/sanitize/$1/site" "$3")
}

address_libraries="libasan.so libubsan.so libstdc++.so.6"
if [ "$mode" = quick ]; then
  build address address,undefined baseline
  run address "$address_libraries" quick
  exit
fi
# The best instruction set of this machine; what lies between differs from it in widths alone.
best=$("$python" -c 'from manyclass import _core; print(_core.instruction_sets()[-1])')
build address address,undefined "baseline;$best"
ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1 "$root/build/sanitize/address/cmake/core_tests"
run address "$address_libraries" kernels &
kernels=$!
run address "$address_libraries" solvers
wait $kernels
# Threads do the same with all instruction sets.
build thread thread baseline
run thread "libtsan.so" threads
