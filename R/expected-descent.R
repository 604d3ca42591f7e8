# Expected error of noisy gradient descent in regression under assumed laws of the columns and the
# errors. What the fit finds privately is put at its expectation; what is left is a linear
# recursion with noise in each of d slopes that are alike. Standardised units are those of the
# fit: columns over `rows$unit`, the response over `response`.

# Diagonal of the second moments of (1, z) of rows clipped at the 0.85-quantile of their norms
# (1, z, y), and the noise of a moment. z2: sums of squares, standardised.
expected_moments <- function(plan, n, z2, d, intercept, y2) {
  norm <- sqrt(intercept + z2 + y2)
  bound <- stats::quantile(norm, 0.85, names = FALSE)
  weight <- pmin(1, (bound / norm)^2)
  law <- moment_law(n, d + intercept + 1, stage_cost(plan, "moments"), bound)
  list(ones = mean(weight), slopes = mean(weight * z2) / d, sd = law$sd * 8 / 11, bound = bound)
}

# Norms of the rows under the preconditioner, but for a factor `size` that cancels.
preconditioned <- function(moments, z2, intercept) {
  sqrt(intercept / moments$ones + z2 / moments$slopes)
}

preconditioner_size <- function(moments, intercept) {
  max(moments$slopes, if (intercept) moments$ones)
}

# Mean square of a slope at the ridge start from noisy moments.
start_error <- function(signal, d, moments, curvature = 1) {
  noise <- (moments$sd / moments$slopes / curvature)^2
  share <- signal^2 / d
  if (share > 0) share * noise / (share + noise) else 0
}

# Level whose share of sizes |r| norm is p.
size_level <- function(p, size, norm) {
  excess <- function(log_level) mean(share_below(size, exp(log_level) / norm)) - p
  exp(stats::uniroot(excess, c(-60, 60), tol = 1e-6)$root)
}

# Residuals with the error of the predictor in them.
blurred <- function(size, e2) {
  list(x = sqrt(size$x^2 + e2), below = size$below, squares = size$squares + e2 * size$below)
}

# Skewed errors: the level c of each row's clipped error at which they are zero on average, for
# the intercept moves there.
settled_center <- function(law, levels) {
  levels <- stats::quantile(levels, (seq_len(25L) - 0.5) / 25, names = FALSE)
  pull <- function(center) {
    off <- law$x - center
    mean(vapply(levels, function(t) sum(law$weight * pmin(pmax(off, -t), t)), 0))
  }
  stats::uniroot(pull, range(law_quantile(law, c(1e-4, 1 - 1e-4))), tol = 1e-6,
                 extendInt = "downX")$root
}

# What a fit with the squared loss starts from, in standardised units: the law of the errors, sums
# of squares of rows, their second moments and the mean square error of a slope.
expected_start <- function(plan, n, d, intercept, assume) {
  rows <- assume$rows
  response <- response_scale_of(assume)
  law <- assume$law
  law$x <- law$x * assume$sigma / response
  signal <- assume$signal * rows$unit / response
  z2 <- rows$squares / rows$unit^2
  y2 <- lattice_responses(signal * sqrt(z2 / d), absolute_law(law))
  moments <- expected_moments(plan, n, z2, d, intercept, y2)
  list(response = response, law = law, z2 = z2, moments = moments,
       slope = start_error(signal, d, moments))
}

expected_lm <- function(plan, n, d, intercept, assume) {
  got <- expected_stages(plan, n, d, intercept, assume)
  part <- c(got$sampling, got$run$average, got$run$left + got$bias^2)
  if (is_mean_target(plan)) {
    mean <- expected_mean_stage(plan, n, d, intercept, got)
    part <- mean$part
    got$units <- c(got$units, mean$units)
  }
  parts <- d * part * (got$response / assume$rows$unit)^2
  slopes_expectation(parts, d, assume$signal, got$units)
}

