# The minimum of a convex loss over a polytope, found by looking at all of its simplices: it is in
# the inside of one of them (Caratheodory), where it is the minimum over that one's affine hull.

convex_losses <- list(
  squared = list(
    value = function(eta, y) (eta - y)^2 / 2, slope = function(eta, y) eta - y,
    bend = function(eta, y) rep(1, length(y))
  ),
  logistic = list(
    value = function(eta, y) log1p(exp(-abs(eta))) + pmax(eta, 0) - y * eta,
    slope = function(eta, y) stats::plogis(eta) - y,
    bend = function(eta, y) stats::dlogis(eta)
  ),
  huber = list( # k = 1.345, sigma = 1
    value = function(eta, y) {
      r <- abs(eta - y)
      ifelse(r < 1.345, r^2 / 2, 1.345 * (r - 1.345 / 2))
    },
    slope = function(eta, y) pmin(pmax(eta - y, -1.345), 1.345),
    bend = function(eta, y) as.numeric(abs(eta - y) < 1.345)
  )
)

# Newton's method for the mean loss at offset + z theta, with steps halved until they descend.
newton_minimum <- function(z, y, loss, offset) {
  theta <- numeric(ncol(z))
  at <- function(theta) offset + drop(z %*% theta)
  value <- function(theta) mean(loss$value(at(theta), y))
  for (i in seq_len(200L)) {
    if (ncol(z) == 0L) break
    eta <- at(theta)
    g <- crossprod(z, loss$slope(eta, y)) / length(y)
    h <- crossprod(z, z * loss$bend(eta, y)) / length(y)
    step <- drop(solve(h + 1e-9 * mean(diag(crossprod(z)) / length(y)) * diag(ncol(z)), g))
    while (value(theta - step) > value(theta) && max(abs(step)) > 1e-14) step <- step / 2
    theta <- theta - step
    if (max(abs(step)) <= 1e-13 * max(1, abs(theta))) break
  }
  list(theta = theta, value = value(theta))
}

# List: slopes b, intercept, value, weights of the vertices (rows).
polytope_minimum <- function(x, y, vertices, loss, intercept) {
  best <- list(value = Inf)
  for (size in seq_len(min(nrow(vertices), ncol(x) + 1L))) {
    for (own in utils::combn(nrow(vertices), size, simplify = FALSE)) {
      first <- vertices[own[[1L]], ]
      edges <- t(vertices[own[-1L], , drop = FALSE]) - first
      if (size > 1L && qr(edges)$rank < size - 1L) next
      z <- cbind(if (intercept) rep(1, nrow(x)), x %*% edges)
      got <- newton_minimum(z, y, loss, drop(x %*% first))
      rest <- if (intercept) got$theta[-1L] else got$theta
      weight <- c(1 - sum(rest), rest)
      if (min(weight) < -1e-9 || got$value >= best$value) next
      best <- list(
        b = first + drop(edges %*% rest), intercept = if (intercept) got$theta[[1L]] else 0,
        value = got$value, weight = replace(numeric(nrow(vertices)), own, weight)
      )
    }
  }
  best
}
