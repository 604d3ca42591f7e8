# High-probability bounds of robust means, term by term: what error_bound() adds up. u bounds
# E|x|^(1 + v) of every coordinate. Each holds for all `count` coordinates (and steps) together but
# for a chance of `fail`.

# |mean of n values put to zero (c = 1) or clamped (c = clip_bias(v)) at B - E x|: bias by Markov's
# inequality, deviation by Bernstein's with E x'^2 <= u B^(1 - v).
truncation_error <- function(u, v, level, n, count, fail, c = 1) {
  t <- log(2 * count / fail)
  c(bias = c * u * level^(-v),
    deviation = sqrt(2 * u * level^(1 - v) * t / n) + 4 * level * t / (3 * n))
}

# Median of m means of b truncated values. Each mean is further than t from its expectation with
# chance p at most, and half of them are with chance exp(-m KL(1/2 | p)) = fail / count.
medians_error <- function(u, v, level, size, groups, count, fail, c = 1) {
  t <- log(count / fail)
  p <- (1 - sqrt(1 - exp(-2 * t / groups))) / 2
  moment <- (2^(2 + v) * u / (size^v * p))^(1 / (1 + v))
  variance <- sqrt(u * level^(1 - v) / (size * p))
  c(bias = c * u * level^(-v), deviation = min(moment, variance))
}

# Catoni's mean at scale s: E x^2 <= u.
catoni_error <- function(u, level, beta, n, count, fail) {
  c(bias = (1 + 1 / beta) * u / (2 * level), deviation = level / n * log(2 * count / fail))
}

# Noise of `count` coordinates of standard deviation sd.
noise_error <- function(kind, sd, count, fail) {
  t <- log(2 * count / fail)
  if (kind == "laplace") sd / sqrt(2) * log(count / fail) else sd * sqrt(2 * t)
}

# All three, half of the chance for the noise. `size`: records per mean, or per group.
coordinate_error <- function(f, size, sd, kind, count, xi) {
  parts <- switch(f$estimator,
    truncated = truncation_error(f$u, f$v, f$level, size, count, xi / 2),
    winsorized = truncation_error(f$u, f$v, f$level, size, count, xi / 2, clip_bias(f$v)),
    mom = medians_error(f$u, f$v, f$level, size, f$groups, count, xi / 2,
                        if (isFALSE(f$paper)) clip_bias(f$v) else 1),
    catoni = catoni_error(f$u, f$level, f$beta, size, count, xi / 2)
  )
  c(parts, noise = noise_error(kind, sd, count, xi / 2))
}

# ---- orders, without their constants ------------------------------------------------

mean_rate <- function(u, v, x) u^(1 / (1 + v)) * x^(v / (1 + v))

# log(1 / delta) under a root, 1 for a pure guarantee.
root_log <- function(delta) if (delta > 0) sqrt(log(1 / delta)) else 1

# Of lower bounds: d for a pure guarantee, sqrt(d log(1/delta)) else.
lower_dimension <- function(d, delta) if (delta > 0) sqrt(d * log(1 / delta)) else d
