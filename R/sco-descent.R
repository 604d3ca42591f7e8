# The steps of the general problem, one private gradient at a time: each is one call into C that
# adds its noise and returns integers; all between two of them is post-processing of released
# numbers, but for the derivatives of a user's loss, which go into the next call and nowhere else.

descend_sco <- function(state, plan, control) {
  stages <- which(plan$steps > 0)
  bounds <- sds <- numeric(length(plan$steps))
  bounds[] <- sds[] <- NA_real_
  state$order <- if (plan$split || plan$groups > 0) random_order(state$n, release_key(control))
  state$batches <- if (plan$split) cut_batches(state$order, sum(plan$steps))
  w <- state$project(state$start)
  level <- NULL
  clock <- new_clock(control, sum(plan$steps))
  for (stage in stages) {
    report_descent(clock, plan, stage)
    own <- stage_loss(state, plan, stage)
    level <- sco_stage_level(own, w, plan, stage, level, control)
    rule <- sco_rule(own, level, plan, stage)
    bounds[[stage]] <- rule$bound
    sds[[stage]] <- rule$sd
    run <- if (plan$private) {
      sco_steps_private(own, w, rule, plan, stage, control)
    } else {
      sco_steps_plain(own, w, rule, plan, control)
    }
    w <- run$last
  }
  list(w = run$out, bound = bounds, sd = sds)
}

# Not private: the scale of the residuals is found again at each of many stages, towards the
# biweight from a good start.
stage_loss <- function(state, plan, stage) {
  if (!plan$private && state$loss$name == "biweight" && stage < 6L) {
    state$loss <- loss_huber(sigma = state$loss$sigma)
  }
  state
}

# ---- levels -------------------------------------------------------------------------

# The level of a stage (list: bound, and tuning of the loss), from counts where it is private.
# Where noise hides it, that of the stage before, halved.
sco_stage_level <- function(state, w, plan, stage, before, control) {
  if (is.null(before) || !plan$private || !one_level(state$gradient, state$loss)) {
    again <- is.null(before) || !plan$private
    tuning <- if (again) sco_tuning(state, w, plan, control) else before$tuning
    bound <- if (!is.null(plan$level)) {
      plan$level * level_unit(state, tuning)
    } else if (plan$private) {
      sco_private_level(state, w, plan, stage, tuning, control)
    } else {
      Inf
    }
    if (is.na(bound)) bound <- if (is.null(before)) sqrt(state$k) else before$bound / 2
    return(list(bound = bound, tuning = tuning))
  }
  before
}

# Tuning constant of a robust loss: its constant times the scale of the residuals.
sco_tuning <- function(state, w, plan, control) {
  if (!state$loss$name %in% c("huber", "biweight")) {
    return(NULL)
  }
  sigma <- state$sigma
  if (length(sigma) == 0L) {
    single <- one_each(state$rows)
    alone <- ifelse(row_norms(single) < Inf, 1, Inf)
    median <- clip_quantile(single, alone, w, plan, state$n, 0.5, control)
    # nothing stands out of the noise: the response's own scale
    sigma <- if (is.na(median)) 1 else median / stats::qnorm(0.75)
  }
  min(max(state$loss$tuning * sigma, 1e-100), 1e100)
}

sco_private_level <- function(state, w, plan, stage, tuning, control) {
  n <- state$n
  if (one_level(state$gradient, state$loss)) {
    return(clip_quantile(state$rows, state$norm, NULL, plan, n, COVARIATE_QUANTILE, control))
  }
  p <- plan$quantile[[stage]]
  at <- sco_point(state, w)
  if (!is_record(state$gradient)) {
    rule <- c(sco_loss_rule(state, at, tuning), list(
      estimator = "winsorized", bound = 1, step = 1, limit = 1
    ))
    return(coordinate_quantile(at, rule, plan, n, state$k, p, control))
  }
  if (state$loss$name == "squared") {
    return(clip_quantile(at$rows, at$norm, at$w, plan, n, p, control))
  }
  psi <- sco_loss_rule(state, at, tuning)$psi
  sizes <- if (is.null(psi)) at$norm else ifelse(at$norm < Inf, abs(psi) * at$norm, Inf)
  clip_quantile(at$rows, sizes, NULL, plan, n, p, control)
}

