# One function per front of dp_plan(): the front's own public checks and its own plan, without
# data. Each returns the plan, its events, the least sensible n and what the expected error is a
# function of.

# A front has one line here.
planned_fronts <- function() {
  list(mean = planned_mean, quantile = planned_quantile, lm = planned_lm, glm = planned_glm,
       lasso = planned_lasso, sparse = planned_sparse, sco = planned_sco)
}

new_planned <- function(plan, events, n_sensible, expect, control) {
  list(plan = plan, events = events, n_sensible = n_sensible, expect = expect, control = control)
}

# A plan has no rows whose units could be named: is n the number of units?
planned_unit <- function(unit) {
  if (!isTRUE(unit) && !isFALSE(unit)) {
    dp_abort("`unit` must be TRUE or FALSE in a plan: does n count units, each with all its rows?")
  }
  unit
}

planned_rule <- function(unit, unit_weight, max_rows) {
  unit_rule(if (planned_unit(unit)) TRUE, unit_weight, max_rows)
}

planned_mean <- function(n, d, epsilon, delta = 0, ..., bound = NULL, moment = NULL, by = NULL,
                         method = "winsorized", beta = Inf, sparsity = NULL, na.rm = FALSE,
                         interval = FALSE, unit = FALSE, unit_weight = "sum", max_rows = NULL,
                         budget = NULL, control = dp_control()) {
  check_dots(...)
  method <- check_choice(method, "method", c("winsorized", ROBUST_MEANS))
  control <- check_control(control, if (method == "winsorized") "dp_mean", full = "dp_mean")
  delta <- check_delta(delta)
  na.rm <- check_flag(na.rm, "na.rm")
  interval <- check_flag(interval, "interval")
  check_mean_method(method, moment, bound, missing(beta), interval)
  rule <- planned_rule(unit, unit_weight, max_rows)
  if (!is.null(rule)) check_unit_mean(rule, method, sparsity, by)
  if (!is.null(by)) {
    check_by_goes(method, sparsity)
    return(planned_mean_by(n, d, check_count(by, "by", upper = MOST_GROUPS), epsilon, delta,
                           check_bound(bound, list(d = d)), na.rm, interval, budget, control))
  }
  if (!is.null(sparsity)) {
    if (interval) dp_abort("`interval` does not go with `sparsity`: leave it out.")
    sparsity <- check_sparse_mean(sparsity, method, na.rm, bound, d)
    plan <- plan_sparse_mean(n, d, sparsity, epsilon, delta, bound, moment, method, beta, budget,
                             control)
    return(new_planned(plan, plan$events, plan$n_sensible %||% 1, function(assume) no_expectation(),
                       control))
  }
  if (method != "winsorized") {
    plan <- plan_robust_mean(n, d, epsilon, delta, bound, moment, method, beta, na.rm, budget,
                             control)
    expect <- function(assume) expected_robust_mean(plan, n, assume)
    return(new_planned(plan, plan$events, max(1, plan$groups), expect, control))
  }
  bound <- check_bound(bound, list(d = d))
  summed <- identical(rule$weight, "sum")
  plan <- plan_mean(n, d, epsilon, delta, !is.null(bound), na.rm && !summed, budget, interval,
                    if (summed) mean_reserve(n, rule) else no_reserve)
  expect <- function(assume) expected_winsorised(plan, n, bound, assume)
  new_planned(plan, plan$events, mean_sensible_n(plan, epsilon, delta, budget), expect, control)
}

# Rows below which dp_mean() refuses: mean_shares() (R/mean-plan.R) solved for n.
mean_sensible_n <- function(plan, epsilon, delta, budget) {
  if (plan$bounded) {
    return(1)
  }
  if (plan$kind == "laplace") {
    worth <- ledger_allowance(budget, epsilon, delta, "pure")$epsilon / plan$d
    return(ceiling((140 + 300) / 0.8 / worth))
  }
  worth <- sqrt(2 * ledger_allowance(budget, epsilon, delta, "mixed")$rho / plan$d)
  ceiling(sqrt((70^2 + 2 * 45^2) / 0.8) / worth)
}

