# Rounds of a private choice of columns and a fit of those chosen so far. The exact sums that a
# choice is made from are private and do not leave. The charge has been made; values are read from
# here on.

fit_select <- function(problem, schema, plan, known, spec, control) {
  kind <- refit_kind(spec)
  if (spec$loss$name == "logistic") problem$y <- pmin(pmax(problem$y, 0), 1)
  report_stage(control, "scales and centres")
  columns <- select_columns(problem, schema, plan, known, control)
  if (!columns$found[[plan$p + 1L]]) {
    return(nothing_selected(columns, schema))
  }
  state <- coordinate_state(problem, schema, columns, spec)
  fit <- list(b = numeric(plan$p), w0 = first_intercept(state, plan, control),
              center = columns$later$center, scale = columns$later$scale,
              found = rep(TRUE, plan$p + 1L))
  chosen <- integer()
  for (r in seq_len(plan$rounds)) {
    report_stage(control, sprintf("choice of columns, round %d of %d", r, plan$rounds))
    choice <- choose_columns(state, fit, chosen, plan, plan$sizes[[r]], control)
    chosen <- c(chosen, choice$columns)
    fit <- measure_columns(fit, choice, problem, schema, plan, r, columns, control)
    if (r <= length(plan$middle)) {
      fit <- fit_chosen(problem, schema, kind, plan$middle[[r]], columns, fit, chosen)
    }
  }
  kept <- keep_largest(fit, chosen, plan$keep)
  report_stage(control, "fit of the chosen columns")
  fit <- fit_chosen(problem, schema, kind, plan$last, columns, fit, kept)
  # columns that were never chosen have what they were compared by
  for (part in c("center", "scale")) {
    fit[[part]] <- ifelse(is.na(fit[[part]]), columns[[part]], fit[[part]])
  }
  c(fit, list(chosen = chosen, kept = kept))
}

# The columns' own scales and centres for the choices; `later` is what the fits know of them.
select_columns <- function(problem, schema, plan, known, control) {
  p <- plan$p
  x <- seq_len(p)
  if (!plan$private) {
    return(plain_columns(problem, schema, plan, known, control))
  }
  first <- known
  if (plan$standardise != "search") {
    first$center[x] <- ifelse(is.na(known$center[x]), 0, known$center[x])
    first$scale[x] <- ifelse(is.na(known$scale[x]), 1, known$scale[x])
  }
  columns <- standardise_columns(problem, schema, plan$search, first, schema$n, control)
  columns$later <- list(center = known$center, scale = known$scale)
  if (plan$standardise == "search") {
    columns <- as_they_come(columns, known, plan$keep)
    if (!columns$raw) columns$later <- columns[c("center", "scale")]
  }
  if (plan$standardise == "sizes") {
    columns <- rough_columns(columns, problem, schema, plan, known, control)
  }
  if (has_common_scale(plan)) {
    common <- common_scale(problem, schema$n, plan, control)
    columns$scale[x] <- ifelse(is.na(known$scale[x]), common, known$scale[x])
  }
  columns$later$center[[p + 1L]] <- columns$center[[p + 1L]]
  columns$later$scale[[p + 1L]] <- columns$scale[[p + 1L]]
  columns
}

# Where fewer columns than are to be kept have a scale that can be told from noise (they are
# mostly zeros) all are taken as they come: a released fact.
as_they_come <- function(columns, known, size) {
  x <- seq_len(length(columns$center) - 1L)
  columns$raw <- sum(columns$found[x]) < size
  if (columns$raw) {
    columns$center[x] <- ifelse(is.na(known$center[x]), 0, known$center[x])
    columns$scale[x] <- ifelse(is.na(known$scale[x]), 1, known$scale[x])
    columns$found[x] <- TRUE
  }
  columns
}

# A Newton step for the intercept alone, from zero.
first_intercept <- function(state, plan, control) {
  if (!state$intercept || (plan$private && plan$cost[["start"]] == 0)) {
    return(0)
  }
  state$rows$x <- matrix(0, nrow(state$rows$x), 0L)
  state$rows$center <- state$rows$inv_scale <- numeric()
  state$norm <- row_norms(state$rows)
  state$p <- 0
  state$scale <- numeric()
  tuning <- fw_tuning(state)
  curvature <- sco_curvature(state$loss, tuning, state$response)
  start <- list(private = plan$private, estimator = "winsorized")
  level <- if (has_bounded_derivative(state$loss)) 1 else START_LEVEL
  rule <- fw_rule(state, if (plan$private) level else Inf, start, tuning)
  sum <- fw_sums(state, numeric(), 0, rule)
  if (!plan$private) {
    return(-sum / state$n / curvature)
  }
  law <- vector_law("gaussian", 1, plan$cost[["start"]], 2 * rule$limit)
  -release_vector(sum, law, release_key(control)) * rule$step / state$n / curvature
}

