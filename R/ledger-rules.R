# The rules of the ledger: a privacy filter over calls whose epsilon, delta and mechanism may
# depend on earlier answers. Sees no data. A `state` is list(epsilon, delta, calls).
#
# Which rules may stand side by side. Let L be the privacy loss of what has been
# released. A rule is a filter if the best delta still reachable, as a function of
# L, has expectation at most delta whatever comes next. Two filters may not simply
# be joined by "or": after an answer the analyst can go on under the rule
# that happens to be better for the L at hand, and the expectation of the larger
# of the two can approach 2 delta. (Joining "the squared mu add up" and "the declared
# epsilons and deltas add up" gives a true delta of 1.59 delta after one Gaussian call
# of half the budget at (1, 1e-6), and 1.94 delta at epsilon = 4.) So one rule is fixed by
# what is known before the answers it could depend on:
#   1. delta = 0: the epsilons add up to at most epsilon.
#   2. One call on an empty ledger: fixed in advance, so any proved bound serves.
#   3. First call all Gaussian ("gdp"): the sum of mu^2 is at most
#      mu(epsilon, delta)^2, every later event expressed in mu (pure_mu(),
#      bounded_range_mu()); the filter of Smith and Thakurta (2022).
#   4. First call mixed ("zcdp"): the sum of rho is at most rho(epsilon, delta); the
#      filter of Feldman and Zrnic (2021).
#   5. First call pure: as long as all are pure and the epsilons add up to at most
#      epsilon, L <= epsilon surely and nothing of delta is used. With e their sum, the first
#      call after them finds L <= e, so it opens a fresh filter (2, 3 or 4) for
#      epsilon - e; or the sum of rho over all calls is at most rho(epsilon, .): many small
#      pure calls. These two are joined by "or", so each gets delta / 2.
# Totals may exceed a limit by the relative TOLERANCE (sums are rounded). In mu and rho
# that is covered by MARGIN; pure epsilons are guaranteed up to epsilon (1 + TOLERANCE).

sum_of <- function(calls, name) sum(vapply(calls, function(call) call$total[[name]], 0))

# Number of leading calls that are pure and whose epsilons still add up to at most epsilon.
pure_prefix <- function(calls, epsilon) {
  pure <- vapply(calls, function(call) call$total$epsilon, 0)
  sum(cumsum(pure) <= epsilon * (1 + TOLERANCE))
}

# The rule for `calls`, whose first one was fixed without seeing anything that
# counts, with what is left under it.
filter_rule <- function(calls, epsilon, delta) {
  if (length(calls) == 0L) {
    return(list(kind = "fresh", epsilon = epsilon, delta = delta))
  }
  if (calls[[1L]]$total$only_gaussian) {
    limit <- discrete_gaussian_mu(epsilon, delta)^2
    return(list(kind = "gdp", limit = limit, left = limit - sum_of(calls, "gdp"), delta = delta))
  }
  zcdp_rule(calls, epsilon, delta)
}

zcdp_rule <- function(calls, epsilon, delta) {
  limit <- zcdp_rho(epsilon, delta)
  list(kind = "zcdp", limit = limit, left = limit - sum_of(calls, "rho"), delta = delta)
}

# Calls that cost nothing do not count as the first one.
costly_calls <- function(state) Filter(function(call) call$total$gdp > 0, state$calls)

# The rules that the next call may use, as functions of all calls so far.
ledger_rules <- function(state) {
  calls <- costly_calls(state)
  first <- pure_prefix(calls, state$epsilon)
  if (first == 0L) {
    return(list(filter_rule(calls, state$epsilon, state$delta)))
  }
  left <- max(state$epsilon - sum_of(calls[seq_len(first)], "epsilon"), 0)
  rest <- calls[-seq_len(first)]
  half <- state$delta / 2
  fresh <- filter_rule(rest, left, half)
  fresh$room <- if (length(rest) == 0L) state$epsilon * TOLERANCE else 0
  if (half == 0) list(fresh) else list(fresh, zcdp_rule(calls, state$epsilon, half))
}

