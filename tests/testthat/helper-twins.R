# Naive R twins of the kernels in C, and helpers that compare exact statistics.
# A twin says what a kernel computes, not how: whole columns, no blocks.

# ---- exact integers that come as columns hi and lo ---------------------------

# Whole numbers below 2^53 in size.
from_int64 <- function(v) v[, 1L] * 2^32 + v[, 2L]

# Differences; exact while they are below 2^53, however large the numbers are.
diff_int64 <- function(a, b) (a[, 1L] - b[, 1L]) * 2^32 + (a[, 2L] - b[, 2L])

# Largest of `size(difference)` over all pairs of a list of exact statistics.
largest_change <- function(stats, size) {
  pairs <- utils::combn(length(stats), 2L)
  max(apply(pairs, 2L, function(i) size(diff_int64(stats[[i[[1L]]]], stats[[i[[2L]]]]))))
}

l1 <- function(v) sum(abs(v))
l2 <- function(v) sqrt(sum(v^2))

# ---- made-up problems --------------------------------------------------------

NO_NOISE <- list(kind = "none", noise = c(0, 0), unit = 1, limit = Inf, step = 0)
SPECIAL <- c(0, 1e308, -1e308, Inf, -Inf, NaN, NA, 5e-324, 1e-160, 1e154, -1e154, 1e-5, 1)

# Heavy-tailed rows with the options of the source that `o` switches on; a few
# records hold special values.
made_up_rows <- function(n, p, o = list(), special = TRUE) {
  x <- matrix(stats::rt(n * p, 3), n, p)
  y <- stats::rt(n, 3)
  if (special && n >= 5L) {
    hit <- sample(n, min(n, 6L))
    if (p > 0L) x[cbind(hit, sample(p, length(hit), TRUE))] <- sample(SPECIAL, length(hit))
    y[[sample(n, 1L)]] <- sample(SPECIAL, 1L)
  }
  on <- function(name) isTRUE(o[[name]])
  new_rows(
    x, y,
    offset = if (on("offset")) stats::rnorm(n),
    use = if (on("use")) sample(c(TRUE, TRUE, FALSE), n, TRUE),
    center = if (on("centring")) stats::rnorm(p) else rep(0, p),
    inv_scale = if (on("centring")) stats::runif(p, 0.5, 2) else rep(1, p),
    y_center = if (on("centring")) 0.3 else 0, y_inv_scale = if (on("centring")) 0.7 else 1,
    intercept = on("intercept") || p == 0L
  )
}

# The option grid: every n and p, options by turns.
option_grid <- function() {
  g <- expand.grid(
    n = c(1, 5, 255, 256, 257, 1000), p = c(0, 1, 3, 4, 5, 9), intercept = c(TRUE, FALSE),
    centring = c(TRUE, FALSE), other = c(TRUE, FALSE)
  )
  turn <- seq_len(nrow(g)) %% 4L
  g$offset <- turn %in% c(0L, 1L)
  g$use <- turn %in% c(1L, 2L)
  g$root <- g$other
  split(g, seq_len(nrow(g)))
}

# A lower triangular root on the grid of C.
made_up_root <- function(k) {
  root <- matrix(stats::rnorm(k * k) / 2, k, k)
  root[upper.tri(root)] <- 0
  diag(root) <- stats::runif(k, 0.5, 2)
  grid_root(root)
}

# The root that precondition() makes of second moments with this condition number.
hard_root <- function(k, condition, size = 1) {
  q <- qr.Q(qr(matrix(stats::rnorm(k * k), k, k)))
  values <- size * condition^-seq(0, 1, length.out = k)
  moments <- matrix(0, k + 1L, k + 1L)
  moments[seq_len(k), seq_len(k)] <- q %*% (t(q) * values)
  precondition(list(moments = moments, sd = 0))$root
}

# Columns of x to be searched for centre and scale, and no response.
tuned_x <- function(x) list(x = x, y = 0, zero = FALSE)

