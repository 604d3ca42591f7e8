# The plan of a private fit of few columns: rounds of a choice of columns and a fit of those chosen
# so far. From n, the number of columns and the budget alone; it reads no data.
#
# Shares of rho, stretched to what the accountant proves for the whole list:
#   search    centre and scale of the response, and of all columns where that costs little
#             (R/lm-plan.R); else
#   sizes     octaves about zero of all columns, and
#   centers   winsorised sums of all columns, where these two cost little; else columns are taken
#             as they come until they are chosen
#   common    for compressed columns: octaves of the rows' sizes, one scale for all columns
#   start     the intercept's coordinate of the gradient at zero
#   level     a round: octaves of the sizes of all gradient coordinates, in one set of cells
#   choice    a round: the largest coordinates of the gradient, one private top-s
#   measure   a round: centre and scale of the new columns where they are not known yet
#   middle    a round: a fit of all columns chosen so far (R/select-refit.R)
#   last      the fit of the columns that are kept, the largest

SELECT_SHARES <- list(start = 0.01, choice = 0.33, middle = 0.24, last = 0.3)

# The most that a round's fit takes.
SELECT_MIDDLE <- 0.08

# Standardised derivatives count up to so much for the first intercept.
START_LEVEL <- 4

# More rounds find more where columns are correlated, and make each choice and fit noisier.
select_rounds <- function(size, n, mu) {
  rounds <- round(sqrt(n * mu / size) / 5.8)
  min(max(rounds, min(2, size)), 4, size)
}

# More columns than are kept may be chosen: the first choices are the most.
select_sizes <- function(total, rounds) {
  weight <- list(1, c(3, 2), c(6, 5, 4), c(5, 4, 3, 3))[[rounds]]
  sizes <- diff(c(0, round(total * cumsum(weight) / sum(weight))))
  sizes[sizes > 0]
}

# keep: columns of the last fit; total: columns that are chosen, keep or more.
plan_select <- function(n, p, spec, known, intercept, keep, total, sparse = FALSE) {
  kind <- refit_kind(spec)
  if (!is.finite(spec$epsilon) && is.null(spec$budget)) {
    return(plain_select(n, p, spec, known, intercept, keep, total, kind))
  }
  mu <- sqrt(2 * spec_allowance(spec, "mixed")$rho)
  tuned <- tuned_columns(known, intercept)
  plan <- list(
    private = TRUE, pure = FALSE, kind = "gaussian", n = n, p = p, k = p + intercept,
    intercept = intercept, sub = 1, source = level_source(spec$gradient, spec$moment),
    estimator = estimator_name(spec$gradient), level = spec$gradient$bound, keep = keep,
    sizes = select_sizes(total, select_rounds(keep, n, mu)), tuned = tuned,
    sparse = sparse
  )
  plan$rounds <- length(plan$sizes)
  plan$standardise <- select_standard(n, tuned, mu, sparse)
  share <- select_shares(plan, mu)
  cost <- mu * sqrt(share)
  # rho = epsilon0^2 / 8 of one choice among the `total`
  cost[["choice"]] <- 2 * cost[["choice"]] / sqrt(total)
  made <- function(by) select_with_costs(plan, cost * by, kind)
  plan <- made(1)
  if (is.null(spec$budget)) {
    plan <- made(largest_cost(1, spec$delta, function(by) {
      total_delta(compose_events(c(spec$reserve$events, made(by)$events), ordered = TRUE),
                  spec$epsilon)
    }))
  }
  check_select_laws(plan, kind)
  plan
}

# What is searched for after a choice: centre and scale of the new columns.
later_search <- function(plan, new) {
  known <- plan$standardise %in% c("known", "search") || plan$sparse
  list(x = if (known) 0 else min(new, plan$tuned$x), y = 0, zero = plan$tuned$zero)
}

# Few columns: the searches' needs, however little that is of the budget.
measure_share <- function(plan, mu) {
  tuned <- later_search(plan, plan$sizes[[1L]])
  if (tuned$x == 0) {
    return(0)
  }
  all <- searches(tuned)
  max(0.002, min(0.03, sum((sqrt(2 * all$columns) * all$need / (mu * plan$n))^2)))
}

