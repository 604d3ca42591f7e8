# From a problem (x, y, offset, use) and a plan to coefficients in the caller's
# units. The charge has been made; values are read from here on.

fit_lm <- function(problem, schema, plan, known, control) {
  n <- schema$n
  p <- ncol(problem$x)
  report_stage(control, "scales and centres")
  columns <- standardise_columns(problem, schema, plan, known, n, control)
  if (!columns$found[[p + 1L]]) {
    none <- rep(NA_real_, length(plan$steps) + is_mean_target(plan))
    fit <- list(w = rep(0, p + schema$intercept), bound = none, sd = none,
                level = if (is_mean_target(plan)) NA_real_)
    lost <- list()
  } else {
    report_stage(control, "second moments")
    rows <- standardised_rows(problem, columns, schema, control$threads)
    noisy <- noisy_moments(rows, plan, n, control)
    present <- stands_out(noisy, schema$unit)
    if (!all(present)) {
      columns$found[seq_len(p)] <- columns$found[seq_len(p)] & present
      rows <- standardised_rows(problem, columns, schema, control$threads)
    }
    lost <- lost_references(noisy, schema, columns)
    if (columns$tied) plan$quantile[] <- TIED_QUANTILE
    plan$sigma <- plan$loss$sigma / columns$scale[[p + 1L]]
    pre <- precondition(noisy)
    fit <- descend(rows, pre, plan, n, control)
    if (is_mean_target(plan)) fit <- fit_mean_target(rows, noisy, pre, fit, plan, n, control)
  }
  b <- caller_units(fit$w * caller_scale(columns, schema), columns, schema)
  list(
    coefficients = b, center = columns$center,
    scale = columns$scale, found = columns$found, bound = fit$bound, sd = fit$sd,
    vcov = caller_vcov(fit$vcov[PARTS[-1L]], columns, schema),
    bias = caller_bias(fit, b, columns, schema),
    level = if (!is.null(fit$level)) fit$level * columns$scale[[p + 1L]],
    lost = lost
  )
}

# A column that was not found is a column of zeros.
standardised_rows <- function(problem, columns, schema, threads = 1) {
  own <- seq_len(ncol(problem$x))
  response <- length(own) + 1L
  rows <- new_rows(
    problem$x, problem$y, problem$offset, problem$use, center = columns$center[own],
    inv_scale = ifelse(columns$found, 1 / columns$scale, 0)[own],
    y_center = columns$center[[response]], y_inv_scale = 1 / columns$scale[[response]],
    intercept = schema$intercept, threads = threads
  )
  rows$units <- problem$units
  rows
}

# What one unit of each standardised coefficient is in the caller's units.
caller_scale <- function(columns, schema) {
  response <- length(columns$scale)
  slopes <- ifelse(columns$found, 1 / columns$scale, 0)[-response]
  columns$scale[[response]] * c(if (schema$intercept) 1, slopes)
}

TIED_SHARE <- 0.02

# Centre, scale and found for the columns of x and then the response.
standardise_columns <- function(problem, schema, plan, known, n, control) {
  p <- ncol(problem$x)
  out <- list(
    center = known$center, scale = known$scale, found = rep(TRUE, p + 1L), tied = FALSE
  )
  which <- which(is.na(known$center) | is.na(known$scale))
  if (length(which) > 0L && !plan$private) {
    got <- plain_scales(problem, n, control$threads)
    out$center[which] <- ifelse(is.na(known$center), got$center, known$center)[which]
    out$scale[which] <- ifelse(is.na(known$scale), got$scale, known$scale)[which]
    out$found[] <- got$found
  } else {
    out <- tune_part(out, problem, schema, plan, known, which[which <= p], "", control)
    out <- tune_part(out, problem, schema, plan, known, which[which > p], "_y", control)
  }
  if (!schema$intercept) {
    # nothing may be shifted: the size about zero is the scale, of a constant too
    out$found <- out$found | out$center != 0
    out$scale <- length_of(ifelse(out$found, out$scale, 0), out$center)
    out$scale[out$scale == 0] <- 1
    out$center <- rep(0, p + 1L)
  }
  out
}

# sqrt(a^2 + b^2), also where squares leave the range of doubles.
length_of <- function(a, b) {
  size <- sqrt(a^2 + b^2)
  ifelse(is.finite(size) & size >= 1e-150, size, pmax(abs(a), abs(b)))
}

