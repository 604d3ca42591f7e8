# From values and a plan to variances. The charge has been made.

fit_var <- function(x, plan, bound, control) {
  if (plan$kind == "none") {
    return(plain_var(x, plan, bound, control))
  }
  if (!is.null(bound)) x <- clamp_columns(x, bound)
  limits <- if (is.null(bound)) tailed_limits(x, plan, control) else public_limits(bound)
  mean <- noisy_mean(x, plan, limits, control)
  reach <- if (is.null(bound)) {
    square_levels(limits, mean$coefficients, plan)
  } else {
    list(level = pmax(bound[, 2L] - mean$coefficients, mean$coefficients - bound[, 1L]))
  }
  level <- ifelse(limits$found & is.finite(reach$level), reach$level, 0)
  squares <- mean_squares(x, mean$coefficients, level, mean$count, plan, control)
  noisy_var(squares, mean, limits, c(list(level = level), reach[-1L]), plan)
}

# Limits of the mean, from noisy counts about a median, with the fitted tails of both sides.
tailed_limits <- function(x, plan, control) {
  octaves <- octaves_about(x, private_centers(x, plan, control), plan, control, fine = TRUE)
  center <- octaves$center
  sides <- lapply(seq_along(center), function(j) both_sides(octaves, j))
  found <- !vapply(sides, is.null, NA)
  reach <- vapply(sides, function(two) {
    vapply(two %||% list(NULL, NULL), function(side) {
      if (is.null(side)) 0 else 2^min(octave_at_rank(list(side), plan$rank), 1023)
    }, 0)
  }, c(0, 0))
  reach[reach < TINY] <- 0
  list(
    octaves = octaves, sides = sides, found = found,
    # errors of the mean are not wanted
    size = 0 * center, excess = matrix(0, length(center), 2L),
    lower = pmax(center - reach[1L, ], -1e308), upper = pmin(center + reach[2L, ], 1e308)
  )
}

# NULL if nothing stands out of the noise, or on one side only (see tail_limits()). Tails of a power
# law, so that nothing is extrapolated that falls faster.
both_sides <- function(octaves, j) {
  clean <- clean_counts(octaves, j)
  edges <- side_edges((length(clean) - 1L) / 2L)
  if (!(sum(clean) > 0) || one_sided(clean, edges, octaves$center[[j]])) {
    return(NULL)
  }
  lapply(c("lower", "upper"), function(tail) read_side(octaves, j, tail, POWER_TAILS))
}

# Distances beyond which `rank` records are expected on both sides together, and what these say of
# the fourth moment and of what lies beyond.
square_levels <- function(limits, mean, plan) {
  out <- vapply(seq_along(mean), function(j) {
    sides <- limits$sides[[j]]
    if (all(vapply(sides, is.null, NA))) {
      # all values alike, as far as can be told
      return(c(level = 0, spread = NA_real_, excess = NA_real_, heavy = 0))
    }
    from_median(limits$octaves, j, sides, plan$second$rank, mean[[j]])
  }, c(level = 0, spread = 0, excess = 0, heavy = 0))
  list(level = out[1L, ], spread = out[2L, ], excess = out[3L, ], heavy = out[4L, ] > 0)
}

HEAVY <- 0.25 # chance of an index of 2 or less that is warned about

# One column. spread: standard deviation of a squared distance over its mean; excess: what lies
# beyond the level, in records times squared levels.
from_median <- function(octaves, j, sides, rank, mean) {
  own <- Filter(Negate(is.null), sides)
  at <- octave_at_rank(own, rank)
  distance <- 2^min(at, 1023)
  level <- min(distance + abs(mean - octaves$center[[j]]), 1e308)
  points <- signed_points(octaves, j, sides, at)
  z <- pmin(abs(octaves$center[[j]] / level + points$x * (distance / level) - mean / level), 1)^2
  total <- sum(points$w)
  square <- sum(points$w * z) / total
  # sides with next to nothing beyond do not tell
  tells <- vapply(own, records_beyond, 0, e = at) >= rank / 5
  c(
    level = level,
    spread = if (square > 0) sqrt(max(sum(points$w * z^2) / total / square^2 - 1, 0)) else NA_real_,
    excess = sum(vapply(own[tells], tail_beyond, 0, level = at, order = 2)),
    heavy = any(vapply(own[tells], function(s) mixture_below(index_mixture(s), 2), 0) > HEAVY)
  )
}

