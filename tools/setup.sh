#!/bin/sh
# Sets dpheavy up inside the project folder and runs it. Needs no make.
#
#   sh tools/setup.sh demo            install, then run tools/demo.R (leaves build/demo.png)
#   sh tools/setup.sh test [filter]   install, then run the test suite
#   sh tools/setup.sh check           install, with all that .ci/run needs
#
# On Debian and Ubuntu, run as root, missing system packages are installed with
# apt; otherwise what is missing is named and nothing is touched (exit status 2).
# The package goes into the library .Rlib of this folder, built from its own
# tarball; logs go into build/.

set -eu

usage() {
  echo "usage: sh tools/setup.sh demo|test|check" >&2
  exit 2
}

[ $# -ge 1 ] || usage
mode=$1
shift
case $mode in
  demo | test | check) ;;
  *) usage ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$root"
library=$root/.Rlib

# Two cores at most, and one thread per BLAS call: small problems run faster so.
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
export OMP_THREAD_LIMIT="${OMP_THREAD_LIMIT:-2}"
R_LIBS=$library${R_LIBS:+:$R_LIBS}
export R_LIBS

# ---- what must be there: one word each, Debian's name =kind:name ------------

base="r-base-dev=tool:R"
tests="r-cran-testthat=r:testthat"
checks="r-cran-roxygen2=r:roxygen2 r-cran-knitr=r:knitr r-cran-rmarkdown=r:rmarkdown
  r-cran-mass=r:MASS r-cran-matrix=r:Matrix r-cran-ggplot2=r:ggplot2
  r-cran-generics=r:generics r-cran-glmnet=r:glmnet r-cran-tibble=r:tibble
  r-cran-data.table=r:data.table r-cran-recipes=r:recipes r-cran-jsonlite=r:jsonlite
  pandoc=tool:pandoc qpdf=tool:qpdf valgrind=tool:valgrind clang=tool:clang git=tool:git"

case $mode in
  demo) wanted=$base ;;
  test) wanted="$base $tests" ;;
  check) wanted="$base $tests $checks" ;;
esac

have() {
  command -v "$1" >/dev/null 2>&1
}

dpkg_has() {
  dpkg -s "$1" 2>/dev/null | grep -q '^Status: .* installed$'
}

# Does a wanted thing work, wherever it came from?
works() {
  case $1 in
    tool:R) have R && have Rscript && have make && { have cc || have gcc || have clang; } ;;
    tool:*) have "${1#tool:}" ;;
    r:*) have Rscript && Rscript --no-init-file \
      -e "quit(status = !requireNamespace('${1#r:}', quietly = TRUE))" >/dev/null 2>&1 ;;
  esac
}

# Debian's packages help only if R is Debian's own or is still to come.
uses_apt() {
  have dpkg && have apt-get && { ! have R || dpkg_has r-base-core; }
}

missing_apt=
missing=
if uses_apt; then
  for item in $wanted; do
    dpkg_has "${item%%=*}" || missing_apt="$missing_apt ${item%%=*}"
  done
fi
if ! uses_apt || [ -n "$missing_apt" ]; then
  for item in $wanted; do
    works "${item#*=}" || missing="$missing ${item#*=}"
  done
fi

apt_install() {
  echo "Installing with apt:$missing_apt"
  DEBIAN_FRONTEND=noninteractive
  export DEBIAN_FRONTEND
  mkdir -p build
  if ! { apt-get update && apt-get install -y --no-install-recommends $missing_apt; } \
    >build/apt.log 2>&1 </dev/null; then
    tail -n 20 build/apt.log >&2
    echo "apt could not install what is missing; the whole log is build/apt.log" >&2
    exit 1
  fi
}

if uses_apt && [ -n "$missing_apt" ] && [ "$(id -u)" -eq 0 ]; then
  apt_install
elif uses_apt && [ -n "$missing" ]; then
  echo "Some system packages are missing. Install them as root, then run this again:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends$missing_apt" >&2
  exit 2
elif [ -n "$missing" ]; then
  echo "Missing here:" >&2
  for item in $missing; do
    case $item in
      tool:R) echo "  R (4.1 or later) with make and a C compiler" >&2 ;;
      tool:*) echo "  the program ${item#tool:}" >&2 ;;
      r:*) echo "  the R package ${item#r:}: install.packages(\"${item#r:}\")" >&2 ;;
    esac
  done
  exit 2
fi

# ---- build the tarball, install it into the project's library ---------------

# quietly LOG COMMAND...: output to the log, its tail shown if the command fails
quietly() {
  log=$1
  shift
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    echo "failed; the whole log is ${log#"$root"/}" >&2
    exit 1
  fi
}

mkdir -p "$library" build
rm -rf build/dpheavy_*.tar.gz "$library"/00LOCK*
echo "Building and installing dpheavy into .Rlib"
(
  cd build
  quietly "$root/build/build.log" R CMD build --no-build-vignettes --no-manual "$root"
)
quietly "$root/build/install.log" \
  R CMD INSTALL --no-multiarch --library="$library" build/dpheavy_*.tar.gz

# ---- run ---------------------------------------------------------------------

case $mode in
  demo)
    Rscript --no-init-file tools/demo.R
    ;;
  test)
    NOT_CRAN=true
    export NOT_CRAN
    Rscript --no-init-file tools/run-tests.R "$@"
    ;;
esac
