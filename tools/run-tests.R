# Runs the test suite against the installed package, in two processes where there are two cores, and
# ends with the one line "N passed, N failed, N skipped".
#   Rscript tools/run-tests.R [filter]
#   Rscript tools/run-tests.R --part FILES RESULT    (the second process: a regular expression, an
#                                                     .rds file to write)

finish <- function(passed, failed, skipped) {
  cat(sprintf("\n%d passed, %d failed, %d skipped\n", passed, failed, skipped))
  quit(status = if (failed > 0L || passed == 0L) 1L else 0L, save = "no")
}

stopped <- function(why) {
  message("The test run stopped: ", why)
  finish(0L, 1L, 0L)
}

options(testthat.progress.max_fails = 1000L, warn = 1L)
run <- function(filter) {
  as.data.frame(testthat::test_dir(
    file.path("tests", "testthat"),
    filter = filter,
    package = "dpheavy",
    load_package = "installed",
    reporter = testthat::SummaryReporter$new(show_praise = FALSE, max_reports = 100L),
    stop_on_failure = FALSE
  ))
}

# Names of the test files, the largest first: to each process the next one in turn.
split_files <- function(filter) {
  files <- list.files(file.path("tests", "testthat"), "^test-.*[.]R$", full.names = TRUE)
  names <- sub("^test-(.*)[.]R$", "\\1", basename(files))
  if (!is.null(filter)) {
    keep <- grepl(filter, names)
    files <- files[keep]
    names <- names[keep]
  }
  names <- names[order(-file.size(files))]
  second <- seq_along(names) %% 4L %in% 2:3
  lapply(list(names[!second], names[second]), function(part) {
    if (length(part) > 0L) paste0("^(", paste(part, collapse = "|"), ")$")
  })
}

# A process of its own: tests of forks and ledgers look at which process they are in.
# However it ends, also by a sanitizer, the first is told so by a file.
start_second <- function(files, result, log) {
  rscript <- file.path(R.home("bin"), "Rscript")
  run <- paste(shQuote(rscript), "--no-init-file tools/run-tests.R --part", shQuote(files),
               shQuote(result), ">", shQuote(log), "2>&1 </dev/null;",
               "touch", shQuote(paste0(result, ".done")))
  system2("sh", c("-c", shQuote(run)), wait = FALSE)
}

# NULL if it ended without a result.
second_results <- function(result, log, seconds = 1800) {
  until <- Sys.time() + seconds
  while (Sys.time() < until && !file.exists(paste0(result, ".done"))) Sys.sleep(0.5)
  writeLines(readLines(log, warn = FALSE))
  if (file.exists(result)) readRDS(result)
}

report <- function(results) {
  slow <- stats::aggregate(real ~ file, data = results, FUN = sum)
  slow <- utils::head(slow[order(-slow$real), ], 5L)
  cat("\nSlowest files, in seconds:\n")
  cat(sprintf("  %-32s %6.1f\n", slow$file, slow$real), sep = "")
  finish(
    passed = as.integer(sum(results$passed)),
    failed = as.integer(sum(results$failed) + sum(results$error)),
    skipped = as.integer(sum(results$skipped))
  )
}

given <- commandArgs(trailingOnly = TRUE)

if (length(given) == 3L && given[[1L]] == "--part") {
  results <- tryCatch(run(given[[2L]]), error = function(e) message(conditionMessage(e)))
  if (is.data.frame(results)) saveRDS(results, given[[3L]])
  quit(status = 0L, save = "no")
}

parts <- split_files(if (length(given) > 0L) given[[1L]])
if (is.null(parts[[1L]])) stopped("no test file matches")
two <- !is.null(parts[[2L]]) && isTRUE(parallel::detectCores() >= 2L)
if (two) {
  result <- tempfile(fileext = ".rds")
  log <- tempfile(fileext = ".log")
  start_second(parts[[2L]], result, log)
} else if (!is.null(parts[[2L]])) {
  parts[[1L]] <- paste(unlist(parts), collapse = "|")
}
# A test file that does not parse stops the runner itself.
results <- tryCatch(run(parts[[1L]]), error = function(e) stopped(conditionMessage(e)))
if (two) {
  second <- second_results(result, log)
  if (is.null(second)) stopped("the second process gave no result")
  results <- rbind(results, second)
}
report(results)
