# The packages that a user could choose instead, each behind fit(data, epsilon, par): slopes.
# `data` is a list: x, y and the public second moments (x2 of a covariate, y2 of the response,
# largest eigenvalue top of E xx'). `par` are positive multipliers; bench/peers.R chooses them
# with knowledge of the truth, so every peer does better than an honest user could make it do.
# All fits are through the origin, at (epsilon, peer_delta); those of DPpack and PrivateLR for
# logistic regression are pure epsilon.
peer_delta <- 1e-5
peer_packages <- c("DPpack", "diffpriv", "PrivateLR", "DPrivStats")

# Says what is missing and how to install it; installs nothing.
available_peers <- function() {
  have <- vapply(peer_packages, requireNamespace, NA, quietly = TRUE)
  if (!all(have)) {
    message(
      "Left out, not installed: ", toString(peer_packages[!have]), ".\nTo install: ",
      "dir.create(\"build/peers\", recursive = TRUE); install.packages(c(",
      toString(dQuote(peer_packages[!have], FALSE)), "), lib = \"build/peers\")\n",
      "and run the bench with R_LIBS=.Rlib:build/peers."
    )
  }
  peer_packages[have]
}

clip <- function(v, bound) pmax(-bound, pmin(v, bound))

# Rows scaled to length at most 1.
unit_rows <- function(x, bound) x / pmax(sqrt(rowSums(x^2)), bound)

# ---- linear ------------------------------------------------------------------

dppack_linear <- function(data, epsilon, par) {
  bounds <- c(rep(par[["x"]] * sqrt(data$x2), ncol(data$x)), par[["y"]] * sqrt(data$y2))
  fit <- DPpack::LinearRegressionDP$new("l2", epsilon, peer_delta, par[["ridge"]] * nrow(data$x))
  fit$fit(as.data.frame(data$x), data$y, bounds, -bounds)
  drop(fit$coeff)
}

# diffpriv has mechanisms, not regressions: clipped moments through its Gaussian mechanism,
# then ridge regression. Replacing a row (|q| <= 1, |y| <= 1) moves (qq', qy), the upper triangle
# weighted to give the Frobenius norm, by at most sqrt(4 + 2 c - 2 c^2) with c the cosine between
# the old q and the new: sqrt(4.5).
diffpriv_linear <- function(data, epsilon, par) {
  d <- ncol(data$x)
  at_x <- par[["x"]] * sqrt(d * data$x2)
  at_y <- par[["y"]] * sqrt(data$y2)
  upper <- upper.tri(diag(d), TRUE)
  weight <- ifelse(row(upper) == col(upper), 1, sqrt(2))[upper]
  target <- function(rows) {
    q <- unit_rows(rows[, -1L, drop = FALSE], at_x)
    c(crossprod(q)[upper] * weight, crossprod(q, clip(rows[, 1L], at_y) / at_y))
  }
  mechanism <- diffpriv::DPMechGaussian(
    target = target, sensitivity = sqrt(4.5), dims = sum(upper) + d
  )
  got <- diffpriv::releaseResponse(
    mechanism, diffpriv::DPParamsDel(epsilon = epsilon, delta = peer_delta),
    cbind(data$y, data$x)
  )$response
  moments <- matrix(0, d, d)
  moments[upper] <- got[seq_len(sum(upper))] / weight
  moments <- moments + t(moments) - diag(diag(moments), d)
  noise <- sqrt(4.5) * sqrt(2 * log(1.25 / peer_delta)) / epsilon
  e <- eigen(moments, symmetric = TRUE)
  inverse <- 1 / (pmax(e$values, 0) + par[["ridge"]] * noise * sqrt(d))
  drop(e$vectors %*% (inverse * crossprod(e$vectors, got[-seq_len(sum(upper))]))) * at_y / at_x
}

# DPrivStats::dp_lm and dp_glm without their copies of the data: the same arithmetic and the
# same draws, which check_twins() holds against the package.
dprivstats_lm <- function(data, epsilon, par) {
  y <- clip(data$y, par[["y"]] * sqrt(data$y2))
  bounds <- c(-1, 1) * par[["y"]] * sqrt(data$y2)
  sensitivity <- DPrivStats::dp_lm_sensitivity(data$x, bounds)
  sd <- DPrivStats::analytic_gaussian_sigma(epsilon, peer_delta, sensitivity)
  drop(solve(crossprod(data$x), crossprod(data$x, y))) + rnorm(ncol(data$x), 0, sd)
}

dprivstats_descent <- function(x, y, epsilon, bound, steps, rate, logistic) {
  n <- nrow(x)
  norm <- sqrt(rowSums(x^2))
  sd <- bound * sqrt(2 * log(1.25 / peer_delta)) * sqrt(steps * log(1 / peer_delta)) /
    (n * epsilon)
  w <- numeric(ncol(x))
  for (t in seq_len(steps)) {
    fitted <- drop(x %*% w)
    if (logistic) fitted <- plogis(fitted)
    r <- fitted - y
    if (logistic) r <- r * fitted * (1 - fitted)
    r <- r * pmin(1, bound / pmax(norm * abs(r), .Machine$double.eps))
    w <- w - rate * (drop(crossprod(x, r)) / n + rnorm(ncol(x), 0, sd))
  }
  w
}

