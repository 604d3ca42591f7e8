# The accountant: conversions between privacy currencies and the composition of
# a list of events fixed in advance. Sees no data. The conversions are
# vectorised; each one errs on the safe side in its last digits: costs and
# deltas are rounded up, allowances (`*_mu`, `*_rho`) down.

# Relative margin by which allowances are rounded down. It covers the errors of
# the special functions (1e-13) and TOLERANCE, the relative difference up to
# which a total may exceed a limit because sums are rounded.
MARGIN <- 1e-11
TOLERANCE <- 1e-12

# The package's Gaussian noise is discrete, with standard deviation s = 2^k
# grid steps, and the mu-GDP curve is exact only for the continuous Gaussian
# rounded to the grid. The two probabilities of a point x differ by the factor
# 1 + ((x/s)^2 - 1) / (24 s^2). Over 1e7 released coordinates, each within 14 s
# of its centre, both signs of the loss together make at most
# 2 * 1e7 * 200 / (24 * 2^(2k)): 1.5e-10 at k = 30, less for the k in use. So the
# curve holds after adding this to epsilon, once for a whole list of events.
DISCRETE_SLACK <- 1e-9

# Largest x in [lower, upper] with f(x) <= 0 for an increasing f, elementwise:
# returns both ends of an interval that has shrunk to neighbouring doubles.
bisect <- function(f, lower, upper, steps = 120L) {
  for (i in seq_len(steps)) {
    middle <- lower + (upper - lower) / 2
    if (all(middle <= lower | middle >= upper)) break
    above <- f(middle) > 0
    upper[above] <- middle[above]
    lower[!above] <- middle[!above]
  }
  list(lower = lower, upper = upper)
}

# The Mills ratio m(x) = P(Z > x) / phi(x), x > -30, and -m'(x) = 1 - x m(x): from the
# asymptotic series beyond 10, where the difference would cancel.
mills <- function(x) {
  value <- exp(stats::pnorm(x, lower.tail = FALSE, log.p = TRUE) - stats::dnorm(x, log = TRUE))
  slope <- 1 - x * value
  far <- which(x > 10)
  if (length(far) > 0L) {
    y <- 1 / x[far]^2
    sum <- 1
    for (k in 22:1) sum <- 1 - (2 * k + 1) * y * sum
    value[far] <- (1 - y * sum) / x[far]
    slope[far] <- y * sum
  }
  list(value = value, slope = slope)
}

# m(x) - m(x + h), without cancellation for a small h (Gauss-Legendre, three points).
mills_drop <- function(x, h) {
  drop <- mills(x)$value - mills(x + h)$value
  small <- which(h < 0.02)
  if (length(small) > 0L) {
    at <- function(t) mills(x[small] + h[small] * (1 + t) / 2)$slope
    drop[small] <- h[small] / 18 * (5 * at(-sqrt(0.6)) + 8 * at(0) + 5 * at(sqrt(0.6)))
  }
  drop
}

# delta(epsilon) of a mu-GDP mechanism, Phi(a) - exp(epsilon) Phi(-b) with
# a = mu/2 - epsilon/mu and b = mu/2 + epsilon/mu. As exp(epsilon) phi(b) = phi(a), it
# is phi(a) (m(-a) - m(b)): no cancellation of large terms, no overflow.
gaussian_delta <- function(mu, epsilon) {
  n <- max(length(mu), length(epsilon))
  mu <- rep_len(mu, n)
  e <- abs(rep_len(epsilon, n))
  a <- mu / 2 - e / mu
  left <- pmin(a, 1)
  tail <- stats::dnorm(left) * mills_drop(-left, mu)
  body <- stats::pnorm(a) - stats::dnorm(a) * mills(mu / 2 + e / mu)$value
  delta <- ifelse(a > 1, body, tail)
  delta[e == 0] <- stats::pchisq(mu[e == 0]^2 / 4, 1)
  delta[mu == 0 | e == Inf] <- 0
  delta[mu == Inf & e < Inf] <- 1
  negative <- rep_len(epsilon, n) < 0
  delta[negative] <- (-expm1(-e) + exp(-e) * delta)[negative]
  pmin(pmax(delta, 0), 1)
}