descent_plan <- function(k, law, bound, root = NULL, iterations = 1, eta = 1) {
  c(law[c("noise", "step", "limit")], list(
    bound = bound, iterations = as.double(iterations), eta = eta, root = root, loss = "squared",
    estimator = "clipped"
  ))
}

# ---- twins --------------------------------------------------------------------

twin_design <- function(rows) {
  n <- nrow(rows$x)
  z <- sweep(sweep(rows$x, 2L, rows$center), 2L, rows$inv_scale, `*`)
  if (rows$intercept != 0) z <- cbind(rep(1, n), z)
  y <- rows$y
  if (!is.null(rows$offset)) y <- y - rows$offset
  y <- (y - rows$y_center) * rows$y_inv_scale
  valid <- rowSums(!is.finite(cbind(z, y))) == 0
  if (!is.null(rows$use)) valid <- valid & rows$use
  z[!valid, ] <- 0
  y[!valid] <- 0
  list(z = unname(z), y = y, valid = valid)
}

twin_norms <- function(rows, root = NULL, with_response = FALSE) {
  d <- twin_design(rows)
  z <- if (is.null(root)) d$z else d$z %*% t(root)
  squares <- rowSums(z^2) + if (with_response) d$y^2 else 0
  ifelse(d$valid, sqrt(squares), Inf)
}

# The same for the logistic loss with clipped covariates; rows whose offset is in the margin.
twin_logistic <- function(rows, norm, w, bound) {
  plain <- rows
  plain$offset <- NULL
  d <- twin_design(plain)
  ok <- norm < Inf
  eta <- drop(d$z %*% w) + if (is.null(rows$offset)) 0 else rows$offset
  psi <- ifelse(ok, stats::plogis(eta) - pmin(pmax(d$y, 0), 1), 0)
  share <- pmin(1, bound * (1 - 1e-6) / pmax(norm, 1e-100))
  ifelse(ok, psi * share, 0) * ifelse(is.finite(d$z), d$z, 0)
}

# Contributions of single records to the gradient sum, n x k, before rounding.
twin_gradients <- function(rows, norm, w, bound) {
  d <- twin_design(rows)
  size <- pmax(norm, 1e-100)
  ok <- norm < Inf
  psi <- ifelse(ok, drop(d$z %*% w) - d$y, 0)
  most <- bound * (1 - 1e-6) / size
  m <- ifelse(ok, pmax(pmin(psi, most), -most), 0)
  m * ifelse(is.finite(d$z), d$z, 0)
}

twin_gradient_sum <- function(rows, norm, w, law, bound) {
  v <- twin_gradients(rows, norm, w, bound) / law$step
  colSums(round(pmin(pmax(v, -law$limit), law$limit)))
}

# round(L s), half up, exact for small numbers.
twin_lower <- function(root, s) {
  if (is.null(root)) s else floor(drop((root * 2^20) %*% s) / 2^20 + 0.5)
}

twin_sizes <- function(rows, norm, w) {
  d <- twin_design(rows)
  ifelse(norm < Inf, abs(drop(d$z %*% w) - d$y) * norm, Inf)
}

# Packed upper triangle, column by column.
twin_moments <- function(rows, norm, bound, step) {
  d <- twin_design(rows)
  q <- cbind(d$z, d$y)
  factor <- ifelse(norm <= bound * (1 - 1e-6), 1, bound * (1 - 1e-6) / norm)
  q <- q * ifelse(norm < Inf, factor, 0)
  q <- if (step > 0) round(q / step) else q
  products <- crossprod(q)
  products[upper.tri(products, diag = TRUE)]
}

