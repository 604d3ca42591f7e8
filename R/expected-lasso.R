# Expected error of a private choice of columns and their fit (R/select-plan.R): how many of the
# slopes that are not zero are missed, and the error of the rest. Independent columns.

expected_lasso <- function(plan, n, d, intercept, assume) {
  if (plan$source != "private" || is.null(plan$last$stage_mu)) {
    return(no_expectation())
  }
  missed <- missed_share(plan, n, d, assume)
  left <- missed * assume$signal^2
  refit <- assume
  refit$rows <- lattice_rows(assume$columns, plan$keep)
  refit$signal <- assume$signal * sqrt(1 - missed)
  # what is missed is a part of the errors
  spread <- diff(law_quantile(assume$law, c(0.25, 0.75))) / 1.35
  refit$sigma <- sqrt(assume$sigma^2 + left / spread^2)
  out <- expected_lm(plan$last, n, plan$keep, intercept, refit)
  total <- sqrt(out$error[["total"]]^2 + left)
  out$error[["bias"]] <- sqrt(out$error[["bias"]]^2 + left)
  out$error[["total"]] <- total
  each <- (out$error[["sampling"]]^2 + out$error[["privacy"]]^2) / plan$keep
  out$worse <- squares_beyond(assume$signal^2, plan$keep, each, left)
  out
}

# A score is a sum of winsorised coordinates, in levels: normal about its mean; a choice adds
# Gumbel noise of scale 4 / epsilon0 (scores move by two levels either way). The largest
# plan$keep of all are taken, as if in one round.
missed_share <- function(plan, n, d, assume) {
  rows <- assume$rows
  z <- pmax(abs(rows$first) / rows$unit, 1e-9)
  size <- absolute_law(assume$law)
  size <- blurred(list(x = size$x * assume$sigma, below = size$below,
                       squares = size$squares * assume$sigma^2), assume$signal^2)
  level <- size_level(FW_QUANTILE, size, z)
  sd <- sqrt(n * mean(z^2 * clipped_square(size, level / z))) / level
  slope <- assume$signal * rows$unit / sqrt(assume$sparsity)
  mean <- n * slope * mean(z^2 * share_below(size, level / z)) / level
  gumbel <- -log(-log((seq_len(400L) - 0.5) / 400)) * 4 / plan$cost[["choice"]]
  above <- function(t, mean) {
    mean(stats::pnorm(t - gumbel, mean, sd, lower.tail = FALSE) +
           stats::pnorm(gumbel - t, mean, sd))
  }
  taken <- function(t) {
    (d - assume$sparsity) * above(t, 0) + assume$sparsity * above(t, mean) - plan$keep
  }
  if (d <= plan$keep) {
    return(0)
  }
  range <- c(-50, 50) * (sd + 4 / plan$cost[["choice"]]) + c(0, mean)
  1 - min(1, above(stats::uniroot(taken, range, tol = 1e-6)$root, mean))
}
