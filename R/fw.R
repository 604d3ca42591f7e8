# The Frank-Wolfe path of dp_sco() and dp_lasso().

# Parts that do not go together.
check_fw_parts <- function(spec) {
  if (spec$penalty$lambda > 0) {
    dp_abort("`penalty` does not go with this constraint: leave it out, or use l2_ball(r).")
  }
  if (spec$loss$name == "mean") {
    dp_abort("`loss_mean()` does not go with this constraint: use l2_ball(r) or none.")
  }
  if (!spec$gradient$name %in% c("winsorized", "truncated", "catoni", "shrunken")) {
    dp_abort(paste(
      "`gradient` must be made by grad_winsorized(), grad_truncated(), grad_catoni() or",
      "grad_shrunken() with this constraint."
    ))
  }
  check_full_batches(spec$control)
}

# The paper's Algorithm 1 splits the rows itself.
check_full_batches <- function(control) {
  if (control$batches == "split") {
    dp_abort(paste(
      "`batches` = \"split\" is not available for Frank-Wolfe and dp_lasso(): leave it out.",
      "(With `calibration = \"paper\"` and delta = 0 the rows are split anyway.)"
    ))
  }
}

# Schema -> plan -> curator's checks -> charge -> values -> fit.
run_fw <- function(schema, spec, scale, na.action, classes = NULL) {
  check_fw_parts(spec)
  made <- front_plan_fw(schema, spec, scale)
  spec <- made$spec
  fit <- run_regression(
    schema, spec, made$plan, made$events, made$known, na.action,
    function(problem, schema, plan, known, control) {
      fit_fw(problem, schema, plan, known, spec, control)
    },
    solver = "frank_wolfe"
  )
  with_classes(fit, classes)
}

front_plan_fw <- function(schema, spec, scale) {
  made <- public_units(schema, spec, scale)
  spec <- made$spec
  known <- made$known
  p <- length(schema$columns) - schema$intercept
  if (p < 1L) dp_abort("there is no slope to constrain.")
  vertex_set(spec$constraint, p) # refuses vertices of another length
  plan <- if (is_paper(spec)) plan_fw_paper(schema$n, p, spec, schema$intercept) else
    plan_fw(schema$n, p, spec, known, schema$intercept, is_sparse(schema$live$x))
  list(plan = plan, events = plan$events, known = known, spec = spec)
}
