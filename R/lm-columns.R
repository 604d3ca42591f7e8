# Centre and scale of the columns and of the response, found privately. All that
# is read here are noisy counts: what is returned is post-processing of them.

# schema columns known to lie in [0, 1] cost nothing: centre 0, scale 1.
#
# scale    from the sizes of differences over random pairs (R/lm-pool.R): about one standard
#          deviation for a bell-shaped column; zero differences left out, so that rare
#          categories keep a scale
# center   median of equal cells at that scale
# ties     a lower bound, from noisy counts, on the share of pairs that are equal
# A column whose differences, or whose location, cannot be told from noise gets found
# = FALSE. part: "" for columns of x, "_y" for the response.
tune_columns <- function(rows, plan, n, known, control, part = "") {
  tuned <- length(rows$which)
  law <- function(name) {
    count_law(plan$kind, n, stage_cost(plan, paste0(name, part)), sqrt(2 * tuned))
  }
  laws <- list(pairs = law("pairs"), exponents = law("exponents"), location = law("location"))

  pairs <- release_octaves(rows, "pairs", octave_cells(), laws$pairs, release_key(control))
  scale <- column_sizes(pairs, laws$pairs, n / 2) / 1.4
  scale <- ifelse(is.na(known$scale), scale, known$scale)

  signed <- octave_cells(signed = TRUE)
  edges <- octave_edges(octave_cells())
  exponents <- release_octaves(rows, "columns", signed, laws$exponents, release_key(control))
  rough <- lapply(seq_len(tuned), function(j) {
    rough_interval(exponents[, j], laws$exponents, edges)
  })
  center <- locate(rows, rough, scale, laws$location, control)
  center <- ifelse(is.na(known$center), center, known$center)
  found <- is.finite(scale) & is.finite(1 / scale) & is.finite(center)
  ties <- (pairs[1L, ] - 4 * laws$pairs$sd) / floor(n / 2)
  # a column without a scale may still have a place: a constant
  list(
    center = ifelse(is.finite(center), center, 0), scale = ifelse(found, scale, 1),
    found = found, ties = ties
  )
}

# Sizes about zero, of columns that are not shifted.
size_columns <- function(rows, plan, n, control) {
  law <- count_law(plan$kind, n, stage_cost(plan, "sizes"), sqrt(2 * length(rows$which)))
  counts <- release_octaves(rows, "columns", octave_cells(), law, release_key(control))
  scale <- column_sizes(counts, law, n) / 1.15
  found <- is.finite(scale) & is.finite(1 / scale)
  list(center = rep(0, length(scale)), scale = ifelse(found, scale, 1), found = found)
}

# The cell [lower, upper] about zero that holds the median, from signed counts.
rough_interval <- function(counts, law, edges) {
  clean <- occupied_cells(counts, law)
  if (sum(clean) <= 0) {
    return(c(0, 0))
  }
  half <- length(edges) - 1L
  k <- which(cumsum(clean) >= sum(clean) / 2)[[1L]] - (half + 1L)
  ends <- 2^edges
  if (k == 0L) {
    c(0, 0)
  } else if (k > 0L) {
    ends[c(k, k + 1L)]
  } else {
    -ends[c(1L - k, -k)]
  }
}

# Medians at the resolution of half a scale; where an interval is far wider than
# the scale, with up to 2^20 cells (fewer where there are many columns).
locate <- function(rows, rough, scale, law, control) {
  tuned <- length(rough)
  most <- max(256, min(2^20, floor(2^24 / max(1, tuned))))
  grids <- lapply(seq_len(tuned), function(j) location_grid(rough[[j]], scale[[j]], most))
  m <- max(vapply(grids, `[[`, 0, "m"))
  lower <- vapply(grids, `[[`, 0, "lower")
  width <- vapply(grids, `[[`, 0, "width")
  counts <- release_equal_cells(rows, lower, width, m, law, release_key(control))
  vapply(seq_len(tuned), function(j) {
    if (is.na(scale[[j]]) && all(rough[[j]] == 0)) {
      return(0) # zeros, or nothing
    }
    cell_median(occupied_cells(counts[, j], law), lower[[j]], width[[j]])
  }, 0)
}

# The median of counts in equal cells; NA if it lies in none of them, but
# beyond the ends.
cell_median <- function(counts, lower, width) {
  if (sum(counts) <= 0) {
    return(NA_real_)
  }
  cum <- cumsum(counts) / sum(counts)
  k <- which(cum >= 0.5)[[1L]]
  if (k == 1L || k == length(counts)) {
    return(NA_real_)
  }
  before <- cum[[k - 1L]]
  lower + (k - 2 + (0.5 - before) / (cum[[k]] - before)) * width
}

location_grid <- function(rough, scale, most) {
  span <- rough[[2L]] - rough[[1L]]
  if (!is.finite(scale) || scale <= 0) {
    return(list(lower = rough[[1L]], width = if (span > 0) span / 4096 else 1, m = 4096))
  }
  m <- 64
  if (span > 16 * scale) {
    m <- min(most, ceiling(2 * span / scale) + 64)
  }
  width <- max(scale / 2, span / (m - 32))
  list(lower = mean(rough) - width * m / 2, width = width, m = m)
}
