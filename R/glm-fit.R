# From a problem (x, y, offset, use) and a plan to the coefficients of a logistic
# regression, in the caller's units. The charge has been made; values are read from here on.

fit_glm <- function(problem, schema, plan, known, control) {
  n <- schema$n
  p <- ncol(problem$x)
  problem$y <- pmin(pmax(problem$y, 0), 1)
  report_stage(control, "scales and centres")
  columns <- standardise_columns(problem, schema, plan, known, n, control)
  report_stage(control, "second moments")
  rows <- logistic_rows(problem, columns, schema, control$threads)
  noisy <- noisy_moments(centred_response(rows), plan, n, control)
  present <- stands_out(noisy, schema$unit)
  if (!all(present)) {
    columns$found[seq_len(p)] <- columns$found[seq_len(p)] & present
    rows <- logistic_rows(problem, columns, schema, control$threads)
  }
  lost <- lost_references(noisy, schema, columns)
  fit <- descend_logistic(rows, noisy, plan, n, control)
  list(
    coefficients = caller_units(fit$w * caller_scale(columns, schema), columns, schema),
    center = columns$center, scale = columns$scale, found = columns$found, bound = fit$bound,
    sd = fit$sd, vcov = caller_vcov(fit$vcov, columns, schema), lost = lost
  )
}

# The offset is a part of the log-odds, not of the response.
logistic_rows <- function(problem, columns, schema, threads) {
  rows <- standardised_rows(problem, columns, schema, threads)
  rows$margin_offset <- 1
  rows
}

# The second moments see y - 1/2.
centred_response <- function(rows) {
  rows$y_center <- 0.5
  rows
}

# The share of events m, from the released moments: the curvature of the loss is about
# m (1 - m) where covariates say little. Without an intercept it is not known: 1/4.
event_curvature <- function(noisy, intercept, n) {
  if (intercept == 0) {
    return(list(share = 0.5, curvature = GLM_CURVATURE))
  }
  share <- 0.5 + noisy$moments[1L, ncol(noisy$moments)] / max(noisy$moments[1L, 1L], 0.5)
  least <- min(max(noisy$sd, 5 / n), 0.4)
  share <- min(max(share, least), 1 - least)
  list(share = share, curvature = share * (1 - share))
}

# The linear regression of y - 1/2 on z, over the curvature, about the log-odds of m; half of that
# where events are rare, for then large log-odds count little in the linear one.
logistic_start <- function(pre, events, intercept) {
  w <- pre$start / max(events$curvature, min(2 * events$curvature, GLM_CURVATURE))
  if (intercept != 0) w[[1L]] <- stats::qlogis(events$share)
  w
}

descend_logistic <- function(rows, noisy, plan, n, control) {
  pre <- precondition(noisy)
  norm <- row_norms(rows, pre$root)
  k <- length(pre$start)
  events <- event_curvature(noisy, rows$intercept, n)
  w <- logistic_start(pre, events, rows$intercept)
  bound <- covariate_level(rows, norm, plan, n, k, GLM_QUANTILE, control)
  rule <- list(bound = bound, estimator = "covariate")
  stretch <- covariate_stretch(pre, rule) * max(1, GLM_CURVATURE / (2 * events$curvature))
  sds <- h <- numeric(length(plan$steps))
  clock <- new_clock(control, sum(plan$steps))
  for (stage in seq_along(plan$steps)) {
    begun <- w
    report_descent(clock, plan, stage)
    law <- descent_law(plan, stage, n, k, bound, pre$root)
    sds[[stage]] <- law$sd
    h[[stage]] <- plan$eta * noise_step(plan, stage, n, k, GLM_NOISE_RISK) * stretch / pre$size
    run <- run_stage(rows, norm, w, plan$steps[[stage]], c(law, list(
      eta = h[[stage]],
      root = pre$root, loss = "logistic", estimator = "covariate"
    )), control)
    w <- run$last
  }
  if (plan$private) w <- run$average else w <- newton_logistic(rows, w)
  rule$loss <- "logistic"
  rule$curvature <- events$curvature
  run <- list(h = h, sd = sds, steps = plan$steps, moved = w - begun)
  list(
    w = w, bound = rep(bound, length(sds)), sd = sds,
    vcov = descent_vcov(rows, norm, w, pre, rule, run, plan, n, control)
  )
}

# Not private: the same gradient under the second moments weighted by the curvature.
newton_logistic <- function(rows, w, steps = 30L) {
  z <- sweep(sweep(rows$x, 2L, rows$center), 2L, rows$inv_scale, `*`)
  if (rows$intercept != 0) z <- cbind(rep(1, nrow(z)), z)
  z[rowSums(!is.finite(z)) > 0, ] <- 0
  if (!is.null(rows$use)) z[!rows$use, ] <- 0
  offset <- if (is.null(rows$offset)) 0 else ifelse(is.finite(rows$offset), rows$offset, 0)
  weight <- storage_weights(rows)
  records <- if (is.null(rows$units)) nrow(z) else length(rows$units$one)
  k <- ncol(z)
  for (step in seq_len(steps)) {
    p <- stats::plogis(drop(z %*% w) + offset)
    moments <- matrix(0, k + 1L, k + 1L)
    moments[seq_len(k), seq_len(k)] <- crossprod(z, z * (p * (1 - p) * weight)) / records
    pre <- precondition(list(moments = moments, sd = 0))
    norm <- row_norms(rows, pre$root)
    law <- list(noise = c(0, 0), step = 0, limit = 1, bound = Inf)
    w <- run_stage(rows, norm, w, 1, c(law, list(
      eta = 1 / pre$size, root = pre$root, loss = "logistic", estimator = "covariate"
    )), dp_control())$last
  }
  w
}
