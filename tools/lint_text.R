# What the lints share: reading C as text.

report <- function(file, line, text) {
  if (length(line) > 0L) sprintf("%s:%d: %s", file, line, text)
}

blank <- function(x, keep = "[^\n]") gsub(keep, " ", x)

# C code with comments blanked and, unless they are to stay, literals replaced by "".
c_code <- function(lines, literals = FALSE) {
  text <- paste(lines, collapse = "\n")
  pattern <- paste0(
    "/[*][^*]*[*]+(?:[^/*][^*]*[*]+)*/|//[^\n]*|",
    "\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'"
  )
  found <- gregexpr(pattern, text, perl = TRUE)
  regmatches(text, found) <- lapply(regmatches(text, found), function(x) {
    ifelse(substr(x, 1L, 1L) == "/", blank(x), if (literals) x else "\"\"")
  })
  strsplit(text, "\n", fixed = TRUE)[[1L]]
}

# The end of a lint: its violations and status 1, or one line that says it passed.
finish_lint <- function(name, files, violations) {
  if (length(violations) > 0L) {
    cat(violations, sep = "\n")
    quit(status = 1L, save = "no")
  }
  cat(sprintf("%s: %d files, no violation\n", name, length(files)))
}
