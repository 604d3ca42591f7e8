# From a privacy cost to integers. A statistic is a sum of integers, its noise
# has scale 2^bits, and one record's integer weight is chosen so that its
# sensitivity is at most cost times that scale: exactly, by rounding down.

NOISE_CODE <- c(none = 0, laplace = 1, gaussian = 2)

# Largest bits with unit * n < 2^61 and unit <= 2^50, unit = floor(2^bits * ratio).
grid_bits <- function(n, ratio, most = 40) {
  room <- min(61 - ceiling(log2(n + 1)), 50)
  max(0, min(most, floor(room - log2(ratio))))
}

# Counts: `cost` is mu (gaussian) or epsilon0 (laplace), `sensitivity` in records (l2
# or l1). `sd` is the standard deviation of the noise in records.
count_law <- function(kind, n, cost, sensitivity) {
  if (kind == "none") {
    return(list(kind = kind, noise = c(0, 0), unit = 1, sd = 0, scale = 0,
                sensitivity = sensitivity))
  }
  ratio <- cost / sensitivity
  bits <- grid_bits(n, ratio)
  unit <- min(floor(2^bits * ratio), 2^50, floor(2^61 / (n + 1)))
  if (unit < 1) {
    dp_abort("`epsilon` is too small for this number of rows; give a larger one.")
  }
  scale <- 2^bits / unit
  list(
    kind = kind, noise = c(NOISE_CODE[[kind]], bits), unit = unit, scale = scale,
    sd = scale * if (kind == "laplace") sqrt(2) else 1, sensitivity = sensitivity
  )
}

# Sums of p columns, each entry clamped to +-limit steps.
sum_law <- function(kind, n, p, cost) {
  if (kind == "none") {
    return(list(kind = kind, noise = c(0, 0), limit = Inf, bits = 0))
  }
  ratio <- cost / (2 * if (kind == "laplace") p else sqrt(p))
  bits <- grid_bits(n, ratio)
  limit <- min(floor(2^bits * ratio), 2^50, floor(2^61 / (n + 1)))
  if (limit < 1) {
    dp_abort("`epsilon` is too small for this number of rows and columns; give a larger one.")
  }
  list(kind = kind, noise = c(NOISE_CODE[[kind]], bits), limit = limit, bits = bits)
}

# Clip levels that divide into steps without underflow: a step of 0 stands for plain
# sums (dph_fixed.h), and 1 / step must be finite.
check_level <- function(bound) check_number(bound, "clip level", 1e-100, 1e100)

# Second moments of rows of m entries with norm at most `bound` (dph_moments.h):
# sqrt(2) c^2 <= 2^bits mu, c = bound / step + sqrt(m)/2.
moment_law <- function(n, m, mu, bound) {
  check_level(bound)
  c_most <- sqrt(min(2^41, 2^57 / n))
  bits <- min(40, floor(log2(sqrt(2) * c_most^2 / mu)))
  c_int <- floor(sqrt(2^bits * mu / sqrt(2)))
  if (bits < 0 || c_int <= sqrt(m)) {
    dp_abort("`epsilon` is too small for this number of rows and columns; give a larger one.")
  }
  step <- bound / (c_int - sqrt(m) / 2)
  list(noise = c(NOISE_CODE[["gaussian"]], bits), step = step, sd = 2^bits * step^2 / n)
}

# Clipped gradients of k coordinates under the root L (dph_gradient.h): the released
# integers move by at most 2 (c + (||L|| + 1) sqrt(k)/2) <= 2^bits mu.
gradient_law <- function(n, k, mu, bound, root) {
  check_level(bound)
  big <- if (is.null(root)) 1 else sqrt(sum(root^2))
  inverse <- if (is.null(root)) 1 else sqrt(sum(backsolve(t(root), diag(k))^2))
  stretch <- max(1, inverse)
  room <- min(60 - ceiling(log2(n + 1)), 50) - log2(stretch)
  bits <- max(0, min(40, floor(room + 1 - log2(mu))))
  c_int <- min(floor(2^bits * mu / 2), floor(2^room)) - ceiling((big + 1) * sqrt(k) / 2)
  if (c_int < 2) {
    dp_abort("`epsilon` is too small for this number of rows and columns; give a larger one.")
  }
  list(
    noise = c(NOISE_CODE[["gaussian"]], bits), step = bound / c_int,
    limit = ceiling(c_int * stretch) + k, sd = 2^bits * bound / c_int / n,
    sensitivity = 2 * bound / n
  )
}

# Gradient coordinates within +-reach (dph_gradient.h): k of them, at cost mu or epsilon0.
coordinate_law <- function(kind, n, k, cost, reach) {
  check_level(reach)
  law <- sum_law(kind, n, k, cost)
  law$step <- reach / law$limit
  law$sd <- 2^law$bits * law$step * if (kind == "laplace") sqrt(2) else 1
  law
}

# A root that C can multiply by exactly: multiples of 2^-20.
grid_root <- function(root) round(root * 2^20) / 2^20
