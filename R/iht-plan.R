# The plan of private iterative hard thresholding: from n, the number of slopes, the parts and the
# budget alone. It reads no data.
#
# Parts of the budget (of epsilon where delta = 0, else of rho, stretched to what the accountant
# proves for the whole list):
#   search, sizes, centers, common   R/select-standard.R, where delta > 0
#   center, scale            else: the response's median, by the exponential mechanism, and octaves
#   level                    octaves of the sizes of all gradient coordinates, a round (with split
#                            batches or pure releases once, in the first)
#   choice                   a round: the s largest coefficients after a gradient step
#   values                   a round: these and the intercept

IHT_SHARES <- c(choice = 0.5, values = 0.4)
IHT_PURE <- c(center = 0.02, scale = 0.03, level = 0.04)

# Steps as a share of one over the curvature.
IHT_STEP <- 0.7

# A score counts whole steps of the level over this: sums and coefficients stay below 2^53.
IHT_LIMIT <- 2^20

# What is left of the start falls with each round, the noise of a round rises with their number.
iht_rounds <- function(n, cost, s, split, pure) {
  if (split) {
    min(max(round(0.5 * log(n * cost / s)), 2), 5)
  } else if (pure) {
    min(max(round(log(n * cost / s)), 3), 12)
  } else {
    min(max(round(4 * log(n * cost / s)), 5), 40)
  }
}

plan_iht <- function(n, p, spec, known, intercept, sparse = FALSE) {
  s <- spec$constraint$s
  base <- list(
    n = n, p = p, k = p + intercept, intercept = intercept, sub = 1, keep = s, sparse = sparse,
    source = level_source(spec$gradient, spec$moment), estimator = estimator_name(spec$gradient),
    tuned = tuned_columns(known, intercept), limit = IHT_LIMIT,
    step = IHT_STEP * (spec$control$step %||% 1), split = spec$control$batches == "split"
  )
  if (!is.finite(spec$epsilon) && is.null(spec$budget)) {
    return(c(base, list(
      private = FALSE, pure = FALSE, kind = "none", events = list(), sensible = TRUE,
      n_sensible = n, level = spec$gradient$bound, output = "last",
      rounds = spec$control$iterations %||% 5000
    )))
  }
  pure <- spec$delta == 0
  total <- spec_allowance(spec, if (pure) "pure" else "mixed")
  cost <- if (pure) total$epsilon else sqrt(2 * total$rho)
  plan <- c(base, list(
    private = TRUE, pure = pure, kind = if (pure) "laplace" else "gaussian",
    rounds = spec$control$iterations %||% iht_rounds(n, cost, s, base$split, pure),
    output = if (base$split) "last" else "average"
  ))
  if (plan$split && plan$rounds > n) dp_abort("there must be at least as many rows as batches.")
  plan$standardise <- if (pure) "none" else select_standard(n, plan$tuned, cost, sparse)
  each <- if (pure) iht_pure_costs(plan, cost, known) else iht_costs(plan, cost)
  plan <- iht_with_costs(plan, each)
  if (!pure && is.null(spec$budget)) {
    by <- largest_cost(1, spec$delta, function(by) {
      events <- c(spec$reserve$events, iht_with_costs(plan, each * by)$events)
      total_delta(compose_events(events, ordered = TRUE), spec$epsilon)
    })
    plan <- iht_with_costs(plan, each * by)
  }
  plan$level <- iht_level(spec, plan)
  plan$n_sensible <- iht_sensible_n(plan)
  plan$sensible <- plan$n_sensible <= n
  check_iht_laws(plan)
  plan
}

# Rounds that are paid for one by one.
paid_rounds <- function(plan) if (plan$split) 1 else plan$rounds

level_rounds <- function(plan) if (plan$pure) 1 else paid_rounds(plan)

# mu of counts and values, epsilon0 of one of s choices: rho = epsilon0^2 / 8 = mu^2 / 2.
iht_costs <- function(plan, mu) {
  level <- if (plan$source == "private") count_share(60, sqrt(2), plan$n, mu, 0.003, 0.02) else 0
  share <- c(standard_shares(plan, mu), center = 0, scale = 0, level = level, IHT_SHARES)
  paid <- paid_rounds(plan)
  times <- replace(share * 0 + 1, "level", paid)
  cost <- mu * sqrt(share / sum(share * times))
  cost[["choice"]] <- 2 * cost[["choice"]] / sqrt(plan$keep * paid)
  cost[["values"]] <- cost[["values"]] / sqrt(paid)
  cost
}

