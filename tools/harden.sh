#!/bin/sh
# The package in builds and under tools that see what tests cannot. Each works on a
# copy of the sources and a library of its own, in build/ci/NAME.
#
#   sh tools/harden.sh sanitize [FILTER]  the test suite, built with the address and the
#                                         undefined-behaviour sanitizer; the first error halts
#   sh tools/harden.sh noopenmp [FILTER]  the numbers of tools/thread-digest.R with 1 and 2 threads
#                                         and without OpenMP: the same bits; then the test files
#                                         matching FILTER, built without OpenMP
#   sh tools/harden.sh valgrind           tools/smoke.R under valgrind
#   sh tools/harden.sh gctorture          tools/smoke.R with a collection at every allocation
#   sh tools/harden.sh planted            plants one defect of each kind in a copy: each of the
#                                         above must see its own
#
# Needs gcc with its sanitizers and valgrind (sh tools/setup.sh check installs them).
set -u

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 2
cd -- "$root" || exit 2
mode=${1-}
filter=${2-}

export OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=2 OPENBLAS_NUM_THREADS=1 NOT_CRAN=true
unset R_MAKEVARS_USER LD_PRELOAD
other_libraries=${R_LIBS-}

plain="-g -O1"
sanitized="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow"

die() {
  echo "$*" >&2
  exit 1
}

# prepare NAME: an empty folder with a copy of the package as it is built
prepare() {
  work=$root/build/ci/$1
  rm -rf "$work"
  mkdir -p "$work/lib" || exit 1
  (cd "$work" && R CMD build --no-build-vignettes --no-manual "$root" && tar -xzf dpheavy_*.tar.gz) \
    >"$work/build.log" 2>&1 </dev/null || die "R CMD build failed: $work/build.log"
  R_LIBS=$work/lib${other_libraries:+:$other_libraries}
  export R_LIBS
}

# install CFLAGS [LINE...]: into the library of the copy, with LINEs for its Makevars
install() {
  printf 'CC = gcc\nCFLAGS = %s\n' "$1" >"$work/Makevars"
  shift
  for line in "$@"; do
    printf '%s\n' "$line" >>"$work/Makevars"
  done
  R_MAKEVARS_USER=$work/Makevars R CMD INSTALL --preclean --no-multiarch --no-docs --no-test-load \
    --library="$work/lib" "$work/dpheavy" >"$work/install.log" 2>&1 </dev/null || {
    tail -n 40 "$work/install.log"
    die "the build failed"
  }
  library=$work/lib/dpheavy/libs/dpheavy.so
}

run_tests() {
  Rscript --no-init-file tools/run-tests.R ${1+"$1"} </dev/null
}

# Sanitizers are loaded before R, which is built without them. Leaks are for the core's own
# count of live blocks: R never gives all its memory back.
run_sanitized() {
  asan=$(gcc -print-file-name=libasan.so)
  ubsan=$(gcc -print-file-name=libubsan.so)
  [ -f "$asan" ] && [ -f "$ubsan" ] || die "gcc has no sanitizers here"
  nm -D "$library" | grep -q __asan_report || die "the library is not instrumented"
  LD_PRELOAD=$asan:$ubsan ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:exitcode=99 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 run_tests ${1+"$1"}
}

run_valgrind() {
  R -d "valgrind --error-exitcode=99 --leak-check=no --quiet" --vanilla -s \
    -f tools/smoke.R </dev/null
}

sanitize() {
  prepare sanitize
  install "$sanitized"
  run_sanitized ${filter:+"$filter"} >"$work/tests.log" 2>&1
  status=$?
  [ $status -eq 0 ] || cat "$work/tests.log"
  tail -n 1 "$work/tests.log"
  return $status
}

# needs_openmp: does the library?
needs_openmp() {
  nm -D "$library" | grep -qE ' U (omp|GOMP|__kmpc)_'
}

# digest THREADS: the numbers of fits and releases with fixed keys, in $work/bits-THREADS
digest() {
  Rscript --no-init-file tools/thread-digest.R "$1" "$work/bits-$1" </dev/null || die "no digest: $1"
}