# A quantile of the sizes of all coordinates: a record moves k of n k counts.
coordinate_quantile <- function(at, rule, plan, n, k, p, control) {
  law <- count_law(plan$kind, as.double(n) * k, stage_cost(plan, "clip", plan$clips), sqrt(2) * k)
  cells <- octave_cells(SIZE_RANGE[[1L]], SIZE_RANGE[[2L]], plan$sub)
  counts <- release_coordinates(at$rows, at$norm, at$w, rule, cells, law, release_key(control))
  octave_quantile(occupied_cells(counts[-1L], law), octave_edges(cells), p)
}

# ---- gradients ------------------------------------------------------------------------

# Rows, norms and coefficients for C at w. The mean's gradient w - x is -1 times the row about
# w, so that it is the centre that moves.
sco_point <- function(state, w) {
  if (state$loss$name != "mean") {
    return(list(rows = state$rows, norm = state$norm, w = w))
  }
  rows <- state$rows
  scale <- ifelse(rows$inv_scale > 0, 1 / rows$inv_scale, 0)
  rows$center <- rows$center + w * scale
  list(rows = rows, norm = row_norms(rows), w = numeric(length(w)))
}

# The loss in C, or the derivatives of one in R (over its bound, if it has one).
sco_loss_rule <- function(state, at, tuning) {
  if (state$loss$name != "user") {
    return(list(loss = state$loss$name, tuning = tuning))
  }
  response <- length(state$center)
  eta <- state$center[[response]] + state$response * row_margins(at$rows, at$norm, at$w)
  if (!is.null(state$offset)) eta <- eta + state$offset
  # all rows, so that the length is public; harmless numbers for those that add zero
  idle <- !(at$norm < Inf)
  psi <- user_derivative(state$loss, replace(eta, idle, 0), replace(state$y, idle, 0))
  list(psi = psi / (state$loss$bound %||% 1))
}

# What a unit of the released gradient is against the standardised squared loss: the second
# derivative of the loss in C, of its bound for a user's.
sco_curvature <- function(loss, tuning, response) {
  switch(loss$name,
    logistic = GLM_CURVATURE, huber = , biweight = ROBUST_CURVATURE[[loss$name]] / tuning,
    user = loss$curvature * response / (loss$bound %||% 1), 1
  )
}

# A unit of the loss's own derivative in units of the one that is released: robust losses are over
# their largest derivative there, a user's over its bound. Data and covariates have no such unit.
level_unit <- function(state, tuning) {
  if (one_level(state$gradient, state$loss) || state$gradient$name == "shrunken") {
    return(1)
  }
  switch(state$loss$name,
    huber = , biweight = ROBUST_CURVATURE[[state$loss$name]] / tuning,
    user = 1 / (state$loss$bound %||% 1), 1
  )
}