# Smallest epsilon >= 0 of a mu-GDP mechanism at this delta.
gaussian_epsilon <- function(mu, delta) {
  n <- max(length(mu), length(delta))
  mu <- rep_len(mu, n)
  delta <- rep_len(delta, n)
  epsilon <- ifelse(mu == 0, 0, Inf)
  todo <- mu > 0 & mu < Inf & delta > 0
  m <- mu[todo]
  d <- delta[todo]
  high <- m^2 / 2 + m * sqrt(2 * log(1 / d)) # the simple bound through zCDP
  root <- bisect(function(e) d - gaussian_delta(m, e), 0 * m, high)$upper
  epsilon[todo] <- ifelse(gaussian_delta(m, 0) <= d, 0, root * (1 + 1e-12))
  epsilon
}

# Largest mu with gaussian_delta(mu, epsilon) <= delta, for a continuous Gaussian.
gaussian_mu <- remember(function(epsilon, delta) {
  n <- max(length(epsilon), length(delta))
  epsilon <- rep_len(epsilon, n)
  delta <- rep_len(delta, n)
  mu <- ifelse(epsilon == Inf, Inf, 0)
  todo <- delta > 0 & epsilon >= 0 & epsilon < Inf
  e <- epsilon[todo]
  d <- delta[todo]
  excess <- function(m) gaussian_delta(m, e) - d
  high <- pmax(1, sqrt(2 * e))
  for (i in seq_len(64L)) high <- ifelse(excess(high) <= 0, 2 * high, high)
  low <- high
  for (i in seq_len(1100L)) {
    above <- excess(low) > 0
    if (!any(above)) break
    low[above] <- low[above] / 2
  }
  mu[todo] <- bisect(excess, low, high)$lower * (1 - MARGIN)
  mu
})

# The same for the package's own discrete Gaussian noise: every release is
# calibrated with this one.
discrete_gaussian_mu <- function(epsilon, delta) {
  gaussian_mu(pmax(epsilon - DISCRETE_SLACK, 0), delta) * (epsilon > DISCRETE_SLACK)
}

# log(1 - 1/a) for u = log(a - 1).
log_share <- function(u) stats::plogis(u, log.p = TRUE)

# delta(epsilon) of rho-zCDP (Canonne, Kamath and Steinke 2020): the minimum over
# a > 1 of exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1). The derivative of its
# logarithm, (2a - 1) rho - epsilon + log(1 - 1/a), increases in a; any a gives a
# valid bound, so the last digits of the root do not matter. u = log(a - 1).
zcdp_delta <- function(rho, epsilon) {
  n <- max(length(rho), length(epsilon))
  rho <- rep_len(rho, n)
  epsilon <- rep_len(epsilon, n)
  delta <- ifelse(rho == 0 | epsilon == Inf, 0, 1)
  todo <- rho > 0 & rho < Inf & epsilon >= 0 & epsilon < Inf
  r <- rho[todo]
  e <- epsilon[todo]
  slope <- function(u) (2 * exp(u) + 1) * r - e + log_share(u)
  u <- bisect(slope, -(e + r + 50), log(e / r + 1 / r + 2))$lower
  a1 <- exp(u)
  value <- a1 * ((1 + a1) * r - e) + (1 + a1) * log_share(u) - u
  delta[todo] <- pmin(exp(value), 1)
  delta
}

# epsilon(delta) of rho-zCDP: the minimum over a of
# a rho + log(1 / (a delta)) / (a - 1) + log(1 - 1/a), whose derivative is
# rho - log(1 / (a delta)) / (a - 1)^2.
zcdp_epsilon <- function(rho, delta) {
  n <- max(length(rho), length(delta))
  rho <- rep_len(rho, n)
  delta <- rep_len(delta, n)
  epsilon <- ifelse(rho == 0, 0, Inf)
  todo <- rho > 0 & rho < Inf & delta > 0
  r <- rho[todo]
  l <- log(1 / delta[todo])
  slope <- function(u) r * exp(2 * u) - (l - log1p(exp(u)))
  u <- bisect(slope, 0 * r - 100, l + log(1 / pmin(r, 1)) + 1)$lower
  a1 <- exp(u)
  value <- (1 + a1) * r + (l - log1p(a1)) / a1 + log_share(u)
  epsilon[todo] <- pmax(value, 0)
  epsilon
}

