# The plan of a private Frank-Wolfe fit: from n, the number of slopes, the parts and the budget
# alone. It reads no data.
#
# Parts of the budget (of epsilon where delta = 0, else of rho, stretched to what the accountant
# proves for the whole list):
#   search     centre and scale of every column and the response (R/lm-plan.R), where delta > 0 and
#              they take little
#   center     else: the response's median, by the exponential mechanism
#   scale      and octaves of the response about it
#   level      octaves of the sizes of all gradient coordinates at the start, in one set of cells
#   choice     the rounds: one vertex each, by the exponential mechanism (permute-and-flip where
#              delta = 0) on exact integer scores
#   intercept  the rounds: its coordinate of the gradient

FW_SHARES <- c(center = 0.02, scale = 0.03, level = 0.04, choice = 1, intercept = 0.06)

# The largest part of the budget that searches in all columns may take.
FW_SEARCHES <- 0.15

# Rounds: the gap left by the curvature falls with their number, the noise of a choice rises with
# it (with its root where rounds compose by rho).
fw_rounds <- function(n, cost, pure) {
  if (pure) min(max(round(0.6 * (n * cost)^(1 / 3)), 3), 60) else
    min(max(round(1.45 * (n * cost)^(1 / 3)), 5), 100)
}

# `sparse`: columns that are not to be centred are taken as they come.
plan_fw <- function(n, p, spec, known, intercept, sparse = FALSE) {
  if (!is.finite(spec$epsilon) && is.null(spec$budget)) {
    return(list(private = FALSE, kind = "none", events = list(), sensible = TRUE, n_sensible = n,
                estimator = estimator_name(spec$gradient), source = "given",
                scaled = FALSE, level = spec$gradient$bound,
                most = spec$control$iterations %||% 5000))
  }
  pure <- spec$delta == 0
  total <- spec_allowance(spec, if (pure) "pure" else "mixed")
  cost <- if (pure) total$epsilon else sqrt(2 * total$rho)
  rounds <- spec$control$iterations %||% fw_rounds(n, cost, pure)
  tuned <- tuned_columns(known, intercept)
  search <- if (!pure && !sparse && is.null(spec$moment)) search_shares(n, tuned, cost)
  scaled <- length(search) > 0L && sum(search) <= FW_SEARCHES
  share <- fw_shares(spec, known, intercept, if (scaled) sum(search) else 0)
  plan <- fw_costs(share, cost, rounds, pure, n, p, intercept, spec)
  plan$scaled <- scaled
  plan$tuned <- tuned
  plan$search <- list(private = TRUE, kind = "gaussian", share = search / sum(search), sub = 1)
  plan <- fw_with_costs(plan, plan$cost)
  if (!pure && is.null(spec$budget)) plan <- stretch_fw(plan, spec)
  plan$level <- fw_level(spec, plan, n, p)
  plan$n_sensible <- fw_sensible_n(plan)
  plan$sensible <- plan$n_sensible <= n
  check_fw_laws(plan, n, p, spec)
  plan
}

# What is public, or not there, has no share.
fw_shares <- function(spec, known, intercept, search) {
  response <- length(known$center)
  share <- c(FW_SHARES, search = 0)
  if (search > 0 || !is.na(known$center[[response]])) share[["center"]] <- 0
  if (search > 0 || !is.na(known$scale[[response]])) share[["scale"]] <- 0
  if (level_source(spec$gradient, spec$moment) != "private") share[["level"]] <- 0
  if (!intercept) share[["intercept"]] <- 0
  replace(share / sum(share) * (1 - search), "search", search)
}

# Costs of single releases: epsilon0 of choices, epsilon0 or mu of counts and of the intercept.
fw_costs <- function(share, cost, rounds, pure, n, p, intercept, spec) {
  each <- if (pure) cost * share / c(1, 1, 1, rounds, rounds, 1) else
    cost * sqrt(share) * c(2, 1, 1, 2 / sqrt(rounds), 1 / sqrt(rounds), 1)
  fw_with_costs(list(
    private = TRUE, pure = pure, kind = if (pure) "laplace" else "gaussian", rounds = rounds,
    n = n, p = p, k = p + intercept, intercept = intercept,
    source = level_source(spec$gradient, spec$moment), sub = 1,
    estimator = estimator_name(spec$gradient), sensible = TRUE, n_sensible = n
  ), each)
}

