# Means by group: from values, groups and a plan to means and sizes. The charge has been made.
#
# A record touches the releases of its own group alone. A replaced row leaves one group and enters
# another, or changes within its own; with sizes private, leaving and entering are new. What each
# release moves by:
#   medians  The rank distance of dph_quantile.h at probability 1/2, max(0, L - m/2, m/2 - U), moves
#            by at most 1 when a record of the group is replaced, and by 1/2 when one comes or goes,
#            for the target m/2 moves too: 2^29 in its integer units, so that a penalty moves by at
#            most ceil(C / 2). Both groups together: log-odds of two outcomes by 2 c + GROUP_SLACK.
#   tails    A record leaves one cell and enters another, of the same table or of two.
#   sums     A value between the limits is shared out between them, as weights are on a lever: it
#            adds u to the upper limit and 1 - u to the lower one, in steps of 1 / limit, rounded,
#            or 1 to a count of what lies beyond. So a row is a vector of integers >= 0 with sum at
#            most limit + 1 among the sums of all groups; the difference of two such vectors p and
#            q is at most 2 (limit + 1) in l1, sqrt(2) (limit + 1) in l2 (p q >= 0).
#            Size = sum of both, mean = their balance.

# Two draws, each of whose log-probabilities moves by c / 2 + 2^-33 for the penalty and 2^-31 for
# the logarithm of a width.
GROUP_SLACK <- 2^-28

# Rows by group, from an index of the rows sorted once. A row of missing values ends each group: it
# adds nothing, and no group is empty.
group_reader <- function(x, by) {
  index <- order(by$code, na.last = NA, method = "radix")
  sizes <- tabulate(by$code, length(by$levels))
  before <- cumsum(as.double(sizes)) - sizes
  function(g) {
    rbind(unname(x[index[before[[g]] + seq_len(sizes[[g]])], , drop = FALSE]), NA_real_)
  }
}

fit_mean_by <- function(x, by, plan, bound, control) {
  rows_of <- group_reader(x, by)
  groups <- seq_along(by$levels)
  if (plan$kind == "none") {
    return(stack_groups(lapply(groups, function(g) plain_group(rows_of(g), plan, bound, control))))
  }
  shared <- NULL
  if (is.null(bound)) {
    if (anyNA(by$code)) x[is.na(by$code), ] <- NA_real_
    middle <- private_centers(x, plan$all, control)
    centers <- lapply(groups, function(g) {
      private_centers(rows_of(g), plan$own, control, GROUP_SLACK)
    })
    shared <- private_limits(x, plan$all, control, middle, plan$n)
  }
  fits <- lapply(groups, function(g) {
    values <- rows_of(g)
    limits <- if (is.null(bound)) {
      or_shared(own_limits(values, centers[[g]], shared, plan, control), shared)
    } else {
      public_limits(bound)
    }
    noisy_group(values, limits, plan, control)
  })
  fit <- stack_groups(fits)
  if (is.null(bound)) with_shared_spread(fit, shared, plan) else fit
}

# One row per group of each vector (one entry per column).
stack_groups <- function(fits) {
  names <- names(fits[[1L]])
  out <- lapply(names, function(name) do.call(rbind, lapply(fits, `[[`, name)))
  stats::setNames(out, names)
}

# A median drawn far from a small group may have all values where zero is, seen from it: it stands
# for zero only if it is next to nothing beside the spread of all rows.
own_limits <- function(x, center, shared, plan, control) {
  own <- private_limits(x, plan$own, control, center, plan$n)
  least <- shared$size / sqrt(plan$n) * 2^-20
  zeroed <- own$center != center & !(abs(center) <= least)
  own$found <- own$found & !(is.na(zeroed) | zeroed)
  own
}

# Where a group has no limits of its own, those of all rows.
or_shared <- function(own, shared) {
  lacking <- !own$found
  for (name in c("lower", "upper", "center", "size")) {
    own[[name]][lacking] <- shared[[name]][lacking]
  }
  own$excess[lacking, ] <- shared$excess[lacking, ]
  own$found <- own$found | shared$found
  own$shared <- lacking
  own
}

# Half the range, and the upper limit with a little more room where limits are equal (`flat`) or
# nearly so: shares need a range.
with_room <- function(limits) {
  limits$flat <- limits$upper <= limits$lower
  least <- pmax(abs(limits$lower) * 2^-29, 1e-280)
  half <- limits$upper / 2 - limits$lower / 2
  narrow <- half < least / 2
  limits$upper[narrow] <- limits$lower[narrow] + least[narrow]
  limits$half <- limits$upper / 2 - limits$lower / 2
  limits
}

