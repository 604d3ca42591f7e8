# One thin function per release: each calls the C entry that adds the noise and
# returns numbers in records or in the caller's grid. `exact = TRUE` (tests only)
# returns the integer statistic instead, as columns hi and lo, with no noise.

# The rows that C walks over. x: a double matrix, or compressed columns (R/compressed.R), from which
# only gradients can be taken, coordinate by coordinate. center and inv_scale: one entry per column
# of x.
# which: columns to count, from 0, ncol(x) standing for the response.
new_rows <- function(x, y = NULL, offset = NULL, use = NULL, center = rep(0, ncol(x)),
                     inv_scale = rep(1, ncol(x)), y_center = 0, y_inv_scale = 1,
                     intercept = FALSE, which = numeric(), threads = 1) {
  list(
    x = x, y = y, offset = offset, use = use, center = as.double(center),
    inv_scale = as.double(inv_scale), y_center = as.double(y_center),
    y_inv_scale = as.double(y_inv_scale), intercept = as.double(intercept),
    which = as.double(which), threads = as.double(threads)
  )
}

release_octaves <- function(rows, what, cells, law, key = NULL, exact = FALSE) {
  out <- .Call(C_count_octaves, rows, what, as.double(cells), law$unit, law$noise, key, exact)
  if (exact) out else matrix(out, ncol = length(rows$which))
}

release_equal_cells <- function(rows, lower, width, m, law, key = NULL, exact = FALSE) {
  out <- .Call(
    C_count_equal, rows, as.double(lower), as.double(width), as.double(m), law$unit, law$noise,
    key, exact
  )
  if (exact) out else matrix(out, ncol = length(rows$which))
}

# Private, not a release: one number per row, for the functions below.
row_norms <- function(rows, root = NULL, with_response = FALSE) {
  if (is_sparse(rows$x)) {
    return(.Call(C_sparse_norms, rows))
  }
  .Call(C_row_norms, rows, root, with_response)
}

# w = NULL: the norms themselves; else the gradients' sizes at w.
release_sizes <- function(rows, norm, w, loss, cells, law, key = NULL, exact = FALSE) {
  .Call(
    C_count_sizes, rows, norm, w, loss, rows$root, as.double(cells), law$unit, law$noise, key, exact
  )
}

# The mean of (1, z, y)(1, z, y)' over the n rows.
release_moments <- function(rows, norm, bound, law, key = NULL, exact = FALSE) {
  packed <- .Call(C_moments, rows, norm, bound, law$step, law$noise, key, exact)
  m <- ncol(rows$x) + rows$intercept + !is.null(rows$y)
  if (exact) packed else unpacked_moments(packed, m, nrow(rows$x), law)
}

# The mean of f^2 (Lz)(Lz)', L the root, f the weight, or what brings the row to length `bound`.
release_weighted_moments <- function(rows, weight, root, bound, law, key = NULL, exact = FALSE) {
  weight <- as.double(weight)
  packed <- .Call(
    C_weighted_moments, rows, weight, root, bound, law$step, law$noise, key, exact
  )
  if (exact) packed else unpacked_moments(packed, nrow(root), nrow(rows$x), law)
}

unpacked_moments <- function(packed, m, n, law) {
  out <- matrix(0, m, m)
  out[upper.tri(out, diag = TRUE)] <- packed
  if (law$step > 0) {
    # off-diagonal entries come in units of step^2 / 11 (dph_moments.h)
    out[upper.tri(out)] <- out[upper.tri(out)] / 11
    out <- out * law$step^2
  }
  out[lower.tri(out)] <- t(out)[lower.tri(out)]
  out / n
}

# Iterates of projected gradient descent, one per column.
release_descent <- function(rows, norm, w, plan, key = NULL, exact = FALSE) {
  .Call(C_pgd, rows, norm, as.double(w), plan, key, exact)
}

# One gradient at w: integers in steps, under the plan's root if it has one; with step = 0 plain
# sums before any root.
release_gradient <- function(rows, norm, w, plan, key = NULL, exact = FALSE) {
  if (is_sparse(rows$x)) {
    return(.Call(C_sparse_gradient, rows, norm, as.double(w), plan, key, exact))
  }
  .Call(C_gradient, rows, norm, as.double(w), plan, key, exact)
}

# Counts of the sizes of gradient coordinates at w, those of all columns together.
release_coordinates <- function(rows, norm, w, plan, cells, law, key = NULL, exact = FALSE) {
  plan$noise <- law$noise
  w <- as.double(w)
  cells <- as.double(cells)
  if (is_sparse(rows$x)) {
    return(.Call(C_sparse_coordinates, rows, norm, w, plan, cells, law$unit, key, exact))
  }
  .Call(C_count_coordinates, rows, norm, w, plan, cells, law$unit, key, exact)
}

# Private, not a release: the linear predictor of every row.
row_margins <- function(rows, norm, w) {
  if (is_sparse(rows$x)) {
    return(.Call(C_sparse_margins, rows, norm, as.double(w)))
  }
  .Call(C_margins, rows, norm, as.double(w))
}

# Not a release: a random order of the rows, which looks at no data.
random_order <- function(n, key = NULL) .Call(C_permutation, as.double(n), key)

# Sums of winsorised columns in steps; with law$limit = Inf plain sums.
release_sums <- function(rows, law, key = NULL, exact = FALSE) {
  .Call(C_column_sums, rows, as.double(law$limit), law$noise, key, exact)
}

# What the values of a group add to its limits (R/mean-by-fit.R): integers from 0 to law$limit.
release_split <- function(rows, law, key = NULL, exact = FALSE) {
  .Call(C_column_sums, rows, as.double(law$limit), law$noise, key, exact)
}

# Counts of the values that are there, per column.
release_complete <- function(rows, law, key = NULL, exact = FALSE) {
  .Call(C_column_complete, rows, law$unit, law$noise, key, exact)
}

# One value per element of probs; each draw costs 2 c + 2^-30.
QUANTILE_SLACK <- 2^-30

release_quantiles <- function(x, probs, c, lower = -Inf, upper = Inf, key = NULL) {
  .Call(
    C_quantile_release, x, as.double(probs), as.double(c), as.double(lower), as.double(upper), key
  )
}
