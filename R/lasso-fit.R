# A private choice of columns, and clipped gradient descent on those. The charge has been made;
# values are read from here on.

fit_lasso <- function(problem, schema, plan, known, spec, control) {
  p <- ncol(problem$x)
  report_stage(control, "scales and centres")
  columns <- if (plan$scaled) {
    as_they_come(standardise_columns(problem, schema, plan$refit, known, schema$n, control), known,
                 plan$size)
  } else {
    c(fw_columns(problem, schema, plan, known, control), raw = TRUE)
  }
  choice <- list(columns = seq_len(plan$size), level = 1)
  if (columns$found[[p + 1L]]) {
    report_stage(control, "choice of columns")
    choice <- choose_columns(problem, columns, schema, plan, spec, control)
  }
  report_stage(control, "fit of the chosen columns")
  refit <- refit_columns(problem, columns, choice, schema, plan, known, control)
  assemble_lasso(refit, columns, choice$columns, schema, spec$constraint$radius)
}

# Where fewer columns than are to be chosen have a scale that can be told from noise (they are
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

# The largest coordinates of the gradient at zero, per scale of the column where scales are
# found, else in the caller's units.
choose_columns <- function(problem, columns, schema, plan, spec, control) {
  state <- fw_state(problem, schema, columns, spec)
  if (!columns$raw) state$set <- vertex_set(spec$constraint, state$p)
  zero <- numeric(state$p)
  level <- fw_level_found(state, plan, NULL, zero, control)
  common <- with_common_scale(state, level, plan)
  state <- common$state
  rule <- fw_rule(state, common$level, plan, NULL)
  sums <- fw_sums(state, zero, 0, rule)
  if (state$intercept) sums <- sums[-1L]
  law <- score_law(plan$cost[["choice"]], 2 * rule$limit * state$set$norm)
  list(columns = select_top(abs(state$set$w * sums), plan$size, law, "exponential",
                            release_key(control)), level = level)
}

# With scales in hand there is nothing to search for in x; columns that were taken as they come
# have that of the gradient's coordinates, for derivatives are about 1. The preconditioner does the
# rest.
refit_columns <- function(problem, columns, choice, schema, plan, known, control) {
  chosen <- choice$columns
  own <- c(chosen, length(known$center))
  center <- columns$center[own]
  scale <- columns$scale[own]
  x <- seq_along(chosen)
  if (columns$raw) scale[x] <- ifelse(is.na(known$scale[chosen]), choice$level, scale[x])
  if (!plan$scaled) {
    center[length(own)] <- known$center[[length(known$center)]]
    scale[length(own)] <- known$scale[[length(known$center)]]
  }
  # a column without a scale is one of zeros
  lost <- !columns$found[chosen]
  center[x][lost] <- 0
  scale[x][lost] <- 1
  problem <- sub_problem(problem, chosen)
  problem$x[, lost] <- 0
  if (isTRUE(columns$tied)) plan$refit$quantile[] <- TIED_QUANTILE
  fit <- fit_lm(problem, sub_schema(schema, chosen), plan$refit,
                list(center = center, scale = scale), control)
  if (plan$scaled) fit$found <- fit$found & columns$found[own]
  fit
}

# Slopes in the ball and the intercept that goes with them; scales of all columns.
assemble_lasso <- function(fit, columns, chosen, schema, radius) {
  p <- length(columns$center) - 1L
  slopes <- if (schema$intercept) fit$coefficients[-1L] else fit$coefficients
  slopes[!fit$found[seq_along(chosen)]] <- 0
  b <- numeric(p)
  b[chosen] <- into_ball(slopes, fit, radius)
  intercept <- if (schema$intercept) {
    fit$coefficients[[1L]] + sum((slopes - b[chosen]) * fit$center[seq_along(chosen)])
  }
  own <- c(chosen, p + 1L)
  columns$center[own] <- fit$center
  columns$scale[own] <- fit$scale
  # columns that were not chosen are none that could not be fitted
  found <- rep(TRUE, p + 1L)
  found[own] <- fit$found
  list(
    coefficients = stats::setNames(c(intercept, b), schema$columns), center = columns$center,
    scale = columns$scale, found = found, bound = fit$bound, sd = fit$sd, path = chosen
  )
}

sub_problem <- function(problem, chosen) {
  problem$x <- take_columns(problem$x, chosen)
  problem
}

sub_schema <- function(schema, chosen) {
  slopes <- if (schema$intercept) schema$columns[-1L] else schema$columns
  schema$columns <- c(if (schema$intercept) "(Intercept)", slopes[chosen])
  schema$unit <- schema$unit[chosen]
  schema
}

# The nearest point of the l1 ball, slopes per scale of their column taken as equally costly.
into_ball <- function(b, fit, radius) {
  if (sum(abs(b)) <= radius) {
    return(b)
  }
  scale <- fit$scale[seq_along(b)]
  weight <- pmax((scale / max(scale))^2, 1e-30)
  # sum(|b| - lambda / weight)_+ = radius is linear in lambda between the points |b| weight
  falls <- order(-abs(b) * weight)
  size <- cumsum(abs(b)[falls])
  rate <- cumsum(1 / weight[falls])
  lambda <- (size - radius) / rate
  last <- max(which(abs(b[falls]) * weight[falls] > lambda & lambda >= 0), 1L)
  out <- sign(b) * pmax(abs(b) - lambda[[last]] / weight, 0)
  out * min(1, radius / max(sum(abs(out)), radius))
}
