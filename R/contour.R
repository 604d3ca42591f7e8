# delta(epsilon) of a loss law (R/loss-law.R), from above.
#
# With M(z) = E e^(zL) and any c > 0, z = c + iw,
#   delta(epsilon) = 1 / (2 pi) * integral of F(w) dw,
#   F(w) = M(z) e^(-z epsilon) / (z (z + 1)).
# The trapezoidal sum with step s in w is the sum of delta(epsilon + m R) e^(c m R) over all
# whole m, R = 2 pi / s (Poisson): each term is at least 0, so the sum is at least
# delta(epsilon), and the other terms are small if R is large. Cut off at |w| = W it lacks at
# most M(c) e^(-c epsilon) e^(-v W^2 / 2) / (pi W), v the variance of the Gaussian part of the
# loss. If v is small, a Gaussian event is added: one event more, so still
# an upper bound, and one small enough to cost little.

# Tail of the sum that is left out: e^-30.
CONTOUR_TAIL <- 30

# Longest Fourier sum.
CONTOUR_MOST <- 2^20

# log M(z) = cost z + log of this factor, z real or complex; for a Gaussian without cost z.
mgf_factor <- function(mechanism, cost, z) {
  q <- exp(-cost * (2 * z + 1))
  switch(mechanism,
    pure = (1 + q) / (1 + exp(-cost)),
    laplace = (1 + q) / 2 + (1 - q) / (2 * (2 * z + 1))
  )
}

log_mgf <- function(mechanism, cost, z) {
  if (mechanism == "gaussian") {
    return(cost^2 / 2 * (z^2 + z))
  }
  cost * z + log(mgf_factor(mechanism, cost, z))
}

# Gaussian and moment-generating parts of a law at complex z. The factors lie between 1/4
# and 1 or so in modulus or more, so a hundred of them can be multiplied before a logarithm.
smooth_log_mgf <- function(law, z) {
  other <- law$other
  value <- law$mu2 / 2 * (z^2 + z) + sum(other$count * other$cost) * z
  product <- 1
  for (i in seq_along(other$cost)) {
    factor <- mgf_factor(other$mechanism[[i]], other$cost[[i]], z)
    if (other$count[[i]] > 1) {
      value <- value + other$count[[i]] * log(factor)
    } else {
      product <- product * factor
    }
    if (i %% 100L == 0L) {
      value <- value + log(product)
      product <- 1
    }
  }
  value + log(product)
}

# The same at one c > 0.
smooth_log_moment <- function(law, c) {
  other <- law$other
  value <- law$mu2 / 2 * (c^2 + c)
  for (kind in unique(other$mechanism)) {
    is <- other$mechanism == kind
    value <- value + sum(other$count[is] * log_mgf(kind, other$cost[is], c))
  }
  value
}

atoms_log_mgf <- function(atoms, c) {
  terms <- log(atoms$mass) + c * atoms$x
  top <- max(terms)
  top + log(sum(exp(terms - top)))
}

# log M(c), c > 0, of all that the sum is taken of. `apart`: of the density only.
real_log_mgf <- function(law, c) {
  if (law$apart) {
    return(Re(density_log_mgf(law, c)))
  }
  smooth_log_moment(law, c) + atoms_log_mgf(law$atoms, c)
}

# log(M^T - A^T) for T Laplace releases, A the part of M with the two atoms, plus log M of the
# pure ones: the losses that are not a sum of atoms alone.
density_log_mgf <- function(law, z) {
  laplace <- law$other$mechanism == "laplace"
  cost <- law$other$cost[laplace]
  count <- law$other$count[laplace]
  q <- exp(-cost * (2 * z + 1))
  ratio <- (1 - q) / ((2 * z + 1) * (1 + q))
  pure <- law
  pure$other <- some_steps(law$other, !laplace)
  smooth_log_mgf(pure, z) + count * (cost * z + log((1 + q) / 2)) + log_power_less_one(ratio, count)
}

# log((1 + r)^T - 1), also where the power overflows.
log_power_less_one <- function(r, power) {
  log_power <- power * log(1 + r)
  large <- Re(log_power) > 30
  value <- log_power
  value[!large] <- log((1 + r[!large])^power - 1)
  value
}

# c > 0 where M(c) e^(-c epsilon) / (c (c + 1)) is least; its logarithm is convex in c.
saddle_at_epsilon <- function(law, epsilon) {
  saddle(function(c) real_log_mgf(law, c) - c * epsilon - log(c) - log1p(c))
}

# c > 0 where the epsilon is least that the moment M(c) alone proves for this delta.
saddle_at_delta <- function(law, delta) {
  saddle(function(c) (real_log_mgf(law, c) - (c + 1) * log1p(1 / c) - log(c) - log(delta)) / c)
}

saddle <- function(f) {
  exp(stats::optimize(function(log_c) f(exp(log_c)), c(-7, 12), tol = 1e-3)$minimum)
}

# M of the atoms at c + i s k, k = 0, ..., K, with s = 2 pi / (h size): a Fourier sum.
atoms_at_nodes <- function(atoms, c, step, k, size) {
  if (length(atoms$x) == 1L) {
    return(log(atoms$mass) + (c + 1i * step * k) * atoms$x)
  }
  terms <- log(atoms$mass) + c * atoms$x
  top <- max(terms)
  w <- complex(size)
  w[seq_along(terms)] <- exp(terms - top)
  value <- stats::fft(w, inverse = TRUE)[1 + k %% size]
  top + log(value) + 1i * step * k * atoms$x[[1L]]
}

