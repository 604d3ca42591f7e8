# Quantiles near the ends of the data, and very many of them: one release of noisy counts of
# distances from a private median serves them all. The others are drawn one by one.

# Rank times epsilon0 below which a draw over all doubles may end beyond the data: the cells there
# weigh some 31 log units.
FAR_DRAW <- 60

# Below this share of epsilon a draw errs by more ranks than a sum of counts.
MANY_DRAWS <- 0.05

# `open`: is the lower, the upper end of the values unknown? far: which of probs the counts serve.
plan_quantiles <- function(probs, n, open, epsilon, delta, budget) {
  one_by_one <- plan_quantile(length(probs), epsilon, delta, budget)
  one_by_one$far <- rep(FALSE, length(probs))
  is_far <- function(c) n * pmin(probs, 1 - probs) * 2 * c < FAR_DRAW
  far <- is_far(one_by_one$c)
  if (!all(open) || !any(far) || one_by_one$c == Inf) {
    return(one_by_one)
  }
  for (i in 1:3) {
    plan <- joint_plan(far, n, epsilon, delta, budget)
    more <- if (!is.null(plan)) is_far(plan$c) & !far
    if (!any(more)) break
    far <- far | more
  }
  # very many draws: all of them are better read off the counts
  if (!is.null(plan) && !all(far) && 2 * plan$c < MANY_DRAWS * min(epsilon, 1e300)) {
    plan <- joint_plan(rep(TRUE, length(probs)), n, epsilon, delta, budget) %||% plan
  }
  if (is.null(plan) || any(more)) one_by_one else plan
}

# Of the budget: 140 / rows for a median, 300 / rows at least for counts, as for means; else 0.4 of
# it, or what there is if no quantile is drawn. NULL: too few rows.
joint_plan <- function(far, n, epsilon, delta, budget) {
  m <- sum(!far)
  share <- function(rows) {
    center <- max(0.05, 140 / rows)
    c(center = center, tails = max(if (m > 0) 0.4 else 1 - center, 300 / rows))
  }
  made <- list(
    joint_pure(far, m, n, share, epsilon, delta, budget),
    if (delta > 0 && !is.null(budget)) joint_mixed(far, m, n, share, epsilon, delta, budget)
  )
  made <- Filter(Negate(is.null), made)
  if (length(made) == 0L) {
    return(NULL)
  }
  made[[which.max(vapply(made, function(p) if (m > 0) p$c else p$cost[["tails"]], 0))]]
}

# Epsilons add up; delta, without a ledger, serves the draws.
joint_pure <- function(far, m, n, share, epsilon, delta, budget) {
  total <- tryCatch(ledger_allowance(budget, epsilon, delta, "pure")$epsilon,
                    dp_error_budget = function(e) 0)
  part <- share(n * total)
  if (!(total > 0) || sum(part) > if (m > 0) 0.8 else 1 + 1e-12) {
    return(NULL)
  }
  left <- total * (1 - sum(part))
  each <- left / m
  if (delta > 0 && is.null(budget) && m > 1) each <- max(each, tight_exponential(left, delta, m))
  new_joint_plan(far, m, total * part[["center"]], total * part[["tails"]], each)
}

# In a ledger that counts rho: epsilon0^2 / 8 of a draw, epsilon0^2 / 2 of Laplace noise.
joint_mixed <- function(far, m, n, share, epsilon, delta, budget) {
  rho <- tryCatch(ledger_allowance(budget, epsilon, delta, "mixed")$rho,
                  dp_error_budget = function(e) 0)
  part <- share(n * sqrt(2 * rho))^2
  if (!(rho > 0) || sum(part) > if (m > 0) 0.8 else 1 + 1e-12) {
    return(NULL)
  }
  new_joint_plan(far, m, sqrt(8 * rho * part[["center"]]), sqrt(2 * rho * part[["tails"]]),
                 sqrt(8 * rho * (1 - sum(part)) / m))
}

new_joint_plan <- function(far, m, center, tails, each) {
  if (m > 0 && each <= 2 * QUANTILE_SLACK) {
    return(NULL)
  }
  list(
    kind = "laplace", far = far, center = center, cost = c(tails = tails),
    c = if (m > 0) (each - QUANTILE_SLACK) / 2 else 0,
    events = c(
      list(exponential_event(center, 1, 1, 2 / center, "median")),
      list(laplace_event(tails, 1, 2, 2 / tails, "tails, counts")),
      if (m > 0) list(exponential_event(each, m, 1, 2 / each, "quantile"))
    )
  )
}

# Both kinds, in the order of probs.
joint_quantiles <- function(values, probs, plan, na_rm, control) {
  x <- matrix(values)
  octaves <- octaves_about(x, private_centers(x, plan, control), plan, control, fine = TRUE)
  found <- numeric(length(probs))
  found[plan$far] <- tail_quantiles(octaves, probs[plan$far], if (na_rm) NULL else length(values))
  if (!all(plan$far)) {
    found[!plan$far] <- release_quantiles(values, probs[!plan$far], plan$c,
                                          key = release_key(control))
  }
  found
}

# Quantiles read off counts about the median and the tails fitted to them; the median on a side
# where nothing stands out of the noise, NA where nothing does anywhere. n = NULL: as many values as
# the counts say.
tail_quantiles <- function(octaves, probs, n = NULL) {
  clean <- clean_counts(octaves, 1L)
  half <- (length(clean) - 1L) / 2L
  n <- n %||% sum(clean)
  out <- rep(if (sum(clean) > 0) octaves$center else NA_real_, length(probs))
  # what lies on either side of the median, and not in the cell of the median itself
  all <- (n - clean[[half + 1L]]) / 2
  for (sign in c(-1, 1)) {
    own <- if (sign > 0) probs >= 0.5 else probs < 0.5
    if (!any(own)) next
    rank <- n * pmin(probs[own], 1 - probs[own])
    at <- side_octaves(octaves, 1L, if (sign > 0) "upper" else "lower", rank, all)
    if (is.null(at)) next
    out[own] <- pmin(pmax(octaves$center + sign * 2^pmin(at, 1023), -1e308), 1e308)
  }
  out
}
