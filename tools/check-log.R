# Judges the log of R CMD check: Rscript tools/check-log.R path/to/00check.log
# Passes if the Status is OK, or one NOTE that says nothing but "New submission".

log <- readLines(commandArgs(trailingOnly = TRUE)[[1L]], warn = FALSE)

# The paragraphs of the checks that did not end in OK: from "* checking ..." on.
sections <- split(log, cumsum(grepl("^[*] ", log)))
verdict <- "(^| )(NOTE|WARNING|ERROR)$"
bad <- Filter(
  function(lines) startsWith(lines[[1L]], "* checking ") && any(grepl(verdict, lines)),
  sections
)

only_new_submission <- function(lines) {
  text <- lines[-1L]
  text <- text[nzchar(trimws(text)) & !startsWith(text, "Maintainer:")]
  grepl("CRAN incoming feasibility", lines[[1L]], fixed = TRUE) &&
    grepl("NOTE$", lines[[1L]]) && identical(trimws(text), "New submission")
}

status <- grep("^Status: ", log, value = TRUE)
fine <- identical(status, "Status: OK") ||
  (identical(status, "Status: 1 NOTE") && length(bad) == 1L && only_new_submission(bad[[1L]]))

if (!fine) {
  cat(unlist(bad), sep = "\n")
}
cat(if (length(status) > 0L) status else "the check did not reach its Status line", sep = "\n")
quit(status = if (fine) 0L else 1L, save = "no")
