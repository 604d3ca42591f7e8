# Reading noisy counts in binary octaves: post-processing of released numbers.

OCTAVES <- list(lo = -1074, hi = 1024)

octave_cells <- function(lo = OCTAVES$lo, hi = OCTAVES$hi, sub = 1, signed = FALSE) {
  c(lo, hi, sub, signed)
}

# Edges of the unsigned cells that follow the cell of zero: cells + 1 numbers.
octave_edges <- function(cells) {
  cells[[1L]] + seq.int(0, (cells[[2L]] - cells[[1L]]) * cells[[3L]]) / cells[[3L]]
}

# Chance, over all cells of one reading, that noise alone is taken for data.
FALSE_CELL <- 1e-6

noise_threshold <- function(law, m, width = 1) {
  if (law$kind == "none") {
    return(0.5)
  }
  if (law$kind == "laplace") {
    law$scale * (log(m / FALSE_CELL) + if (width > 1) 1.5 * width else 0)
  } else {
    law$sd * sqrt(2 * log(m / FALSE_CELL)) * sqrt(width)
  }
}

# Widths of the windows in which cells may pass the threshold together.
WINDOWS <- c(1L, 3L, 6L)

# Counts with the cells that noise may explain set to zero. A cell stays if a
# window of cells around it passes the threshold of its width, or if it joins such
# cells and exceeds two standard deviations.
occupied_cells <- function(counts, law) {
  m <- length(counts)
  if (law$kind == "none") {
    return(pmax(counts, 0))
  }
  keep <- rep(FALSE, m)
  total <- c(0, cumsum(counts))
  for (width in WINDOWS[WINDOWS <= m]) {
    start <- seq_len(m - width + 1L)
    hit <- start[total[start + width] - total[start] >= noise_threshold(law, m, width)]
    keep[unique(as.vector(outer(hit, seq_len(width) - 1L, `+`)))] <- TRUE
  }
  keep <- grow(keep, counts >= 2 * law$sd)
  ifelse(keep, pmax(counts, 0), 0)
}

# Extends runs of TRUE over neighbours that are `eligible`.
grow <- function(keep, eligible) {
  repeat {
    m <- length(keep)
    wider <- keep | (eligible & (c(FALSE, keep[-m]) | c(keep[-1L], FALSE)))
    if (identical(wider, keep)) {
      return(keep)
    }
    keep <- wider
  }
}

# The p-quantile of cleaned counts over cells with these log2 edges, log-linear
# within a cell; NA if nothing is left.
octave_quantile <- function(counts, edges, p) {
  total <- sum(counts)
  if (!(total > 0)) {
    return(NA_real_)
  }
  cum <- cumsum(counts) / total
  k <- which(cum >= p - 1e-12)[[1L]]
  before <- if (k > 1L) cum[[k - 1L]] else 0
  part <- if (cum[[k]] > before) (p - before) / (cum[[k]] - before) else 0.5
  2^(edges[[k]] + part * (edges[[k + 1L]] - edges[[k]]))
}
