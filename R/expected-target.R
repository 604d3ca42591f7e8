# Expected error of a regression whose target is the mean (R/lm-mean.R): that of the corrected
# slopes, and of the robust ones that they are drawn back to.

# got: from expected_stages(). `part`: mean squares of a slope's errors from sampling, noise and
# bias.
expected_mean_stage <- function(plan, n, d, intercept, got) {
  k <- d + intercept
  sides <- expected_reach(got$centered, MEAN_RANK[["slopes"]] * slopes_noise(plan, k), n)
  level <- max(sides)
  bound <- stats::quantile(got$norm, MEAN_ROWS, names = FALSE)
  kept <- pmin(1, bound / got$norm)
  size <- absolute_law(got$law)
  curve <- share_below(size, level) * mean(got$z2 * kept) / d
  spread <- clipped_square(size, level) * mean(got$z2 * kept^2) / d
  steps <- plan$mean$steps
  stretch <- max(1, min(sqrt(k) / bound, 1.5))
  eta <- plan$eta * min(1, NOISE_RISK / noise_length(k, steps, n, plan$mean$slopes)) * stretch
  sd <- 2 * bound * level * sqrt(steps) / (n * plan$mean$slopes)
  run <- noisy_steps(steps, min(eta * curve / got$moments$slopes, 1.5),
                     eta^2 * sd^2 / got$moments$slopes, got$slope)
  mean <- c(spread / curve^2 / n, run$average + run$left)
  units <- c("gradient in C/n, mean" = bound * got$size * level / n)
  if (plan$mean$intercept) {
    ends <- expected_reach(got$centered, MEAN_RANK[["level"]] / plan$mean$level, n)
    units <- c(units, "mean residual in ranges/n" = sum(ends) / n)
  }
  list(part = expected_drawn_back(d, c(got$sampling, got$run$average + got$run$left), mean,
                                  got$bias), units = units)
}

# Distances below and above beyond which some `rank` of n are expected.
expected_reach <- function(law, rank, n) {
  p <- min(rank / n, 0.5)
  pmax(c(-1, 1) * law_quantile(law, c(p, 1 - p)), 0)
}

# Mean squares of robust + kept * (corrected - robust), kept as in drawn_back(). robust, mean: the
# sampling and noise variances of a slope; bias: of the robust one. The sampling error of a robust
# slope is taken to be independent of the correction.
expected_drawn_back <- function(d, robust, mean, bias) {
  spread <- robust[[2L]] + mean[[2L]] + max(mean[[1L]] - robust[[1L]], 0.1 * mean[[1L]])
  p <- (seq_len(401L) - 0.5) / 401
  change <- -bias + sqrt(spread) * stats::qnorm(p)
  variance <- sum(mean)
  all <- d * (bias^2 + spread) / variance
  kept <- kept_share(change^2 / variance, all, d)
  # what the noise of the robust slope, given the correction, still adds
  part <- robust[[2L]] / spread
  error <- bias - part * (change + bias) + kept * change
  center <- mean(error)
  c(robust[[1L]], mean(error^2) - center^2 + robust[[2L]] * (1 - part), center^2)
}
