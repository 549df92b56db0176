#!/usr/bin/env bash
# Each instruction set's kernels must define no symbol outside their own namespace: the linker keeps
# one copy of a shared inline function, perhaps one with instructions that another machine lacks.
# Usage: tests/check_symbols.sh BUILD_FOLDER
set -euo pipefail
objects=$(find "$1" -path '*/kernels_*' -name '*.cpp.o')
[ -n "$objects" ] || { echo "no compiled kernels in $1" >&2; exit 1; }
for object in $objects; do
  shared=$(nm -C --defined-only "$object" | grep -E ' [WVu] ' |
    grep -vE 'manyclass::(baseline|avx2|avx512)::' || true)
  [ -z "$shared" ] || { printf '%s shares symbols:\n%s\n' "$object" "$shared" >&2; exit 1; }
done
