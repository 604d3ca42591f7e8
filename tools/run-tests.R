# Runs the test suite against the installed package and ends with the one line
# "N passed, N failed, N skipped". Usage: Rscript tools/run-tests.R [filter]

filter <- commandArgs(trailingOnly = TRUE)
filter <- if (length(filter) > 0L) filter[[1L]] else NULL

finish <- function(passed, failed, skipped) {
  cat(sprintf("\n%d passed, %d failed, %d skipped\n", passed, failed, skipped))
  quit(status = if (failed > 0L || passed == 0L) 1L else 0L, save = "no")
}

options(testthat.progress.max_fails = 1000L, warn = 1L)
results <- tryCatch(
  as.data.frame(testthat::test_dir(
    file.path("tests", "testthat"),
    filter = filter,
    package = "dpheavy",
    load_package = "installed",
    reporter = testthat::SummaryReporter$new(show_praise = FALSE, max_reports = 100L),
    stop_on_failure = FALSE
  )),
  # A test file that does not parse, or none at all, stops the runner itself.
  error = function(e) {
    message("The test run stopped: ", conditionMessage(e))
    finish(0L, 1L, 0L)
  }
)

slow <- stats::aggregate(real ~ file, data = results, FUN = sum)
slow <- utils::head(slow[order(-slow$real), ], 5L)
cat("\nSlowest files, in seconds:\n")
cat(sprintf("  %-32s %6.1f\n", slow$file, slow$real), sep = "")

finish(
  passed = as.integer(sum(results$passed)),
  failed = as.integer(sum(results$failed) + sum(results$error)),
  skipped = as.integer(sum(results$skipped))
)
