# Winsorising limits from noisy counts of octaves about a centre: post-processing.

# Where the expected number of records beyond a limit is `rank`, moving the limit
# trades bias against noise one for one. That rank is far below what the noise lets
# one read off the counts, so the tail is followed down to it by a power law that is
# fitted to the counts from where some 8 standard deviations are left. An index below
# 1.4, at which there is hardly a mean, is not believed.
TAIL_START <- 8
TAIL_CELLS <- 14L
TAIL_PRIOR <- 0.7 # standard deviation of log(index / 2)
TAIL_INDEX <- c(seq(1.4, 4, by = 0.1), seq(4.5, 16, by = 0.5))

# Distances of the lower and the upper limit from the centre; NA if nothing
# stands out of the noise, or if what does lies on one side of the centre, which then
# is not the median of anything. Values as near to the centre as its own precision
# (2^-32) are on neither side: most rows may share one value.
tail_limits <- function(counts, law, rank, center) {
  half <- (length(counts) - 1L) / 2L
  clean <- occupied_cells(counts, law)
  edges <- octave_edges(octave_cells())
  upper <- half + 1L + seq_len(half)
  lower <- half + 1L - seq_len(half)
  away <- 2^edges[seq_len(half)] >= max(abs(center) * 2^-30, 2^-1060)
  if (max(sum(clean[upper][away]), sum(clean[lower][away])) >= 0.9 * sum(clean)) {
    return(c(NA_real_, NA_real_))
  }
  c(
    one_tail(counts[lower], clean[lower], law, rank, edges),
    one_tail(counts[upper], clean[upper], law, rank, edges)
  )
}

# Distance at which about `rank` records of this side are expected to lie beyond.
one_tail <- function(counts, clean, law, rank, edges) {
  beyond <- rev(cumsum(rev(clean)))
  total <- beyond[[1L]]
  if (!(total > 0)) {
    return(0)
  }
  base <- max(which(beyond >= min(max(TAIL_START * law$sd, 50), total / 2)))
  cells <- base + seq_len(min(TAIL_CELLS, length(counts) - base + 1L)) - 1L
  fit <- fit_tail(counts[cells], law$sd)
  2^min(edges[[base]] + log2(max(fit$size / rank, 1)) / fit$index, 1023)
}

# Weighted least squares, the index drawn towards 2, for counts
# size 2^(-index j) (1 - 2^-index) in octaves j = 0, 1, ...
fit_tail <- function(counts, sd) {
  j <- seq_along(counts) - 1
  weight <- 1 / (sd^2 + pmax(counts, 1))
  fits <- vapply(TAIL_INDEX, function(a) {
    p <- 2^(-a * j) * (1 - 2^(-a))
    size <- max(sum(weight * counts * p) / sum(weight * p^2), 1)
    c(size, sum(weight * (counts - size * p)^2) + (log(a / 2) / TAIL_PRIOR)^2)
  }, c(0, 0))
  best <- which.min(fits[2L, ])
  list(index = TAIL_INDEX[[best]], size = fits[1L, best])
}