planned_quantile <- function(n, d, epsilon, delta = 0, ..., probs, bound = NULL, na.rm = FALSE,
                             unit = FALSE, budget = NULL, control = dp_control()) {
  check_dots(...)
  planned_unit(unit)
  control <- check_control(control, "dp_quantile")
  delta <- check_delta(delta)
  check_flag(na.rm, "na.rm")
  probs <- check_probs(probs)
  if (d != 1) dp_abort("`d` must be 1: dp_quantile() takes one vector.")
  check_bound(bound, list(d = 1))
  plan <- plan_quantiles(probs, n, rep(is.null(bound), 2L), epsilon, delta, budget)
  joint <- any(plan$far)
  # as in warn_extreme_quantiles()
  least <- if (joint) n else FAR_DRAW / (2 * plan$c * max(min(probs, 1 - probs), 1e-9))
  expect <- if (joint) function(assume) no_expectation() else
    function(assume) expected_quantiles(plan, n, probs, assume)
  new_planned(plan, plan$events, if (is.null(bound)) ceiling(least) else 1, expect, control)
}

# The public facts of an x with d columns, of which the last `indicators` lie in [0, 1].
planned_schema <- function(n, d, intercept, indicators = 0, sparse = FALSE) {
  intercept <- check_flag(intercept, "intercept")
  indicators <- check_count(indicators, "indicators", 0, d)
  columns <- paste0("x", seq_len(d))
  structure(list(
    kind = "matrix", n = n, response = "y", intercept = intercept,
    columns = c(if (intercept) "(Intercept)", columns),
    unit = rep(c(FALSE, TRUE), c(d - indicators, indicators)),
    live = list(x = if (check_flag(sparse, "sparse")) structure(list(), class = "dp_columns"))
  ), class = "dp_schema")
}

# The path that the fit would take.
planned_regression <- function(schema, d, spec, scale) {
  n <- schema$n
  intercept <- as.numeric(schema$intercept)
  logistic <- spec$loss$name == "logistic"
  if (logistic) check_binary_scale(scale)
  if (is_standard(spec)) {
    made <- (if (logistic) front_plan_glm else front_plan_lm)(schema, spec, scale)
    expect <- if (logistic) {
      function(assume) expected_glm(made$plan, n, d, intercept, assume)
    } else {
      function(assume) expected_lm(made$plan, n, d, intercept, assume)
    }
  } else {
    check_parts(spec)
    if (is_vertex_set(spec$constraint)) {
      check_fw_parts(spec)
      made <- front_plan_fw(schema, spec, scale)
      expect <- function(assume) no_expectation()
    } else if (spec$constraint$name == "sparse_vectors") {
      made <- front_plan_iht(schema, spec, scale)
      expect <- function(assume) no_expectation()
    } else {
      made <- front_plan_sco(schema, spec, scale)
      expect <- function(assume) {
        name_units(expected_sco(made$plan, n, d, intercept, made$spec, assume), made$events)
      }
    }
  }
  expect <- near_scales(expect, made$known, schema, !spec$loss$name %in% c("logistic", "mean"))
  new_planned(made$plan, c(spec$reserve$events, made$events), made$plan$n_sensible, expect,
              spec$control)
}

# A model of given scales there is only where they are about those assumed.
near_scales <- function(expect, known, schema, response = TRUE) {
  force(expect)
  x <- which(!schema$unit)
  y <- if (response) length(schema$unit) + 1L
  near <- function(which, unit) {
    ratio <- known$scale[which] / unit
    all(is.na(ratio) | ratio >= 0.5 & ratio <= 2) &&
      all(is.na(known$center[which]) | abs(known$center[which]) <= unit)
  }
  function(assume) {
    ok <- near(x, 1) && near(y, response_scale_of(assume))
    if (ok) expect(assume) else no_expectation()
  }
}

# Levels of stages by the names of their events.
name_units <- function(expected, events) {
  what <- grep("^gradient in", vapply(events, `[[`, "", "what"), value = TRUE)
  stages <- grep("^stage", names(expected$units))
  names(expected$units)[utils::tail(stages, length(what))] <- what
  expected
}