# The same bits with 1 and 2 threads and without OpenMP.
noopenmp() {
  prepare noopenmp
  install "$plain"
  needs_openmp || die "the compiler has no OpenMP"
  digest 1
  digest 2
  cmp "$work/bits-1" "$work/bits-2" || die "other bits with 2 threads than with 1"
  install "$plain" "SHLIB_OPENMP_CFLAGS =" "SHLIB_OPENMP_CXXFLAGS ="
  needs_openmp && die "a build without OpenMP still needs it"
  digest none
  cmp "$work/bits-1" "$work/bits-none" || die "other bits without OpenMP"
  run_tests "${filter:-moments|rows|rng|threads}"
}

valgrind_smoke() {
  prepare valgrind
  install "$plain"
  run_valgrind
}

gctorture_smoke() {
  prepare gctorture
  install "$plain"
  Rscript --no-init-file tools/smoke.R torture
}

# ---- planted defects -----------------------------------------------------------

# plant FILE FROM TO: replaces the one occurrence of a text in the copy of the sources
plant() {
  Rscript --no-init-file - "$work/dpheavy/src/$1" "$2" "$3" <<'R' || die "could not plant in $1"
a <- commandArgs(trailingOnly = TRUE)
text <- paste(readLines(a[[1]]), collapse = "\n")
found <- gregexpr(a[[2]], text, fixed = TRUE)[[1]]
if (length(found) != 1L || found < 0L) {
  cat("the text is not there exactly once:", a[[2]], "\n")
  quit(status = 1L)
}
writeLines(sub(a[[2]], a[[3]], text, fixed = TRUE), a[[1]])
R
}

# caught WHAT PATTERN COMMAND...: the command must fail and say PATTERN
caught() {
  what=$1 pattern=$2
  shift 2
  if "$@" >"$work/planted.log" 2>&1; then
    tail -n 20 "$work/planted.log"
    die "not caught: $what"
  fi
  line=$(grep -E -m 1 "$pattern" "$work/planted.log") || {
    tail -n 40 "$work/planted.log"
    die "it failed, but did not say $pattern: $what"
  }
  echo "caught: $what"
  echo "        $line" | sed "s|$root/||; s|==[0-9]*==|====|; s|0x[0-9a-f]*|0x...|g"
}

overread() {
  plant dph_cells.c 'NULL, NULL, n, poll' 'NULL, NULL, n + 1, poll'
}

planted() {
  prepare planted-overread
  overread
  install "$sanitized"
  caught "a read past the end of a vector of R, by the address sanitizer" \
    'SUMMARY: AddressSanitizer: heap-buffer-overflow .* in load_records' \
    run_sanitized gradient
  install "$plain"
  caught "the same, by valgrind" 'Invalid read of size 8' run_valgrind

  prepare planted-shift
  plant dph_noise.c 'if (k <= 0) {' 'if (k < 0) {'
  install "$sanitized"
  caught "a shift by 64 bits, by the undefined-behaviour sanitizer" \
    'runtime error: shift exponent 64 is too large' run_sanitized noise

  prepare planted-leak
  plant dph_quantile.c 'chosen, err);
  dph_free(memory);' 'chosen, err);'
  install "$plain"
  caught "memory that the core keeps, by its own count of live blocks" \
    'live_blocks\(\)' run_tests choose

  prepare planted-unprotected
  plant r_release.c 'SEXP sums = PROTECT(Rf_allocVector(REALSXP, plain' \
    'PROTECT(R_NilValue); SEXP sums = (Rf_allocVector(REALSXP, plain'
  install "$plain"
  caught "an answer that R does not protect, by the torture" \
    'under gctorture2' Rscript --no-init-file tools/smoke.R torture moments
}

case $mode in
  sanitize | noopenmp | planted) "$mode" ;;
  valgrind | gctorture) "${mode}_smoke" ;;
  *)
    echo "usage: sh tools/harden.sh sanitize|noopenmp|valgrind|gctorture|planted [filter]" >&2
    exit 2
    ;;
esac