# Cells from 1; NA for a NaN. v = m 2^e with m in [1, 2).
twin_octave <- function(v, cells) {
  lo <- cells[[1L]]
  half <- (cells[[2L]] - lo) * cells[[3L]]
  size <- abs(v)
  at <- which(size > 0 & size < Inf)
  e <- floor(log2(size[at]))
  e <- e - (size[at] / 2^e < 1)
  e <- e + (size[at] / 2^e >= 2)
  part <- findInterval(size[at] / 2^e, 2^(seq_len(cells[[3L]] - 1L) / cells[[3L]]))
  cell <- rep(NA_real_, length(v))
  cell[at] <- pmin(pmax((e - lo) * cells[[3L]] + part, 0), half - 1)
  cell[at][e < lo] <- 0
  cell[at][e >= cells[[2L]]] <- half - 1
  cell[which(size == Inf)] <- half - 1
  out <- ifelse(v == 0, 0, ifelse(v > 0 | !cells[[4L]], 1 + cell, -1 - cell))
  1 + out + if (cells[[4L]]) half else 0
}

twin_column <- function(rows, j) {
  p <- ncol(rows$x)
  if (j < p) {
    v <- (rows$x[, j + 1L] - rows$center[[j + 1L]]) * rows$inv_scale[[j + 1L]]
  } else {
    v <- rows$y - if (is.null(rows$offset)) 0 else rows$offset
    v <- (v - rows$y_center) * rows$y_inv_scale
  }
  if (!is.null(rows$use)) v[!rows$use] <- NaN
  v
}

twin_counts <- function(rows, cells) {
  m <- (cells[[2L]] - cells[[1L]]) * cells[[3L]] * (1 + cells[[4L]]) + 1
  unlist(lapply(rows$which, function(j) {
    as.double(tabulate(twin_octave(twin_column(rows, j), cells), m))
  }))
}

# Words of the generator, as numbers below 2^32.
key_words <- function(key, n) {
  bytes <- matrix(as.integer(.Call(C_chacha_block, key, as.double(4 * n))), 4L)
  colSums(bytes * 256^(0:3))
}

# The permutation of 1, ..., n that a key stands for.
twin_permutation <- function(key, n) {
  words <- key_words(key, 2 * n + 20)
  used <- 0L
  perm <- integer(n)
  for (i in seq_len(n)) {
    repeat {
      used <- used + 1L
      product <- words[[used]] * i
      if (product %% 2^32 >= 2^32 %% i) break
    }
    j <- product %/% 2^32 + 1
    perm[[i]] <- perm[[j]]
    perm[[j]] <- i
  }
  perm
}

twin_pair_counts <- function(rows, cells, perm) {
  m <- (cells[[2L]] - cells[[1L]]) * cells[[3L]] + 1
  h <- seq_len(length(perm) %/% 2L)
  unlist(lapply(rows$which, function(j) {
    v <- twin_column(rows, j)
    as.double(tabulate(twin_octave(abs(v[perm[2L * h - 1L]] - v[perm[2L * h]]), cells), m))
  }))
}

twin_equal <- function(rows, lower, width, m) {
  unlist(lapply(seq_along(rows$which), function(i) {
    v <- twin_column(rows, rows$which[[i]])
    cell <- floor((v - lower[[i]]) / width[[i]])
    as.double(tabulate(pmin(pmax(cell, -1), m) + 2, m + 2))
  }))
}

twin_sums <- function(rows, limit) {
  vapply(seq_len(ncol(rows$x)), function(j) {
    x <- rows$x[, j]
    ok <- !is.na(x) & if (is.null(rows$use)) TRUE else rows$use
    v <- (x[ok] - rows$center[[j]]) * rows$inv_scale[[j]]
    if (limit < Inf) sum(round(pmin(pmax(v, -limit), limit))) else sum(v)
  }, 0)
}

twin_complete <- function(rows) {
  ok <- !is.na(rows$x)
  if (!is.null(rows$use)) ok <- ok & rows$use
  unname(colSums(ok))
}

# Gradient descent without noise.
twin_descent <- function(rows, norm, w, plan) {
  n <- nrow(rows$x)
  path <- matrix(0, length(w), plan$iterations)
  for (t in seq_len(plan$iterations)) {
    if (plan$step > 0) {
      u <- twin_lower(plan$root, twin_gradient_sum(rows, norm, w, plan, plan$bound)) * plan$step
    } else {
      u <- colSums(twin_gradients(rows, norm, w, plan$bound))
      if (!is.null(plan$root)) u <- drop(plan$root %*% u)
    }
    if (!is.null(plan$root)) u <- drop(t(plan$root) %*% u)
    w <- w - plan$eta * u / n
    path[, t] <- w
  }
  path
}