# Distances from the centre in units of 2^at, with sign, and their weights.
signed_points <- function(octaves, j, sides, at) {
  clean <- clean_counts(octaves, j)
  half <- (length(clean) - 1L) / 2L
  edges <- side_edges(half)
  parts <- lapply(which(!vapply(sides, is.null, NA)), function(k) {
    sign <- c(-1, 1)[[k]]
    p <- side_points(clean[half + 1L + sign * seq_len(half)], sides[[k]], edges, at)
    list(x = sign * 2^(p$e - at), w = p$w)
  })
  list(x = c(0, unlist(lapply(parts, `[[`, "x"))),
       w = c(clean[[half + 1L]], unlist(lapply(parts, `[[`, "w"))))
}

# Private means of squared distances, in squared levels, each winsorised at 1.
mean_squares <- function(x, mean, level, count, plan, control) {
  x <- vapply(seq_len(ncol(x)), function(j) {
    if (level[[j]] > 0) pmin(abs(x[, j] / level[[j]] - mean[[j]] / level[[j]]), 1)^2 else x[, j] * 0
  }, numeric(nrow(x)))
  mean_of_shares(x, count, plan$second$cost, plan, control)
}

# Means over `count` records of columns with values in [0, 1], in noise of cost `cost`. What is no
# number counts as 0.
mean_of_shares <- function(x, count, cost, plan, control) {
  x <- matrix(x, ncol = plan$d)
  x[is.na(x)] <- 0
  law <- sum_law(plan$kind, nrow(x), plan$d, cost)
  rows <- new_rows(x, center = rep(0.5, plan$d), inv_scale = rep(2 * law$limit, plan$d),
                   threads = control$threads)
  unit <- 1 / (2 * law$limit) / count
  list(
    value = 0.5 * nrow(x) / count + release_sums(rows, law, release_key(control)) * unit,
    sd = 2^law$bits * unit * if (plan$kind == "laplace") sqrt(2) else 1
  )
}

noisy_var <- function(squares, mean, limits, reach, plan) {
  count <- mean$count
  level2 <- reach$level^2 # Inf where a variance is no double
  value <- pmin(pmax(squares$value, 0), 1)
  noise2 <- ifelse(reach$level > 0 & is.finite(mean$noise_sd), (mean$noise_sd / reach$level)^2, 0)
  free <- pmax(value - noise2, 0) * count / pmax(count - 1, 1)
  found <- limits$found
  # without counts the largest spread of values in [0, 1] with this mean
  spread <- if (is.null(reach$spread)) {
    sqrt(value * (1 - value))
  } else {
    reach$spread * free
  }
  privacy <- hypotenuse(hypotenuse(squares$sd, sqrt(2) * noise2), value * mean$count_sd / count)
  na <- ifelse(found, 1, NA_real_)
  list(
    coefficients = ifelse(free > 0, free * level2, 0) * na, mean = mean$coefficients, found = found,
    noise_sd = squares$sd * level2 * na, level = reach$level * na,
    limits = cbind(limits$lower, limits$upper),
    errors = cbind(spread / sqrt(count), privacy) * level2 * na,
    bias = cbind(0, if (is.null(reach$excess)) 0 * value else reach$excess / count * level2) * na,
    heavy = if (is.null(reach$heavy)) rep(FALSE, plan$d) else reach$heavy & found
  )
}

clamp_columns <- function(x, bound) {
  for (j in seq_len(ncol(x))) x[, j] <- pmin(pmax(x[, j], bound[j, 1L]), bound[j, 2L])
  x
}

# epsilon = Inf: plain sums; with `bound` of clamped values.
plain_var <- function(x, plan, bound, control) {
  mean <- plain_mean(x, plan, bound, control)
  d <- ncol(x)
  if (!is.null(bound)) x <- clamp_columns(x, bound)
  out <- vapply(seq_len(d), function(j) {
    away <- abs(x[, j] - mean$coefficients[[j]])
    away <- away[!is.na(away)]
    most <- max(away, 0)
    if (!(most > 0) || is.infinite(most)) {
      return(c(if (length(away) < 2L) NA_real_ else most, 0))
    }
    z <- (away / most)^2
    c(sum(z) / (length(z) - 1), sqrt(mean((z - mean(z))^2) / length(z))) * most^2
  }, c(0, 0))
  list(
    coefficients = out[1L, ], mean = mean$coefficients, found = mean$found, noise_sd = rep(0, d),
    level = rep(Inf, d), limits = mean$limits, errors = cbind(out[2L, ], 0),
    bias = matrix(0, d, 2L), heavy = rep(FALSE, d)
  )
}

name_variances <- function(fit, names) {
  for (part in c("coefficients", "mean", "found", "noise_sd", "level", "heavy")) {
    names(fit[[part]]) <- names
  }
  dimnames(fit$limits) <- dimnames(fit$bias) <- list(names, c("lower", "upper"))
  dimnames(fit$errors) <- list(names, c("sampling", "privacy"))
  fit
}
