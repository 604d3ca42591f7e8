# The layers of the C sources: Rscript tools/lint_layers.R [src [objects]]
#
# A file may include headers of its own level or below. Only r_*.c, r_*.h and
# init.c may include R's headers. A file of the core that is not in the table is
# an error: put it there, at its level. With a folder of object files the
# symbols that the core's objects leave open are looked at too.
# Prints one line file:line: text for each violation and then exits with status 1.

levels <- list(
  "0" = c("dph_base", "dph_threads"),
  "1" = c("dph_linalg", "dph_select", "dph_rng", "dph_entropy", "dph_range",
    "dph_parallel"),
  "2" = c("dph_noise", "dph_loss", "dph_source", "dph_rows", "dph_fixed", "dph_scale",
    "dph_bucket", "dph_element", "dph_groups"),
  "3" = c(
    "dph_choose", "dph_quantile", "dph_mean", "dph_mechanism",
    "dph_gradient", "dph_work", "dph_cells", "dph_moments", "dph_sums", "dph_rank", "dph_flip",
    "dph_sparse", "dph_rule", "dph_psi", "dph_units"
  )
)
solver_level <- 4L
glue_level <- 5L

r_header <- "^(R|Rinternals|Rmath|Rdefines|Rversion|Rconfig|Rembedded|Rinterface|S)[.]h$|^R_ext/"
r_symbol <- paste0(
  "^(Rf?_|R[A-Z]|SET_|REAL|INTEGER|LOGICAL|VECTOR_|STRING_|TYPEOF|XLENGTH|LENGTH|",
  "unif_rand|norm_rand|exp_rand|vmax|Rprintf|REprintf)"
)

# The level of a source file or header by its name, NA if the table lacks it.
level_of <- function(file) {
  stem <- sub("[.][ch]$", "", basename(file))
  if (grepl("^r_", stem) || stem == "init") {
    return(glue_level)
  }
  if (grepl("^solve_", stem) || stem == "solve") {
    return(solver_level)
  }
  found <- vapply(levels, function(stems) stem %in% stems, logical(1))
  if (any(found)) as.integer(names(levels)[found][[1L]]) else NA_integer_
}

# The text with comments blanked out, line numbers kept.
without_comments <- function(lines) {
  text <- paste(lines, collapse = "\n")
  pattern <- "/[*][^*]*[*]+(?:[^/*][^*]*[*]+)*/|//[^\n]*"
  found <- gregexpr(pattern, text, perl = TRUE)
  regmatches(text, found) <- lapply(regmatches(text, found), gsub,
    pattern = "[^\n]", replacement = " "
  )
  strsplit(text, "\n", fixed = TRUE)[[1L]]
}

includes_of <- function(path) {
  lines <- without_comments(readLines(path, warn = FALSE))
  pattern <- "^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"].*$"
  at <- grep(pattern, lines)
  data.frame(line = at, header = sub(pattern, "\\1", lines[at]), stringsAsFactors = FALSE)
}

check_include <- function(file, level, header, known) {
  if (grepl(r_header, header)) {
    return(if (level < glue_level) sprintf("the core must not include R's <%s>", header))
  }
  if (!grepl("^(dph_|solve|r_|init)", basename(header))) {
    return(NULL)
  }
  if (!basename(header) %in% known) {
    return(sprintf("includes \"%s\", which is not there", header))
  }
  other <- level_of(header)
  if (!is.na(other) && other > level) {
    sprintf("level %d includes \"%s\" of level %d", level, header, other)
  }
}

check_file <- function(path, known) {
  level <- level_of(path)
  if (is.na(level)) {
    return(sprintf("%s:1: not in the table of layers: add it to tools/lint_layers.R", path))
  }
  includes <- includes_of(path)
  found <- lapply(seq_len(nrow(includes)), function(i) {
    text <- check_include(path, level, includes$header[[i]], known)
    if (!is.null(text)) sprintf("%s:%d: %s", path, includes$line[[i]], text)
  })
  unlist(found)
}

# Open symbols of the core's objects: none of them may be R's.
check_objects <- function(dir) {
  objects <- list.files(dir, "^(dph|solve)_.*[.]o$", full.names = TRUE)
  found <- lapply(objects, function(path) {
    open <- trimws(system2("nm", c("-u", shQuote(path)), stdout = TRUE))
    open <- grep(r_symbol, sub("^U _?", "", open), value = TRUE)
    if (length(open) > 0L) sprintf("%s:1: needs R's symbol %s", path, open)
  })
  unlist(found)
}

arguments <- commandArgs(trailingOnly = TRUE)
src <- if (length(arguments) > 0L) arguments[[1L]] else "src"
files <- list.files(src, "[.][ch]$", full.names = TRUE)
if (length(files) == 0L) {
  cat(sprintf("%s:1: no C files to check\n", src))
  quit(status = 1L, save = "no")
}

violations <- unlist(lapply(files, check_file, known = basename(files)))
if (length(arguments) > 1L) {
  violations <- c(violations, check_objects(arguments[[2L]]))
}
if (length(violations) > 0L) {
  cat(violations, sep = "\n")
  quit(status = 1L, save = "no")
}
cat(sprintf("layers: %d files, no violation\n", length(files)))