# Largest rho with zcdp_epsilon(rho, delta) <= epsilon. At the best order a,
# rho = log(1 / (a delta)) / (a - 1)^2 and epsilon = (2a - 1) rho + log(1 - 1/a), which
# falls in a; with a found, rho solves the equation of that order, exactly.
zcdp_rho <- remember(function(epsilon, delta) {
  n <- max(length(epsilon), length(delta))
  epsilon <- rep_len(epsilon, n)
  delta <- rep_len(delta, n)
  rho <- ifelse(epsilon == Inf, Inf, 0)
  todo <- delta > 0 & epsilon > 0 & epsilon < Inf
  e <- epsilon[todo]
  l <- log(1 / delta[todo])
  gap <- function(u) {
    e - (2 * exp(u) + 1) * (l - log1p(exp(u))) * exp(-2 * u) - log_share(u)
  }
  u <- bisect(gap, 0 * e - 60, log(expm1(l)))$lower
  a1 <- exp(u)
  value <- (e - (l - log1p(a1)) / a1 - log_share(u)) / (1 + a1)
  rho[todo] <- pmax(value, 0) * (1 - MARGIN)
  rho
})

# The mu for which every epsilon0-DP step is mu-GDP. Its trade-off curve lies above
# that of randomised response, whose only kink is at level 1 / (1 + e^epsilon0); a
# chord lies above the convex Gaussian curve, so it is enough to match the
# kink: Phi(-mu/2) = 1 / (1 + e^epsilon0). Near 0 the bound sqrt(pi/2) epsilon0 keeps the
# digits; far out the bound from Phi(-z) <= exp(-z^2/2) / 2 serves.
pure_mu <- function(epsilon0) {
  middle <- -2 * stats::qnorm(stats::plogis(-pmin(epsilon0, 30)))
  far <- sqrt(8 * (epsilon0 + log1p(exp(-epsilon0)) - log(2)))
  ifelse(epsilon0 < 1e-3, sqrt(pi / 2) * epsilon0, ifelse(epsilon0 > 30, far, middle))
}

# The largest epsilon0 with pure_mu(epsilon0) <= mu, or a little less.
pure_epsilon <- function(mu) {
  z <- pmin(mu, 10) / 2
  middle <- stats::pnorm(z, log.p = TRUE) - stats::pnorm(-z, log.p = TRUE)
  far <- mu^2 / 8 + log(2) + log1p(-exp(-mu^2 / 8) / 2)
  value <- ifelse(mu < 1.3e-3, mu / sqrt(pi / 2), ifelse(mu > 10, far, middle))
  value * (1 - 1e-9)
}

# mu for an epsilon0 bounded-range selection: as above at epsilon0 / 2. Such a pair of
# laws is dominated by two-point pairs with losses t and t - epsilon0, each with one kink:
# probabilities p under the one law and q under the other with logit p - logit q =
# epsilon0. The Gaussian curve of mu stays below the kink iff Phi^-1(p) - Phi^-1(q) <= mu,
# so mu is the largest increment of h = Phi^-1(1 / (1 + e^-x)) over an interval of length
# epsilon0. h is odd; if it is concave for x > 0 the largest increment is the one
# centred at 0, p = 1 / (1 + e^(-epsilon0 / 2)): the claim. h is concave iff the logit of
# Phi(z) is convex for z > 0, that is iff D(z) = phi (2 Phi - 1) - z Phi (1 - Phi) >= 0.
# D(0) = 0 = D(Inf); D' = 2 phi^2 - Phi (1 - Phi) is positive at 0, tends to 0, and its
# own derivative phi (2 Phi - 1 - 4 z phi) changes sign once, from - to +, because
# (2 Phi - 1) / (z phi) increases: k = 2 z phi - (2 Phi - 1) (1 - z^2) has k(0) = 0 and
# k' = 2 z (2 Phi - 1) > 0. So D' is first positive and then negative, and D >= 0.
bounded_range_mu <- function(epsilon0) pure_mu(epsilon0 / 2)

