# The plan of private means by group: from n, the number of columns and of groups, and the budget.
# A replaced row leaves one group and enters another (or stays), so that every release below costs
# what it costs for one group, whatever the number of groups: R/mean-by-fit.R. Parts:
#   all_center, all_tails  limits from all rows together, for groups too small for their own
#   center, tails          the median and the octaves of each group: its own limits
#   sums                   what the values of a group add to either limit: its size and mean
#   variance               second moments, where bounds are public and intervals asked for

plan_mean_by <- function(n, d, groups, epsilon, delta, bounded, budget, interval = FALSE) {
  size <- list(n = n, d = d, groups = groups, bounded = bounded, paid = bounded && interval)
  if (epsilon == Inf && is.null(budget)) {
    return(c(list(kind = "none", na_rm = TRUE, events = list()), size))
  }
  plans <- list(laplace = function() {
    by_plan("laplace", ledger_allowance(budget, epsilon, delta, "pure")$epsilon, size)
  })
  if (delta > 0) {
    plans$gaussian <- function() {
      mu <- if (bounded) ledger_allowance(budget, epsilon, delta, "gaussian")$mu else
        sqrt(2 * ledger_allowance(budget, epsilon, delta, "mixed")$rho)
      by_plan("gaussian", mu, size)
    }
  }
  best <- least_noise(plans)
  if (best$kind == "laplace" || bounded || !is.null(budget)) {
    return(best)
  }
  # as stretch_plan() does
  longer <- function(by) new_by_plan("gaussian", best$cost * by, size)
  longer(largest_cost(1, delta, function(by) {
    total_delta(compose_events(longer(by)$events, ordered = TRUE), epsilon)
  }))
}

# total: epsilon, or mu.
by_plan <- function(kind, total, size) {
  shares <- by_shares(kind, size$n * total / change_of(kind, size$d), size)
  new_by_plan(kind, total * if (kind == "laplace") shares else sqrt(shares), size)
}

# Shares of epsilon, or of mu^2, which medians and tails of that many rows (in units of 1 / epsilon
# or 1 / mu) need, as in mean_shares() and gaussian_shares().
group_needs <- function(kind, rows) {
  if (kind == "laplace") c(140, 300) / rows else c(70^2, 2 * 45^2) / rows^2
}

# Groups below the average size need not find limits of their own: those of all rows serve.
by_shares <- function(kind, rows, size) {
  variance <- if (size$paid) VARIANCE_SHARE else 0
  if (size$bounded) {
    return(c(all_center = 0, all_tails = 0, center = 0, tails = 0, variance = variance,
             sums = 1 - variance))
  }
  all <- pmax(1.25 * group_needs(kind, rows), c(0.005, 0.02))
  own <- pmin(pmax(group_needs(kind, rows / size$groups), c(0.05, 0.12)), c(0.1, 0.2))
  if (sum(all, own) > 0.8) {
    factor <- sum(all) / (0.8 - sum(own))
    abort_few_rows(size$n, size$n * if (kind == "laplace") factor else sqrt(factor))
  }
  c(all_center = all[[1L]], all_tails = all[[2L]], center = own[[1L]], tails = own[[2L]],
    variance = 0, sums = 1 - sum(all, own))
}

# `noise`: standard deviation of a mean's noise in ranges / size where the mean lies at one of the
# limits, the most there is; in the middle of them it is smaller by sqrt(2).
new_by_plan <- function(kind, cost, size) {
  d <- size$d
  split_law(kind, size$n, d, cost[["sums"]])
  if (cost[["variance"]] > 0) sum_law(kind, size$n, d, cost[["variance"]])
  noise <- split_change(kind, d) / cost[["sums"]] * if (kind == "laplace") sqrt(2) else 1
  # rho = d epsilon0^2 / 8 = mu^2 / 2 for d medians
  median <- if (kind == "laplace") 1 / d else 2 / sqrt(d)
  search <- function(center, tails, rank) {
    list(kind = kind, center = median * cost[[center]], cost = c(tails = cost[[tails]]),
         rank = rank)
  }
  c(list(
    kind = kind, cost = cost, noise = noise,
    own = search("center", "tails", noise),
    # a group's part of the tail; its values beyond are counted apart, with noise of their own
    all = search("all_center", "all_tails", sqrt(2) * noise * size$groups),
    events = by_events(kind, cost, median, size)
  ), size)
}

