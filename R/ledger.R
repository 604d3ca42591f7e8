# The ledger: a privacy filter over calls whose epsilon, delta and mechanism may depend
# on earlier answers. Sees no data.
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

# Ledgers that this process made. A copy by readRDS() is another environment, a
# forked child has another process id.
live_ledgers <- new.env(parent = emptyenv())

#' A privacy budget for several analyses
#'
#' A ledger to pass to several calls as `budget =`. Each call is charged before
#' the values are read and refused if it does not fit. The epsilon of a call may
#' depend on earlier answers.
#'
#' @section Privacy:
#' All calls charged to one ledger are together (epsilon, delta)-differentially
#' private, even if each call's epsilon, delta and method were chosen after seeing the earlier
#' answers (a privacy filter). With `delta = 0` the epsilons add up (to at most
#' epsilon (1 + 1e-12), for rounding). With `delta > 0` the first call decides how
#' costs are counted:
#' * it has only Gaussian noise: by the sum of mu^2, for Gaussian noise exactly; later selections
#'   and Laplace releases are expressed in mu;
#' * it has pure epsilon (`delta = 0`): the epsilons add up; the first later call with
#'   Gaussian noise finds a budget of epsilon less their sum, at delta/2; or, if that is better,
#'   all calls are counted by zero-concentrated differential privacy at delta/2, which helps
#'   many small calls;
#' * otherwise by zero-concentrated differential privacy.
#'
#' Rules are not exchanged for one another later, for choosing the rule after an
#' answer would break the guarantee. So spend pure epsilons first: a call with
#' `delta = 0` after a Gaussian one costs more than its epsilon.
#'
#' A charge is kept: an error, an interrupt or a second try afterwards gives nothing back.
#' A ledger can be spent only by the R process that made it: a copy made by a
#' fork or read by [readRDS()] is refused. `epsilon = Inf` cannot be charged.
#'
#' @param epsilon A positive finite number.
#' @param delta A number, 0 <= delta < 1; in `remaining()` the delta of the call in
#'   question, by default the budget's.
#' @param budget A ledger made by `privacy_budget()`.
#' @param x A ledger.
#' @param ... Not used.
#' @return `privacy_budget()`: a ledger of class `dp_budget`, changed in place by
#'   the calls it is passed to; [as.data.frame()] lists the calls.
#'
#'   `remaining()`: the largest epsilon that one more call may ask for, with the given `delta`,
#'   and be sure to be admitted, whatever noise it uses; calls are calibrated
#'   in the ledger's way of counting, so that `epsilon = remaining(budget)` fits. It is 0 if
#'   nothing is left.
#'
#'   `spent()`: the smallest epsilon that a ledger with this delta would have needed for the calls
#'   so far.
#' @references
#' Rogers, R., Roth, A., Ullman, J. and Vadhan, S. (2016). Privacy odometers and
#' filters: pay-as-you-go composition. *NeurIPS*. \doi{10.48550/arXiv.1605.08294}
#'
#' Smith, A. and Thakurta, A. (2022). Fully adaptive composition for Gaussian
#' differential privacy. \doi{10.48550/arXiv.2210.17520}
#'
#' Feldman, V. and Zrnic, T. (2021). Individual privacy accounting via a Renyi
#' filter. *NeurIPS*. \doi{10.48550/arXiv.2008.11193}
#' @examples
#' b <- privacy_budget(epsilon = 1, delta = 1e-6)
#' remaining(b)
#' b
#' @export
privacy_budget <- function(epsilon, delta = 0) {
  budget <- new.env(parent = emptyenv())
  budget$epsilon <- check_epsilon(epsilon, allow_inf = FALSE)
  budget$delta <- check_delta(delta)
  budget$calls <- list()
  budget$process <- Sys.getpid()
  budget$id <- sprintf("%d", length(live_ledgers) + 1L)
  assign(budget$id, budget, envir = live_ledgers)
  lockBinding("epsilon", budget)
  lockBinding("delta", budget)
  class(budget) <- "dp_budget"
  budget
}

# Is this ledger the one this process made, not a copy?
check_budget <- function(budget) {
  if (!inherits(budget, "dp_budget") || !is.environment(budget)) {
    dp_abort("`budget` must be a ledger made by privacy_budget().")
  }
  if (!identical(budget$process, Sys.getpid())) {
    dp_abort(paste("this budget was made by another R process; a copy may not spend.",
                   "Nothing was charged."), "dp_error_budget")
  }
  own <- get0(budget$id, envir = live_ledgers, inherits = FALSE)
  if (!identical(own, budget)) {
    dp_abort("this budget is a copy read from a file; a copy may not spend. Nothing was charged.",
             "dp_error_budget")
  }
  invisible(budget)
}

call_record <- function(events, epsilon, delta, what) {
  events <- as_events(events)
  list(what = what, epsilon = epsilon, delta = delta, events = events,
       total = compose_events(events))
}

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
costly_calls <- function(budget) Filter(function(call) call$total$gdp > 0, budget$calls)

