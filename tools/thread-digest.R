# The numbers of fits and of noiseless releases at fixed keys, bit by bit:
#   Rscript tools/thread-digest.R THREADS FILE     THREADS: 1, 2, or "none" for a build
#                                                  without OpenMP, which is asked for two
# Rows enough for several chunks (src/dph_parallel.c). The file says nothing of the
# threads, so that two of them can be compared.

library(dpheavy)

arguments <- commandArgs(trailingOnly = TRUE)
wanted <- arguments[[1L]]
threads <- if (wanted == "none") 2 else as.numeric(wanted)
most <- .Call(dpheavy:::C_threads_max)
if (wanted == "none" && most != 1) stop("this build has OpenMP")
if (wanted != "none" && most < threads) stop("only ", most, " threads here")

control <- dp_control(rng = "R", threads = threads)
n <- 30000
set.seed(1)
x <- matrix(stats::rt(4 * n, 3), n)
y <- 1 + x[, 1] - x[, 2] + stats::rt(n, 3)
b <- as.numeric(y > 0.5)
holes <- x
holes[sample(4 * n, 100)] <- c(NA, Inf, -Inf, 1e308)

sco <- function(gradient, loss = loss_squared(), epsilon = 1) {
  dp_sco(x, y, loss = loss, gradient = gradient, epsilon = epsilon, delta = 1e-6, control = control)
}
fits <- alist(
  mean = dp_mean(holes, 1, 1e-6, na.rm = TRUE, control = control),
  mean_pure = dp_mean(y, 1, control = control),
  mean_plain = dp_mean(x, Inf, control = control),
  quantile = dp_quantile(y, c(0.1, 0.5), 1, control = control),
  lm = dp_lm(x, y, epsilon = 1, delta = 1e-6, control = control),
  lm_holes = dp_lm(holes, y, epsilon = 1, delta = 1e-6, na.action = na.omit, control = control),
  lm_plain = dp_lm(x, y, epsilon = Inf, control = control),
  biweight = dp_lm(x, y, epsilon = 1, delta = 1e-6, loss = "biweight", control = control),
  glm = dp_glm(x, b, epsilon = 1, delta = 1e-6, control = control),
  glm_plain = dp_glm(x, b, epsilon = Inf, control = control),
  winsorized = sco(grad_winsorized()),
  truncated = sco(grad_truncated()),
  mom = sco(grad_mom()),
  catoni = sco(grad_catoni(beta = 1)),
  shrunken = sco(grad_shrunken(), loss_huber()),
  huber_plain = sco(grad_clipped(), loss_huber(), Inf)
)

bits <- function(name) {
  set.seed(2)
  numbers <- suppressWarnings(coef(eval(fits[[name]])))
  c(name, sprintf("%a", numbers))
}
writeLines(unlist(lapply(names(fits), bits)), arguments[[2L]])
