# From a problem (x, y, offset, use) and a plan to the coefficients of the general problem, in the
# caller's units. The charge has been made; values are read from here on.

# Losses whose linear predictor is not in units of the response's scale.
margin_loss <- function(loss) loss$name %in% c("logistic", "user")

fit_sco <- function(problem, schema, plan, known, spec, control) {
  p <- ncol(problem$x)
  loss <- spec$loss
  if (loss$name == "logistic") problem$y <- pmin(pmax(problem$y, 0), 1)
  report_stage(control, "scales and centres")
  columns <- sco_columns(problem, schema, plan, known, loss, control)
  lost <- list()
  if (!columns$found[[p + 1L]]) {
    none <- rep(NA_real_, length(plan$steps))
    fit <- list(w = rep(0, p + schema$intercept), bound = none, sd = none)
  } else {
    rows <- standardised_rows(problem, columns, schema, control$threads)
    # the offset of these is a part of the linear predictor; a user's loss gets it in R
    if (margin_loss(loss)) rows$margin_offset <- as.double(loss$name == "logistic")
    noisy <- sco_moments(rows, plan, schema, loss, control)
    if (!is.null(noisy)) {
      columns$found[seq_len(p)] <- columns$found[seq_len(p)] & stands_out(noisy, schema$unit)
      rows$inv_scale[!columns$found[seq_len(p)]] <- 0
      lost <- lost_references(noisy, schema, columns)
    }
    if (isTRUE(columns$tied)) plan$quantile <- pmax(plan$quantile, TIED_QUANTILE)
    state <- sco_state(problem, rows, columns, schema, noisy, plan, spec)
    fit <- descend_sco(state, plan, control)
  }
  list(
    coefficients = sco_coefficients(fit$w, columns, schema, loss), center = columns$center,
    scale = columns$scale, found = columns$found, bound = fit$bound, sd = fit$sd, lost = lost
  )
}

# A mean is centred whatever the intercept says.
sco_columns <- function(problem, schema, plan, known, loss, control) {
  if (loss$name == "mean") schema$intercept <- TRUE
  standardise_columns(problem, schema, plan, known, schema$n, control)
}

sco_coefficients <- function(w, columns, schema, loss) {
  p <- length(columns$center) - 1L
  if (loss$name == "mean") {
    scale <- ifelse(columns$found, columns$scale, 0)[seq_len(p)]
    return(stats::setNames(columns$center[seq_len(p)] + scale * w, schema$columns))
  }
  caller_units(w * caller_scale(columns, schema), columns, schema)
}

# Second moments of (1, z, y): the response only where the start is a linear regression.
sco_moments <- function(rows, plan, schema, loss, control) {
  if (plan$private && plan$share[["moments"]] == 0 || loss$name == "mean") {
    return(NULL)
  }
  report_stage(control, "second moments")
  if (loss$name == "logistic") rows <- centred_response(rows)
  rows <- one_each(rows)
  if (loss$name == "user") {
    rows$y <- rep(0, nrow(rows$x))
    rows["offset"] <- list(NULL)
    rows$y_center <- 0
  }
  noisy_moments(rows, plan, schema$n, control)
}

# All that the steps need: private rows, the rest public or released.
sco_state <- function(problem, rows, columns, schema, noisy, plan, spec) {
  p <- ncol(problem$x)
  n <- schema$n
  response <- columns$scale[[p + 1L]]
  loss <- spec$loss
  unit <- if (loss$name == "mean") ifelse(columns$found, columns$scale, 0)[seq_len(p)] else
    caller_scale(columns, schema)
  slopes <- if (schema$intercept) unit[-1L] else unit
  ridge <- sco_ridge(spec$penalty$lambda, slopes, response, loss, schema$intercept)
  pre <- if (is.null(plan$paper)) sco_precondition(noisy, ridge, length(unit)) else
    no_precondition(length(unit))
  events <- if (loss$name == "logistic" && !is.null(noisy)) {
    event_curvature(noisy, rows$intercept, n)
  }
  start <- if (!is.null(events)) logistic_start(pre, events, rows$intercept) else pre$start
  state <- list(
    rows = rows, n = n, k = length(unit), pre = pre, start = start, ridge = ridge, loss = loss,
    gradient = spec$gradient, constraint = spec$constraint, unit = unit, response = response,
    sigma = loss$sigma / response, center = columns$center, intercept = schema$intercept,
    y = problem$y, offset = problem$offset, events = events
  )
  root <- if (is_record(spec$gradient)) pre$root
  state$rows$root <- root
  state$norm <- if (loss$name != "mean") row_norms(rows, root)
  state$shift <- if (loss$name == "mean") columns$center[seq_len(p)] else 0
  state$project <- ball_projection(state)
  state
}

# Weights of (w_j)^2 / 2 in units of the standardised squared loss (of its second moments, for
# the others), so that it adds to the Hessian. The intercept is free.
sco_ridge <- function(lambda, slopes, response, loss, intercept) {
  if (lambda == 0) {
    return(numeric(length(slopes) + intercept))
  }
  weight <- lambda * switch(loss$name,
    mean = rep(1, length(slopes)), logistic = slopes^2 / GLM_CURVATURE,
    user = (slopes / response)^2 / loss$curvature, (slopes / response)^2
  )
  # in units near the ends of what a double holds
  c(if (intercept) 0, pmin(weight, 1e100))
}

no_precondition <- function(k, size = 1) {
  list(root = diag(k), start = numeric(k), size = size, hessian = diag(k))
}

# Second moments with the penalty; the mean's are the identity, and need no release.
sco_precondition <- function(noisy, ridge, k) {
  if (is.null(noisy)) {
    return(no_precondition(k, max(1 + ridge)))
  }
  own <- seq_len(k)
  noisy$moments[cbind(own, own)] <- diag(noisy$moments)[own] + ridge
  pre <- precondition(noisy)
  pre$hessian <- solve(crossprod(pre$root)) * pre$size
  pre
}
