# Sizes of columns from noisy counts of octaves: post-processing of released numbers.

# counts: (cell of zero, octaves) x columns, of `total` records each. The 3/4 quantile of the
# sizes that are not zero, per column; NA where nothing is told from noise.
column_sizes <- function(counts, law, total) {
  edges <- octave_edges(octave_cells())
  clean <- apply(counts[-1L, , drop = FALSE], 2L, occupied_cells, law = law)
  size <- log2(apply(clean, 2L, octave_quantile, edges = edges, p = 0.75))
  if (ncol(counts) < POOL_LEAST || law$kind != "gaussian") {
    return(2^size)
  }
  lost <- is.na(size)
  # not a constant, as far as the count of zeros tells
  varies <- counts[1L, ] <= total - 3 * law$sd
  size[lost & varies] <- pooled_size(counts[-1L, lost, drop = FALSE], law, edges)
  2^size
}

# Columns from which on they are read together.
POOL_LEAST <- 4

# One size for columns that are lost one by one, from the sum of their counts; NA if that is
# lost too, or spreads over so many octaves that one size would suit none.
pooled_size <- function(counts, law, edges) {
  if (ncol(counts) == 0L) {
    return(NA_real_)
  }
  all <- occupied_cells(rowSums(counts), list(kind = law$kind, sd = law$sd * sqrt(ncol(counts))))
  q <- vapply(c(0.25, 0.75), function(p) log2(octave_quantile(all, edges, p)), 0)
  if (anyNA(q) || q[[2L]] - q[[1L]] > POOL_SPREAD) NA_real_ else q[[2L]]
}

POOL_SPREAD <- 4