# Draws of the noise that a release with this key adds (if it draws nothing else).
key_noise <- function(law, n, key) {
  .Call(C_draw_noise, law$noise[[1L]] - 1, as.double(law$noise[[2L]]), as.double(n), key)
}

robust_plan <- function(k, law, bound, name, tuning, root = NULL) {
  utils::modifyList(descent_plan(k, law, bound, root),
                    list(loss = name, estimator = "covariate", tuning = tuning))
}

logistic_plan <- function(k, law, bound, root = NULL, iterations = 1) {
  utils::modifyList(descent_plan(k, law, bound, root, iterations),
                    list(loss = "logistic", estimator = "covariate"))
}

binary_rows <- function(n, p, options = list()) {
  rows <- made_up_rows(n, p, options)
  rows$y <- as.double(seq_len(n) %% 2)
  rows$y_center <- 0
  rows$y_inv_scale <- 1
  rows$margin_offset <- 1
  rows
}

# ---- gradients coordinate by coordinate -----------------------------------------

# Catoni and Giulini's function.
twin_phi <- function(t) {
  t <- pmin(pmax(t, -sqrt(2)), sqrt(2))
  t - t^3 / 6
}

# E phi(t (1 + Z / sqrt(beta))) by quadrature, cut where phi has its corners.
twin_phi_smooth <- function(t, beta) {
  vapply(t, function(one) {
    if (one == 0) {
      return(0)
    }
    corners <- (c(-1, 1) * sqrt(2) / one - 1) * sqrt(beta)
    cut <- sort(c(-10, 10, pmin(pmax(corners, -10), 10)))
    f <- function(z) twin_phi(one * (1 + z / sqrt(beta))) * stats::dnorm(z)
    sum(vapply(which(diff(cut) > 0), function(i) {
      stats::integrate(f, cut[[i]], cut[[i + 1L]], rel.tol = 1e-11, abs.tol = 1e-14)$value
    }, 0))
  }, 0)
}

# By the parabola through the value to the left and the next two.
twin_table <- function(t, table) {
  cells <- length(table) - 2
  size <- pmin(abs(t), 1e15)
  v <- size / (1 + size) * cells
  u <- v - floor(v)
  f <- function(shift) table[floor(v) + 1 + shift]
  out <- f(0) + u * (f(1) - f(0) + (u - 1) / 2 * (f(2) - 2 * f(1) + f(0)))
  ifelse(t < 0, -out, out)
}

# g and bound in units of the gradient.
twin_transform <- function(g, rule) {
  b <- rule$bound
  switch(rule$estimator,
    winsorized = pmin(pmax(g, -b), b), truncated = ifelse(abs(g) <= b, g, 0),
    catoni = b * twin_phi(g / b), catoni_smooth = b * twin_table(g / b, rule$table), g
  )
}

twin_psi <- function(eta, y, rule) {
  u <- (eta - y) / if (is.null(rule$tuning)) 1 else rule$tuning
  switch(rule$loss,
    squared = eta - y, logistic = stats::plogis(eta) - pmin(pmax(y, 0), 1),
    huber = pmin(pmax(u, -1), 1), mean = rep(-1, length(y)),
    biweight = ifelse(abs(u) < 1, 25 * sqrt(5) / 16 * u * (1 - u^2)^2, 0)
  )
}