# Mean squares of a slope's errors after the stages of descent, in standardised units, and what they
# leave.
expected_stages <- function(plan, n, d, intercept, assume) {
  k <- d + intercept
  start <- expected_start(plan, n, d, intercept, assume)
  rows <- assume$rows
  law <- start$law
  z2 <- start$z2
  moments <- start$moments
  slope <- start$slope
  norm <- preconditioned(moments, z2, intercept)
  levels <- numeric(length(plan$steps))
  for (stage in seq_along(plan$steps)) {
    rule <- expected_rule(plan, stage, law, norm, z2, k * slope,
                          preconditioner_size(moments, intercept))
    if (intercept) law$x <- law$x - settled_center(law, rule$reach)
    levels[[stage]] <- rule$bound
    run <- expected_stage(plan, stage, n, k, d, rule, moments, slope)
    sampling <- rule$spread / d / (rule$curve / d)^2 / n
    slope <- run$last + sampling
  }
  bias <- skewness_bias(law, rule$reach, rows$first / rows$unit) / (rule$curve / d)
  size <- sqrt(preconditioner_size(moments, intercept))
  list(
    sampling = sampling, run = run, bias = bias, slope = slope, centered = law, law = start$law,
    z2 = z2, norm = norm, moments = moments, size = size, response = start$response,
    units = c("second moments in c^2/n" = moments$bound^2 / n, gradient_units(levels * size / n))
  )
}

# P(sum of squares of d normals of this variance, whose means have length^2 `shift`, >= size),
# by a multiple of a chi-squared variable with the same mean and variance (Patnaik).
squares_beyond <- function(size, d, variance, shift) {
  mean <- d * variance + shift
  scale <- variance * (d * variance + 2 * shift) / mean
  stats::pchisq(size / scale, mean / scale, lower.tail = FALSE)
}

gradient_units <- function(units) {
  names(units) <- sprintf("gradient in C/n, stage %d", seq_along(units))
  units
}

# Mean gradient of a slope at the truth: where errors and a column are skewed, long rows, whose
# errors are clipped more, pull it. levels: of each row's error; z: its entry in the column.
skewness_bias <- function(law, levels, z) {
  if (length(levels) == 1L) {
    return(0)
  }
  at <- exp(seq(log(min(levels)), log(max(levels)), length.out = 60L))
  mean <- vapply(at, function(t) sum(law$weight * pmin(pmax(law$x, -t), t)), 0)
  mean(z * stats::approx(at, mean, levels, rule = 2)$y)
}

expected_rule <- function(plan, stage, law, norm, z2, e2, scale) {
  size <- blurred(absolute_law(law), e2)
  if (is_robust(plan$loss) && stage == length(plan$steps)) {
    return(expected_robust_rule(plan, size, norm, z2))
  }
  expected_clip_rule(plan, stage, size, norm, z2, scale)
}

# parts: mean squares of all slopes' errors from sampling, noise and the start.
# `units`: what a unit of the events' noise is then, by their names.
slopes_expectation <- function(parts, d, signal, units) {
  each <- (parts[[1L]] + parts[[2L]]) / d
  list(
    error = error_parts(sqrt(parts[[1L]]), sqrt(parts[[2L]]), sqrt(parts[[3L]])),
    worse = squares_beyond(signal^2, d, each, parts[[3L]]),
    units = units
  )
}

# What the search for the response's scale finds: the quartiles of one normal variable are 1.35
# apart, and the 0.75-quantile of pairs' differences over 1.4 is 1.16, of others about as much.
response_scale_of <- function(assume) {
  spread <- diff(law_quantile(assume$law, c(0.25, 0.75)))
  sqrt((0.86 * spread * assume$sigma)^2 + (1.16 * assume$signal)^2)
}

# Squares of responses over made-up rows: the predictor's size and an error.
lattice_responses <- function(predictor, size) {
  u <- lattice_column(3)
  g <- stats::qnorm(lattice_column(4))
  (predictor * g)^2 + stats::approx(size$below, size$x, u, rule = 2, ties = "ordered")$y^2
}

# curve: sum over slopes of E z_j^2 (share not clipped); spread: of the squared gradients; reach:
# where each row's residual is clipped.
expected_clip_rule <- function(plan, stage, size, norm, z2, scale) {
  bound <- if (is.null(plan$bound) || is_robust(plan$loss)) {
    size_level(plan$quantile[[stage]], size, norm)
  } else {
    plan$bound / sqrt(scale)
  }
  at <- bound / norm
  list(bound = bound, step = 1, stretch = 1, reach = at, curve = mean(z2 * share_below(size, at)),
       spread = mean(z2 * clipped_square(size, at)))
}

