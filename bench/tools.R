# Shared by the benches: repetitions with their seeds, and markdown tables.
# Run a bench from the project's root after `make demo`:
#   R_LIBS=.Rlib Rscript bench/<name>.R [repetitions]
# It writes bench/results/<name>.md.
library(dpheavy)

bench_seed <- 20220101L

repetitions <- function(default) {
  given <- commandArgs(TRUE)
  if (length(given) > 0L) as.integer(given[[1L]]) else default
}

control <- dp_control(rng = "R")

# Warnings and refusals are outcomes, not noise: `value` is NA where refused.
outcome <- function(expr) {
  warned <- FALSE
  value <- tryCatch(
    withCallingHandlers(expr, dp_warning = function(w) {
      warned <<- TRUE
      invokeRestart("muffleWarning")
    }),
    dp_error = function(e) NULL
  )
  list(value = value, warned = warned)
}

three <- function(x) ifelse(is.na(x), "-", formatC(x, digits = 3, format = "g", width = 1))

spread <- function(x) {
  if (all(is.na(x))) {
    return("-")
  }
  q <- stats::quantile(x, c(0.25, 0.75), na.rm = TRUE, names = FALSE)
  paste0(three(q[[1L]]), "-", three(q[[2L]]))
}

markdown <- function(table) {
  rows <- apply(table, 1L, function(r) {
    cells <- gsub("|", "\\|", trimws(r), fixed = TRUE) # a bar would end the cell
    paste0("| ", paste(cells, collapse = " | "), " |")
  })
  c(
    paste0("| ", paste(names(table), collapse = " | "), " |"),
    paste0("|", strrep(" --- |", ncol(table))), rows
  )
}

write_table <- function(name, title, table, notes = NULL) {
  dir.create("bench/results", showWarnings = FALSE)
  lines <- c(paste0("### ", title), "", markdown(table), "", notes, "")
  writeLines(lines, file.path("bench/results", paste0(name, ".md")))
  writeLines(lines)
}