# Finds the columns `which` privately: those of x, or the response.
tune_part <- function(out, problem, schema, plan, known, which, part, control) {
  if (length(which) == 0L) {
    return(out)
  }
  problem <- one_each(problem)
  # the response alone needs no x, which may be sparse
  x <- if (is_sparse(problem$x)) matrix(0, nrow(problem$x), 1L) else problem$x
  rows <- new_rows(x, problem$y, problem$offset, problem$use, intercept = schema$intercept,
                   which = if (part == "") which - 1 else ncol(x), threads = control$threads)
  if (part == "" && !schema$intercept) {
    got <- size_columns(rows, plan, schema$n, control)
  } else {
    given <- list(center = known$center[which], scale = known$scale[which])
    got <- tune_columns(rows, plan, schema$n, given, control, part)
  }
  out$center[which] <- got$center
  out$scale[which] <- got$scale
  out$found[which] <- got$found
  # where equal responses are frequent, the response is discrete or piled up
  if (part == "_y") out$tied <- got$ties > TIED_SHARE
  out
}

# epsilon = Inf: means and standard deviations, so that rows left out, rare categories and
# constant columns do no harm. The second pass is about the means of the first.
plain_scales <- function(problem, n, threads) {
  p <- ncol(problem$x)
  problem <- one_each(problem)
  center <- rep(0, p + 1L)
  for (pass in 1:2) {
    rows <- new_rows(problem$x, problem$y, problem$offset, problem$use,
                     center = center[seq_len(p)], y_center = center[[p + 1L]], intercept = TRUE,
                     threads = threads)
    moments <- noisy_moments(rows, list(private = FALSE), n)$moments
    used <- max(moments[1L, 1L], 0.5 / n)
    center <- center + moments[1L, -1L] / used
  }
  scale <- sqrt(diag(moments)[-1L] / used)
  flat <- scale <= 1e-12 * abs(center)
  list(
    center = center, scale = ifelse(flat, ifelse(center == 0, 1, abs(center)), scale),
    found = rep(moments[1L, 1L] > 0, p + 1L)
  )
}

# Public centre and scale per column of x and the response; NA = to be found.
# Columns known to lie in [0, 1] have centre 0 and scale 1.
known_scales <- function(scale, schema) {
  names <- setdiff(schema$columns, "(Intercept)")
  if (!is.null(scale) && !is_list_of(scale, c("x", "y"))) {
    dp_abort("`scale` must be a list with elements x and y, each list(center =, scale =).")
  }
  x <- one_scale(scale$x, names, "scale$x")
  y <- one_scale(scale$y, schema$response, "scale$y")
  center <- ifelse(schema$unit & is.na(x$center), 0, x$center)
  size <- ifelse(schema$unit & is.na(x$scale), 1, x$scale)
  list(center = c(center, y$center), scale = c(size, y$scale))
}

# A list whose elements all have one of these names, each once.
is_list_of <- function(x, names) {
  is.list(x) && sum(names(x) %in% names) == length(x) && anyDuplicated(names(x)) == 0L
}

one_scale <- function(part, names, arg) {
  p <- length(names)
  if (is.null(part)) {
    return(list(center = rep(NA_real_, p), scale = rep(NA_real_, p)))
  }
  if (!is_list_of(part, c("center", "scale"))) {
    dp_abort(sprintf("`%s` must be list(center =, scale =), public numbers per column.", arg))
  }
  list(
    center = per_column(part$center, names, paste0(arg, "$center"), -Inf),
    scale = per_column(part$scale, names, paste0(arg, "$scale"), 0)
  )
}

per_column <- function(v, names, arg, lower) {
  p <- length(names)
  if (is.null(v)) {
    return(rep(NA_real_, p))
  }
  least <- if (lower == 0) 1e-300 else -Inf
  if (!is.numeric(v) || any(is.infinite(v)) || any(v < least, na.rm = TRUE)) {
    dp_abort(sprintf("`%s` must hold finite numbers%s.", arg, if (lower == 0) " above 0" else ""))
  }
  if (!is.null(names(v))) {
    if (!all(names(v) %in% names)) {
      dp_abort(sprintf("`%s` names a column that is not in the model.", arg))
    }
    return(as.numeric(v[match(names, names(v))]))
  }
  if (!length(v) %in% c(1L, p)) {
    dp_abort(sprintf("`%s` must have one number, or one per column.", arg))
  }
  rep_len(as.numeric(v), p)
}

caller_units <- function(b, columns, schema) {
  p <- length(columns$center) - 1L
  if (schema$intercept) {
    b[[1L]] <- b[[1L]] + columns$center[[p + 1L]] - sum(b[-1L] * columns$center[seq_len(p)])
  }
  names(b) <- schema$columns
  b
}