select_shares <- function(plan, mu) {
  n <- plan$n
  middles <- select_middles(plan)
  share <- c(
    standard_shares(plan, mu), start = if (plan$intercept) SELECT_SHARES$start else 0,
    level = if (plan$source == "private") count_share(60, sqrt(2), n, mu, 0.003, 0.03) else 0,
    choice = SELECT_SHARES$choice, middle = min(SELECT_SHARES$middle / middles, SELECT_MIDDLE),
    last = SELECT_SHARES$last, measure = measure_share(plan, mu)
  )
  if (middles == 0) share[["middle"]] <- 0
  times <- c(level = plan$rounds, measure = plan$rounds, middle = max(middles, 1))
  share / sum(replace(share, names(times), share[names(times)] * times))
}

# Fits before the last: one a round, but for the last round where nothing is dropped after it.
select_middles <- function(plan) {
  plan$rounds - (sum(plan$sizes) <= plan$keep)
}

# Columns chosen by the end of a round.
chosen_by <- function(plan, round) sum(plan$sizes[seq_len(round)])

# Plans of all fits and the events, in the order of the releases.
select_with_costs <- function(plan, cost, kind) {
  plan$cost <- cost
  first <- first_search(plan)
  plan$search <- search_plan(plan$n, first, cost[["search"]])
  plan$later <- lapply(plan$sizes, function(new) later_search(plan, new))
  plan$measure <- lapply(plan$later, search_plan, n = plan$n, mu = cost[["measure"]])
  plan$middle <- lapply(seq_len(select_middles(plan)), function(r) {
    kind$plan(plan$n, chosen_by(plan, r) + plan$intercept, cost[["middle"]])
  })
  plan$last <- kind$plan(plan$n, plan$keep + plan$intercept, cost[["last"]])
  few <- list(x = plan$later[[1L]]$x, y = first$y, zero = plan$tuned$zero)
  plan$n_sensible <- lm_sensible_n(plan$keep + plan$intercept, few, cost[["last"]])
  plan$sensible <- plan$n_sensible <= plan$n
  plan$events <- select_events(plan, kind)
  plan
}

select_events <- function(plan, kind) {
  cost <- plan$cost
  rounds <- lapply(seq_len(plan$rounds), function(r) {
    list(
      counts_of("level", cost, "gradient sizes, counts", sqrt(2)),
      list(exponential_event(cost[["choice"]], plan$sizes[[r]], 2, 4 / cost[["choice"]],
                             "choice of columns, scores in tau/n")),
      search_events(plan$measure[[r]], plan$later[[r]]),
      if (r <= length(plan$middle)) {
        kind$events(plan$middle[[r]], chosen_by(plan, r) + plan$intercept)
      }
    )
  })
  Filter(Negate(is.null), c(
    standard_events(plan), counts_of("start", cost, "gradient of the intercept in tau/n", 2),
    unlist_once(unlist_once(rounds)),
    kind$events(plan$last, plan$keep + plan$intercept)
  ))
}

unlist_once <- function(x) do.call(c, x)

# Refuses, before anything is spent, what leaves no room on the grids.
check_select_laws <- function(plan, kind) {
  n <- plan$n
  score_law(plan$cost[["choice"]], 2)
  fw_law(plan, n, 1, 1)
  check_standard_laws(plan)
  if (plan$cost[["level"]] > 0) {
    count_law("gaussian", as.double(n) * plan$k, plan$cost[["level"]], sqrt(2) * plan$k)
  }
  for (r in seq_len(plan$rounds)) {
    check_search_laws(plan$measure[[r]], n, plan$later[[r]])
  }
  for (r in seq_along(plan$middle)) {
    kind$check(plan$middle[[r]], n, chosen_by(plan, r) + plan$intercept)
  }
  kind$check(plan$last, n, plan$keep + plan$intercept)
}

# epsilon = Inf: the same rounds without noise.
plain_select <- function(n, p, spec, known, intercept, keep, total, kind) {
  sizes <- select_sizes(total, min(4, keep))
  tuned <- tuned_columns(known, intercept)
  fit <- function(k) kind$plan(n, k + intercept, Inf)
  plan <- list(
    private = FALSE, pure = FALSE, kind = "none", n = n, p = p, k = p + intercept, events = list(),
    intercept = intercept, source = "given", estimator = estimator_name(spec$gradient),
    level = spec$gradient$bound, keep = keep, sizes = sizes, rounds = length(sizes),
    tuned = tuned, sensible = TRUE, n_sensible = n
  )
  plan$middle <- lapply(seq_len(select_middles(plan)), function(r) fit(chosen_by(plan, r)))
  plan$last <- fit(keep)
  plan
}
