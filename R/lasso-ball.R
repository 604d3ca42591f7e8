# The nearest point of the l1 ball, and the intercept that goes with it. The charge has been made
# and the fit released: post-processing.

# Slopes per scale of their column are taken as equally costly.
into_ball <- function(fit, schema, radius) {
  own <- fit$kept
  b <- replace(fit$b, own, nearest_in_ball(fit$b[own], fit$scale[own], radius))
  with_slopes(fit, b, schema)
}

# Other slopes, and the intercept about the columns' centres.
with_slopes <- function(fit, b, schema) {
  if (schema$intercept) {
    fit$intercept <- finite_or_zero(
      fit$intercept + sum((fit$b - b) * fit$center[seq_along(b)])
    )
  }
  fit$b <- b
  fit
}

nearest_in_ball <- function(b, scale, radius) {
  if (sum(abs(b)) <= radius) {
    return(b)
  }
  # without overflow of the sums
  b <- pmin(pmax(b, -1e100 * radius), 1e100 * radius)
  weight <- pmax((scale / max(scale))^2, 1e-30)
  # sum(|b| - lambda / weight)_+ = radius is linear in lambda between the points |b| weight
  falls <- order(-abs(b) * weight)
  size <- cumsum(abs(b)[falls])
  rate <- cumsum(1 / weight[falls])
  lambda <- (size - radius) / rate
  last <- max(which(abs(b[falls]) * weight[falls] > lambda & lambda >= 0), 1L)
  out <- sign(b) * pmax(abs(b) - lambda[[last]] / weight, 0)
  out * min(1, radius / max(sum(abs(out)), radius))
}