# Clip levels in units of a typical length of a row, rates in units of 1 / top.
dprivstats_glm <- function(data, epsilon, par) {
  # the package's default is 1000; fewer where that takes long
  most <- if (length(data$x) >= 1e7) 128 else if (length(data$x) >= 1e6) 256 else 1000
  if (par[["steps"]] > most) stop("too many steps")
  dprivstats_descent(
    data$x, data$y, epsilon, par[["clip"]] * sqrt(ncol(data$x) * data$x2),
    max(1, round(par[["steps"]])), par[["rate"]] / data$top, data$logistic
  )
}

# Stops if the twins do not give the package's own numbers.
check_twins <- function() {
  set.seed(1)
  x <- matrix(rt(1500, 3), 500)
  y <- drop(x %*% c(1, -1, 1)) + rt(500, 3)
  b <- as.numeric(y > 0)
  glm <- function(y, family) {
    set.seed(2)
    DPrivStats::dp_glm(
      y ~ . - 1, data.frame(y, x), family, 1, peer_delta, max_grad_norm = 2, n_iter = 20, lr = 0.1
    )$coefficients
  }
  twin <- function(y, logistic) {
    set.seed(2)
    dprivstats_descent(x, y, 1, 2, 20, 0.1, logistic)
  }
  set.seed(3)
  theirs <- DPrivStats::dp_lm(y ~ . - 1, data.frame(y, x), 1, peer_delta, list(y = c(-3, 3)))
  set.seed(3)
  ours <- dprivstats_lm(list(x = x, y = y, y2 = 9), 1, c(y = 1))
  gap <- max(
    abs(glm(y, gaussian()) - twin(y, FALSE)), abs(glm(b, binomial()) - twin(b, TRUE)),
    abs(theirs$coefficients - ours)
  )
  if (gap > 1e-10) stop("the twins of DPrivStats differ from the package by ", gap)
}

# ---- logistic ----------------------------------------------------------------

dppack_logistic <- function(data, epsilon, par) {
  bounds <- rep(par[["x"]] * sqrt(data$x2), ncol(data$x))
  x <- data.frame(data$x)
  for (j in seq_along(x)) x[[j]] <- clip(x[[j]], bounds[[j]])
  fit <- DPpack::LogisticRegressionDP$new("l2", epsilon, par[["ridge"]] * sqrt(nrow(x)))
  fit$fit(x, data$y, bounds, -bounds)
  drop(fit$coeff)
}

# PrivateLR wants rows in the unit ball and leaves the clipping to the user.
privatelr_logistic <- function(data, epsilon, par) {
  at <- par[["x"]] * sqrt(ncol(data$x) * data$x2)
  rows <- data.frame(y = data$y, unit_rows(data$x, at))
  fit <- PrivateLR::dplr(
    y ~ . - 1, rows, lambda = par[["ridge"]] / sqrt(nrow(rows)), eps = epsilon
  )
  unname(fit$coefficients) / at
}

# Ridge-penalised logistic regression of rows in the unit ball, by Newton's method: replacing
# a row moves the minimiser by at most 2 / (n lambda) (Chaudhuri et al. 2011).
diffpriv_logistic <- function(data, epsilon, par) {
  n <- nrow(data$x)
  d <- ncol(data$x)
  at <- par[["x"]] * sqrt(d * data$x2)
  lambda <- par[["ridge"]] / sqrt(n)
  target <- function(rows) {
    x <- unit_rows(rows[, -1L, drop = FALSE], at)
    w <- numeric(d)
    for (i in seq_len(50L)) {
      p <- plogis(drop(x %*% w))
      step <- solve(
        crossprod(x, x * (p * (1 - p))) / n + diag(lambda, d),
        crossprod(x, p - rows[, 1L]) / n + lambda * w
      )
      w <- w - drop(step)
      if (max(abs(step)) < 1e-10 * max(abs(w))) break
    }
    w
  }
  mechanism <- diffpriv::DPMechGaussian(
    target = target, sensitivity = 2 / (n * lambda), dims = d
  )
  diffpriv::releaseResponse(
    mechanism, diffpriv::DPParamsDel(epsilon = epsilon, delta = peer_delta), cbind(data$y, data$x)
  )$response / at
}

# Where the search for the multipliers starts, at the largest epsilon.
peer <- function(package, fit, ...) list(package = package, fit = fit, starts = list(...))

peers_linear <- list(
  DPpack = peer(
    "DPpack", dppack_linear, c(x = 1, y = 4, ridge = 0.01), c(x = 2, y = 8, ridge = 0.001)
  ),
  diffpriv = peer("diffpriv", diffpriv_linear, c(x = 1, y = 2, ridge = 0.5)),
  dp_lm = peer("DPrivStats", dprivstats_lm, c(y = 4)),
  dp_glm = peer("DPrivStats", dprivstats_glm, c(clip = 1, steps = 32, rate = 0.5))
)

peers_logistic <- list(
  DPpack = peer(
    "DPpack", dppack_logistic, c(x = 4, ridge = 0.05), c(x = 4, ridge = 0.002)
  ),
  PrivateLR = peer("PrivateLR", privatelr_logistic, c(x = 2, ridge = 0.01)),
  diffpriv = peer("diffpriv", diffpriv_logistic, c(x = 2, ridge = 0.05)),
  dp_glm = peer("DPrivStats", dprivstats_glm, c(clip = 0.1, steps = 64, rate = 16))
)