# Everything of a stage's releases but the point.
sco_rule <- function(state, level, plan, stage) {
  gradient <- state$gradient
  curvature <- sco_curvature(state$loss, level$tuning, state$response)
  estimator <- plan$estimator
  if (one_level(gradient, state$loss)) estimator <- "covariate"
  rule <- list(bound = level$bound, tuning = level$tuning, curvature = curvature)
  if (!plan$private && level$bound == Inf && plan$groups == 0) estimator <- "clipped"
  rule$estimator <- estimator
  record <- estimator %in% c("clipped", "covariate")
  if (!plan$private) {
    law <- list(step = 0, limit = 1, noise = c(0, 0), sd = 0)
  } else if (record) {
    law <- gradient_law(state$n, state$k, step_mu(plan, stage), level$bound, state$pre$root)
  } else {
    law <- coordinate_law("gaussian", state$n, state$k, step_mu(plan, stage),
                          sco_reach(state, level))
    law$sd <- law$sd / state$n
  }
  # of the mean that a step takes: over a batch, or a group
  law$sd <- law$sd * state$n / step_size(state, plan)
  stretch <- covariate_stretch(state$pre, list(estimator = estimator, bound = level$bound))
  if (!is.null(state$events)) {
    stretch <- stretch * max(1, GLM_CURVATURE / (2 * state$events$curvature))
  }
  rule$record <- record
  rule$eta <- if (is.null(plan$paper)) plan$step * stretch / curvature else
    plan$eta / level_unit(state, level$tuning)
  rule$root <- if (record) state$pre$root
  if (estimator == "shrunken") rule$psi_bound <- sco_psi_bound(state, level)
  if (estimator == "catoni_smooth") rule$table <- catoni_table(gradient$beta)
  c(rule, law[c("step", "limit", "noise", "sd")])
}

# Bound of the derivatives, in units of the standardised problem.
sco_psi_bound <- function(state, level) {
  p <- state$k - state$intercept
  if (state$loss$name != "squared") {
    return(1)
  }
  # |w| <= r over the smallest unit of a slope, of those that are there
  unit <- if (state$intercept) state$unit[-1L] else state$unit
  radius <- state$constraint$radius / min(unit[unit > 0], Inf)
  level$bound * shrunken_psi(state$loss, radius, p)
}

sco_reach <- function(state, level) {
  if (state$gradient$name == "shrunken") {
    # contributions beyond it are clamped, whatever it is
    return(min(max(level$bound, 1) * sco_psi_bound(state, level), 1e100))
  }
  level$bound * coordinate_reach(state$gradient)
}

# Records that a step's mean is over, at least.
step_size <- function(state, plan) {
  batch <- if (plan$split) floor(state$n / sum(plan$steps)) else state$n
  if (plan$groups > 0) floor(batch / plan$groups) else batch
}

# The rows that a step reads and how they are grouped.
sco_view <- function(state, plan, step) {
  index <- if (plan$split) state$batches[[step]]
  rows <- if (plan$split) index else state$order
  view <- list(index = index, size = if (plan$split) length(index) else state$n)
  if (plan$groups > 0) {
    view <- c(view, partition_groups(state$n, plan$groups, rows))
    view$size <- floor(view$size / plan$groups)
  }
  view
}

# The private mean gradient at w, in units of the standardised problem, under the
# preconditioner: P g with g the gradient, P = L'L.
sco_gradient <- function(state, w, rule, view, control) {
  at <- sco_point(state, w)
  plan <- c(rule, sco_loss_rule(state, at, rule$tuning), view)
  out <- release_gradient(at$rows, at$norm, at$w, plan, release_key(control))
  root <- state$pre$root
  scale <- (if (rule$step > 0) rule$step else 1) / view$size
  if (rule$record && rule$step > 0) {
    drop(crossprod(root, out * scale))
  } else {
    drop(crossprod(root, root %*% (out * scale)))
  }
}

# ---- steps -----------------------------------------------------------------------------

# One step: the private gradient, the penalty's, the projection.
sco_step <- function(state, w, rule, view, control) {
  g <- sco_gradient(state, w, rule, view, control) * rule$eta / state$pre$size
  if (any(state$ridge > 0)) {
    pull <- state$ridge * (w + state$shift / pmax(state$unit, 1e-300))
    pull <- rule$eta * rule$curvature * pull / state$pre$size
    g <- g + drop(crossprod(state$pre$root, state$pre$root %*% pull))
  }
  state$project(w - g)
}

