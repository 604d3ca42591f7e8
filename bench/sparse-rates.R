# The papers' rates of sparse learning: excess risk of iterative hard thresholding against n
# epsilon, with published constants and with exact accounting, log-log slopes beside those of the
# theorems, and a picture. x iid t(5) to unit variance, d = 20, two slopes of 1 / sqrt(2), errors
# 0.5 t(5), no intercept, epsilon = 4. Excess risk: half the squared error of the slopes.
#   R_LIBS=.Rlib Rscript bench/sparse-rates.R [repetitions]
source("bench/tools.R")

reps <- repetitions(15L)
d <- 20
epsilon <- 4
delta <- 1e-7
sizes <- c(1e4, 3e4, 1e5, 3e5, 1e6)
w <- c(1, 1, numeric(d - 2L)) / sqrt(2)
paper <- dp_control("paper", rng = "R", smoothness = 1.5, strong_convexity = 1.5)

# Bounds on E |gradient's coordinate|^order at zero: 9 / 2 + 1 / 2 + 0.42 for order 2.
second <- moment_bound(2, 6)
lower <- moment_bound(1.5, 4)
fourth <- moment_bound(4, 10)

iht <- function(control, ...) {
  function(x, y) {
    dp_sparse(x, y, epsilon, delta, sparsity = 2, intercept = FALSE, solver = "iht", ...,
              control = control)
  }
}

methods <- list(
  "Tao et al. Alg. 5, two moments (-1)" = iht(paper, gradient = grad_truncated(), moment = second),
  "Tao et al. Alg. 5, 1.5 moments (-2/3)" = iht(paper, gradient = grad_truncated(),
                                                moment = lower),
  "Hu et al. Alg. 5 (-1)" = iht(paper, gradient = grad_catoni(beta = 1), moment = second),
  "Hu et al. Alg. 3 (-1)" = iht(paper, gradient = grad_shrunken(), moment = fourth),
  "exact, truncated, two moments" = iht(control, gradient = grad_truncated(), moment = second),
  "exact, truncated, 1.5 moments" = iht(control, gradient = grad_truncated(), moment = lower),
  "exact, Catoni, two moments" = iht(control, gradient = grad_catoni(beta = 1), moment = second),
  "exact, nothing known" = iht(control),
  "exact, choices and re-fits" = function(x, y) {
    dp_sparse(x, y, epsilon, delta, sparsity = 2, intercept = FALSE, control = control)
  }
)

one_run <- function(n, seed) {
  set.seed(bench_seed + seed)
  x <- matrix(sqrt(3 / 5) * stats::rt(n * d, 5), n, d)
  y <- drop(x[, 1:2] %*% w[1:2]) + 0.5 * stats::rt(n, 5)
  vapply(methods, function(fit) {
    got <- outcome(fit(x, y))$value
    if (is.null(got)) NA_real_ else sum((coef(got) - w)^2) / 2
  }, 0)
}

zeros <- sum(w^2) / 2
risk <- vapply(sizes, function(n) {
  apply(vapply(seq_len(reps), function(r) one_run(n, r), numeric(length(methods))), 1L,
        stats::median, na.rm = TRUE)
}, numeric(length(methods)))
# where noise is larger than the signal there is no rate yet
slope <- apply(risk, 1L, function(r) {
  use <- which(r < zeros)
  if (length(use) < 2L) NA_real_ else stats::coef(stats::lm(log(r[use]) ~ log(sizes[use])))[[2L]]
})
table <- data.frame(method = names(methods), three(risk),
                    slope = ifelse(is.na(slope), "-", sprintf("%.2f", slope)))
names(table)[1L + seq_along(sizes)] <- paste("n =", format(sizes, trim = TRUE))
write_table(
  "sparse-rates", "Excess risk of sparse regression against n, epsilon = 4, and its log-log slope",
  table,
  sprintf(paste(
    "Medians of %d repetitions; zeros: %s; slopes over the sizes where less than that is left",
    "(-: fewer than two). In brackets the theorem's slope. Least squares on the two columns, not",
    "private: 0.42 / n, which is most of what the rows with nothing known leave."
  ), reps, three(zeros))
)
grDevices::png("bench/results/sparse-rates.png", 720, 520)
graphics::matplot(epsilon * sizes, t(risk), log = "xy", type = "b", pch = seq_along(methods),
                  lty = 1, col = seq_along(methods), xlab = "n epsilon", ylab = "excess risk")
graphics::abline(h = zeros, lty = 2)
graphics::legend("bottomleft", names(methods), col = seq_along(methods), lty = 1,
                 pch = seq_along(methods), cex = 0.7)
invisible(grDevices::dev.off())