# What each value adds: to the upper limit, to the lower one, and, if some limits are those of all
# rows, to the counts of values above and below these instead. n x (k d), k = 2 or 4, each in
# [0, 1]; a missing value is missing, or zero, in all of them.
shared_out <- function(x, limits) {
  k <- split_cells(limits)
  out <- matrix(0, nrow(x), k * ncol(x))
  for (j in seq_len(ncol(x))) {
    v <- x[, j]
    lower <- limits$lower[[j]]
    u <- (pmin(pmax(v, lower), limits$upper[[j]]) / 2 - lower / 2) / limits$half[[j]]
    at <- k * (j - 1L) + seq_len(k)
    out[, at[1:2]] <- c(u, 1 - u)
    if (limits$shared[[j]]) {
      above <- v > limits$upper[[j]]
      below <- v < lower
      out[, at] <- c(out[, at[1:2]] * !(above | below), above, below)
    }
  }
  out
}

split_cells <- function(limits) if (any(limits$shared)) 4L else 2L

noisy_group <- function(x, limits, plan, control) {
  d <- ncol(x)
  if (is.null(limits$shared)) limits$shared <- rep(FALSE, d)
  limits <- with_room(limits)
  k <- split_cells(limits)
  law <- split_law(plan$kind, plan$n, d, plan$cost[["sums"]])
  rows <- new_rows(shared_out(x, limits), inv_scale = rep(law$limit, k * d),
                   threads = control$threads)
  parts <- matrix(release_split(rows, law, release_key(control)) / law$limit, k)
  if (k == 2L) parts <- rbind(parts, 0, 0)
  group_mean(x, parts, limits, law$sd, plan, control)
}

# parts: in records, one column per column of x; sd: of the noise of each part.
group_mean <- function(x, parts, limits, sd, plan, control) {
  counted <- limits$shared
  high <- parts[1L, ] + ifelse(counted, parts[3L, ], 0)
  low <- parts[2L, ] + ifelse(counted, parts[4L, ], 0)
  width <- sd * ifelse(counted, sqrt(2), 1) # of high, and of low
  size <- high + low
  count <- pmax(size, 1)
  share <- pmax(high, 0) / pmax(pmax(high, 0) + pmax(low, 0), 1e-300)
  share[limits$flat] <- 0
  mean <- limits$lower * (1 - share) + limits$upper * share
  half <- ifelse(limits$flat, 0, limits$half)
  noise <- half * (width / count) * 2 * sqrt(share^2 + (1 - share)^2)
  enough <- size >= SIZE_STANDS_OUT * sqrt(2) * width
  inside <- !counted | parts[3L, ] + parts[4L, ] <= OUTSIDE_SHARE * size + 3 * sqrt(2) * sd
  spread <- if (plan$bounded) {
    bounded_spread(x, mean, limits$lower / 2 + limits$upper / 2, limits$half, count, plan,
                   control, plan$n)
  } else {
    limits_spread(mean, limits, half, count)
  }
  bias <- if (plan$bounded) matrix(0, ncol(x), 2L) else limits$excess
  # what is seen beyond the limits is taken to be as far again from them as the mean is
  bias[counted, ] <- (2 * pmax(t(parts[4:3, , drop = FALSE]) - 2 * sd, 0) * cbind(
    mean / 2 - limits$lower / 2, limits$upper / 2 - mean / 2
  ))[counted, ]
  bias <- bias / count
  list(
    coefficients = mean, noise_sd = noise, sizes = size, size_sd = sqrt(2) * width,
    spread = spread, count = count, found = limits$found & enough & inside,
    lower = limits$lower, upper = ifelse(limits$flat, limits$lower, limits$upper),
    shared = counted, bias_lower = bias[, 1L], bias_upper = bias[, 2L]
  )
}

# A size must stand out of its noise by so many standard deviations.
SIZE_STANDS_OUT <- 6
# Where more of a group lies beyond limits that are not its own, they are not for it.
OUTSIDE_SHARE <- 0.1

# The spread of all rows together stands for that of a group without limits of its own; a mean
# whose noise is larger tells nothing.
with_shared_spread <- function(fit, shared, plan) {
  total <- pmax(colSums(fit$sizes), 1)
  spread <- rep(shared$size / sqrt(total), each = nrow(fit$sizes))
  beyond <- rep(shared$excess / total, each = nrow(fit$sizes))
  fit$spread <- ifelse(fit$shared, spread, fit$spread)
  half <- length(fit$spread)
  fit$bias_lower <- fit$bias_lower + ifelse(fit$shared, beyond[seq_len(half)], 0)
  fit$bias_upper <- fit$bias_upper + ifelse(fit$shared, beyond[half + seq_len(half)], 0)
  fit$found <- fit$found & (!fit$shared | !is.na(fit$spread) & fit$noise_sd <= fit$spread)
  fit
}

plain_group <- function(x, plan, bound, control) {
  fit <- plain_mean(x, plan, bound, control)
  d <- ncol(x)
  count <- colSums(!is.na(x))
  list(
    coefficients = fit$coefficients, noise_sd = numeric(d), sizes = count, size_sd = numeric(d),
    spread = fit$errors[, 1L] * sqrt(count), count = count, found = count > 0,
    lower = fit$limits[, 1L], upper = fit$limits[, 2L], shared = rep(FALSE, d),
    bias_lower = numeric(d), bias_upper = numeric(d)
  )
}
