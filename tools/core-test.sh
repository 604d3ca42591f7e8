#!/bin/sh
# Builds the R-free core with its own test program in every way at hand and runs
# it. One line per build; fails if any build fails, if two builds draw different
# integers, or if a build with unsafe floating point flags is not refused.
# Works from any directory, writes only to a temporary one.
set -u

root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$root" || exit 2

sources=tools/core-test/core_test.c
for file in src/dph_*.c src/solve_*.c; do
  [ -f "$file" ] && sources="$sources $file"
done
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
warnings="$warnings -Wconversion -Wvla"
failed=0
digest=

say() {
  printf '%-32s %s\n' "$1" "$2"
}

have() {
  command -v "$1" > /dev/null 2>&1
}

# compile <name> <compiler> <flags...>
compile() {
  name=$1
  shift
  # shellcheck disable=SC2086
  "$@" -std=c99 -Isrc $sources -o "$work/test" -lm > "$work/log" 2>&1
}

# run <name> <launcher or ""> <compiler> <flags...>
run() {
  name=$1 launcher=$2
  shift 2
  rm -f "$work/test"
  if ! compile "$name" "$@"; then
    say "$name" "FAILED to build"
    sed 's/^/    /' "$work/log" | head -n 20
    failed=1
    return
  fi
  # shellcheck disable=SC2086
  if ! $launcher "$work/test" > "$work/out" 2> "$work/err"; then
    say "$name" "FAILED"
    cat "$work/out" "$work/err" | sed 's/^/    /' | head -n 20
    failed=1
    return
  fi
  line=$(cat "$work/out")
  say "$name" "$line"
  this=${line##* }
  if [ -n "$digest" ] && [ "$this" != "$digest" ]; then
    say "$name" "FAILED: other integers than the first build"
    failed=1
  fi
  digest=$this
}

# refuse <name> <compiler> <flags...>
refuse() {
  name=$1
  shift
  rm -f "$work/test"
  if ! compile "$name" "$@"; then
    say "$name" "FAILED to build"
    failed=1
  elif "$work/test" refuse; then
    say "$name" "refused, as it must be"
  else
    say "$name" "FAILED: not refused"
    failed=1
  fi
}

links() {
  printf 'int main(void) { return 0; }\n' > "$work/probe.c"
  "$@" "$work/probe.c" -o "$work/probe" > /dev/null 2>&1
}

for cc in gcc clang; do
  if ! have "$cc"; then
    say "$cc" "not at hand"
    continue
  fi
  # shellcheck disable=SC2086
  run "$cc -O2" "" "$cc" -O2 $warnings -Werror
  run "$cc -O0" "" "$cc" -O0
  if links "$cc" -march=native; then
    run "$cc -O3 -march=native" "" "$cc" -O3 -march=native
  fi
  if links "$cc" -fopenmp; then
    run "$cc -O2 -fopenmp" "" "$cc" -O2 -fopenmp
  fi
  sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
  # shellcheck disable=SC2086
  if links "$cc" $sanitize && "$work/probe"; then
    run "$cc -O1 asan ubsan" "env ASAN_OPTIONS=detect_leaks=0" "$cc" -O1 -g $sanitize
  else
    say "$cc asan ubsan" "not at hand"
  fi
  refuse "$cc -O2 -ffast-math" "$cc" -O2 -ffast-math
  refuse "$cc -O2 -ffinite-math-only" "$cc" -O2 -ffinite-math-only
  refuse "$cc -O2 -funsafe-math" "$cc" -O2 -funsafe-math-optimizations
done

cross=aarch64-linux-gnu-gcc
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if have "$cross" && [ -n "$emulator" ]; then
  run "aarch64 gcc -O2" "$emulator" "$cross" -O2 -static
else
  say "aarch64" "not at hand"
fi

exit "$failed"
