# What noisy counts and a fitted tail say of moments: post-processing.

# The distances that counts stand for, as points e (log2 of the distance) with weights: counts of
# cells up to the threshold, the fitted tail up to `level` (log2), where all beyond it stands.
side_points <- function(clean, side, edges, level) {
  cells <- which(clean > 0 & edges[-1L] <= side$start + 1e-9)
  inner <- (seq_len(8) - 0.5) / 8
  slope <- octave_slopes(clean)$both[cells]
  density <- exp(outer(slope, inner))
  near <- list(
    e = as.vector(edges[cells] + outer(edges[cells + 1L] - edges[cells], inner)),
    w = as.vector(clean[cells] * density / rowSums(density))
  )
  if (level <= side$start) {
    return(list(e = c(pmin(near$e, level), level), w = c(near$w, side$beyond)))
  }
  steps <- seq(side$start, level, length.out = 2 + ceiling(8 * (level - side$start)))
  beyond <- records_beyond(side, steps)
  list(
    e = c(near$e, (steps[-1L] + steps[-length(steps)]) / 2, level),
    w = c(near$w, -diff(beyond), beyond[[length(beyond)]])
  )
}

# Records times (distance^order - level^order) beyond octave `level`, in units of level^order; Inf
# where the tail has no such moment.
tail_beyond <- function(side, level, order) {
  index <- local_index(side, max(level, side$start + 0.1))
  if (index <= order) Inf else records_beyond(side, level) * order / (index - order)
}
