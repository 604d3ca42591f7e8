# Rough scales and centres of many columns at little cost, for choosing among them; those that are
# chosen are measured well later. All columns together are one release of sizes and one of sums.

# Octaves of a column's sizes: as many neighbouring ones as hold most of it.
SIZE_WINDOW <- 3

rough_columns <- function(columns, problem, schema, plan, known, control) {
  which <- which(is.na(known$scale) | is.na(known$center))
  which <- which[which <= plan$p]
  problem <- one_each(problem)
  rows <- new_rows(problem$x, problem$y, problem$offset, problem$use,
                   intercept = schema$intercept, which = which - 1, threads = control$threads)
  law <- count_law("gaussian", schema$n, plan$cost[["sizes"]], sqrt(2 * length(which)))
  counts <- release_octaves(rows, "columns", octave_cells(), law, release_key(control))
  scale <- rough_scales(counts[-1L, , drop = FALSE], law$sd)
  columns$scale[which] <- ifelse(is.na(known$scale[which]), scale, known$scale[which])
  if (plan$cost[["centers"]] > 0) {
    center <- rough_centers(problem, columns, which, plan, control)
    columns$center[which] <- ifelse(is.na(known$center[which]), center, known$center[which])
  }
  columns
}

# counts: octaves x columns. The window of octaves with the largest count, if it stands out of the
# noise of all windows; else among those where the columns together are; else, for columns lost in
# the noise, that of all columns, or 1. About one standard deviation for a bell-shaped column.
rough_scales <- function(counts, sd) {
  last <- nrow(counts) - SIZE_WINDOW + 1L
  windows <- Reduce(`+`, lapply(seq_len(SIZE_WINDOW) - 1L, function(i) {
    counts[seq_len(last) + i, , drop = FALSE]
  }))
  sd_window <- sd * sqrt(SIZE_WINDOW)
  best <- largest_window(windows, sd_window, 0.05 / ncol(counts))
  all <- occupied_cells(rowSums(counts), list(kind = "gaussian", sd = sd * sqrt(ncol(counts))))
  if (any(all > 0)) {
    there <- range(which(all > 0)) + c(1L - SIZE_WINDOW, 0L)
    there <- seq(max(1L, there[[1L]]), min(last, there[[2L]]))
    common <- windows[there, , drop = FALSE]
    best <- ifelse(is.na(best), there[largest_window(common, sd_window, 1)], best)
    best[is.na(best)] <- there[[which.max(rowSums(common))]]
  } else {
    # nothing in common: noise that is taken for a scale would be any number at all
    best <- largest_window(windows, sd_window, 0.5 / ncol(counts))
    best[is.na(best)] <- as.integer(stats::median(best, na.rm = TRUE))
  }
  scale <- 2^octave_edges(octave_cells())[best + SIZE_WINDOW - 1L]
  ifelse(is.finite(scale) & is.finite(1 / scale), scale, 1)
}

# Per column; NA where noise alone has one as large with about this probability, or more.
largest_window <- function(windows, sd, chance) {
  best <- max.col(t(windows), ties.method = "first")
  most <- windows[cbind(best, seq_len(ncol(windows)))]
  least <- sd * sqrt(2 * log(max(1, nrow(windows) / chance)))
  ifelse(most > least, best, NA_integer_)
}

# Means of values within CENTER_LEVEL scales of zero; zero where noise may be all of it.
rough_centers <- function(problem, columns, which, plan, control) {
  law <- sum_law("gaussian", nrow(problem$x), length(which), plan$cost[["centers"]])
  step <- columns$scale[which] * (CENTER_LEVEL / law$limit)
  x <- if (length(which) < plan$p) problem$x[, which, drop = FALSE] else problem$x
  # no step that is so small that it has no inverse
  rows <- new_rows(x, use = problem$use, inv_scale = ifelse(step > 1e-300, 1 / step, 0),
                   threads = control$threads)
  sums <- release_sums(rows, law, release_key(control))
  noise <- 2^law$bits
  finite_or_zero(ifelse(abs(sums) > 2.5 * noise, sums, 0) * step / nrow(problem$x))
}

# The median over rows of the root mean square of a row's entries, zeros among them: one number per
# row, a function of that row. 1 where it cannot be told from noise.
common_scale <- function(problem, n, plan, control) {
  sizes <- row_sizes(problem$x)
  if (!is.null(problem$use)) sizes[!problem$use] <- NaN
  law <- count_law("gaussian", n, plan$cost[["common"]], sqrt(2))
  rows <- new_rows(matrix(sizes), which = 0)
  counts <- release_octaves(rows, "columns", octave_cells(), law, release_key(control))[-1L, 1L]
  scale <- octave_quantile(occupied_cells(counts, law), octave_edges(octave_cells()), 0.5)
  if (is.na(scale) || !is.finite(1 / scale)) 1 else scale
}

row_sizes <- function(x) {
  out <- numeric(nrow(x))
  if (length(x$x) > 0L) {
    squares <- rowsum(x$x^2, x$i, reorder = FALSE)
    out[as.integer(rownames(squares)) + 1L] <- sqrt(squares / ncol(x))
  }
  out
}

# epsilon = Inf: means and standard deviations, column by column; compressed columns as they come.
plain_columns <- function(problem, schema, plan, known, control) {
  p <- plan$p
  columns <- fw_columns(problem, schema, list(private = FALSE, centred = TRUE), known, control)
  columns$later <- list(center = known$center, scale = known$scale)
  if (!is_sparse(problem$x)) {
    rows <- if (is.null(problem$use)) rep(TRUE, nrow(problem$x)) else problem$use
    for (j in which(is.na(known$center[seq_len(p)]) | is.na(known$scale[seq_len(p)]))) {
      v <- problem$x[rows, j]
      v <- v[is.finite(v)]
      center <- if (schema$intercept && length(v) > 0L) mean(v) else 0
      if (is.na(known$center[[j]])) columns$center[[j]] <- center
      size <- if (length(v) > 0L) sqrt(mean((v - columns$center[[j]])^2)) else 0
      flat <- !(size > 1e-12 * abs(columns$center[[j]]))
      if (is.na(known$scale[[j]])) columns$scale[[j]] <- if (flat) 1 else size
    }
  }
  response <- p + 1L
  columns$later$center[[response]] <- columns$center[[response]]
  columns$later$scale[[response]] <- columns$scale[[response]]
  columns$found <- rep(TRUE, response)
  columns
}
