# The papers' rates: excess risk of Frank-Wolfe against n epsilon, with published constants and with
# exact accounting, log-log slopes beside those of the theorems, and a picture.
#   R_LIBS=.Rlib Rscript bench/rates.R [repetitions]
# x iid t(3) to unit variance, d = 50, radius 1, w = (0.4, -0.25, 0.2, -0.1, 0.05, 0, ...), errors
# 0.5 t(2.5), no intercept, epsilon = 1. Excess risk: half the squared error of the slopes.
source("bench/tools.R")

reps <- repetitions(20L)
d <- 50
sizes <- c(1e3, 3e3, 1e4, 3e4, 1e5, 3e5)
w <- c(0.4, -0.25, 0.2, -0.1, 0.05, numeric(d - 5L))
ball <- l1_ball(1)
paper <- dp_control("paper", rng = "R")
biweight <- loss_biweight(sigma = 0.6)

methods <- list(
  "Alg. 1, squared loss (-1/3)" = function(x, y) {
    dp_sco(x, y, 1, 0, constraint = ball, gradient = grad_catoni(beta = 1), intercept = FALSE,
           moment = moment_bound(2, 2), control = paper)
  },
  "Alg. 2, LASSO (-2/5)" = function(x, y) {
    dp_lasso(x, y, 1, 1e-7, radius = 1, gradient = grad_shrunken(), intercept = FALSE,
             moment = moment_bound(4, 10), control = paper)
  },
  "Alg. 1, biweight (-1/4)" = function(x, y) {
    dp_sco(x, y, 1, 0, constraint = ball, loss = biweight, gradient = grad_catoni(beta = 1),
           intercept = FALSE, moment = moment_bound(2, 0.5), control = paper)
  },
  "exact, delta = 0" = function(x, y) {
    dp_sco(x, y, 1, 0, constraint = ball, intercept = FALSE, control = control)
  },
  "exact, delta = 1e-7" = function(x, y) {
    dp_sco(x, y, 1, 1e-7, constraint = ball, intercept = FALSE, control = control)
  },
  "exact, biweight" = function(x, y) {
    dp_sco(x, y, 1, 1e-7, constraint = ball, loss = biweight, intercept = FALSE, control = control)
  },
  "exact, choice and re-fit" = function(x, y) {
    dp_lasso(x, y, 1, 1e-7, radius = 1, intercept = FALSE, control = control)
  }
)

one_run <- function(n, seed) {
  set.seed(bench_seed + seed)
  x <- matrix(stats::rt(n * d, 3) / sqrt(3), n, d)
  y <- drop(x[, 1:5] %*% w[1:5]) + 0.5 * stats::rt(n, 2.5)
  vapply(methods, function(fit) {
    got <- outcome(fit(x, y))$value
    if (is.null(got)) NA_real_ else sum((coef(got) - w)^2) / 2
  }, 0)
}

risk <- vapply(sizes, function(n) {
  apply(vapply(seq_len(reps), function(r) one_run(n, r), numeric(length(methods))), 1L,
        stats::median, na.rm = TRUE)
}, numeric(length(methods)))
slope <- apply(risk, 1L, function(r) stats::coef(stats::lm(log(r) ~ log(sizes)))[[2L]])
table <- data.frame(method = names(methods), three(risk), slope = sprintf("%.2f", slope))
names(table)[1L + seq_along(sizes)] <- paste("n =", format(sizes, trim = TRUE))
write_table(
  "rates", "Excess risk against n, epsilon = 1, and its log-log slope", table,
  sprintf("Medians of %d repetitions; zeros: %s. In brackets the theorem's slope.", reps,
          three(sum(w^2) / 2))
)
grDevices::png("bench/results/rates.png", 720, 520)
graphics::matplot(sizes, t(risk), log = "xy", type = "b", pch = 1:7, lty = 1, col = 1:7,
                  xlab = "n (epsilon = 1)", ylab = "excess risk")
graphics::abline(h = sum(w^2) / 2, lty = 2)
graphics::legend("bottomleft", names(methods), col = 1:7, lty = 1, pch = 1:7, cex = 0.8)
invisible(grDevices::dev.off())
