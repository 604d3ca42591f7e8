# Rows that belong to units.

# Units of unequal sizes, rows in any order; some without rows, some rows in no unit.
made_up_units <- function(n, m, most = Inf, scale = 1) {
  code <- sample(c(NA, seq_len(m)), n, TRUE)
  units_of(code, m, most, scale)
}

units_of <- function(code, m, most = Inf, scale = 1) {
  order <- order(code, na.last = NA)
  start <- as.integer(c(0, cumsum(tabulate(code, m))))
  list(order = order - 1L, start = start, most = most, scale = scale,
       one = ifelse(diff(start) > 0L, order[pmin(start[-1L], start[-(m + 1L)] + 1L)], 1L),
       empty = diff(start) == 0L)
}

# The naive twin: weighted gradients of single rows, added up unit by unit.
twin_unit_gradients <- function(rows, norm, w, loss, tuning = 1, bound = NULL) {
  design <- twin_design(rows)
  live <- design$valid & norm < Inf
  eta <- drop(design$z %*% w)
  psi <- switch(loss,
    squared = eta - design$y, logistic = stats::plogis(eta) - design$y,
    huber = pmin(pmax((eta - design$y) / tuning, -1), 1)
  )
  if (!is.null(bound)) psi <- pmin(pmax(psi, -1), 1)
  psi[!live | is.nan(psi)] <- 0
  units <- rows$units
  t(vapply(seq_len(length(units$start) - 1L), function(u) {
    i <- units$order[seq_len(units$start[[u + 1L]] - units$start[[u]]) + units$start[[u]]] + 1L
    weight <- units$scale * min(1, units$most / max(length(i), 1))
    if (!is.null(bound)) {
      size <- weight * sqrt(sum(norm[i][norm[i] < Inf]^2))
      weight <- weight * min(1, bound / max(size, 1e-100))
    }
    colSums(psi[i] * weight * design$z[i, , drop = FALSE])
  }, numeric(ncol(design$z))))
}

# A data set of m units, the same effects in all, and its unit number `u` with other rows.
panel <- function(m = 1500L, p = 2L, most = 12L) {
  size <- pmin(most, ceiling(1 / stats::runif(m)^0.8))
  id <- sample(rep(seq_len(m), size))
  x <- matrix(stats::rt(length(id) * p, 4), length(id))
  colnames(x) <- paste0("x", seq_len(p))
  y <- 1 + drop(x %*% seq_len(p)) + stats::rnorm(m)[id] / 2 + stats::rt(length(id), 3) / 2
  data.frame(x, y = y, b = as.numeric(y > 1), id = id)
}
