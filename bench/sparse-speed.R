# Time and memory of the default sparse fit, one thread, against products with the whole matrix.
#   R_LIBS=.Rlib Rscript bench/sparse-speed.R [repetitions]
source("bench/tools.R")

reps <- repetitions(7L)

seconds <- function(expr) {
  start <- proc.time()[["elapsed"]]
  force(expr)
  proc.time()[["elapsed"]] - start
}

# Largest memory of R over what was there before, in MB.
memory <- function(expr) {
  before <- sum(gc(reset = TRUE)[, 2L])
  force(expr)
  sum(gc()[, 6L]) - before
}

one_size <- function(label, x, d) {
  n <- nrow(x)
  y <- as.numeric(x[, 1:10] %*% rep(0.3, 10)) + stats::rt(n, 3)
  fit <- function() outcome(dp_sparse(x, y, 1, 1e-5, sparsity = 10, control = control))$value
  used <- memory(first <- fit())
  rounds <- sum(grepl("^choice", as.data.frame(privacy(first))$what))
  product <- if (is.matrix(x)) crossprod else Matrix::crossprod
  got <- vapply(seq_len(reps), function(r) {
    # products of a few milliseconds: ten of them are timed at once
    c(fit = seconds(fit()), product = seconds(for (i in 1:10) product(x, y)) / 10)
  }, c(0, 0))
  ratio <- got["fit", ] / got["product", ]
  data.frame(
    x = label, n = n, d = d, fit = three(stats::median(got["fit", ])),
    "crossprod(x, r)" = three(stats::median(got["product", ])),
    ratio = three(stats::median(ratio)), quartiles = spread(ratio), rounds = rounds,
    MB = three(used), check.names = FALSE
  )
}

set.seed(bench_seed)
rows <- list(one_size("dense, t(3)", matrix(stats::rt(2e4 * 2000, 3), 2e4), 2000))
if (requireNamespace("Matrix", quietly = TRUE)) {
  rows <- c(rows, list(one_size("1 % not zero", Matrix::rsparsematrix(1e4, 1e5, 0.01), 1e5)))
}
write_table(
  "sparse-speed", "Default sparse fit: seconds, and in products with the whole matrix",
  do.call(rbind, rows),
  sprintf(paste(
    "Medians of %d repetitions. A round walks over the whole matrix twice (level, choice); before",
    "the first, sizes, centres and norms of the columns take three more walks."
  ), reps)
)