# A robust loss bounds the derivative by one, and covariates are clipped.
expected_robust_rule <- function(plan, size, norm, z2) {
  median <- stats::approx(size$below, size$x, 0.5, ties = "ordered")$y
  tuning <- plan$loss$tuning * median / stats::qnorm(0.75)
  weight <- c(size$below[[1L]], diff(size$below))
  robust <- robust_derivatives(plan$loss$name, size$x / tuning)
  bound <- plan$bound %||% stats::quantile(norm, ROBUST_QUANTILE, names = FALSE)
  kept <- pmin(1, bound / norm)
  list(bound = bound, step = tuning / ROBUST_CURVATURE[[plan$loss$name]], stretch = 1,
       reach = tuning, curve = sum(weight * robust$second) / tuning * mean(z2 * kept),
       spread = sum(weight * robust$first^2) * mean(z2 * kept^2))
}

# Derivatives over the largest first one, in t = r / tuning.
robust_derivatives <- function(name, t) {
  if (name == "huber") {
    return(list(first = pmin(t, 1), second = as.double(t < 1)))
  }
  most <- 16 / (25 * sqrt(5))
  inside <- t < 1
  list(first = ifelse(inside, t * (1 - t^2)^2, 0) / most,
       second = ifelse(inside, (1 - t^2) * (1 - 5 * t^2), 0) / most)
}

expected_stage <- function(plan, stage, n, k, d, rule, moments, start, risk = NOISE_RISK) {
  steps <- plan$steps[[stage]]
  mu <- plan$stage_mu[[stage]] / sqrt(steps)
  sd <- 2 * rule$bound / (n * mu)
  eta <- plan$eta * noise_step(plan, stage, n, k, risk) * rule$step * rule$stretch
  rho <- min(eta * rule$curve / d / moments$slopes, 1.5)
  noisy_steps(steps, rho, eta^2 * sd^2 / moments$slopes, start)
}

# ---- logistic regression -----------------------------------------------------------

# Cosines of the angle between a row and the slopes, of rows without a preferred direction.
row_cosines <- function(d, m = 24L) {
  if (d == 1L) {
    return(1)
  }
  sqrt(stats::qbeta((seq_len(m) - 0.5) / m, 0.5, (d - 1) / 2))
}

# Sums over rows of variance p (1 - p) times squares along the slopes and across them.
logistic_sums <- function(z2, squares, signal, d, weight) {
  along <- across <- 0
  cosines <- row_cosines(d)
  for (u in cosines) {
    p <- stats::plogis(signal * sqrt(squares) * u)
    own <- p * (1 - p) * weight * z2
    along <- along + mean(own * u^2) / length(cosines)
    across <- across + mean(own * (1 - u^2)) / length(cosines)
  }
  c(along = along, across = if (d > 1L) across / (d - 1) else NA_real_)
}

expected_glm <- function(plan, n, d, intercept, assume) {
  k <- d + intercept
  rows <- assume$rows
  signal <- assume$signal
  z2 <- rows$squares / rows$unit^2
  moments <- expected_moments(plan, n, z2, d, intercept, 0.25)
  norm <- preconditioned(moments, z2, intercept)
  bound <- if (is.null(plan$bound)) stats::quantile(norm, GLM_QUANTILE, names = FALSE) else
    plan$bound / sqrt(preconditioner_size(moments, intercept))
  kept <- pmin(1, bound / norm)
  curve <- logistic_sums(z2, rows$squares, signal, d, kept)
  spread <- logistic_sums(z2, rows$squares, signal, d, kept^2)
  rule <- list(bound = bound, step = 1, stretch = max(1, min(sqrt(k) / bound, 1.5)))
  count <- c(along = 1, across = d - 1)[seq_len(1L + (d > 1L))]
  start <- start_error(signal * rows$unit, d, moments, GLM_CURVATURE)
  parts <- vapply(names(count), function(way) {
    rule$curve <- curve[[way]] * d
    # the linear start is too short by about a fifth
    v <- start + if (way == "along") (0.2 * signal * rows$unit)^2 else 0
    for (stage in seq_along(plan$steps)) {
      run <- expected_stage(plan, stage, n, k, d, rule, moments, v, GLM_NOISE_RISK)
      v <- run$last
    }
    count[[way]] * c(spread[[way]] / curve[[way]]^2 / n, run$average, run$left) / rows$unit^2
  }, numeric(3))
  size <- preconditioner_size(moments, intercept)
  slopes_expectation(rowSums(parts), d, signal, c(
    "second moments in c^2/n" = moments$bound^2 / n,
    gradient_units(rep(bound * sqrt(size) / n, length(plan$steps)))
  ))
}