# One private top-s of the gradient's coordinates at the fit, of columns that are not chosen yet.
choose_columns <- function(state, fit, chosen, plan, size, control) {
  tuning <- fw_tuning(state)
  level <- fw_level_found(state, plan, tuning, fit$b, control, fit$w0)
  rule <- fw_rule(state, level, plan, tuning)
  sums <- fw_sums(state, fit$b, fit$w0, rule)
  if (state$intercept) sums <- sums[-1L]
  left <- setdiff(seq_len(state$p), chosen)
  law <- if (plan$private) score_law(plan$cost[["choice"]], 2 * rule$limit) else NO_NOISE_LAW
  new <- select_top(abs(sums[left]), size, law, "exponential", release_key(control))
  list(columns = left[new], level = level)
}

# Centre and scale of columns that were just chosen. Those that are lost in the noise keep what they
# were compared by, or are about as large as coordinates of the gradient, for derivatives are
# about 1. The preconditioner does the rest.
measure_columns <- function(fit, choice, problem, schema, plan, round, columns, control) {
  new <- choice$columns
  response <- length(fit$center)
  if (plan$private && plan$later[[round]]$x > 0) {
    part <- problem
    part$x <- take_columns(problem$x, new)
    own <- c(new, response)
    got <- standardise_columns(part, sub_schema(schema, new), plan$measure[[round]],
                               list(center = fit$center[own], scale = fit$scale[own]), schema$n,
                               control)
    found <- got$found[seq_along(new)]
    fit$center[new[found]] <- got$center[seq_along(new)][found]
    fit$scale[new[found]] <- got$scale[seq_along(new)][found]
  }
  rough <- !plan$private || plan$standardise == "sizes"
  size <- columns$scale[new] * if (rough) 1 else choice$level
  fit$center[new] <- ifelse(is.na(fit$center[new]), columns$center[new], fit$center[new])
  fit$scale[new] <- ifelse(is.na(fit$scale[new]), size, fit$scale[new])
  fit
}

# The fit of the chosen columns: slopes of all columns in the caller's units, the intercept of the
# standardised problem that choices are made in, and what is known of centres and scales.
fit_chosen <- function(problem, schema, kind, plan, columns, fit, chosen) {
  p <- length(fit$center) - 1L
  own <- c(chosen, p + 1L)
  known <- list(center = fit$center[own], scale = fit$scale[own])
  # a column that was lost is one of zeros
  lost <- !fit$found[chosen] | !columns$found[chosen]
  known$center[seq_along(chosen)][lost] <- 0
  known$scale[seq_along(chosen)][lost] <- 1
  part <- problem
  part$x <- take_columns(problem$x, chosen)
  part$x[, lost] <- 0
  if (isTRUE(columns$tied)) plan$quantile[] <- TIED_QUANTILE
  got <- kind$fit(part, sub_schema(schema, chosen), plan, known)
  slopes <- if (schema$intercept) got$coefficients[-1L] else got$coefficients
  slopes[lost | !got$found[seq_along(chosen)]] <- 0
  fit$b <- replace(numeric(p), chosen, finite_or_zero(slopes))
  fit$center[own] <- got$center
  fit$scale[own] <- got$scale
  fit$found[chosen] <- got$found[seq_along(chosen)] & !lost
  fit$intercept <- if (schema$intercept) finite_or_zero(got$coefficients[[1L]])
  fit$w0 <- if (schema$intercept) {
    finite_or_zero(
      (fit$intercept + sum(fit$b * columns$center[seq_len(p)]) - columns$center[[p + 1L]]) /
        columns$scale[[p + 1L]]
    )
  } else {
    0
  }
  fit[c("bound", "sd")] <- list(got$bound, got$sd)
  fit
}

# Slopes per scale of their column, largest first.
keep_largest <- function(fit, chosen, size) {
  if (length(chosen) <= size) {
    return(chosen)
  }
  chosen[order(-abs(fit$b[chosen] * fit$scale[chosen]))[seq_len(size)]]
}

sub_schema <- function(schema, chosen) {
  slopes <- if (schema$intercept) schema$columns[-1L] else schema$columns
  schema$columns <- c(if (schema$intercept) "(Intercept)", slopes[chosen])
  schema$unit <- schema$unit[chosen]
  schema$design <- NULL # a choice has no reference levels
  schema
}

# The response was lost in the noise.
nothing_selected <- function(columns, schema) {
  p <- length(columns$center) - 1L
  list(
    b = numeric(p), intercept = if (schema$intercept) columns$center[[p + 1L]], chosen = integer(),
    kept = integer(), center = columns$center, scale = columns$scale, found = columns$found,
    bound = NA_real_, sd = NULL
  )
}

# In the form that run_regression() takes.
select_result <- function(fit, schema) {
  list(
    coefficients = stats::setNames(c(fit$intercept, fit$b), schema$columns), center = fit$center,
    scale = fit$scale, found = fit$found, bound = fit$bound, sd = fit$sd, path = fit$chosen
  )
}