mgf_at_nodes <- function(law, z, c, step, k, size) {
  if (law$apart) {
    return(density_log_mgf(law, z))
  }
  smooth_log_mgf(law, z) + atoms_at_nodes(law$atoms, c, step, k, size)
}

# A period R for which the other terms of the sum are small: those below epsilon are at
# most e^(-c R), those above by Chernoff's bound at some larger c.
contour_period <- function(law, c, log_m, epsilon) {
  below <- (c * epsilon - log_m + 30) / c
  more <- c * c(1.05, 1.2, 1.5, 2, 4)
  log_more <- vapply(more, function(c) real_log_mgf(law, c), 0)
  max(below, min((log_more - log_m + 25) / (more - c) - epsilon))
}

# The nodes of the sum and log(M(z) / (z (z + 1))) there, for a given c and epsilon up to
# about the given one; NULL if that is too much work.
contour_nodes <- function(law, c, epsilon) {
  period <- contour_period(law, c, real_log_mgf(law, c), epsilon)
  size <- 1
  if (length(law$atoms$x) > 1L && !law$apart) {
    size <- 2^ceiling(log2(max(period / law$atoms$h, length(law$atoms$x))))
    if (size > CONTOUR_MOST) {
      return(NULL)
    }
    period <- law$atoms$h * size
  }
  step <- 2 * pi / period
  most <- min(max(4e5 / max(1, length(law$other$cost)), 300), 3e4)
  law$mu2 <- max(law$mu2, 2 * CONTOUR_TAIL / (most * step)^2)
  k <- seq.int(0, ceiling(sqrt(2 * CONTOUR_TAIL / law$mu2) / step))
  z <- c + 1i * step * k
  value <- mgf_at_nodes(law, z, c, step, k, size) - log(z) - log(z + 1)
  far <- step * k[[length(k)]]
  list(
    z = z, value = value, weight = c(1, rep(2, length(k) - 1L)) * step / (2 * pi),
    # what is cut off, and rounding: relative to M(c) e^(-c epsilon)
    c = c, error = real_log_mgf(law, c) + log(exp(-CONTOUR_TAIL) / (pi * far) + 1e-12),
    law = law
  )
}

contour_delta <- function(nodes, epsilon) {
  if (Re(nodes$value[[1L]]) - nodes$c * epsilon > 100) {
    return(1) # c is of no use here, far below the epsilon it was chosen for
  }
  sum <- sum(nodes$weight * Re(exp(nodes$value - nodes$z * epsilon)))
  atoms <- nodes$law$atoms
  apart <- if (nodes$law$apart) sum(atoms$mass * pmax(-expm1(epsilon - atoms$x), 0)) else atoms$rest
  value <- (max(sum, 0) + apart) * (1 + 1e-9) + exp(nodes$error - nodes$c * epsilon)
  if (is.finite(value)) min(1, value) else 1
}

# Average of the atoms' hockey sticks over a Gaussian loss.
atoms_delta <- function(law, epsilon) {
  x <- epsilon - law$atoms$x
  stick <- if (law$mu2 > 0) gaussian_delta(sqrt(law$mu2), x) else pmax(-expm1(x), 0)
  min(1, sum(law$atoms$mass * stick) * (1 + 1e-9) + law$atoms$rest)
}

# Selections so costly that V is 1 on the whole grid.
is_swamped <- function(law) !law$apart && sum(law$atoms$mass) == 0

# Bounds from a law for `total`; 1 or Inf where it is too much work or cannot help.
numerical_delta <- function(total, epsilon, work = RECURSION_WORK) {
  epsilon <- epsilon - total$slack
  law <- if (epsilon > 0) loss_law(total, epsilon, work)
  if (is.null(law)) {
    return(1)
  }
  if (length(law$other$cost) == 0L) {
    return(atoms_delta(law, epsilon))
  }
  if (is_swamped(law)) {
    return(min(1, law$atoms$rest))
  }
  nodes <- contour_nodes(law, saddle_at_epsilon(law, epsilon), epsilon)
  if (is.null(nodes)) 1 else contour_delta(nodes, epsilon)
}

# `upper`: a proved epsilon at this delta.
numerical_epsilon <- function(total, delta, upper, work = RECURSION_WORK) {
  law <- if (is.finite(upper) && upper > 0) loss_law(total, upper, work)
  if (is.null(law)) {
    return(Inf)
  }
  curve <- function(epsilon) atoms_delta(law, epsilon)
  if (length(law$other$cost) > 0L) {
    nodes <- if (!is_swamped(law)) contour_nodes(law, saddle_at_delta(law, delta), upper)
    if (is.null(nodes)) {
      return(Inf)
    }
    curve <- function(epsilon) contour_delta(nodes, epsilon)
  }
  if (curve(upper) > delta) Inf else smallest_epsilon(curve, delta, upper) + total$slack
}

# Smallest epsilon in (0, upper] with curve(epsilon) <= delta >= curve(upper), from above.
smallest_epsilon <- function(curve, delta, upper) {
  excess <- function(e) log(max(curve(e), 1e-320)) - log(delta)
  if (excess(0) <= 0) {
    return(0)
  }
  root <- stats::uniroot(excess, c(0, upper), f.upper = excess(upper), tol = 1e-11 * upper)$root
  for (margin in c(0, 10^-(11:3))) {
    if (excess(root * (1 + margin)) <= 0) {
      return(min(root * (1 + margin), upper))
    }
  }
  upper
}