# Full batches end with the average over all but the first sixth of the last stage, split
# ones with that over its last half; the papers' branches with that over all, or the last.
sco_steps_private <- function(state, w, rule, plan, stage, control) {
  steps <- plan$steps[[stage]]
  skip <- if (!is.null(plan$paper)) 0 else floor(steps / if (plan$split) 2 else 6)
  before <- sum(plan$steps[seq_len(stage - 1L)])
  view <- if (!plan$split) sco_view(state, plan, 1L)
  sum <- numeric(length(w))
  clock <- new_clock(control, steps, every = 2)
  for (t in seq_len(steps)) {
    if (t > 1L) clock(t, sprintf("step %d of %.0f of this stage", t, steps))
    if (plan$split) view <- sco_view(state, plan, before + t)
    w <- sco_step(state, w, rule, view, control)
    if (t > skip) sum <- sum + w
  }
  list(last = w, out = if (plan$output == "last") w else sum / (steps - skip))
}

# Not private: accelerated (Nesterov, with a restart where the step turns back) until it stands.
sco_steps_plain <- function(state, w, rule, plan, control, most = 2000L) {
  view <- sco_view(state, plan, 1L)
  ahead <- w
  theta <- 1
  for (t in seq_len(most)) {
    if (plan$split) view <- sco_view(state, plan, 1L + (t - 1L) %% sum(plan$steps))
    new <- sco_step(state, ahead, rule, view, control)
    move <- new - w
    theta_new <- (1 + sqrt(1 + 4 * theta^2)) / 2
    if (sum((ahead - new) * move) > 0) theta_new <- theta <- 1
    ahead <- new + (theta - 1) / theta_new * move
    theta <- theta_new
    w <- new
    if (max(abs(move)) <= 1e-14 * max(1, abs(w)) && t > 10L) break
  }
  list(last = w, out = w)
}

# ---- the ball ------------------------------------------------------------------------------

# The point of the ball that is nearest to w in the metric of the preconditioner, so that a step
# that stands still is a minimiser: slopes b = unit w (+ shift), |b| <= r; the intercept is free.
ball_projection <- function(state) {
  radius <- state$constraint$radius
  if (!is.finite(radius)) {
    return(identity)
  }
  k <- state$k
  slopes <- setdiff(seq_len(k), if (state$intercept) 1L)
  there <- slopes[state$unit[slopes] > 0]
  unit <- pmin(state$unit[there], 1e300)
  shift <- if (length(state$shift) == k) state$shift[there] else rep(0, length(there))
  if (length(there) == 0L) {
    return(identity)
  }
  h <- state$pre$hessian
  own <- h[there, there, drop = FALSE]
  to_intercept <- if (state$intercept) h[there, 1L] / h[1L, 1L] else 0
  if (state$intercept) own <- own - tcrossprod(h[there, 1L]) / h[1L, 1L]
  # the mean's steps are steps in the caller's own metric
  # units far apart are taken as less so: their squares must stay finite
  apart <- pmax(unit / max(unit), 1e-100)
  metric <- if (state$loss$name == "mean") diag(length(there)) else own / outer(apart, apart)
  spectrum <- eigen((metric + t(metric)) / 2, symmetric = TRUE)
  values <- pmax(spectrum$values, 1e-12 * max(spectrum$values))
  function(w) {
    b <- unit * w[there] + shift
    size <- sum(b^2)
    if (!is.finite(size) || size <= radius^2) {
      return(w)
    }
    q <- drop(crossprod(spectrum$vectors, b))
    new <- drop(spectrum$vectors %*% shrink_to(q, values, radius))
    moved <- (new - shift) / unit - w[there]
    w[there] <- w[there] + moved
    if (state$intercept) w[[1L]] <- w[[1L]] - sum(to_intercept * moved)
    w
  }
}

# values / (values + m) q with m such that its length is r, |q| > r.
shrink_to <- function(q, values, r) {
  excess <- function(log_m) sum((values / (values + exp(log_m)) * q)^2) - r^2
  low <- log(min(values)) - 40
  high <- log(max(values)) + log(sqrt(sum(q^2)) / r + 1) + 1
  m <- exp(stats::uniroot(excess, c(low, high), tol = 1e-12)$root)
  out <- values / (values + m) * q
  out * min(1, r / sqrt(sum(out^2)))
}
