# One gradient pass against R's X %*% w plus crossprod(X, r), one thread, and the
# memory that a whole fit needs beyond the data (Linux: peak resident set).
#   R_LIBS=.Rlib OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 Rscript bench/speed.R [repetitions]
source("bench/tools.R")

reps <- repetitions(11L)
n <- 1e6
d <- 100
set.seed(bench_seed)
file <- tempfile(fileext = ".rds")

fresh <- function(code) {
  lines <- c(
    "library(dpheavy)", sprintf("x <- readRDS('%s')", file), "y <- x[, 1] + x[, 2]", code,
    "status <- readLines('/proc/self/status')",
    "cat(sub('[^0-9]*([0-9]+).*', '\\\\1', grep('^VmHWM', status, value = TRUE)))"
  )
  script <- tempfile(fileext = ".R")
  writeLines(lines, script)
  out <- system2(file.path(R.home("bin"), "Rscript"), shQuote(script), stdout = TRUE)
  as.numeric(utils::tail(out, 1L)) / 1024
}

passes <- function() {
  x <- matrix(rnorm(n * d), n, d)
  y <- x[, 1L] + rnorm(n)
  w <- rep(0.1, d)
  internal <- asNamespace("dpheavy")
  rows <- internal$new_rows(x, y, intercept = FALSE)
  norm <- internal$row_norms(rows)
  law <- internal$gradient_law(n, d, 0.05, 5, NULL)
  plan <- c(law, list(
    bound = 5, iterations = 1, eta = 1, root = NULL,
    loss = "squared", estimator = "clipped"
  ))
  saveRDS(x, file, compress = FALSE)
  vapply(seq_len(reps), function(i) {
    ours <- system.time(internal$release_descent(rows, norm, w, plan))[["elapsed"]]
    blas <- system.time({
      r <- drop(x %*% w) - y
      crossprod(x, r)
    })[["elapsed"]]
    c(ours, blas, ours / blas)
  }, c(0, 0, 0))
}

time <- passes()
invisible(gc())
loads <- fresh("")
fits <- fresh("fit <- dp_lm(x, y, epsilon = 1, delta = 1e-7, target = 'robust')")
matrix_mb <- n * d * 8 / 2^20
allowed <- 0.1 * matrix_mb + 10 * n * 8 / 2^20
write_table(
  "speed", "Speed and memory, n = 1e6, d = 100, one thread",
  data.frame(
    what = c(
      "gradient pass, s", "X %*% w and crossprod(X, r), s", "ratio", "fit beyond the data, MB",
      "0.1 matrix + 10 vectors, MB"
    ),
    median = c(three(apply(time, 1L, median)), three(fits - loads), three(allowed)),
    quartiles = c(apply(time, 1L, spread), "", "")
  ),
  sprintf("%d repetitions in one run; %s", reps, basename(extSoftVersion()[["BLAS"]]))
)
