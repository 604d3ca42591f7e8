# The plan of a private mean: from n, the number of columns and the budget
# alone. Parts of the budget (of epsilon, or of rho where Gaussian noise is used):
#   center  the median of each column, by the exponential mechanism
#   tails   octaves about the centre: winsorising limits
#   count   with na.rm, how many values are there
#   sums    the winsorised sums
#   variance  the second moments, where bounds are public and intervals asked for; else the
#             counts of the tails give them
# Where noise goes on d coordinates at once, Laplace noise has standard deviation
# sqrt(2) d / epsilon in units of one coordinate's range, Gaussian noise sqrt(d) / mu:
# the better is taken, from public numbers.

# reserve: a function of the kind of noise and the whole, for what is spent before (R/mean-units.R).
plan_mean <- function(n, d, epsilon, delta, bounded, na_rm, budget, interval = FALSE,
                      reserve = no_reserve) {
  paid <- bounded && interval
  if (epsilon == Inf && is.null(budget)) {
    return(list(kind = "none", bounded = bounded, na_rm = na_rm, events = list()))
  }
  plans <- list(laplace = function() {
    laplace_plan(n, d, epsilon, delta, bounded, na_rm, budget, paid, reserve)
  })
  if (delta > 0) {
    plans$gaussian <- function() {
      gaussian_plan(n, d, epsilon, delta, bounded, na_rm, budget, paid, reserve)
    }
  }
  best <- least_noise(plans)
  if (best$kind == "gaussian" && !bounded && is.null(budget)) {
    stretch_plan(best, n, epsilon, delta)
  } else {
    best
  }
}

# The best of the plans that these functions make; their first error if there is none.
least_noise <- function(plans) {
  made <- lapply(plans, function(f) tryCatch(f(), dp_error = function(e) e))
  ok <- !vapply(made, inherits, NA, "condition")
  if (!any(ok)) stop(made[[1L]])
  made <- made[ok]
  made[[which.min(vapply(made, `[[`, 0, "noise"))]]
}

no_reserve <- function(kind, total) list(share = 0, events = list())

with_reserve <- function(plan, reserve) {
  plan$reserve <- reserve
  plan$events <- c(reserve$events, plan$events)
  plan
}

# Medians and Gaussians were shared out by rho; the accountant proves more (R/loss-law.R).
stretch_plan <- function(plan, n, epsilon, delta) {
  longer <- function(by) {
    with_reserve(
      new_mean_plan("gaussian", plan$cost * by, plan$center * by, n, plan$d, FALSE, plan$na_rm),
      plan$reserve
    )
  }
  longer(largest_cost(1, delta, function(by) {
    total_delta(compose_events(longer(by)$events, ordered = TRUE), epsilon)
  }))
}

# Shares of the budget. `rows`: n epsilon per column, in units in which the median
# needs a share of 140 / rows to stay away from the far ends of the doubles (31 log
# units of cells there, n c / 2 of utility against them) and the tails one of 300 /
# rows for three octaves of counts to stand out of their noise.
mean_shares <- function(rows, bounded, na_rm, n, paid = FALSE) {
  count <- if (na_rm) 0.05 else 0
  if (bounded) {
    variance <- if (paid) VARIANCE_SHARE else 0
    return(c(center = 0, tails = 0, count = count, variance = variance,
             sums = 1 - count - variance))
  }
  center <- max(0.05, 140 / rows)
  tails <- max(0.12, 300 / rows)
  if (center + tails > 0.8) {
    abort_few_rows(n, n * (center + tails) / 0.8)
  }
  c(center = center, tails = tails, count = count, variance = 0,
    sums = 1 - center - tails - count)
}

abort_few_rows <- function(n, least) {
  dp_abort(sprintf(paste(
    "too few rows, n = %.0f, for this `epsilon` and this many columns: limits cannot be found",
    "privately below about n = %.0f. Give `bound`, or a larger `epsilon`."
  ), n, ceiling(least)), c("dp_error_small_n", "dp_error_input"))
}

VARIANCE_SHARE <- 0.03

