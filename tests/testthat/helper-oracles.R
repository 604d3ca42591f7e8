# Formulas that the package does not use, to hold its accountant against.

# Advanced composition (Dwork, Rothblum and Vadhan 2010) and its form with tanh.
drv10_epsilon <- function(epsilon0, k, delta) {
  sqrt(2 * k * log(1 / delta)) * epsilon0 + k * epsilon0 * expm1(epsilon0)
}

tanh_epsilon <- function(epsilon0, k, delta) {
  sqrt(2 * k * log(1 / delta)) * epsilon0 + k * epsilon0 * tanh(epsilon0 / 2)
}

# Zero-concentrated privacy with order and prefactor not optimised (Bun and Steinke 2016).
zcdp_simple_epsilon <- function(rho, delta) rho + 2 * sqrt(rho * log(1 / delta))
zcdp_simple_rho <- function(epsilon, delta) {
  (sqrt(epsilon + log(1 / delta)) - sqrt(log(1 / delta)))^2
}

# Losses of a selection of range e whose two losses are t and t - e.
range_p <- function(t, e) -expm1(t - e) / -expm1(-e)

# The largest delta of k such selections that all use the same t (Dong, Durfee and Rogers 2020):
# a lower bound on the adaptive one.
range_delta_fixed <- function(e, k, epsilon) {
  delta <- function(t) {
    i <- 0:k
    sum(dbinom(k - i, k, range_p(t, e)) * pmax(-expm1(epsilon - (k * t - i * e)), 0))
  }
  t <- seq(0, e, length.out = 4001)
  best <- which.max(vapply(t, delta, 0))
  ends <- t[c(max(best - 1, 1), min(best + 1, 4001))]
  stats::optimize(delta, ends, maximum = TRUE, tol = 1e-14)$objective
}

# Renyi divergence of order alpha of the worst selection of range e.
range_renyi <- function(alpha, e) {
  f <- function(t) {
    p <- range_p(t, e)
    log(p * exp((alpha - 1) * t) + (1 - p) * exp((alpha - 1) * (t - e))) / (alpha - 1)
  }
  stats::optimize(f, c(0, e), maximum = TRUE, tol = 1e-12)$objective
}

# The recursion of dph_range.h, step by step, on functions instead of grids: slow, not an upper
# bound.
range_delta_naive <- function(e, k, epsilon, width = 200) {
  t <- seq(0, e, length.out = width + 1)
  p <- range_p(t, e)
  h <- e / width
  x <- h * (-(2 * k * width):(ceiling(epsilon / h) + 2 * k * width))
  v <- pmax(-expm1(x), 0)
  at <- function(j) v[pmin(pmax(j, 1L), length(v))]
  for (step in seq_len(k)) {
    next_v <- v
    for (i in 0:width) {
      j <- seq_along(v)
      next_v <- pmax(next_v, p[i + 1] * at(j - i) + (1 - p[i + 1]) * at(j - i + width))
    }
    v <- next_v
  }
  stats::approx(x, v, epsilon)$y
}

# Probability that item i has the largest score plus noise of law f, F.
noisy_max_pmf <- function(score, density, cdf, lower) {
  vapply(seq_along(score), function(i) {
    g <- function(z) {
      p <- density(z)
      for (s in score[-i]) p <- p * cdf(z + score[[i]] - s)
      p
    }
    breaks <- sort(unique(c(0, score - score[[i]])))
    cut <- c(lower, breaks[breaks > lower], 60)
    sum(vapply(seq_len(length(cut) - 1L), function(k) {
      stats::integrate(g, cut[[k]], cut[[k + 1L]], rel.tol = 1e-11)$value
    }, 0))
  }, 0)
}

laplace_density <- function(z) exp(-abs(z)) / 2
laplace_cdf <- function(z) ifelse(z < 0, exp(z) / 2, 1 - exp(-z) / 2)

# KL(centred || shifted) of the winner's law of noisy max with Laplace noise, over
# epsilon0^2 / 8 with epsilon0 = 2 shift.
laplace_max_kl_ratio <- function(shift) {
  law <- function(s) noisy_max_pmf(s, laplace_density, laplace_cdf, -60)
  p <- law(c(1, 1, -1, -1) * shift)
  q <- law(c(0, 0, 0, 0))
  sum(q * log(q / p)) / ((2 * shift)^2 / 8)
}

# delta by quadrature of the privacy loss, another road than the closed form.
delta_by_quadrature <- function(mu, epsilon) {
  from <- (epsilon - mu^2 / 2) / mu
  f <- function(t) -expm1(-mu * t) * stats::dnorm(from + t)
  stats::integrate(f, 0, 40, rel.tol = 1e-12, abs.tol = 0, subdivisions = 2000)$value
}

# delta(epsilon) of independent losses, given as lists of values and masses, rounded down
# (a lower bound) or up to a grid: plain convolution.
convolved_delta <- function(losses, epsilon, h, up) {
  round_to <- if (up) ceiling else floor
  total <- list(k = 0, p = 1)
  for (loss in losses) {
    k <- round_to(loss$x / h + if (up) -1e-9 else 1e-9)
    p <- as.vector(rowsum(loss$p, k))
    k <- sort(unique(k))
    dense <- numeric(k[[length(k)]] - k[[1L]] + 1)
    dense[k - k[[1L]] + 1] <- p
    total <- list(k = total$k + k[[1L]], p = stats::convolve(total$p, rev(dense), type = "open"))
  }
  x <- (total$k + seq_along(total$p) - 1) * h
  sum(pmax(total$p, 0) * pmax(-expm1(epsilon - x), 0))
}

# Losses of one release, with a density cut into m cells (their lower or upper ends).
release_loss <- function(kind, cost, up, m = 4000) {
  cell <- seq(0, 1, length.out = m + 1)
  ends <- if (up) cell[-1L] else cell[-(m + 1)]
  switch(kind,
    pure = list(x = c(cost, -cost), p = plogis(c(cost, -cost))),
    laplace = {
      l <- -cost + 2 * cost * cell
      p <- exp(-cost / 2) / 2 * diff(exp(l / 2))
      list(x = c(cost, -cost, -cost + 2 * cost * ends), p = c(0.5, exp(-cost) / 2, p))
    },
    gaussian = {
      l <- cost^2 / 2 + cost * (-9 + 18 * cell)
      list(x = cost^2 / 2 + cost * (-9 + 18 * ends), p = diff(pnorm(l, cost^2 / 2, cost)))
    }
  )
}
