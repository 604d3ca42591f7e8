# Replace one record by whatever a double can hold: the exact statistic, to which a
# release adds its noise, moves by no more than the noise is calibrated for. All
# differences are exact integers.

# Records of p numbers and a response: special values alone and in mixtures.
wild_records <- function(p, random = 8L) {
  v <- c(SPECIAL, 1e100, -1e100, 1e-100, 1.7e308, 1e153, -3)
  alone <- lapply(v, function(x) rep(x, p + 1L))
  signs <- list(c(rep(1, p), 1e300), c(rep(1, p), -1e300), c(rep(1e150, p), 1), c(rep(1, p), NaN),
                c(rep(1, p), Inf), c(rep(-1, p), 1e300), c(rep(1e-155, p), 1e10))
  mixed <- lapply(seq_len(random), function(i) sample(v, p + 1L, TRUE))
  plain <- lapply(seq_len(random), function(i) stats::rt(p + 1L, 1) * 10^stats::runif(1, -3, 6))
  c(alone, signs, mixed, plain)
}

# Exact statistics of one data set with its record `at` replaced by each of `records`.
replaced <- function(rows, records, at, statistic) {
  p <- ncol(rows$x)
  lapply(records, function(record) {
    rows$x[at, ] <- record[seq_len(p)]
    if (!is.null(rows$y)) rows$y[[at]] <- record[[p + 1L]]
    statistic(rows)
  })
}
