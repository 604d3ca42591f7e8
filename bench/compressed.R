# A sparse design that is never made dense: Frank-Wolfe of 50 rounds beside sparse crossprod().
#   R_LIBS=.Rlib OMP_NUM_THREADS=1 Rscript bench/compressed.R [repetitions]
source("bench/tools.R")

reps <- repetitions(7L)
n <- 2000
d <- 1e5
set.seed(bench_seed)
x <- Matrix::rsparsematrix(n, d, 0.01)
y <- as.vector(x[, 1:5] %*% c(3, -3, 2, -2, 1)) + stats::rnorm(n)
r <- stats::rnorm(n)
internal <- asNamespace("dpheavy")
many <- dp_control(iterations = 50)
law <- internal$score_law(0.1, 2)
scores <- as.double(seq_len(2 * d) %% 1000)

seconds <- vapply(seq_len(reps), function(i) {
  took <- function(expr) sum(system.time(expr)[c(1L, 2L)])
  c(
    crossprod = took(for (k in 1:20) Matrix::crossprod(x, r)) / 20,
    draw = took(for (k in 1:10) internal$select_top(scores, 1, law, "exponential")) / 10,
    fit = took(suppressWarnings(dp_sco(x, y, 1, 1e-5, constraint = l1_ball(10), control = many)))
  )
}, c(0, 0, 0))
invisible(gc(reset = TRUE))
invisible(
  suppressWarnings(dp_sco(x, y, 1, 1e-5, constraint = l1_ball(10), control = many))
)
most <- sum(gc()[, 6L])
middle <- apply(seconds, 1L, stats::median)
write_table(
  "compressed", "Frank-Wolfe of 50 rounds, n = 2000, d = 1e5, 1 % not zero, one thread",
  data.frame(
    what = c("sparse crossprod(x, r), s", "one draw among 2e5 vertices, s", "fit, s",
             "(fit - 50 draws) / crossprod", "R's memory at most, data included, MB"),
    median = c(three(middle), three((middle[["fit"]] - 50 * middle[["draw"]]) / middle[[1L]]),
               three(most)),
    quartiles = c(apply(seconds, 1L, spread), "", "")
  ), sprintf("%d repetitions, processor time.", reps)
)