# Does one more call with these totals keep the rule?
rule_admits <- function(rule, total) {
  if (total$gdp == 0) {
    return(TRUE)
  }
  switch(rule$kind,
    fresh = fresh_admits(rule, total),
    gdp = total$gdp <= rule$left + rule$limit * TOLERANCE,
    zcdp = total$rho <= rule$left + rule$limit * TOLERANCE
  )
}

# One call, fixed in advance, at (epsilon, delta): any proved bound will do.
fresh_admits <- function(rule, total) {
  room <- max(rule$room, rule$epsilon * TOLERANCE)
  if (total$epsilon <= rule$epsilon + room) {
    return(TRUE)
  }
  if (rule$delta == 0 || rule$epsilon <= 0) {
    return(FALSE)
  }
  if (total$only_gaussian) {
    return(total$mu2 <= discrete_gaussian_mu(rule$epsilon, rule$delta)^2 * (1 + TOLERANCE))
  }
  total$rho <= zcdp_rho(rule$epsilon, rule$delta) * (1 + TOLERANCE) ||
    total_delta(total, rule$epsilon) <= rule$delta
}

ledger_admits <- function(state, total) {
  for (rule in ledger_rules(state)) {
    if (rule_admits(rule, total)) {
      return(TRUE)
    }
  }
  FALSE
}

# What a call with (epsilon, delta) may spend under a rule: a total mu (root of the sum
# of mu^2) of Gaussian events, a sum of epsilons of pure ones, or a sum of rho of
# any. sum(mu^2) <= pi * sum(rho) for every kind of event, for pure_mu(e)^2 is at
# most (pi/2) e^2; hence rho = mu^2 / pi under "gdp".
rule_allowance <- function(rule, epsilon, delta, kind) {
  if (kind == "pure" && (delta == 0 || rule$kind == "fresh")) {
    return(epsilon)
  }
  delta <- min(delta, rule$delta)
  if (rule$kind == "gdp" || (rule$kind == "fresh" && kind == "gaussian")) {
    mu <- discrete_gaussian_mu(epsilon, delta)
    return(switch(kind, gaussian = mu, pure = min(epsilon, pure_epsilon(mu)), mixed = mu^2 / pi))
  }
  rho <- zcdp_rho(epsilon, delta)
  switch(kind, gaussian = sqrt(2 * rho), pure = min(epsilon, sqrt(2 * rho)), mixed = rho)
}

# The largest epsilon a call may ask for under a rule, up to rounding.
rule_epsilon <- function(rule, delta) {
  if (rule$kind == "fresh") {
    return(if (delta == 0 || rule$delta > 0) rule$epsilon else 0)
  }
  left <- max(rule$left, 0)
  if (delta == 0) {
    return(if (rule$kind == "gdp") pure_epsilon(sqrt(left)) else sqrt(2 * left))
  }
  delta <- min(delta, rule$delta)
  if (left == 0) {
    0
  } else if (rule$kind == "gdp") {
    gaussian_epsilon(sqrt(left), delta) + DISCRETE_SLACK
  } else {
    zcdp_epsilon(left, delta)
  }
}

# The heaviest events an allowance of this kind can be spent on.
allowance_totals <- function(allowance, kind) {
  pure <- function(epsilon0) compose_events(pure_event(epsilon0))
  gaussian <- function(mu) compose_events(gaussian_event(mu))
  switch(kind,
    gaussian = list(gaussian(allowance)),
    pure = list(pure(allowance)),
    mixed = list(gaussian(sqrt(2 * allowance)), pure(sqrt(2 * allowance)))
  )
}

rule_fits <- function(rule, epsilon, delta, kind) {
  allowance <- rule_allowance(rule, epsilon, delta, kind)
  allowance > 0 && all(vapply(allowance_totals(allowance, kind), rule_admits, NA, rule = rule))
}

