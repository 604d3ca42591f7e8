# The lints must see what they are for: Rscript tools/lint_plants.R
#
# Plants one violation at a time in a copy of the project, runs the lint whose rule it
# breaks, and expects it to fail with the words of that rule at that file.

# lint, file, the words expected, and the lines appended to the file
plants <- list(
  c("lint_rules.R", "R/check.R", "a tab", "#\tx"),
  c("lint_rules.R", "R/check.R", "not plain ASCII", "# \u00e9"),
  c("lint_rules.R", "R/check.R", "white space at the end", "# x "),
  c("lint_rules.R", "R/check.R", "longer than", strrep("# long", 20L)),
  c("lint_rules.R", "R/check.R", "does not parse", "f <- function( {"),
  c("lint_rules.R", "R/check.R", "in full", "flag <- T"),
  c("lint_rules.R", "R/check.R", "set.seed", "f <- function() set.seed(1)"),
  c("lint_rules.R", "R/check.R", "release_key() alone", "f <- function() stats::rnorm(1)"),
  c("lint_rules.R", "R/check.R", "release_key() alone", "f <- function() vapply(1:2, rexp, 0)"),
  c("lint_rules.R", "R/check.R", "registered object", "f <- function() .Call(\"core_live\")"),
  c("lint_rules.R", "R/check.R", "registered object", "f <- function() .Call(C_nobody)"),
  c("lint_rules.R", "R/check.R", "registered object", "f <- function(x) .Call(x)"),
  c("lint_rules.R", "src/dph_rng.c", "must not make", "void f(void) { printf(\"\"); }"),
  c("lint_rules.R", "src/dph_rng.c", "fixed width", "static long x;"),
  c("lint_rules.R", "src/dph_rng.c", "own pragma", "#pragma GCC optimize (\"O3\")"),
  c("lint_rules.R", "README.md", "path of some machine", paste0("see /ro", "ot/x")),
  c("lint_rules.R", "README.md", "host of a registry", paste0("see cran.r-", "project.org")),
  c("lint_layers.R", "src/dph_rng.c", "must not include", "#include <Rinternals.h>"),
  c("lint_layers.R", "src/dph_base.h", "of level", "#include \"dph_rng.h\""),
  c("lint_c.R", "src/r_noise.c", "R's generator", "void f(void) { GetRNGstate(); }"),
  c("lint_c.R", "src/dph_rng.c", "R's generator", "double f(void) { return unif_rand(); }"),
  c("lint_c.R", "src/dph_rng.c", "dph_alloc() or R_alloc()", "void *f(void) { return malloc(1); }"),
  c("lint_c.R", "src/r_noise.c", "no memory of its own",
    "void f(void *p) { dph_alloc(&p, 1, 1, NULL); }"),
  c("lint_c.R", "src/r_noise.c", "raises or polls", "void f(void) { Rf_error(\"no\"); }"),
  c("lint_c.R", "src/r_pgd.c", "raises or polls", "void f(void) { R_CheckUserInterrupt(); }"),
  c("lint_c.R", "src/dph_rng.c", "made by dph_fail()",
    "int f(char *a, double v) { return snprintf(a, 9, \"%g\", v); }"),
  c("lint_c.R", "src/r_pgd.c", "in the function that makes",
    "void f(dph_gradient_work *w) {\n  dph_gradient_work_make(1, w, NULL);\n}"),
  c("lint_c.R", "src/r_pgd.c", "Rf_allocVector() may leave",
    paste0("void f(dph_gradient_work *w) {\n  dph_gradient_work_make(1, w, NULL);\n",
           "  Rf_allocVector(REALSXP, 1);\n  dph_gradient_work_free(w);\n}")),
  c("lint_c.R", "src/r_pgd.c", "g() may leave",
    paste0("static void g(void) { r_fail_argument(\"no\"); }\nvoid f(dph_gradient_work *w) {\n",
           "  dph_gradient_work_make(1, w, NULL);\n  g();\n  dph_gradient_work_free(w);\n}")),
  c("lint_c.R", "src/r_pgd.c", "DPH_TRY() may leave",
    paste0("dph_status f(dph_gradient_work *w) {\n  dph_gradient_work_make(1, w, NULL);\n",
           "  DPH_TRY(g());\n  dph_gradient_work_free(w);\n}")),
  c("lint_c.R", "src/r_pgd.c", "leaves before",
    paste0("int f(dph_gradient_work *w) {\n  dph_gradient_work_make(1, w, NULL);\n",
           "  if (w) return 1;\n  dph_gradient_work_free(w);\n}")),
  c("lint_c.R", "src/dph_rng.c", "%g in the text",
    "int f(double v) { return dph_fail(NULL, DPH_ERR_USER, \"bad %g\", v); }"),
  c("lint_c.R", "src/dph_rng.c", "%d in the text",
    "int f(int v) { return dph_fail(NULL, DPH_ERR_USER, \"row %d\", v); }"),
  c("lint_c.R", "src/dph_rng.c", "no constant",
    "int f(const char *v) { return dph_fail(NULL, DPH_ERR_USER, \"level %s\", v); }"),
  c("lint_c.R", "src/dph_rng.c", "must be a literal",
    "int f(const char *v) { return dph_fail(NULL, DPH_ERR_USER, v); }"),
  c("lint_c.R", "src/r_pgd.c", "must be a literal", "void f(char *v) { r_fail_argument(v); }"),
  c("lint_c.R", "src/r_glue.c", "%f in the text",
    "void f(double v) { Rf_errorcall(R_NilValue, \"bad %f\", v); }"),
  c("lint_c.R", "src/r_glue.c", "no constant",
    "void f(char *v) { Rf_errorcall(R_NilValue, \"bad %s\", v); }")
)

# The script of a lint runs on the copy; lint_rules.R takes the project, the others src.
run_lint <- function(lint, copy) {
  target <- if (lint == "lint_rules.R") copy else file.path(copy, "src")
  script <- file.path("tools", lint)
  out <- suppressWarnings(system2("Rscript", c("--no-init-file", script, target), stdout = TRUE))
  list(text = out, failed = !is.null(attr(out, "status")))
}

copy <- tempfile("plants")
dir.create(copy)
parts <- c("R", "src", "tests", "README.md")
if (!all(file.copy(parts, copy, recursive = TRUE))) stop("could not copy the project")

seen <- vapply(plants, function(plant) {
  path <- file.path(copy, plant[[2L]])
  kept <- readLines(path, warn = FALSE)
  writeLines(c(kept, plant[[4L]]), path, useBytes = TRUE)
  out <- run_lint(plant[[1L]], copy)
  writeLines(kept, path, useBytes = TRUE)
  ok <- out$failed && any(grepl(plant[[3L]], out$text, fixed = TRUE) &
    grepl(basename(plant[[2L]]), out$text, fixed = TRUE))
  if (!ok) cat("not seen by ", plant[[1L]], ": ", plant[[4L]], "\n", out$text, "\n", sep = "")
  ok
}, NA)

clean <- vapply(unique(vapply(plants, `[[`, "", 1L)), function(lint) {
  !run_lint(lint, copy)$failed
}, NA)
unlink(copy, recursive = TRUE)
cat(sprintf("lints: %d of %d planted violations seen\n", sum(seen), length(seen)))
if (!all(clean)) cat("the copy without plants does not pass\n")
quit(status = if (all(seen) && all(clean)) 0L else 1L, save = "no")