# What d columns change, in the norm of the noise (records, or ranges of a column / n).
change_of <- function(kind, d) if (kind == "laplace") d else sqrt(d)

mean_events <- function(kind, cost, center, d, bounded, na_rm) {
  make <- if (kind == "laplace") laplace_event else gaussian_event
  event <- function(part, sensitivity, what) {
    if (cost[[part]] > 0) make(cost[[part]], 1, sensitivity, sensitivity / cost[[part]], what)
  }
  select <- if (kind == "laplace") pure_event else exponential_event
  cells <- if (kind == "laplace") 2 * d else sqrt(2 * d)
  Filter(Negate(is.null), list(
    if (!bounded) select(center, d, 1, 2 / center, "median of a column"),
    event("tails", cells, "tails, counts"),
    event("count", change_of(kind, d), "complete values, counts"),
    event("variance", change_of(kind, d), "second moments, in squared half-ranges / n"),
    event("sums", change_of(kind, d), "winsorised means, in ranges / n")
  ))
}

# `noise`: standard deviation of a mean's noise in ranges / n. `rank`: how many records
# are left beyond a limit (mean-tails.R).
new_mean_plan <- function(kind, cost, center, n, d, bounded, na_rm) {
  # refuses what leaves no room on the grid
  for (part in c("sums", "variance")) if (cost[[part]] > 0) sum_law(kind, n, d, cost[[part]])
  noise <- change_of(kind, d) / cost[["sums"]]
  list(
    kind = kind, cost = cost, center = center, d = d, bounded = bounded, na_rm = na_rm,
    noise = noise * if (kind == "laplace") sqrt(2) else 1,
    rank = 1.5 * noise,
    events = mean_events(kind, cost, center, d, bounded, na_rm)
  )
}

laplace_plan <- function(n, d, epsilon, delta, bounded, na_rm, budget, paid, reserve) {
  total <- ledger_allowance(budget, epsilon, delta, "pure")$epsilon
  aside <- reserve("laplace", total)
  left <- total * (1 - aside$share)
  with_reserve(laplace_mean_plan(n, d, left, bounded, na_rm, paid), aside)
}

laplace_mean_plan <- function(n, d, epsilon, bounded, na_rm, paid = FALSE) {
  cost <- epsilon * mean_shares(n * epsilon / d, bounded, na_rm, n, paid)
  new_mean_plan("laplace", cost, cost[["center"]] / d, n, d, bounded, na_rm)
}

# The same in mu^2: the median's utility grows with epsilon0 = 2 mu / sqrt(d), the counts
# need 45 sqrt(2 d) / (n mu).
gaussian_shares <- function(rows, na_rm, n) {
  share <- c(center = (70 / rows)^2, tails = 2 * (45 / rows)^2)
  mean_shares(1 / max(share[["center"]] / 140, share[["tails"]] / 300), FALSE, na_rm, n)
}

gaussian_plan <- function(n, d, epsilon, delta, bounded, na_rm, budget, paid, reserve) {
  total <- if (bounded) ledger_allowance(budget, epsilon, delta, "gaussian")$mu else
    sqrt(2 * ledger_allowance(budget, epsilon, delta, "mixed")$rho)
  aside <- reserve("gaussian", total)
  mu <- total * sqrt(1 - aside$share)
  plan <- if (bounded) {
    cost <- mu * sqrt(mean_shares(0, TRUE, na_rm, n, paid))
    new_mean_plan("gaussian", cost, 0, n, d, TRUE, na_rm)
  } else {
    gaussian_mean_plan(n, d, mu, na_rm)
  }
  with_reserve(plan, aside)
}

gaussian_mean_plan <- function(n, d, mu, na_rm) {
  cost <- mu * sqrt(gaussian_shares(n * mu / sqrt(d), na_rm, n))
  # rho = d epsilon0^2 / 8 = mu^2 / 2 for the d medians
  new_mean_plan("gaussian", cost, 2 * cost[["center"]] / sqrt(d), n, d, FALSE, na_rm)
}
