# Private sparse regression: the default, iterative hard thresholding, both papers' algorithms as
# published, beside glmnet (not private) and zeros.
#   R_LIBS=.Rlib Rscript bench/sparse.R [repetitions] [repetitions of the peers]
# |w| = 1, ten slopes (the first ten, so that neighbours are correlated in AR(0.5)), equal or
# normal; columns of unit variance, errors 0.5 t(2.5).
source("bench/tools.R")

reps <- repetitions(20L)
given <- commandArgs(TRUE)
peer_reps <- if (length(given) > 1L) as.integer(given[[2L]]) else 5L

s <- 10L
designs <- list(
  `t(3)` = function(n, d) matrix(stats::rt(n * d, 3) / sqrt(3), n, d),
  `lognormal(0, 0.6)` = function(n, d) {
    (matrix(exp(0.6 * stats::rnorm(n * d)), n, d) - exp(0.18)) / sqrt(exp(0.36) * (exp(0.36) - 1))
  },
  `AR(0.5) of t(3)` = function(n, d) {
    x <- matrix(stats::rt(n * d, 3) / sqrt(3), n, d)
    for (j in 2:d) x[, j] <- 0.5 * x[, j - 1] + sqrt(0.75) * x[, j]
    x
  },
  `5 % not zero` = function(n, d) {
    x <- Matrix::rsparsematrix(n, d, 0.05)
    x@x <- x@x / sqrt(0.05)
    x
  }
)

slopes <- function(kind, d) {
  v <- if (kind == "equal") rep(1, s) else stats::rnorm(s)
  c(v / sqrt(sum(v^2)), numeric(d - s))
}

# Not private: the best point of the lasso's path.
best_lasso <- function(x, y, w) {
  if (!requireNamespace("glmnet", quietly = TRUE)) {
    return(NA_real_)
  }
  fit <- glmnet::glmnet(x, y, nlambda = 50)
  min(colSums((as.matrix(fit$beta) - w)^2))
}

paper <- function(smoothness) {
  dp_control("paper", rng = "R", smoothness = smoothness, strong_convexity = smoothness)
}

methods <- list(
  iht = function(x, y) dp_sparse(x, y, 1, 1e-5, sparsity = s, solver = "iht", control = control),
  `Tao Alg. 5` = function(x, y) {
    dp_sparse(x, y, 1, 1e-5, sparsity = s, intercept = FALSE, gradient = grad_truncated(),
              moment = moment_bound(2, 2), control = paper(1.5))
  },
  `Hu Alg. 5` = function(x, y) {
    dp_sparse(x, y, 1, 1e-5, sparsity = s, intercept = FALSE, gradient = grad_catoni(beta = 1),
              moment = moment_bound(2, 2), control = paper(1.5))
  }
)

error <- function(fit, w) {
  if (is.null(fit)) {
    return(NA_real_)
  }
  b <- coef(fit)
  sum((b[names(b) != "(Intercept)"] - w)^2)
}

one_run <- function(design, kinds, n, d, r) {
  set.seed(bench_seed + r)
  x <- designs[[design]](n, d)
  vapply(kinds, function(kind) {
    w <- slopes(kind, d)
    y <- drop(as.matrix(x[, seq_len(s)]) %*% w[seq_len(s)]) + 0.5 * stats::rt(n, 2.5)
    fit <- outcome(dp_sparse(x, y, 1, 1e-5, sparsity = s, control = control))$value
    peers <- if (r <= peer_reps) {
      c(vapply(methods, function(f) error(outcome(f(x, y))$value, w), 0), best_lasso(x, y, w))
    } else {
      rep(NA_real_, length(methods) + 1L)
    }
    c(error(fit, w), sum(coef(fit)[-1L][seq_len(s)] != 0), peers)
  }, numeric(length(methods) + 3L))
}

summary_row <- function(design, kind, n, d, got) {
  middle <- apply(got, 1L, stats::median, na.rm = TRUE)
  data.frame(
    x = design, slopes = kind, n = n, d = d,
    default = paste0(three(middle[[1L]]), " (", spread(got[1L, ]), ")"),
    "95 %" = three(stats::quantile(got[1L, ], 0.95)),
    "found of 10" = three(mean(got[2L, ])),
    t(stats::setNames(three(middle[-(1:2)]), c(names(methods), "lasso, not private"))),
    check.names = FALSE
  )
}

cells <- data.frame(
  n = c(2e4, 2e4, 2e4, 1e5, 1e5, 1e5, 1e5), d = c(2000, 2000, 2000, 500, 500, 500, 1e4),
  design = c(names(designs)[c(1:3, 1:3)], names(designs)[[4L]])
)
kinds <- c("equal", "normal")
rows <- list()
for (i in seq_len(nrow(cells))) {
  if (cells$design[[i]] == "5 % not zero" && !requireNamespace("Matrix", quietly = TRUE)) next
  got <- lapply(seq_len(reps), function(r) {
    one_run(cells$design[[i]], kinds, cells$n[[i]], cells$d[[i]], r)
  })
  for (kind in kinds) {
    rows[[length(rows) + 1L]] <- summary_row(
      cells$design[[i]], kind, cells$n[[i]], cells$d[[i]],
      vapply(got, function(g) g[, kind], numeric(length(methods) + 3L))
    )
  }
}
write_table(
  "sparse", "Private sparse regression, epsilon = 1, delta = 1e-5, nothing known",
  do.call(rbind, rows),
  sprintf(paste(
    "Squared error of the slopes (1 is that of zeros): medians (quartiles, 95 %%) of %d",
    "repetitions, of %d for the others; the best point of the path of glmnet."
  ), reps, peer_reps)
)

# ---- logistic -----------------------------------------------------------------------

logistic <- vapply(seq_len(reps), function(r) {
  set.seed(bench_seed + r)
  n <- 5e4
  d <- 1000
  x <- designs[[1L]](n, d)
  w <- c(rep(1, 5), numeric(d - 5))
  eta <- drop(x[, 1:5] %*% w[1:5])
  y <- stats::rbinom(n, 1, stats::plogis(eta))
  fit <- dp_sparse(x, y, 1, 1e-5, sparsity = 5, loss = "logistic", control = control)
  # excess risk of the fit over the true slopes, relative to that of zeros, on new rows
  new <- designs[[1L]](2e4, d)
  eta <- drop(new[, 1:5] %*% w[1:5])
  p <- stats::plogis(eta)
  risk <- function(m) mean(-p * stats::plogis(m, log.p = TRUE) -
                             (1 - p) * stats::plogis(-m, log.p = TRUE))
  b <- coef(fit)
  c((risk(b[[1L]] + drop(new %*% b[-1L])) - risk(eta)) / (risk(0 * eta) - risk(eta)),
    sum(b[2:6] != 0))
}, c(0, 0))
write_table(
  "sparse-logistic", "Sparse logistic regression, n = 5e4, d = 1000, five slopes of 1",
  data.frame(
    "excess risk" = three(stats::median(logistic[1L, ])), quartiles = spread(logistic[1L, ]),
    "95 %" = three(stats::quantile(logistic[1L, ], 0.95)),
    "found of 5" = three(mean(logistic[2L, ])), check.names = FALSE
  ),
  sprintf("Excess logistic risk over that of zeros, on new rows; %d repetitions.", reps)
)
