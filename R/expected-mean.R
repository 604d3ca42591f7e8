# Expected errors of means and quantiles under an assumed law of the values: public numbers in,
# public numbers out.

# Root mean square of an error with these parts.
error_parts <- function(sampling, privacy, bias = 0) {
  c(total = sqrt(sampling^2 + privacy^2 + bias^2), sampling = sampling, privacy = privacy,
    bias = abs(bias))
}

# P(|N(bias, sd)| >= size).
normal_beyond <- function(size, bias, sd) {
  stats::pnorm(bias - size, 0, sd) + stats::pnorm(-bias - size, 0, sd)
}

assumed_values <- function(assume) {
  law <- assume$law
  law$x <- assume$signal + assume$sigma * law$x
  law
}

# Winsorised at [lower, upper]: bias against the mean, and the standard deviation of one value.
winsorised_moments <- function(law, lower, upper, mean) {
  bias <- expectation(law, function(x) pmax(lower - x, 0) - pmax(x - upper, 0))
  square <- expectation(law, function(x) (pmin(pmax(x, lower), upper) - mean)^2)
  c(bias = bias, sd = sqrt(max(square - bias^2, 0)))
}

# Limits as the fit reads them, from the counts that the release of the tails is expected to show
# with made-up noise: one row each.
expected_limits <- function(law, plan, n) {
  center <- law_quantile(law, 0.5)
  edges <- 2^octave_edges(octave_cells())
  cells <- length(edges) - 1L
  up <- diff(law_below(law, center + edges))
  down <- -diff(law_below(law, center - edges))
  counts <- n * pmax(c(rev(down), 0, up), 0)
  counts[[cells + 1L]] <- max(n - sum(counts), 0)
  noise <- count_law(plan$kind, n, plan$cost[["tails"]],
                     if (plan$kind == "laplace") 2 * plan$d else sqrt(2 * plan$d))
  t(vapply(seq_len(MADE_UP_NOISES), function(i) {
    noisy <- counts + noise$scale * made_up_noise(i, plan$kind, length(counts))
    center + c(-1, 1) * tail_limits(noisy, noise, plan$rank, center)[1:2]
  }, c(0, 0)))
}

MADE_UP_NOISES <- 8L

# Numbers of a lattice as noise of scale 1.
made_up_noise <- function(i, kind, size) {
  columns <- ceiling(size / (LATTICE[["size"]] - 1))
  u <- unlist(lapply(i * columns + seq_len(columns), lattice_column))[seq_len(size)]
  if (kind == "laplace") sign(u - 0.5) * -log(1 - abs(2 * u - 1)) else stats::qnorm(u)
}

# The widest column's, where bounds differ.
expected_winsorised <- function(plan, n, bound, assume) {
  law <- assumed_values(assume)
  limits <- if (is.null(bound)) expected_limits(law, plan, n) else
    bound[which.max(bound[, 2L] - bound[, 1L]), , drop = FALSE]
  limits <- limits[!is.na(limits[, 1L]), , drop = FALSE]
  if (nrow(limits) < MADE_UP_NOISES / 2 && is.null(bound)) {
    return(no_expectation(Inf))
  }
  range <- limits[, 2L] - limits[, 1L]
  counted <- count_noise(plan, n) / n * abs(assume$signal - (limits[, 1L] + limits[, 2L]) / 2)
  own <- apply(limits, 1L, function(l) winsorised_moments(law, l[[1L]], l[[2L]], assume$signal))
  root <- function(v) sqrt(mean(v^2))
  error <- error_parts(root(own["sd", ]) / sqrt(n),
                       root(hypotenuse(plan$noise / n * range, counted)), root(own["bias", ]))
  mean_expectation(error, mean(own["bias", ]), assume,
                   c("winsorised means, in ranges / n" = root(range) / n))
}

# With na.rm the sum about the middle of the limits is divided by a noisy count.
count_noise <- function(plan, n) {
  if (!plan$na_rm) {
    return(0)
  }
  count_law(plan$kind, n, plan$cost[["count"]], change_of(plan$kind, plan$d))$sd
}

mean_expectation <- function(error, bias, assume, units) {
  sd <- sqrt(error[["sampling"]]^2 + error[["privacy"]]^2)
  list(error = error, worse = normal_beyond(abs(assume$signal), bias, sd), units = units)
}

no_expectation <- function(total = NA_real_) {
  list(error = c(total = total, sampling = NA_real_, privacy = NA_real_, bias = NA_real_),
       worse = if (is.na(total)) NA_real_ else 1, units = numeric())
}

# One release at a public level.
expected_robust_mean <- function(plan, n, assume) {
  law <- assumed_values(assume)
  size <- if (plan$groups > 0) floor(n / plan$groups) else n
  level <- plan$level
  value <- function(x) transformed(x, plan$estimator, level, plan$gradient$beta)
  mean <- expectation(law, value)
  sd <- sqrt(expectation(law, function(x) (value(x) - mean)^2))
  noise <- robust_mean_law(plan, n)$sd / size
  # the median of m normal means has pi / 2 of the variance of their mean
  loss <- if (plan$groups > 1) sqrt(pi / 2) else 1
  error <- error_parts(loss * sd / sqrt(n), noise, mean - assume$signal)
  unit <- level * plan$reach / size
  names(unit) <- plan$events[[length(plan$events)]]$what
  mean_expectation(error, mean - assume$signal, assume, unit)
}

# T of a value; Catoni's function is level phi(x / level).
transformed <- function(x, estimator, level, beta = Inf) {
  switch(estimator,
    truncated = ifelse(abs(x) <= level, x, 0),
    winsorized = pmin(pmax(x, -level), level),
    catoni = level * catoni_phi(x / level),
    catoni_smooth = sign(x) * level * catoni_smooth(pmin(abs(x) / level, 1e9), beta)
  )
}

catoni_phi <- function(t) {
  t <- pmin(pmax(t, -sqrt(2)), sqrt(2))
  t - t^3 / 6
}

# Ranks err by a Laplace variable of scale 1 / c, and by the sample's own ranks; one quantile's
# error is its rank's over the density there. Of several quantiles the root mean square.
expected_quantiles <- function(plan, n, probs, assume) {
  law <- assumed_values(assume)
  at <- pmin(pmax(probs, 1 / n), 1 - 1 / n)
  h <- 0.02
  # beyond the table of the law
  if (any(abs(stats::qlogis(at)) + h > max(LAW_GRID))) {
    return(no_expectation())
  }
  value <- law_quantile(law, at)
  slope <- (law_quantile(law, stats::plogis(stats::qlogis(at) + h)) -
              law_quantile(law, stats::plogis(stats::qlogis(at) - h))) / (2 * h * at * (1 - at))
  sampling <- sqrt(at * (1 - at) / n) * slope
  privacy <- sqrt(2) / plan$c / n * slope
  each <- sqrt(sampling^2 + privacy^2)
  list(
    error = error_parts(sqrt(mean(sampling^2)), sqrt(mean(privacy^2))),
    worse = mean(normal_beyond(abs(value), 0, each)), units = numeric()
  )
}
