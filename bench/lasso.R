# Private LASSO: the default, Frank-Wolfe, pure Frank-Wolfe and both published algorithms beside
# glmnet (not private) and zeros.
#   R_LIBS=.Rlib Rscript bench/lasso.R [repetitions] [repetitions at n = 2e5]
# w = (0.4, -0.25, 0.2, -0.1, 0.05, 0, ...), radius 1, unit variance columns, errors 0.5 t(2.5).
source("bench/tools.R")

reps <- repetitions(20L)
given <- commandArgs(TRUE)
large_reps <- if (length(given) > 1L) as.integer(given[[2L]]) else 5L

designs <- list(
  `t(3)` = function(n, d) matrix(stats::rt(n * d, 3) / sqrt(3), n, d),
  `lognormal(0, 0.6)` = function(n, d) {
    (matrix(exp(0.6 * stats::rnorm(n * d)), n, d) - exp(0.18)) / sqrt(exp(0.36) * (exp(0.36) - 1))
  }
)

slopes <- function(d) c(0.4, -0.25, 0.2, -0.1, 0.05, numeric(d - 5L))

# Not private: the lasso on the same ball.
plain_lasso <- function(x, y) {
  if (!requireNamespace("glmnet", quietly = TRUE)) {
    return(NULL)
  }
  fit <- glmnet::glmnet(x, y, standardize = FALSE, nlambda = 60)
  size <- vapply(seq_along(fit$lambda), function(i) sum(abs(fit$beta[, i])), 0)
  fit$beta[, which.min(abs(size - 1))]
}

one_run <- function(design, n, d, seed) {
  set.seed(bench_seed + seed)
  w <- slopes(d)
  x <- designs[[design]](n, d)
  y <- drop(x[, 1:5] %*% w[1:5]) + 0.5 * stats::rt(n, 2.5)
  error <- function(b) if (is.null(b)) NA_real_ else sum((b - w)^2) / sum(w^2)
  private <- function(delta, ..., intercept = TRUE, control) {
    fit <- outcome(dp_lasso(x, y, 1, delta, radius = 1, intercept = intercept, ...,
                            control = control))$value
    if (is.null(fit)) NA_real_ else error(coef(fit)[if (intercept) -1L else TRUE])
  }
  paper <- dp_control("paper", rng = "R")
  c(
    default = private(1e-5, control = control),
    `Frank-Wolfe` = private(1e-5, refit = FALSE, control = control),
    `delta = 0` = private(0, control = control),
    `Alg. 2` = private(1e-5, gradient = grad_shrunken(), moment = moment_bound(4, 10),
                       intercept = FALSE, control = paper),
    `Alg. 1, delta = 0` = private(0, gradient = grad_catoni(beta = 1),
                                  moment = moment_bound(2, 2), intercept = FALSE,
                                  control = paper),
    `lasso, not private` = error(plain_lasso(x, y))
  )
}

cells <- data.frame(n = c(1e4, 5e4, 2e5), d = c(200, 1000, 1000))
rows <- list()
for (design in names(designs)) for (i in seq_len(nrow(cells))) {
  runs <- if (cells$n[[i]] > 1e5) large_reps else reps
  if (runs < 1L) next
  got <- vapply(seq_len(runs), function(r) one_run(design, cells$n[[i]], cells$d[[i]], r),
                numeric(6L))
  middle <- apply(got, 1L, stats::median, na.rm = TRUE)
  text <- three(middle)
  text[[1L]] <- paste0(text[[1L]], " (", spread(got[1L, ]), ")")
  rows[[length(rows) + 1L]] <- data.frame(
    x = design, n = cells$n[[i]], d = cells$d[[i]], runs = runs,
    t(stats::setNames(text, rownames(got))),
    "95 %" = three(stats::quantile(got[1L, ], 0.95)), check.names = FALSE
  )
}
write_table(
  "lasso", "Private LASSO, epsilon = 1, delta = 1e-5, nothing known", do.call(rbind, rows),
  "Medians (quartiles, 95 % of the default); squared error of the slopes over that of zeros."
)

# ---- gross outliers in the response ------------------------------------------------

outliers <- vapply(seq_len(reps), function(r) {
  set.seed(bench_seed + r)
  n <- 1e4
  x <- designs[[1L]](n, 200)
  w <- slopes(200)
  y <- drop(x %*% w) + 0.5 * stats::rt(n, 2.5)
  error <- function(y) {
    fit <- dp_sco(x, y, 1, 1e-5, constraint = l1_ball(1), loss = loss_biweight(), control = control)
    sum((coef(fit)[-1L] - w)^2) / sum(w^2)
  }
  far <- replace(y, seq_len(n / 20), y[seq_len(n / 20)] + 1e3)
  c(clean = error(y), `5 % at 1000` = error(far))
}, c(0, 0))
write_table(
  "lasso-outliers", "Biweight by Frank-Wolfe, n = 1e4, d = 200, 5 % gross outliers",
  data.frame(t(three(c(apply(outliers, 1L, stats::median),
                       ratio = stats::median(outliers[2L, ] / outliers[1L, ])))),
             check.names = FALSE),
  sprintf("Medians of %d repetitions.", reps)
)