# The totals of a list of events. `gdp` is the sum of mu^2 after each event has
# been expressed in mu; equal to `mu2` when all events are Gaussian. `ordered`: they happened
# in the order of the list (R/loss-law.R).
compose_events <- function(events, ordered = FALSE) {
  events <- as_events(events)
  mechanism <- vapply(events, .subset2, "", "mechanism")
  cost <- vapply(events, .subset2, 0, "cost")
  count <- vapply(events, .subset2, 0, "count")
  slack <- vapply(events, .subset2, 0, "slack")
  gaussian <- mechanism == "gaussian"
  range <- mechanism == "exponential"
  mu <- ifelse(gaussian, cost, ifelse(range, bounded_range_mu(cost), pure_mu(cost)))
  rho <- ifelse(range, cost^2 / 8, cost^2 / 2)
  live <- cost > 0 & count > 0
  list(
    mu2 = sum((count * cost^2)[gaussian]), rho = sum(count * rho), gdp = sum(count * mu^2),
    pure = sum((count * cost)[!gaussian]),
    epsilon = if (any(gaussian & live)) Inf else sum((count * cost)[!gaussian]),
    only_gaussian = all(gaussian | !live), slack = max(0, slack[live]),
    steps = loss_steps(mechanism, cost, count), ordered = ordered
  )
}

# Every bound that is proved, for totals of a list fixed in advance. A new
# accountant is a new entry here; the smallest counts, and `calibrate_*()`
# inverts the same ones.
epsilon_bounds <- function(total, delta) {
  normal <- if (total$mu2 > 0) gaussian_epsilon(sqrt(total$mu2), delta) + total$slack else 0
  cheap <- c(
    zcdp = zcdp_epsilon(total$rho, delta),
    gdp = gaussian_epsilon(sqrt(total$gdp), delta) + total$slack,
    sum = total$pure + normal
  )
  c(cheap, numerical = numerical_epsilon(total, delta, min(cheap)))
}

delta_bounds <- function(total, epsilon) {
  rest <- epsilon - total$pure
  c(
    zcdp = zcdp_delta(total$rho, epsilon),
    gdp = gaussian_delta(sqrt(total$gdp), epsilon - total$slack),
    sum = if (total$mu2 > 0) {
      gaussian_delta(sqrt(total$mu2), rest - total$slack)
    } else if (rest >= 0) 0 else 1,
    numerical = if (rest >= 0 && total$mu2 == 0) 1 else numerical_delta(total, epsilon)
  )
}

total_epsilon <- function(total, delta) {
  if (delta == 0) {
    return(total$epsilon)
  }
  if (total$gdp == 0) {
    return(0)
  }
  if (total$only_gaussian) {
    return(gaussian_epsilon(sqrt(total$mu2), delta) + total$slack)
  }
  min(epsilon_bounds(total, delta))
}

total_delta <- function(total, epsilon) {
  if (total$gdp == 0) {
    return(0)
  }
  if (total$only_gaussian) {
    return(gaussian_delta(sqrt(total$mu2), epsilon - total$slack))
  }
  min(delta_bounds(total, epsilon))
}

events_epsilon <- function(events, delta) total_epsilon(compose_events(events), delta)

events_delta <- function(events, epsilon) total_delta(compose_events(events), epsilon)

# The same events for a person who holds k rows: k changes of one row, one
# after the other. mu, epsilon0 and the width of a bounded range all grow k-fold.
group_events <- function(events, group) {
  lapply(as_events(events), function(e) {
    new_event(e$mechanism, group * e$cost, e$count, group * e$sensitivity, e$scale, e$what, e$slack)
  })
}
