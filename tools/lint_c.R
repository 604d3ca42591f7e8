# Rules of the C sources that no compiler checks: Rscript tools/lint_c.R [src]
#
#   generator  the state of R's generator is never touched
#   memory     only dph_base.c takes memory; glue never calls dph_alloc() itself
#   owning     a function of the glue that makes an object of the core (dph_*_make) frees
#              it, with no return and no call that may jump between the two
#   raising    only r_glue.c raises R's errors and polls for interrupts
#   formats    the text of an error is a literal without data: dph_fail() takes %zu (public
#              sizes) and %s with a constant, nothing else
#
# Prints one line file:line: text for each violation and then exits with status 1.

here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1L]])
source(file.path(dirname(here), "lint_text.R"))

arguments <- commandArgs(trailingOnly = TRUE)
src <- if (length(arguments) > 0L) arguments[[1L]] else "src"

# ---- calls and functions ----------------------------------------------------------

line_at <- function(text, at) {
  vapply(at, function(i) 1L + nchar(gsub("[^\n]", "", substr(text, 1L, i - 1L))), 1L)
}

# Names that stand before a bracket, with where they start.
calls_of <- function(text) {
  found <- gregexpr("[A-Za-z_][A-Za-z0-9_]*(?=\\s*\\()", text, perl = TRUE)[[1L]]
  if (found[[1L]] < 0L) {
    return(data.frame(name = character(), at = integer()))
  }
  data.frame(name = regmatches(text, list(found))[[1L]], at = as.integer(found))
}

# Functions of a file: name, the line of its opening brace, and the text of its body.
functions_of <- function(lines) {
  text <- paste(c_code(lines), collapse = "\n")
  pattern <- paste0(
    "(?m)^[A-Za-z_][^;{}=\"#]*?([A-Za-z_][A-Za-z0-9_]*)\\([^;{}]*\\)\\s*",
    "(\\{(?:[^{}]|(?2))*\\})"
  )
  found <- gregexpr(pattern, text, perl = TRUE)[[1L]]
  if (found[[1L]] < 0L) {
    return(data.frame(name = character(), line = integer(), body = character()))
  }
  part <- function(k) {
    start <- attr(found, "capture.start")[, k]
    substring(text, start, start + attr(found, "capture.length")[, k] - 1L)
  }
  data.frame(
    name = part(1L), line = line_at(text, attr(found, "capture.start")[, 2L]), body = part(2L)
  )
}

# The arguments of the call whose name starts at `at`, literals and brackets respected.
arguments_at <- function(text, at) {
  rest <- strsplit(substring(text, at), "")[[1L]]
  depth <- 0L
  quoted <- FALSE
  start <- which(rest == "(")[[1L]] + 1L
  cuts <- start - 1L
  for (i in seq(start - 1L, length(rest))) {
    if (rest[[i]] == "\"" && rest[[i - 1L]] != "\\") quoted <- !quoted
    if (quoted) next
    if (rest[[i]] == "(") depth <- depth + 1L
    if (rest[[i]] == ")") depth <- depth - 1L
    if (depth == 0L || (depth == 1L && rest[[i]] == ",")) cuts <- c(cuts, i)
    if (depth == 0L) break
  }
  trimws(vapply(seq_len(length(cuts) - 1L), function(k) {
    paste(rest[seq_len(cuts[[k + 1L]] - cuts[[k]] - 1L) + cuts[[k]]], collapse = "")
  }, ""))
}

# ---- generator, memory, raising -----------------------------------------------------

generator <- "^(GetRNGstate|PutRNGstate|[a-z]+_rand|R_unif_index|do_sample|R_sample.*)$"
takes_memory <- "^(malloc|calloc|realloc|free|R_?Calloc|R_?Realloc|R_?Free|R_chk_.*)$"
raises <- "^(Rf_error|Rf_errorcall|Rf_warning|Rf_warningcall|R_CheckUserInterrupt|R_ShowMessage)$"

check_calls <- function(file, lines) {
  text <- paste(c_code(lines), collapse = "\n")
  calls <- calls_of(text)
  glue <- startsWith(basename(file), "r_")
  bad <- function(which, what) report(file, line_at(text, calls$at[which]), what)
  own <- grepl("^(dph_alloc|dph_free)$", calls$name)
  c(
    bad(grep(generator, calls$name), "R's generator: its state is never touched in C"),
    if (basename(file) != "dph_base.c") {
      bad(grep(takes_memory, calls$name), "memory comes from dph_alloc() or R_alloc()")
    },
    if (glue) bad(which(own), "glue has no memory of its own but R_alloc()"),
    if (basename(file) != "r_glue.c") {
      bad(grep(raises, calls$name), "only r_glue.c raises or polls: r_stop(), r_guard_poll()")
    },
    if (!basename(file) %in% c("dph_base.c")) {
      bad(grep("^v?snprintf$", calls$name), "texts are made by dph_fail()")
    }
  )
}

# ---- owning ---------------------------------------------------------------------------

# R's own calls: nearly all may allocate, and so jump.
of_r <- paste0(
  "^(Rf_.*|R_.*|SET_.*|(REAL|INTEGER|LOGICAL|RAW|COMPLEX|STRING|VECTOR)(_.*)?|CHAR|",
  "X?LENGTH|TYPEOF|PROTECT|DATAPTR.*|longjmp)$"
)
harmless <- c("R_FINITE", "ISNAN", "r_guard_poll")

