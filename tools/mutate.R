# Do the tests see a broken guarantee? Rscript tools/mutate.R [NAME...|check]
#
# Each mutant of tools/mutants.R is one edit that breaks the privacy or the law of a
# release. It is made in a copy of the project, which is built; the tests that the
# mutant names must then fail, and must pass without it. All mutants (no NAME): the table
# goes to bench/results/mutants.md. `check` only looks whether every text to be replaced
# is there exactly once: it is an error if not, so that no mutant is lost unseen.
# A mutant whose `breaks` says "cannot be seen" is expected to survive.

limit <- 300 # seconds that the tests of one mutant may take

source(file.path("tools", "mutants.R"))
if (anyDuplicated(vapply(mutants, `[[`, "", "name"))) stop("two mutants have the same name")

edit_text <- function(text, m) {
  found <- gregexpr(m$from, text, fixed = TRUE)[[1L]]
  if (length(found) != 1L || found[[1L]] < 0L) {
    stop(m$name, ": this is not exactly once in ", m$file, ": ", m$from, call. = FALSE)
  }
  if (identical(m$from, m$to)) stop(m$name, " changes nothing", call. = FALSE)
  sub(m$from, gsub("\\", "\\\\", m$to, fixed = TRUE), text, fixed = TRUE)
}

read_file <- function(path) paste0(readLines(path, warn = FALSE), "\n", collapse = "")

check_all <- function() {
  for (m in mutants) edit_text(read_file(m$file), m)
  cat(sprintf("mutants: %d, every text found\n", length(mutants)))
}

# ---- building and testing the copy ---------------------------------------------------

copy_project <- function() {
  copy <- tempfile("mutants")
  dir.create(file.path(copy, "lib"), recursive = TRUE)
  parts <- c("DESCRIPTION", "NAMESPACE", "R", "src", "data", "tests")
  if (!all(file.copy(parts, copy, recursive = TRUE))) stop("could not copy the project")
  unlink(list.files(file.path(copy, "src"), "[.](o|so)$", full.names = TRUE))
  copy
}

run_in <- function(copy, command, arguments, log) {
  env <- c(
    paste0("R_LIBS=", file.path(copy, "lib"), ":", Sys.getenv("R_LIBS")), "NOT_CRAN=true",
    "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"
  )
  suppressWarnings(system2(command, shQuote(arguments), log, log, env = env, timeout = limit))
}

build <- function(copy) {
  status <- run_in(copy, "R", c(
    "CMD", "INSTALL", "--no-multiarch", "--no-docs", "--no-test-load", "--no-byte-compile",
    paste0("--library=", file.path(copy, "lib")), copy
  ), file.path(copy, "build.log"))
  if (status != 0L) {
    cat(readLines(file.path(copy, "build.log")), sep = "\n")
    stop("the build failed", call. = FALSE)
  }
}

tests <- paste(c(
  "a <- commandArgs(trailingOnly = TRUE)",
  "r <- as.data.frame(testthat::test_dir(file.path(a[[1]], 'tests', 'testthat'), filter = a[[2]],",
  "  package = 'dpheavy', load_package = 'installed', reporter = 'silent',",
  "  stop_on_failure = FALSE))",
  "if (sum(r$passed) == 0) stop('no tests')",
  "writeLines(unique(r$file[r$failed > 0 | r$error]), file.path(a[[1]], 'failed'))"
), collapse = "\n")

# The test files that fail; "crash" or "time" if the run does not come to its end.
failing <- function(copy, filter) {
  unlink(file.path(copy, "failed"))
  script <- file.path(copy, "run.R")
  writeLines(tests, script)
  log <- file.path(copy, "tests.log")
  status <- run_in(copy, "Rscript", c("--no-init-file", script, copy, filter), log)
  if (status == 124L) "time" else if (status != 0L) "crash" else
    readLines(file.path(copy, "failed"))
}

run_mutant <- function(copy, m) {
  path <- file.path(copy, m$file)
  kept <- read_file(path)
  on.exit(cat(kept, file = path, sep = ""))
  cat(edit_text(kept, m), file = path, sep = "")
  build(copy)
  failing(copy, m$filter)
}

# ---- the table -------------------------------------------------------------------------

verdict <- function(m, red) {
  hidden <- grepl("cannot be seen", m$breaks, fixed = TRUE)
  if (length(red) > 0L) "red" else if (hidden) "green, as expected" else "SURVIVED"
}

write_table <- function(results) {
  rows <- vapply(results, function(r) {
    by <- if (length(r$red) > 0L) paste0("`", r$red, "`", collapse = ", ") else "-"
    sprintf("| %s | `%s` | %s | %s | %s |", r$name, r$file, r$breaks, r$verdict, by)
  }, "")
  writeLines(c(
    "# Mutants: does the suite see a broken guarantee?", "",
    "Made by `make mutants` (tools/mutate.R): each mutant is one edit of the sources, built and",
    "run against the test files that should see it, all of which pass without it.", "",
    "| mutant | file | what it breaks | tests | caught by |", "| --- | --- | --- | --- | --- |",
    rows,
    "", sprintf("%d mutants, %d red.", length(results),
      sum(vapply(results, `[[`, "", "verdict") == "red"))
  ), file.path("bench", "results", "mutants.md"))
}

wanted <- commandArgs(trailingOnly = TRUE)
if (identical(wanted, "check")) {
  check_all()
  quit(status = 0L, save = "no")
}
check_all()
chosen <- if (length(wanted) == 0L) mutants else {
  names <- vapply(mutants, `[[`, "", "name")
  if (!all(wanted %in% names)) stop("no such mutant: ", toString(setdiff(wanted, names)))
  mutants[match(wanted, names)]
}

copy <- copy_project()
build(copy)
before <- failing(copy, paste(unique(vapply(chosen, `[[`, "", "filter")), collapse = "|"))
if (length(before) > 0L) stop("tests fail without any mutant: ", toString(before), call. = FALSE)

results <- lapply(chosen, function(m) {
  red <- run_mutant(copy, m)
  m$red <- red
  m$verdict <- verdict(m, red)
  cat(sprintf("%-30s %-10s %s\n", m$name, m$verdict, toString(red)))
  m
})
unlink(copy, recursive = TRUE)
if (length(wanted) == 0L) write_table(results)
survived <- vapply(results, `[[`, "", "verdict") == "SURVIVED"
quit(status = if (any(survived)) 1L else 0L, save = "no")