# A record in one of two cells, or shared between them: 2 in l1 and sqrt(2) in l2 for one that is
# replaced, or that leaves one group and enters another.
split_change <- function(kind, d) if (kind == "laplace") 2 * d else sqrt(2 * d)

by_events <- function(kind, cost, median, size) {
  d <- size$d
  make <- if (kind == "laplace") laplace_event else gaussian_event
  event <- function(part, sensitivity, what) {
    if (cost[[part]] > 0) make(cost[[part]], 1, sensitivity, sensitivity / cost[[part]], what)
  }
  select <- if (kind == "laplace") pure_event else exponential_event
  center <- function(part, what) {
    cost <- median * cost[[part]]
    if (cost > 0) select(cost, d, 1, 2 / cost, what)
  }
  cells <- split_change(kind, d)
  Filter(Negate(is.null), list(
    center("all_center", "median of a column"),
    center("center", "medians of a column by group"),
    event("all_tails", cells, "tails, counts"),
    event("tails", cells, "tails by group, counts"),
    event("sums", cells, "sizes and means by group, counts"),
    event("variance", change_of(kind, d), "second moments by group, in squared half-ranges / n")
  ))
}

# A record adds integers a, b >= 0 with a + b <= limit + 1 to its group: R/mean-by-fit.R.
split_law <- function(kind, n, d, cost) {
  # 2 (limit + 1) d in l1, sqrt(2 d) (limit + 1) in l2
  law <- sum_law(kind, n, if (kind == "laplace") d else d / 2, cost)
  if (kind != "none") {
    law$limit <- law$limit - 1
    if (law$limit < 2^10) {
      dp_abort("`epsilon` is too small for this number of rows and columns; give a larger one.")
    }
    law$sd <- 2^law$bits / law$limit * if (kind == "laplace") sqrt(2) else 1
  }
  law
}

# ---- dp_plan() ---------------------------------------------------------------------

planned_mean_by <- function(n, d, groups, epsilon, delta, bound, na_rm, interval, budget, control) {
  if (groups == 1) {
    return(planned_mean(n, d, epsilon, delta, bound = bound, na.rm = na_rm, interval = interval,
                        budget = budget, control = control))
  }
  plan <- plan_mean_by(n, d, groups, epsilon, delta, !is.null(bound), budget, interval)
  expect <- function(assume) expected_by(plan, bound, assume)
  new_planned(plan, plan$events, by_sensible_n(plan), expect, control)
}

# Rows from which on limits of all rows are found for certain (by_shares()), and means of groups of
# average size at these limits are worth having.
by_sensible_n <- function(plan) {
  if (plan$bounded) {
    return(plan$groups)
  }
  worth <- sum(plan$cost^if (plan$kind == "laplace") 1 else 2)
  if (plan$kind == "gaussian") worth <- sqrt(worth)
  worth <- worth / change_of(plan$kind, plan$d)
  all <- 1.25 * sum(group_needs(plan$kind, 1)) / 0.5
  ceiling(max(if (plan$kind == "laplace") all else sqrt(all), 300 * plan$groups) / worth)
}

# One of equal groups with one law: at its own limits, or at those of all rows.
expected_by <- function(plan, bound, assume) {
  law <- assumed_values(assume)
  size <- plan$n / plan$groups
  shared <- FALSE
  if (is.null(bound)) {
    search <- function(part, n) expected_limits(law, c(part, d = plan$d), n)
    limits <- search(plan$own, size)
    shared <- mean(is.na(limits[, 1L])) > 0.5
    if (shared) limits <- search(plan$all, plan$n)
    limits <- limits[!is.na(limits[, 1L]), , drop = FALSE]
    if (nrow(limits) < MADE_UP_NOISES / 2) {
      return(no_expectation(Inf))
    }
  } else {
    limits <- bound[which.max(bound[, 2L] - bound[, 1L]), , drop = FALSE]
  }
  range <- limits[, 2L] - limits[, 1L]
  own <- apply(limits, 1L, function(l) winsorised_moments(law, l[[1L]], l[[2L]], assume$signal))
  share <- (assume$signal + own["bias", ] - limits[, 1L]) / range
  noise <- plan$noise / size * range * sqrt(share^2 + (1 - share)^2) * if (shared) sqrt(2) else 1
  root <- function(v) sqrt(mean(v^2))
  error <- error_parts(root(own["sd", ]) / sqrt(size), root(noise), root(own["bias", ]))
  mean_expectation(error, mean(own["bias", ]), assume, numeric())
}