# Names of the glue's functions that may jump, directly or through one another.
jumping_functions <- function(functions) {
  jumping <- character()
  repeat {
    found <- vapply(functions$body, function(body) {
      names <- setdiff(calls_of(body)$name, harmless)
      any(grepl(of_r, names) | names %in% jumping)
    }, NA)
    wider <- setdiff(functions$name[found], harmless)
    if (setequal(wider, jumping)) {
      return(jumping)
    }
    jumping <- wider
  }
}

check_owning <- function(file, lines, jumping) {
  functions <- functions_of(lines)
  found <- lapply(seq_len(nrow(functions)), function(i) {
    check_body(file, functions$line[[i]], functions$body[[i]], jumping)
  })
  unlist(found)
}

check_body <- function(file, first, body, jumping) {
  calls <- calls_of(body)
  bad <- function(at, what) report(file, first + line_at(body, at) - 1L, what)
  unlist(lapply(grep("^(dph|solve)_.*_make$", calls$name), function(k) {
    free <- sub("_make$", "_free", calls$name[[k]])
    last <- max(0L, calls$at[calls$name == free])
    if (last < calls$at[[k]]) {
      return(bad(calls$at[[k]], sprintf("no %s() in the function that makes the object", free)))
    }
    from <- calls$at[[k]] + regexpr(";", substring(body, calls$at[[k]]))[[1L]]
    inside <- calls$at > from & calls$at < last
    risky <- inside & !calls$name %in% harmless &
      (grepl(of_r, calls$name) | calls$name %in% c(jumping, "DPH_TRY"))
    leaves <- gregexpr("\\b(return|goto)\\b", body, perl = TRUE)[[1L]]
    leaves <- leaves[leaves > from & leaves < last]
    c(
      bad(calls$at[risky], sprintf("%s() may leave before %s()", calls$name[risky], free)),
      bad(leaves, sprintf("leaves before %s()", free))
    )
  }))
}

# ---- formats ----------------------------------------------------------------------------

is_literal <- function(x) grepl("^\"([^\"\\\\]|\\\\.)*\"(\\s*\"([^\"\\\\]|\\\\.)*\")*$", x)

conversions <- function(format) {
  format <- gsub("%%", "", format, fixed = TRUE)
  regmatches(format, gregexpr("%[^A-Za-z]*[hlLqjzt]*[A-Za-z]?", format))[[1L]]
}

# What is wrong with the format and the rest of the arguments, or NULL.
format_fault <- function(format, rest, allowed, values) {
  if (!is_literal(format)) {
    return("the text of an error must be a literal")
  }
  found <- conversions(format)
  if (!all(found %in% allowed)) {
    return(sprintf("%s in the text of an error: public sizes (%%zu) only",
      setdiff(found, allowed)[[1L]]))
  }
  words <- rest[found[seq_along(rest)] %in% "%s"]
  if (!all(grepl(values, words) | is_literal(words))) {
    return("a text that is no constant in an error")
  }
  NULL
}

constant <- "^[A-Z][A-Z0-9_]*$"
public_text <- "^(text|arg|what|name|err->message)$" # parameters of r_glue.c's own functions

fault_of_call <- function(name, args, in_glue) {
  if (name == "dph_fail") {
    return(format_fault(args[[3L]], args[-(1:3)], c("%s", "%zu"), constant))
  }
  if (grepl("^Rf_(error|warning)", name)) {
    at <- if (grepl("call$", name)) 2L else 1L
    return(format_fault(args[[at]], args[-seq_len(at)], "%s", public_text))
  }
  own <- if (in_glue) grepl(public_text, args) else rep(FALSE, length(args))
  if (!all(is_literal(args) | own)) "the text of an error must be a literal"
}

check_formats <- function(file, lines) {
  text <- paste(c_code(lines, literals = TRUE), collapse = "\n")
  calls <- calls_of(text)
  calls <- calls[grepl("^(dph_fail|Rf_(error|warning)(call)?|r_fail_[a-z]+)$", calls$name), ]
  found <- lapply(seq_len(nrow(calls)), function(i) {
    args <- arguments_at(text, calls$at[[i]])
    if (any(grepl("^(const char|dph_error) ", args))) {
      return(NULL) # a declaration
    }
    fault <- fault_of_call(calls$name[[i]], args, basename(file) == "r_glue.c")
    if (!is.null(fault)) report(file, line_at(text, calls$at[[i]]), fault)
  })
  unlist(found)
}

# ---- all files ----------------------------------------------------------------------------

files <- list.files(src, "[.][ch]$", full.names = TRUE)
if (length(files) == 0L) {
  cat(sprintf("%s:1: no C files to check\n", src))
  quit(status = 1L, save = "no")
}
sources <- lapply(files, readLines, warn = FALSE)
is_glue <- grepl("^r_.*[.]c$", basename(files))
jumping <- jumping_functions(do.call(rbind, lapply(sources[is_glue], functions_of)))
violations <- unlist(lapply(seq_along(files), function(i) {
  c(
    check_calls(files[[i]], sources[[i]]),
    if (is_glue[[i]]) check_owning(files[[i]], sources[[i]], jumping),
    check_formats(files[[i]], sources[[i]])
  )
}))
finish_lint("C rules", files, violations)