#' What a call may spend (internal)
#'
#' `list(mu, rho, epsilon, delta)`: the one that belongs to `kind` is a number, the
#' others are NA. Without a ledger the tightest calibration of `(epsilon, delta)`.
#' With one, the best calibration that fits; if none fits, one that
#' [ledger_charge()] will refuse.
#' @noRd
ledger_allowance <- function(budget, epsilon, delta, kind = c("gaussian", "pure", "mixed")) {
  kind <- match.arg(kind)
  if (!is.null(budget)) {
    check_chargeable(budget, epsilon, kind)
  }
  if (kind != "pure" && epsilon < Inf) check_delta(delta, gaussian = TRUE)
  rules <- if (is.null(budget)) {
    list(list(kind = "fresh", epsilon = epsilon, delta = delta))
  } else {
    ledger_rules(ledger_state(budget))
  }
  if (!is.null(budget)) {
    fits <- vapply(rules, rule_fits, NA, epsilon = epsilon, delta = delta, kind = kind)
    rules <- if (any(fits)) rules[fits] else rules[1L]
  }
  value <- max(vapply(rules, rule_allowance, 0, epsilon = epsilon, delta = delta, kind = kind))
  if (!(value > 0)) {
    dp_abort("`epsilon` is too small for any useful noise; give a larger one, e.g. epsilon = 1.")
  }
  allowance <- list(mu = NA_real_, rho = NA_real_, epsilon = NA_real_, delta = delta)
  allowance[[c(gaussian = "mu", pure = "epsilon", mixed = "rho")[[kind]]]] <- value
  allowance
}

check_chargeable <- function(budget, epsilon, kind) {
  check_budget(budget)
  if (epsilon == Inf) {
    dp_abort(paste(
      "`epsilon = Inf` switches the noise off and cannot be charged to a budget:",
      "leave out `budget` or give a finite `epsilon`."
    ), "dp_error_budget")
  }
  if (kind != "pure" && budget$delta == 0) {
    dp_abort(paste(
      "this call needs delta > 0, but the privacy budget has delta = 0. Nothing was charged;",
      "make the budget with a delta or choose a method with delta = 0."
    ), "dp_error_budget")
  }
}

state_remaining <- function(state, delta) {
  kinds <- if (delta == 0) "pure" else c("gaussian", "pure", "mixed")
  least <- 1e-8 * min(1, state$epsilon)
  max(0, vapply(ledger_rules(state), settle, 0, delta = delta, kinds = kinds, least = least))
}

# The largest mu that one more Gaussian release may have.
state_gaussian_mu <- function(state) {
  if (state$delta == 0) {
    return(0)
  }
  mu <- function(rule) {
    epsilon <- settle(rule, state$delta, "gaussian", 1e-8 * min(1, state$epsilon))
    if (epsilon > 0) rule_allowance(rule, epsilon, state$delta, "gaussian") else 0
  }
  max(0, vapply(ledger_rules(state), mu, 0))
}

# rule_epsilon() up to the rounding of its inverse: a little less until every kind of
# call fits; 0 for what is too little to be of use.
settle <- function(rule, delta, kinds, least) {
  epsilon <- rule_epsilon(rule, delta)
  fits <- function(e) all(vapply(kinds, function(k) rule_fits(rule, e, delta, k), NA))
  for (shrink in c(0, 10^-(12:3))) {
    e <- epsilon * (1 - shrink)
    if (e > least && fits(e)) {
      return(e)
    }
  }
  0
}

# The smallest epsilon of a ledger with this delta for the calls so far.
state_spent <- function(state) {
  calls <- costly_calls(state)
  first <- pure_prefix(calls, state$epsilon)
  if (first == 0L) {
    return(filter_epsilon(calls, state$delta))
  }
  half <- state$delta / 2
  pure <- sum_of(calls[seq_len(first)], "epsilon")
  min(pure + filter_epsilon(calls[-seq_len(first)], half), zcdp_epsilon(sum_of(calls, "rho"), half))
}

filter_epsilon <- function(calls, delta) {
  if (length(calls) == 0L) {
    return(0)
  }
  if (length(calls) == 1L) {
    return(total_epsilon(calls[[1L]]$total, delta))
  }
  if (calls[[1L]]$total$only_gaussian) {
    return(gaussian_epsilon(sqrt(sum_of(calls, "gdp")), delta) + DISCRETE_SLACK)
  }
  zcdp_epsilon(sum_of(calls, "rho"), delta)
}
