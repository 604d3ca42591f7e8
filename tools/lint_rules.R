# House rules that no compiler checks: Rscript tools/lint_rules.R [project folder]
# Prints one line file:line: text for each violation and then exits with status 1.

here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1L]])
source(file.path(dirname(here), "lint_text.R"))

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) > 0L) {
  setwd(arguments[[1L]])
}

max_columns <- 100L

# Files of the project: what git tracks or would track; without git, all.
project_files <- function() {
  git <- suppressWarnings(tryCatch(
    system2("git", c("-c", "safe.directory='*'", "ls-files", "-co", "--exclude-standard"),
      stdout = TRUE, stderr = FALSE
    ),
    error = function(e) character()
  ))
  files <- if (length(git) > 0L && is.null(attr(git, "status"))) {
    git
  } else {
    list.files(".", recursive = TRUE, all.files = TRUE)
  }
  files <- files[file.exists(files) & !grepl("^([.]git|[.]Rlib|build)/", files)]
  unique(files)
}

# Binary files are told by their zero bytes or their magic ending.
is_text <- function(file) {
  if (grepl("[.](rda|rds|png|jpg|gz|xz|pdf)$", file)) {
    return(FALSE)
  }
  !any(readBin(file, "raw", n = 8000L) == as.raw(0L))
}

# ---- rules on lines, for R and C alike ---------------------------------------

check_layout <- function(file, lines) {
  c(
    report(file, grep("\t", lines, fixed = TRUE), "a tab"),
    report(file, grep("[^ -~\t]", lines, useBytes = TRUE), "not plain ASCII"),
    report(file, grep("[ \t]+$", lines), "white space at the end of the line"),
    report(
      file, which(nchar(lines, "bytes") > max_columns),
      sprintf("longer than %d columns", max_columns)
    )
  )
}

# ---- C -----------------------------------------------------------------------

forbidden_calls <- c(
  "printf", "fprintf", "vprintf", "vfprintf", "sprintf", "vsprintf", "puts", "fputs", "putchar",
  "perror", "exit", "_exit", "abort", "assert", "rand", "srand", "random", "srandom",
  "drand48", "lrand48", "strcpy", "strcat", "gets", "alloca"
)

check_c <- function(file, lines) {
  code <- c_code(lines)
  calls <- sprintf("(^|[^A-Za-z0-9_.>])(%s)\\s*\\(", paste(forbidden_calls, collapse = "|"))
  # A call may break its line after the bracket: the next line then has the format.
  joined <- paste0(code, ifelse(grepl("\\($", trimws(code)), trimws(c(code[-1L], "")), ""))
  raise <- "(^|[^A-Za-z0-9_])(Rf_error|Rf_warning)\\s*\\(\\s*[^\"[:space:]]"
  c(
    # A test program, outside src, may print and exit.
    if (startsWith(file, "src/")) {
      report(file, grep(calls, code), "a call that the C code must not make")
    },
    report(file, grep(raise, joined), "Rf_error and Rf_warning need a literal format"),
    report(file, grep("(^|[^A-Za-z0-9_])long([^A-Za-z0-9_]|$)", code), "`long`: use a fixed width"),
    report(file, grep("#\\s*pragma\\s+(GCC|clang)", code), "a compiler's own pragma")
  )
}

# ---- R -----------------------------------------------------------------------

# Keys come from the operating system or, in R/control.R, from R's generator.
generators <- c(
  "runif", "rnorm", "rexp", "rgamma", "rbeta", "rbinom", "rpois", "rgeom", "rt", "rchisq",
  "rcauchy", "rlogis", "rlnorm", "rweibull", "rmultinom", "sample", "sample.int", "RNGkind",
  ".Random.seed"
)

registered <- local({
  found <- if (file.exists("src/init.c")) readLines("src/init.c", warn = FALSE) else character()
  entry <- "^\\s*ENTRY\\(([A-Za-z0-9_]+),.*$"
  paste0("C_", sub(entry, "\\1", grep(entry, found, value = TRUE)))
})

# .Call() with the object of an entry of src/init.c, or (in tests) package:::object.
check_entries <- function(file, tokens) {
  at <- which(tokens$token == "SYMBOL_FUNCTION_CALL" & tokens$text == ".Call")
  first <- at + 2L
  first <- ifelse(tokens$token[first] == "SYMBOL_PACKAGE", first + 2L, first)
  inside <- startsWith(file, "R/") | startsWith(file, "tests/")
  bad <- tokens$token[first] == "STR_CONST" | (inside & !tokens$text[first] %in% registered)
  report(file, tokens$line1[at[bad]], ".Call takes the registered object of an entry")
}

check_r <- function(file, lines) {
  parsed <- tryCatch(parse(file, keep.source = TRUE), error = function(e) NULL)
  if (is.null(parsed)) {
    return(report(file, 1L, "does not parse"))
  }
  tokens <- utils::getParseData(parsed)
  if (is.null(tokens)) {
    return(NULL)
  }
  tokens <- tokens[tokens$terminal, ]
  is_call <- tokens$token == "SYMBOL_FUNCTION_CALL"
  before <- c("", tokens$token)[seq_len(nrow(tokens))]
  flags <- tokens$token == "SYMBOL" & tokens$text %in% c("T", "F") & !before %in% c("'$'", "'@'")
  seeds <- is_call & tokens$text == "set.seed" & startsWith(file, "R/")
  random <- tokens$text %in% generators & (is_call | tokens$token == "SYMBOL") &
    startsWith(file, "R/") & file != "R/control.R"
  c(
    report(file, tokens$line1[flags], "write TRUE and FALSE in full"),
    check_entries(file, tokens),
    report(file, tokens$line1[seeds], "set.seed() inside the package"),
    report(file, tokens$line1[random], "R's generator is read by release_key() alone")
  )
}

# ---- every text file ---------------------------------------------------------

# Written so that this file does not match its own patterns.
machine_path <- "(^|[^A-Za-z0-9_.~-])/(work|tmp|root|home)/|[.][.]/shared(/|$)"
registry_host <- paste0(
  "(cran|cloud|packagemanager)[.](r-project|rstudio|posit)[.]|",
  "(deb|ftp|security|snapshot)[.]debian[.]|registry[.]npmjs[.]|pypi[.]org"
)

check_paths <- function(file, lines) {
  c(
    report(file, grep(machine_path, lines, useBytes = TRUE), "a path of some machine"),
    report(file, grep(registry_host, lines, useBytes = TRUE), "the host of a registry")
  )
}

check_one <- function(file) {
  if (!is_text(file)) {
    return(NULL)
  }
  lines <- readLines(file, warn = FALSE)
  c(
    if (grepl("[.]([RchS]|Rmd)$", file)) check_layout(file, lines),
    if (grepl("[.][ch]$", file)) check_c(file, lines),
    if (grepl("[.]R$", file)) check_r(file, lines),
    check_paths(file, lines)
  )
}

files <- project_files()
if (length(files) == 0L) {
  cat("no files to check\n")
  quit(status = 1L, save = "no")
}
violations <- unlist(lapply(files, check_one))
finish_lint("house rules", files, violations)