# The rules that the next call may use, as functions of all calls so far.
ledger_rules <- function(budget) {
  calls <- costly_calls(budget)
  first <- pure_prefix(calls, budget$epsilon)
  if (first == 0L) {
    return(list(filter_rule(calls, budget$epsilon, budget$delta)))
  }
  left <- max(budget$epsilon - sum_of(calls[seq_len(first)], "epsilon"), 0)
  rest <- calls[-seq_len(first)]
  half <- budget$delta / 2
  fresh <- filter_rule(rest, left, half)
  fresh$room <- if (length(rest) == 0L) budget$epsilon * TOLERANCE else 0
  if (half == 0) list(fresh) else list(fresh, zcdp_rule(calls, budget$epsilon, half))
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

ledger_admits <- function(budget, total) {
  for (rule in ledger_rules(budget)) {
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
    ledger_rules(budget)
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

# Books the events of a call, or refuses and changes nothing. To be called before
# the values are read; there is no refund.
ledger_charge <- function(budget, events, epsilon, delta, what) {
  if (is.null(budget)) {
    return(invisible(NULL))
  }
  check_budget(budget)
  if (!is.finite(epsilon)) {
    dp_abort("`epsilon = Inf` cannot be charged to a budget.", "dp_error_budget")
  }
  call <- call_record(events, epsilon, delta, what)
  if (!ledger_admits(budget, call$total)) {
    dp_abort(refusal(budget, epsilon, delta), "dp_error_budget")
  }
  budget$calls <- c(budget$calls, list(call))
  invisible(budget)
}

refusal <- function(budget, epsilon, delta) {
  left <- remaining(budget, min(delta, budget$delta))
  sprintf(paste(
    "the privacy budget does not allow this call: it asks for epsilon = %s with",
    "delta = %s, and epsilon = %s is left for such a call. Nothing was charged."
  ), format_number(epsilon), format_number(delta), format_number(left))
}

#' @rdname privacy_budget
#' @export
remaining <- function(budget, delta = budget$delta) {
  if (!inherits(budget, "dp_budget")) {
    dp_abort("`budget` must be a ledger made by privacy_budget().")
  }
  delta <- check_delta(delta)
  kinds <- if (delta == 0) "pure" else c("gaussian", "pure", "mixed")
  max(0, vapply(ledger_rules(budget), settle, 0, delta = delta, kinds = kinds))
}

# rule_epsilon() up to the rounding of its inverse: a little less until every kind of
# call fits; 0 for what is too little to be of use.
settle <- function(rule, delta, kinds) {
  epsilon <- rule_epsilon(rule, delta)
  fits <- function(e) all(vapply(kinds, function(k) rule_fits(rule, e, delta, k), NA))
  for (shrink in c(0, 10^-(12:3))) {
    e <- epsilon * (1 - shrink)
    if (e > 1e-8 && fits(e)) {
      return(e)
    }
  }
  0
}

#' @rdname privacy_budget
#' @export
spent <- function(budget) {
  if (!inherits(budget, "dp_budget")) {
    dp_abort("`budget` must be a ledger made by privacy_budget().")
  }
  calls <- costly_calls(budget)
  first <- pure_prefix(calls, budget$epsilon)
  if (first == 0L) {
    return(filter_epsilon(calls, budget$delta))
  }
  half <- budget$delta / 2
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

#' @export
as.data.frame.dp_budget <- function(x, ...) {
  column <- function(f, type) vapply(x$calls, f, type)
  data.frame(
    what = column(function(call) as.character(call$what), ""),
    epsilon = column(function(call) call$epsilon, 0),
    delta = column(function(call) call$delta, 0),
    mechanisms = column(function(call) {
      paste(unique(vapply(call$events, function(e) e$mechanism, "")), collapse = ", ")
    }, ""),
    releases = column(function(call) sum(vapply(call$events, function(e) e$count, 0)), 0),
    stringsAsFactors = FALSE
  )
}

#' @export
summary.dp_budget <- function(object, ...) as.data.frame(object)

#' @export
format.dp_budget <- function(x, ...) {
  sprintf("privacy budget: epsilon = %s, delta = %s; spent %s, remaining %s",
          format_number(x$epsilon), format_number(x$delta), format_number(spent(x)),
          format_number(remaining(x)))
}

#' @rdname privacy_budget
#' @export
print.dp_budget <- function(x, ...) {
  cat("Privacy budget: epsilon = ", format_number(x$epsilon), ", delta = ",
      format_number(x$delta), "\n", sep = "")
  left <- remaining(x)
  cat("Spent:     epsilon = ", format_number(spent(x)), "\n", sep = "")
  cat("Remaining: epsilon = ", format_number(left), " for one more call with delta = ",
      format_number(x$delta), "\n", sep = "")
  if (x$delta > 0) {
    cat("           epsilon = ", format_number(remaining(x, 0)),
        " for one more call with delta = 0\n", sep = "")
  }
  if (length(x$calls) > 0L) {
    cat("Calls:\n")
    print(as.data.frame(x), row.names = FALSE, right = FALSE)
  }
  invisible(x)
}