# cost of a round's choice: rho = epsilon0^2 / 8 = mu^2 / 2 gives epsilon0 = 2 mu
fw_with_costs <- function(plan, cost) {
  plan$cost <- cost
  if (isTRUE(plan$scaled)) plan$search$mu <- cost[["search"]]
  plan$events <- c(
    if (isTRUE(plan$scaled)) search_events(plan$search, plan$tuned), fw_events(plan)
  )
  plan
}

# Rows that the searches need: as for a mean (R/mean-plan.R), and counts that stand out.
fw_sensible_n <- function(plan) {
  cost <- plan$cost
  if (isTRUE(plan$scaled)) {
    return(lm_sensible_n(1, plan$tuned, plan$search$mu))
  }
  counts <- if (plan$pure) 2 * 25 else sqrt(2) * 25
  needs <- c(140 / cost[["center"]], counts / cost[["scale"]], counts / cost[["level"]])
  ceiling(max(0, needs[is.finite(needs)]))
}

stretch_fw <- function(plan, spec) {
  longer <- function(by) fw_with_costs(plan, plan$cost * by)
  longer(largest_cost(1, spec$delta, function(by) {
    total_delta(compose_events(c(spec$reserve$events, longer(by)$events), ordered = TRUE),
                spec$epsilon)
  }))
}

fw_events <- function(plan, choice = "choice of a vertex, scores in tau |v|_1/n") {
  choose <- if (plan$pure) pure_event else exponential_event
  noisy <- if (plan$pure) laplace_event else gaussian_event
  cost <- plan$cost
  c(
    fw_search_events(plan),
    if (cost[["intercept"]] > 0) {
      list(noisy(cost[["intercept"]], plan$rounds, 2, 2 / cost[["intercept"]],
                 "gradient of the intercept in tau/n"))
    },
    list(choose(cost[["choice"]], plan$rounds, 2, 4 / cost[["choice"]], choice))
  )
}

# The response's place and size, and the level, `levels` times.
fw_search_events <- function(plan, levels = 1) {
  noisy <- if (plan$pure) laplace_event else gaussian_event
  norm <- if (plan$pure) 2 else sqrt(2)
  cost <- plan$cost
  counts <- function(part, what, count) {
    if (cost[[part]] > 0) list(noisy(cost[[part]], count, norm, norm / cost[[part]], what))
  }
  c(
    if (cost[["center"]] > 0) {
      list(exponential_event(cost[["center"]], 1, 1, 2 / cost[["center"]],
                             "median of the response"))
    },
    counts("scale", "sizes of the response, counts", 1),
    counts("level", "gradient sizes, counts", levels)
  )
}

# A public level, or NULL: noise of a choice among 2 p vertices stands for noise of a sum.
fw_level <- function(spec, plan, n, p) {
  if (plan$source != "moment") {
    return(spec$gradient$bound)
  }
  noise <- 4 * log(2 * p) / plan$cost[["choice"]] / sqrt(plan$rounds)
  moment_level(spec$gradient, spec$moment, n, p, noise, spec$control$xi)
}

# Sums stay below 2^53 in size when multiplied by a vertex of this norm.
fw_law <- function(plan, n, norm, reach) {
  limit <- plan$limit %||% min(floor(2^52 / (n * norm)), 2^40)
  if (limit < 16) dp_abort("`x` has too many rows for these vertices: the scores do not fit.")
  list(limit = limit, step = reach / limit, noise = c(0, 0))
}

# Refuses, before anything is spent, what leaves no room on the grids.
check_fw_laws <- function(plan, n, p, spec) {
  score_law(plan$cost[["choice"]], 2)
  set <- vertex_set(spec$constraint, p)
  fw_law(plan, n, max(set$norm, if (set$kind != "polytope") 2^VERTEX_BITS), 1)
  if (plan$cost[["center"]] > 0 && plan$cost[["center"]] <= 2 * QUANTILE_SLACK) {
    dp_abort("`epsilon` is too small for any useful noise; give a larger one, e.g. epsilon = 1.")
  }
  if (plan$cost[["level"]] > 0) {
    count_law(plan$kind, as.double(n) * plan$k, plan$cost[["level"]], 2 * plan$k)
  }
}
