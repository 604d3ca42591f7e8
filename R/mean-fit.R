# From values and a plan to means. The charge has been made.

fit_mean <- function(x, plan, bound, control) {
  if (plan$kind == "none") {
    fit <- plain_mean(x, plan, bound, control)
  } else {
    limits <- if (is.null(bound)) private_limits(x, plan, control) else public_limits(bound)
    fit <- noisy_mean(x, plan, limits, control)
  }
  name_means(fit, colnames(x))
}

name_means <- function(fit, names) {
  d <- length(fit$coefficients)
  if (is.null(names)) names <- if (d == 1L) "mean" else paste0("x", seq_len(d))
  names(fit$coefficients) <- names(fit$noise_sd) <- names(fit$found) <- names
  dimnames(fit$limits) <- list(names, c("lower", "upper"))
  if (!is.null(fit$errors)) {
    dimnames(fit$errors) <- list(names, c("sampling", "privacy"))
    dimnames(fit$bias) <- list(names, c("lower", "upper"))
  }
  fit
}

public_limits <- function(bound) {
  list(lower = bound[, 1L], upper = bound[, 2L], found = rep(TRUE, nrow(bound)))
}

# A median between many zeros and other numbers is drawn evenly on the log scale: one
# below this stands for zero, and so does one with nearly all counts in the one octave
# of distances that zero has from it.
TINY <- 1e-100

FINE_CELLS <- c(1000, 8000) # standard deviations of the noise in n

octave_of_zero <- function(counts, center) {
  half <- (length(counts) - 1L) / 2L
  sub <- half / (OCTAVES$hi - OCTAVES$lo)
  half + 1L - sign(center) * (floor(sub * (log2(abs(center)) - OCTAVES$lo)) + 1L)
}

stands_for_zero <- function(counts, law, center) {
  if (center == 0) {
    return(FALSE)
  }
  clean <- occupied_cells(counts, law)
  clean[[octave_of_zero(counts, center)]] >= 0.85 * sum(clean) && sum(clean) > 0
}

counts_at_zero <- function(counts, center) {
  from <- octave_of_zero(counts, center)
  zero <- (length(counts) + 1L) / 2L
  counts[[zero]] <- counts[[zero]] + counts[[from]]
  counts[[from]] <- 0
  counts
}

# The median of each column; plan$center is what one of them costs.
private_centers <- function(x, plan, control, slack = QUANTILE_SLACK) {
  c <- (plan$center - slack) / 2
  center <- vapply(seq_len(ncol(x)), function(j) {
    release_quantiles(x[, j], 0.5, c, key = release_key(control))
  }, 0)
  center[abs(center) < TINY] <- 0
  center
}

# Noisy counts of the octaves of distances about the centres, one column each; `fine`: of halves or
# quarters of octaves, where n lets them stand out of the noise. n: the public number of rows, of
# which x may hold a private part.
octaves_about <- function(x, center, plan, control, fine = FALSE, n = nrow(x)) {
  d <- ncol(x)
  law <- count_law(
    plan$kind, n, plan$cost[["tails"]], if (plan$kind == "laplace") 2 * d else sqrt(2 * d)
  )
  rows <- new_rows(x, center = center, which = seq_len(d) - 1, threads = control$threads)
  sub <- if (fine) c(1, 2, 4)[[1L + sum(n >= FINE_CELLS * law$sd)]] else 1
  cells <- octave_cells(sub = sub, signed = TRUE)
  counts <- release_octaves(rows, "columns", cells, law, release_key(control))
  for (j in seq_len(d)) {
    if (stands_for_zero(counts[, j], law, center[[j]])) {
      counts[, j] <- counts_at_zero(counts[, j], center[[j]])
      center[[j]] <- 0
    }
  }
  list(counts = counts, center = center, law = law)
}

private_limits <- function(x, plan, control, center = private_centers(x, plan, control),
                           n = nrow(x)) {
  octaves <- octaves_about(x, center, plan, control, n = n)
  center <- octaves$center
  reach <- vapply(seq_along(center), function(j) {
    tail_limits(octaves$counts[, j], octaves$law, plan$rank, center[[j]])
  }, numeric(5))
  tails <- reach[3:5, , drop = FALSE]
  reach <- reach[1:2, , drop = FALSE]
  found <- !is.na(reach[1L, ])
  reach[, !found] <- 0
  reach[reach < TINY] <- 0
  list(
    center = center, size = tails[3L, ], excess = t(tails[1:2, , drop = FALSE]),
    lower = pmax(center - reach[1L, ], -1e308), upper = pmin(center + reach[2L, ], 1e308),
    found = found
  )
}

