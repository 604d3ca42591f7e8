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

descent_plan <- function(k, law, bound, root = NULL, iterations = 1, eta = 1,
                         constraint = no_constraint(), unit = rep(1, k)) {
  c(law[c("noise", "step", "limit")], list(
    bound = bound, iterations = as.double(iterations), eta = eta, root = root,
    constraint = constraint$name, radius = constraint$radius, unit = unit, loss = "squared",
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

# Projected gradient descent without noise.
twin_descent <- function(rows, norm, w, plan) {
  n <- nrow(rows$x)
  path <- matrix(0, length(w), plan$iterations)
  slopes <- seq_along(w) > (rows$intercept != 0)
  for (t in seq_len(plan$iterations)) {
    if (plan$step > 0) {
      u <- twin_lower(plan$root, twin_gradient_sum(rows, norm, w, plan, plan$bound)) * plan$step
    } else {
      u <- colSums(twin_gradients(rows, norm, w, plan$bound))
      if (!is.null(plan$root)) u <- drop(plan$root %*% u)
    }
    if (!is.null(plan$root)) u <- drop(t(plan$root) %*% u)
    w <- w - plan$eta * u / n
    if (plan$constraint == "l2_ball") {
      size <- l2((w * plan$unit)[slopes])
      if (size > plan$radius) w[slopes] <- w[slopes] * plan$radius / size
    }
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