# Design, response and margins that an estimator sees; rows that add zero are NA in eta.
twin_problem <- function(rows, norm, w, rule) {
  in_margin <- isTRUE(rows$margin_offset == 1)
  offset <- if (in_margin && !is.null(rows$offset)) rows$offset else 0
  if (in_margin) rows["offset"] <- list(NULL)
  d <- twin_design(rows)
  if (identical(rule$estimator, "shrunken")) {
    slopes <- setdiff(seq_len(ncol(d$z)), if (rows$intercept != 0) 1L)
    d$z[, slopes] <- pmin(pmax(d$z[, slopes], -rule$bound), rule$bound)
    d$y <- pmin(pmax(d$y, -rule$bound), rule$bound)
  }
  d$z[!is.finite(d$z)] <- 0
  d$eta <- ifelse(norm < Inf, drop(d$z %*% w) + offset, NA)
  d
}

twin_derivatives <- function(d, rule) {
  psi <- if (is.null(rule[["psi"]])) twin_psi(d$eta, d$y, rule) else rule[["psi"]]
  psi[is.na(psi) | is.na(d$eta)] <- 0
  most <- min(if (is.null(rule$psi_bound)) Inf else rule$psi_bound, 1e300)
  pmin(pmax(psi, -most), most)
}

# Contributions of single records, n x k, before rounding.
twin_coordinates <- function(rows, norm, w, rule) {
  d <- twin_problem(rows, norm, w, rule)
  twin_transform(twin_derivatives(d, rule) * d$z, rule)
}

# The sums, or medians of groups, of the records in the view; plain with step = 0.
twin_gradient <- function(rows, norm, w, rule) {
  v <- twin_coordinates(rows, norm, w, rule)
  seen <- if (is.null(rule$index)) seq_len(nrow(v)) else rule$index + 1L
  group <- rule[["group"]]
  weight <- if (is.null(group)) rep(1, nrow(v)) else rule$group_weight[group + 1L]
  v <- v * weight
  if (rule$step > 0) v <- round(pmin(pmax(v / rule$step, -rule$limit), rule$limit))
  v <- v[seen, , drop = FALSE]
  if (is.null(group)) {
    return(colSums(v))
  }
  group <- factor(group[seen], seq_len(rule$groups) - 1L)
  apply(v, 2L, function(column) {
    sums <- sort(vapply(split(column, group), sum, 0), na.last = TRUE)
    middle <- (sums[[(rule$groups + 1) %/% 2]] + sums[[rule$groups %/% 2 + 1]]) / 2
    if (rule$step > 0) floor(middle) else middle
  })
}

# Counts of the sizes of all coordinates of the records that count.
twin_coordinate_counts <- function(rows, norm, w, rule, cells) {
  d <- twin_problem(rows, norm, w, rule)
  seen <- if (is.null(rule$index)) seq_along(d$eta) else rule$index + 1L
  seen <- seen[!is.na(d$eta[seen])]
  g <- (twin_derivatives(d, rule) * d$z)[seen, ]
  tabulate(twin_octave(as.vector(abs(g)), cells), (cells[[2L]] - cells[[1L]]) * cells[[3L]] + 1)
}

# A rule of a gradient release without noise, on a grid of `limit` steps up to the reach.
gradient_rule <- function(estimator, bound, limit = 2e4, ..., beta = 1, psi_bound = Inf) {
  reach <- switch(estimator,
    catoni = bound * CATONI_MOST, catoni_smooth = bound * catoni_reach(beta),
    shrunken = max(bound, 1) * min(psi_bound, 1e3), bound
  )
  out <- list(
    estimator = estimator, bound = bound, step = if (limit > 0) reach / limit else 0,
    limit = max(limit, 1), noise = c(0, 0), psi_bound = psi_bound, ...
  )
  if (estimator == "catoni_smooth") out$table <- catoni_table(beta)
  if (is.null(out$loss) && is.null(out[["psi"]])) out$loss <- "squared"
  out
}

ELEMENTS <- c("winsorized", "truncated", "catoni", "catoni_smooth", "shrunken")

# Unequal random groups of n rows.
made_up_groups <- function(n, groups) {
  more <- sample(groups, n - groups, TRUE, seq_len(groups))
  group <- c(seq_len(groups), more)[sample(n)] - 1L
  size <- tabulate(group + 1L, groups)
  list(group = group, groups = as.double(groups), group_weight = min(size) / size)
}
