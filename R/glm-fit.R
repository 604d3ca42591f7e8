# From a problem (x, y, offset, use) and a plan to the coefficients of a logistic
# regression, in the caller's units. The charge has been made; values are read from here on.

fit_glm <- function(problem, schema, plan, known, constraint, control) {
  n <- schema$n
  p <- ncol(problem$x)
  report_stage(control, "scales and centres")
  columns <- standardise_columns(problem, schema, plan, known, n, control)
  report_stage(control, "second moments")
  rows <- logistic_rows(problem, columns, schema)
  noisy <- noisy_moments(centred_response(rows), plan, n, control)
  present <- stands_out(noisy, schema$unit)
  if (!all(present)) {
    columns$found[seq_len(p)] <- columns$found[seq_len(p)] & present
    rows <- logistic_rows(problem, columns, schema)
  }
  unit <- caller_scale(columns, schema)
  fit <- descend_logistic(rows, precondition(noisy), plan, constraint, unit, n, control)
  list(
    coefficients = caller_units(fit$w * unit, columns, schema), center = columns$center,
    scale = columns$scale, found = columns$found, bound = fit$bound, sd = fit$sd
  )
}

# The offset is a part of the log-odds, not of the response.
logistic_rows <- function(problem, columns, schema) {
  rows <- standardised_rows(problem, columns, schema)
  rows$margin_offset <- 1
  rows
}

# The second moments see y - 1/2, whose regression on z is a quarter of the coefficients when
# these are small.
centred_response <- function(rows) {
  rows$y_center <- 0.5
  rows
}

descend_logistic <- function(rows, pre, plan, constraint, unit, n, control) {
  norm <- row_norms(rows, pre$root)
  k <- length(pre$start)
  w <- pre$start / GLM_CURVATURE
  bound <- covariate_level(rows, norm, plan, n, k, GLM_QUANTILE, control)
  sds <- numeric(length(plan$steps))
  for (stage in seq_along(plan$steps)) {
    report_stage(control, sprintf("descent, stage %d of %d", stage, length(plan$steps)))
    law <- descent_law(plan, stage, n, k, bound, pre$root)
    sds[[stage]] <- law$sd
    run <- run_stage(rows, norm, w, plan$steps[[stage]], c(law, list(
      eta = plan$eta / pre$size, root = pre$root, constraint = constraint$name,
      radius = constraint$radius, unit = unit, loss = "logistic", estimator = "covariate"
    )), control)
    w <- run$last
  }
  list(w = if (plan$private) run$average else w, bound = rep(bound, length(sds)), sd = sds)
}