planned_lm <- function(n, d, epsilon, delta, ..., intercept = TRUE, indicators = 0,
                       loss = loss_squared(), target = NULL, penalty = NULL, scale = NULL,
                       gradient = grad_clipped(), constraint = no_constraint(), unit = FALSE,
                       unit_weight = "sum", max_rows = NULL, budget = NULL,
                       control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- lm_spec(epsilon, delta, as_loss(loss), gradient, constraint, penalty, budget, control)
  spec$target <- check_target(target, spec, if (planned_unit(unit)) TRUE)
  schema <- planned_schema(n, d, intercept, indicators)
  spec <- plan_units(spec, schema, planned_rule(unit, unit_weight, max_rows))
  planned_regression(schema, d, spec, scale)
}

planned_glm <- function(n, d, epsilon, delta, ..., family = stats::binomial(), intercept = TRUE,
                        indicators = 0, penalty = NULL, scale = NULL, gradient = grad_clipped(),
                        constraint = no_constraint(), unit = FALSE, unit_weight = "sum",
                        max_rows = NULL, budget = NULL, control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  check_family(family)
  spec <- lm_spec(epsilon, delta, loss_logistic(), gradient, constraint, penalty, budget, control,
                  "dp_glm")
  schema <- planned_schema(n, d, intercept, indicators)
  spec <- plan_units(spec, schema, planned_rule(unit, unit_weight, max_rows))
  planned_regression(schema, d, spec, scale)
}

planned_sco <- function(n, d, epsilon, delta, ..., intercept = TRUE, indicators = 0,
                        sparse = FALSE, loss = loss_squared(), constraint = no_constraint(),
                        gradient = NULL, solver = NULL, penalty = NULL, moment = NULL,
                        scale = NULL, unit = FALSE, unit_weight = "sum", max_rows = NULL,
                        budget = NULL, control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- sco_spec(epsilon, delta, loss, gradient, constraint, solver, penalty, moment, budget,
                   control)
  if (spec$loss$name == "mean") intercept <- FALSE
  schema <- planned_schema(n, d, intercept, indicators, sparse)
  spec <- plan_units(spec, schema, planned_rule(unit, unit_weight, max_rows))
  planned_regression(schema, d, spec, scale)
}

planned_lasso <- function(n, d, epsilon, delta, ..., radius, intercept = TRUE, indicators = 0,
                          sparse = FALSE, gradient = NULL, solver = NULL, refit = NULL,
                          moment = NULL, scale = NULL, unit = FALSE, unit_weight = "sum",
                          max_rows = NULL, budget = NULL, control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- lasso_spec(epsilon, delta, radius, gradient, solver, refit, moment, budget, control)
  schema <- planned_schema(n, d, intercept, indicators, sparse)
  spec <- plan_units(spec, schema, planned_rule(unit, unit_weight, max_rows))
  if (!spec$refit) {
    return(planned_regression(schema, d, spec, scale))
  }
  made <- front_plan_lasso(schema, spec, scale)
  expect <- function(assume) expected_lasso(made$plan, n, d, as.numeric(schema$intercept), assume)
  new_planned(made$plan, c(spec$reserve$events, made$events), made$plan$n_sensible,
              near_scales(expect, made$known, schema), spec$control)
}

planned_sparse <- function(n, d, epsilon, delta, ..., sparsity = NULL, intercept = TRUE,
                           indicators = 0, sparse = FALSE, loss = "squared", gradient = NULL,
                           solver = NULL, moment = NULL, scale = NULL, unit = FALSE,
                           unit_weight = "sum", max_rows = NULL, budget = NULL,
                           control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- sparse_spec(epsilon, delta, sparsity, loss, gradient, solver, moment, budget, control)
  schema <- planned_schema(n, d, intercept, indicators, sparse)
  spec <- plan_units(spec, schema, planned_rule(unit, unit_weight, max_rows))
  if (!is.null(sparsity) && sparsity > d) dp_abort("`sparsity` must be at most `d`.")
  if (spec$solver == "iht") {
    return(planned_regression(schema, d, spec, scale))
  }
  made <- front_plan_sparse(schema, spec, scale)
  expect <- if (spec$loss$name == "squared") {
    function(assume) expected_lasso(made$plan, n, d, as.numeric(schema$intercept), assume)
  } else {
    function(assume) no_expectation()
  }
  expect <- near_scales(expect, made$known, schema, spec$loss$name == "squared")
  new_planned(made$plan, c(spec$reserve$events, made$events), made$plan$n_sensible, expect,
              spec$control)
}