# epsilon of each.
iht_pure_costs <- function(plan, epsilon, known) {
  share <- c(search = 0, sizes = 0, centers = 0, common = 0, IHT_PURE, IHT_SHARES)
  response <- length(known$center)
  if (!is.na(known$center[[response]])) share[["center"]] <- 0
  if (!is.na(known$scale[[response]])) share[["scale"]] <- 0
  if (plan$source != "private") share[["level"]] <- 0
  cost <- epsilon * share / sum(share)
  paid <- paid_rounds(plan)
  cost[["choice"]] <- cost[["choice"]] / (plan$keep * paid)
  cost[["values"]] <- cost[["values"]] / paid
  cost
}

iht_with_costs <- function(plan, cost) {
  plan$cost <- cost
  if (!plan$pure) plan$search <- search_plan(plan$n, first_search(plan), cost[["search"]])
  plan$events <- iht_events(plan)
  plan
}

# How many values a round releases.
iht_values <- function(plan) plan$keep + plan$intercept

# Values of a round come before the next round's choice: of what is listed after the choices the
# accountant takes it that none follows (R/loss-law.R), which holds for the last round's alone.
iht_events <- function(plan) {
  cost <- plan$cost
  paid <- paid_rounds(plan)
  many <- if (plan$split) sprintf(", n of a batch: %.0f disjoint ones", plan$rounds) else ""
  choose <- if (plan$pure) pure_event else exponential_event
  noisy <- if (plan$pure) laplace_event else gaussian_event
  moved <- iht_values(plan)
  far <- 2 * if (plan$pure) moved else sqrt(moved)
  values <- function(rounds) {
    list(noisy(cost[["values"]], rounds, far, far / cost[["values"]],
               paste0("slopes in steps of tau/n", many)))
  }
  c(
    if (!plan$pure) standard_events(plan), fw_search_events(plan, level_rounds(plan)),
    if (paid > 1) values(paid - 1),
    list(choose(cost[["choice"]], plan$keep * paid, 2, 4 / cost[["choice"]],
                paste0("choice of slopes, scores in tau/n", many))),
    values(1)
  )
}

iht_level <- function(spec, plan) {
  if (plan$source != "moment") {
    return(spec$gradient$bound)
  }
  m <- if (plan$split) floor(plan$n / plan$rounds) else plan$n
  moment_level(spec$gradient, spec$moment, m, plan$p, 4 * log(2 * plan$p) / plan$cost[["choice"]],
               spec$control$xi)
}

# Rows from which on the searches are expected to work and the noise of a value, at a level of one
# scale of the response, to be below LOUD.
iht_sensible_n <- function(plan) {
  moved <- if (plan$pure) sqrt(2) * iht_values(plan) else sqrt(iht_values(plan))
  values <- 2 * moved / plan$cost[["values"]] / LOUD * if (plan$split) plan$rounds else 1
  response <- replace(plan$tuned, "x", 0)
  searches <- if (!plan$pure) lm_sensible_n(1, response, plan$search$mu) else 0
  ceiling(max(values, if (is.finite(searches)) searches else 0))
}

# Refuses, before anything is spent, what leaves no room on the grids.
check_iht_laws <- function(plan) {
  iht_laws(plan)
  if (!plan$pure) check_standard_laws(plan)
  if (plan$cost[["center"]] > 0 && plan$cost[["center"]] <= 2 * QUANTILE_SLACK) {
    dp_abort("`epsilon` is too small for any useful noise; give a larger one, e.g. epsilon = 1.")
  }
  if (plan$cost[["level"]] > 0) {
    norm <- if (plan$pure) 2 * plan$k else sqrt(2) * plan$k
    count_law(plan$kind, as.double(plan$n) * plan$k, plan$cost[["level"]], norm)
  }
}

# The laws of a round's choice and of its values.
iht_laws <- function(plan) {
  most <- 2 * plan$limit
  if (!is.null(plan$peel)) {
    return(plan$peel(most))
  }
  moved <- iht_values(plan)
  list(
    choice = score_law(plan$cost[["choice"]], most),
    values = vector_law(plan$kind, moved, plan$cost[["values"]],
                        most * if (plan$pure) moved else sqrt(moved)),
    how = if (plan$pure) "permute_and_flip" else "exponential"
  )
}
