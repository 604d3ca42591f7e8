# From values (of which the upper tail is meant) and a plan to a quantile and the mean beyond it.
# The charge has been made.

fit_shortfall <- function(x, plan, bound, control) {
  if (plan$kind == "none") {
    return(plain_shortfall(x, plan, bound))
  }
  tail <- if (is.null(bound)) upper_tail(x, plan, control) else
    list(found = TRUE, lower = bound[[1L]], limit = bound[[2L]])
  count <- shortfall_count(x, plan, control)
  q <- if (plan$far) tail$value((1 - plan$level) * count$value) else
    release_quantiles(x, plan$level, (plan$quantile - QUANTILE_SLACK) / 2, tail$lower,
                      tail$limit, release_key(control))
  if (plan$whole) q <- round(q)
  q <- min(max(q, tail$lower), tail$limit)
  range <- tail$limit - q
  excess <- if (range > 0) pmin(pmax(x - q, 0), range) / range else 0 * x
  mean <- mean_of_shares(excess, count$value, plan$cost[["sums"]], plan, control)
  noisy_shortfall(q, range, mean, count, tail, plan)
}

shortfall_count <- function(x, plan, control) {
  if (!plan$na_rm) {
    return(list(value = nrow(x), sd = 0))
  }
  law <- count_law("laplace", nrow(x), plan$cost[["count"]], 1)
  rows <- new_rows(x, threads = control$threads)
  list(value = max(release_complete(rows, law, release_key(control)), 1), sd = law$sd)
}

# The upper side about a private median: its power tail and the value beyond which `rank` records
# are expected.
upper_tail <- function(x, plan, control) {
  octaves <- octaves_about(x, private_centers(x, plan, control), plan, control, fine = TRUE)
  center <- octaves$center[[1L]]
  side <- read_side(octaves, 1L, "upper", POWER_TAILS)
  clean <- clean_counts(octaves, 1L)
  if (is.null(side)) {
    # all others are alike, as far as can be told
    return(list(found = sum(clean) > 0, lower = center, limit = center,
                value = function(k) center))
  }
  at <- octave_at_rank(list(side), plan$rank)
  half <- (length(clean) - 1L) / 2L
  list(
    found = TRUE, lower = center, center = center, side = side, at = at,
    clean = clean[half + 1L + seq_len(half)], limit = min(center + 2^min(at, 1023), 1e308),
    heavy = mixture_below(index_mixture(side), 1) > HEAVY,
    # that beyond which k records are expected
    value = function(k) center + 2^pmin(side_octaves(octaves, 1L, "upper", k), 1023)
  )
}

noisy_shortfall <- function(q, range, mean, count, tail, plan) {
  n <- count$value
  rest <- 1 - plan$level
  value <- min(max(mean$value, 0), 1)
  shape <- if (is.null(tail$side)) NULL else excess_shape(tail, q, range, rest, n)
  # without counts the largest spread of values in [0, 1] with this mean
  spread <- shape$spread %||% sqrt(value * (1 - value))
  slope <- shape$slope %||% NA_real_
  rank <- if (plan$far) shape$rank_sd %||% NA_real_ else 2 * sqrt(2) / plan$quantile
  errors <- rbind(
    VaR = c(sqrt(n * rest * plan$level), rank) * slope,
    ES = c(spread / sqrt(n), hypotenuse(mean$sd, value * count$sd / n)) * range / rest
  )
  colnames(errors) <- c("sampling", "privacy")
  na <- if (tail$found) 1 else NA_real_
  bias <- rbind(VaR = c(lower = 0, upper = 0),
                ES = c(0, if (is.null(shape)) 0 else shape$excess / n / rest))
  list(
    quantile = q * na, shortfall = (q + value * range / rest) * na, limit = tail$limit * na,
    errors = errors * na, bias = bias * na, found = tail$found, heavy = isTRUE(tail$heavy),
    flat = !(tail$limit > tail$lower)
  )
}

# From counts and the fitted tail. spread: standard deviation of an excess over q in ranges; slope:
# change of the quantile per record; excess: what lies beyond the limit, in records times units.
excess_shape <- function(tail, q, range, rest, n) {
  edges <- side_edges(length(tail$clean))
  points <- side_points(tail$clean, tail$side, edges, tail$at)
  z <- pmin(pmax((2^(points$e - tail$at) * ((tail$limit - tail$center) / range) -
                    (q - tail$center) / range), 0), 1)
  mean <- sum(points$w * z) / n
  k <- n * rest
  # an eighth of the records there more and fewer
  near <- tail$value(k * c(9, 7) / 8)
  list(
    spread = sqrt(max(sum(points$w * z^2) / n - mean^2, 0)),
    slope = (near[[2L]] - near[[1L]]) / (k / 4),
    rank_sd = k * min(far_sd(tail$side, k), 1),
    excess = tail_beyond(tail$side, tail$at, 1) * (tail$limit - tail$center)
  )
}

# How well a fitted tail tells the place of rank k, relative to k: as from the noise of some ten
# cells beyond the threshold (see fit_side()), and twice that for the way from there.
far_sd <- function(side, k) {
  beyond <- max(4 * k, TAIL_SEEN * side$sd)
  2 * hypotenuse(side$sd * sqrt(10), sqrt(beyond)) / beyond
}

# epsilon = Inf: the sample's own.
plain_shortfall <- function(x, plan, bound) {
  x <- x[!is.na(x)]
  if (!is.null(bound)) x <- pmin(pmax(x, bound[[1L]]), bound[[2L]])
  n <- length(x)
  rest <- 1 - plan$level
  q <- if (n > 0L) release_quantiles(x, plan$level, Inf) else NA_real_
  e <- pmax(x - q, 0)
  mean <- sum(e) / n
  near <- if (n > 0L) {
    release_quantiles(x, pmin(plan$level + c(-1, 1) * rest / 8, 1), Inf)
  } else {
    c(NA_real_, NA_real_)
  }
  errors <- rbind(VaR = c(sqrt(plan$level * rest / n) * (near[[2L]] - near[[1L]]) / (rest / 4), 0),
                  ES = c(sqrt(sum((e - mean)^2) / n / n) / rest, 0))
  colnames(errors) <- c("sampling", "privacy")
  list(
    quantile = q, shortfall = q + mean / rest, limit = Inf, errors = errors,
    bias = rbind(VaR = c(lower = 0, upper = 0), ES = c(0, 0)), found = TRUE, heavy = FALSE,
    flat = FALSE
  )
}
