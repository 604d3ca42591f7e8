# Winsorising limits from noisy counts of octaves about a centre: post-processing.

# Where the expected number of records beyond a limit is `rank`, moving the limit
# trades bias against noise one for one. That rank is far below what the noise lets
# one read off the counts, so the tail is followed down to it by a power law that is
# fitted to the counts from where some 8 standard deviations are left. An index below
# 1.4, at which there is hardly a mean, is not believed.
TAIL_START <- 8
TAIL_CELLS <- 14L
TAIL_PRIOR <- 0.7 # standard deviation of log(index / 2)
SPREAD_INDEX <- 2.5 # variances are for tails as they are, limits for heavy ones
TAIL_INDEX <- c(seq(1.4, 4, by = 0.1), seq(4.5, 16, by = 0.5))

# Distances of the lower and the upper limit from the centre (reach), the records times distance
# that lie beyond each (excess) and the root of the sum of squared distances, winsorised (size);
# NA if nothing stands out of the noise, or if what does lies on one side of the centre, which then
# is not the median of anything. Values as near to the centre as its own precision
# (2^-32) are on neither side: most rows may share one value.
tail_limits <- function(counts, law, rank, center) {
  clean <- occupied_cells(counts, law)
  if (one_sided(clean, octave_edges(octave_cells()), center)) {
    return(c(reach = c(NA_real_, NA_real_), excess = c(NA_real_, NA_real_), size = NA_real_))
  }
  sides <- tail_sides(counts, clean, law, rank)
  sizes <- sides$sizes
  largest <- max(sizes)
  c(
    reach = sides$reach, excess = sides$excess,
    size = if (largest > 0) largest * sqrt(sum((sizes / largest)^2)) else 0
  )
}

one_sided <- function(clean, edges, center) {
  half <- (length(clean) - 1L) / 2L
  away <- 2^edges[seq_len(half)] >= max(abs(center) * 2^-30, 2^-1060)
  of <- function(sign) sum(clean[half + 1L + sign * seq_len(half)][away])
  max(of(1), of(-1)) >= 0.9 * sum(clean)
}

# Per side: the limit's distance, records times distance beyond it, the root of the sum of squared
# winsorised distances.
tail_sides <- function(counts, clean, law, rank) {
  half <- (length(counts) - 1L) / 2L
  edges <- octave_edges(octave_cells())
  at <- list(half + 1L - seq_len(half), half + 1L + seq_len(half))
  sides <- lapply(at, function(own) one_tail(counts[own], clean[own], law, rank, edges))
  list(
    reach = vapply(sides, `[[`, 0, "reach"), excess = vapply(sides, tail_excess, 0),
    sizes = vapply(1:2, function(i) side_size(clean[at[[i]]], sides[[i]], edges), 0)
  )
}

# The distance at which about `rank` records of this side are expected to lie beyond, and the
# tail from the octave `base` on: size 2^(-index j) records beyond j octaves more.
one_tail <- function(counts, clean, law, rank, edges) {
  beyond <- rev(cumsum(rev(clean)))
  total <- beyond[[1L]]
  if (!(total > 0)) {
    return(list(reach = 0))
  }
  base <- max(which(beyond >= min(max(TAIL_START * law$sd, 50), total / 2)))
  cells <- base + seq_len(min(TAIL_CELLS, length(counts) - base + 1L)) - 1L
  fit <- fit_tail(counts[cells], law$sd)
  octaves <- min(log2(max(fit$size / rank, 1)) / fit$index, 1023 - edges[[base]])
  c(fit, list(
    reach = 2^(edges[[base]] + octaves), base = base, octaves = octaves,
    spread = fit_tail(counts[cells], law$sd, SPREAD_INDEX)
  ))
}

# Records times distance beyond the limit.
tail_excess <- function(tail) {
  if (tail$reach == 0) {
    return(0)
  }
  tail$reach * tail$size * 2^(-tail$index * tail$octaves) / (tail$index - 1)
}

# The root of the sum of squared distances, those beyond the limit counting as the limit: counts
# up to the octave `base`, the fitted tail from the next one on. In units of the reach, so that
# nothing overflows.
side_size <- function(clean, tail, edges) {
  if (tail$reach == 0) {
    return(0)
  }
  below <- seq_len(tail$base - 1L)
  depth <- edges[[tail$base]] + tail$octaves - edges[below]
  slope <- octave_slopes(clean)
  sum <- sum(clean[below] * octave_square(slope$both[below], 1) * 4^-depth)
  beyond <- if (tail$octaves > 1) 2^-tail$spread$index else 0
  own <- slope$lower[[tail$base]]
  if (own < 0) own <- (own - min(tail$spread$index * log(2), 4)) / 2
  first <- octave_square(own, min(tail$octaves, 1)) * 4^-tail$octaves
  a <- 2 - tail$spread$index
  growth <- max(tail$octaves - 1, 0) * log(2)
  rest <- (1 + if (abs(a) < 1e-6) 2 * growth else 2 * expm1(a * growth) / a) * 4^(1 - tail$octaves)
  tail$reach * sqrt(sum + tail$spread$size * ((1 - beyond) * first + beyond * rest))
}

# Within an octave log2 of the distance is taken to have a density exp(slope s). The slope: from
# the counts of the octaves on both sides. Where the next holds the last few a slope that falls
# is the mean of that from the octave below and the tail's; one that rises ends at a limit of the
# data, and distances themselves hardly have a rising density.
octave_slopes <- function(counts) {
  m <- length(counts)
  next_one <- log((c(counts[-1L], 0) + 1) / (counts + 1))
  last_one <- log((counts + 1) / (c(0, counts[-m]) + 1))
  list(
    both = pmin(pmax((next_one + last_one) / 2, -4), 4), lower = pmin(pmax(last_one, -4), log(2))
  )
}

# Mean square of a distance from 1 to 2 that counts as 2^top where it is larger.
octave_square <- function(slope, top) {
  up_to <- function(rate, s) ifelse(abs(rate) < 1e-6, s, expm1(rate * s) / rate)
  all <- up_to(slope, 1)
  (up_to(slope + log(4), top) + 4^top * (all - up_to(slope, top))) / all
}

# Weighted least squares, the index drawn towards 2, for counts
# size 2^(-index j) (1 - 2^-index) in octaves j = 0, 1, ...
fit_tail <- function(counts, sd, prior = 2) {
  j <- seq_along(counts) - 1
  weight <- 1 / (sd^2 + pmax(counts, 1))
  fits <- vapply(TAIL_INDEX, function(a) {
    p <- 2^(-a * j) * (1 - 2^(-a))
    size <- max(sum(weight * counts * p) / sum(weight * p^2), 1)
    c(size, sum(weight * (counts - size * p)^2) + (log(a / prior) / TAIL_PRIOR)^2)
  }, c(0, 0))
  best <- which.min(fits[2L, ])
  list(index = TAIL_INDEX[[best]], size = fits[1L, best])
}