# Sums of integers in half-ranges about the middle of the limits.
noisy_mean <- function(x, plan, limits, control) {
  n <- nrow(x)
  d <- ncol(x)
  middle <- limits$lower / 2 + limits$upper / 2
  half <- limits$upper / 2 - limits$lower / 2
  law <- sum_law(plan$kind, n, d, plan$cost[["sums"]])
  inv_step <- ifelse(half > 1e-290, law$limit / half, 0)
  rows <- new_rows(x, center = middle, inv_scale = inv_step, threads = control$threads)
  sums <- release_sums(rows, law, release_key(control))
  count <- rep(n, d)
  counts <- list(sd = 0)
  if (plan$na_rm) {
    counts <- count_law(
      plan$kind, n, plan$cost[["count"]], if (plan$kind == "laplace") d else sqrt(d)
    )
    count <- pmax(release_complete(rows, counts, release_key(control)), 1)
  }
  step <- ifelse(half > 0, half / law$limit, 0)
  value <- middle + sums / count * step
  sd <- 2^law$bits * step / count * if (plan$kind == "laplace") sqrt(2) else 1
  mean <- ifelse(limits$found, pmin(pmax(value, limits$lower), limits$upper), NA_real_)
  spread <- if (is.null(limits$size)) {
    bounded_spread(x, mean, middle, half, count, plan, control)
  } else {
    limits_spread(mean, limits, half, count)
  }
  list(
    coefficients = mean, noise_sd = ifelse(limits$found, sd, NA_real_),
    limits = cbind(limits$lower, limits$upper), found = limits$found,
    count = count, count_sd = rep(counts$sd, d),
    errors = cbind(spread / sqrt(count), hypotenuse(sd, (value - middle) * counts$sd / count)),
    bias = if (is.null(limits$excess)) matrix(0, d, 2L) else limits$excess / count
  )
}

# Without overflow.
hypotenuse <- function(a, b) {
  most <- pmax(abs(a), abs(b))
  ifelse(most > 0, most * sqrt((a / most)^2 + (b / most)^2), most)
}

# Standard deviation of the winsorised values from the counts that gave the limits: that about the
# centre, less the distance of the centre from the mean. The centre is a median, at most a standard
# deviation away, so that half of the square is left at least.
limits_spread <- function(mean, limits, half, count) {
  size <- limits$size / sqrt(count)
  far <- pmin(abs(mean - limits$center) / pmax(size, 1e-300), sqrt(0.5))
  # all values alike, as far as can be told: nothing is known of the others
  ifelse(half > 0, size * sqrt(1 - far^2), NA_real_)
}

# Within public bounds: a private second moment about their middle, if it was paid for, and
# never more than that of two points at the bounds, with this mean (Bhatia and Davis 2000).
bounded_spread <- function(x, mean, middle, half, count, plan, control, n = nrow(x)) {
  at <- (mean - middle) / half
  most <- pmax(1 - at^2, 0) # a mean at a bound may be rounded to beyond it
  if (plan$cost[["variance"]] == 0) {
    return(sqrt(most) * half)
  }
  law <- sum_law(plan$kind, n, ncol(x), plan$cost[["variance"]])
  for (j in seq_len(ncol(x))) x[, j] <- pmin(abs((x[, j] - middle[[j]]) / half[[j]]), 1)^2
  rows <- new_rows(x, center = rep(0.5, ncol(x)), inv_scale = rep(2 * law$limit, ncol(x)),
                   threads = control$threads)
  square <- 0.5 + release_sums(rows, law, release_key(control)) / count / (2 * law$limit)
  sd <- 2^law$bits / (2 * law$limit) / count * if (plan$kind == "laplace") sqrt(2) else 1
  sqrt(pmin(pmax(square - at^2, sd), most)) * half
}

# epsilon = Inf: the same sums without noise; with `bound` the values are clamped.
plain_mean <- function(x, plan, bound, control) {
  d <- ncol(x)
  if (!is.null(bound)) {
    for (j in seq_len(d)) x[, j] <- pmin(pmax(x[, j], bound[j, 1L]), bound[j, 2L])
  }
  rows <- new_rows(x, threads = control$threads)
  plain <- list(limit = Inf, noise = c(0, 0), unit = 1)
  sums <- release_sums(rows, plain)
  count <- if (plan$na_rm) release_complete(rows, plain) else rep(nrow(x), d)
  mean <- sums / count
  spread <- vapply(seq_len(d), function(j) {
    away <- abs(x[, j] - mean[[j]])
    most <- max(away, 0, na.rm = TRUE)
    if (most > 0) most * sqrt(sum((away / most)^2, na.rm = TRUE) / count[[j]]) else 0
  }, 0)
  list(
    coefficients = mean, errors = cbind(spread / sqrt(count), 0), bias = matrix(0, d, 2L),
    noise_sd = rep(0, d), found = rep(TRUE, d), count = count, count_sd = rep(0, d),
    limits = if (is.null(bound)) cbind(rep(-Inf, d), rep(Inf, d)) else bound
  )
}
