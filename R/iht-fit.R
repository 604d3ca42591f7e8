# Rounds of a gradient step, a private choice of the largest coefficients, and their noisy values.
# The exact sums are private and do not leave. The charge has been made; values are read from here
# on.

fit_iht <- function(problem, schema, plan, known, spec, control) {
  if (spec$loss$name == "logistic") problem$y <- pmin(pmax(problem$y, 0), 1)
  report_stage(control, "scales and centres")
  columns <- iht_columns(problem, schema, plan, known, control)
  state <- coordinate_state(problem, schema, columns, spec)
  state$set <- list(kind = "sparse_vectors", norm = 1, s = plan$keep,
                    radius = spec$constraint$radius)
  if (!columns$found[[plan$p + 1L]]) {
    fit <- list(b = numeric(plan$p), w0 = 0, bound = NA_real_, path = list())
  } else {
    report_stage(control, "rounds")
    fit <- if (plan$private) iht_private(state, plan, control) else iht_plain(state, plan)
  }
  if (!is.null(fit$scale)) columns$scale[seq_len(plan$p)] <- fit$scale
  iht_result(fit, columns, schema)
}

# Columns whose scales cannot be told from noise are taken as they come, if that goes for most of
# them; if for a few, as for constants, they are left out: in their own units steps may be far too
# long.
iht_columns <- function(problem, schema, plan, known, control) {
  columns <- if (!plan$private) {
    plain_columns(problem, schema, plan, known, control)
  } else if (plan$pure || isTRUE(plan$paper)) {
    fw_columns(problem, schema, plan, known, control)
  } else {
    select_columns(problem, schema, plan, known, control)
  }
  x <- seq_len(plan$p)
  lost <- which(!columns$found[x])
  columns$center[lost] <- 0
  columns$scale[lost] <- 1
  columns$found[lost] <- !identical(plan$standardise, "search") || isTRUE(columns$raw)
  columns
}

# The coefficients after a step, as whole numbers of steps / unit: u = w / unit - G.
iht_scores <- function(state, b, w0, rule, step, view = NULL) {
  curvature <- sco_curvature(state$loss, rule$tuning, state$response)
  rows <- if (is.null(view)) state$n else length(view$index)
  grid <- if (rule$step > 0) rule$step else 1
  unit <- step / curvature * grid / rows
  w <- fw_point(state, b, w0)
  sums <- fw_sums(state, b, w0, rule, view)
  here <- w / unit
  if (rule$step > 0) here <- pmin(pmax(round(ifelse(is.nan(here), 0, here)), -2^51), 2^51)
  list(u = here - sums, unit = unit)
}

# One round: what is kept of the coefficients after a step, and which slopes these are.
iht_round <- function(state, b, w0, rule, laws, plan, view, control) {
  at <- iht_scores(state, b, w0, rule, plan$step, view)
  slopes <- if (state$intercept) at$u[-1L] else at$u
  chosen <- select_top(abs(slopes), plan$keep, laws$choice, laws$how, release_key(control))
  kept <- c(if (state$intercept) at$u[[1L]], slopes[chosen])
  values <- finite_or_zero(release_vector(kept, laws$values, release_key(control)) * at$unit)
  values <- pmin(pmax(values, -iht_cap(state, plan)), iht_cap(state, plan))
  if (state$intercept) {
    w0 <- values[[1L]]
    values <- values[-1L]
  }
  values <- finite_or_zero(values * (state$response / state$scale[chosen]))
  new <- replace(numeric(state$p), chosen, values)
  list(b = into_radius(new, state$set$radius), w0 = w0, chosen = chosen, unit = at$unit)
}

# Steps that are too long for columns taken as they come grow without end; coefficients as large as
# this, in scales of the response, are none that data ask for.
iht_cap <- function(state, plan) {
  ours <- plan$private && !isTRUE(plan$paper) && plan$source == "private"
  if (ours && state$loss$name == "squared") 10 * sqrt(state$k) else Inf
}

into_radius <- function(b, radius) {
  most <- max(abs(b))
  # without overflow of the squares
  size <- if (most > 0) sqrt(sum((b / most)^2)) else 0
  if (most * size > radius) b / most * (radius / size) else b
}

iht_private <- function(state, plan, control) {
  tuning <- fw_tuning(state)
  laws <- iht_laws(plan)
  batches <- if (plan$split) cut_batches(random_order(state$n, release_key(control)), plan$rounds)
  b <- sum_b <- numeric(state$p)
  w0 <- sum_w0 <- 0
  path <- vector("list", plan$rounds)
  level <- NULL
  clock <- new_clock(control, plan$rounds, every = 2)
  for (t in seq_len(plan$rounds)) {
    clock(t, sprintf("round %d of %.0f", t, plan$rounds))
    if (t <= level_rounds(plan)) level <- fw_level_found(state, plan, tuning, b, control, w0)
    if (t == 1L && !is_record(state$gradient)) {
      common <- with_common_scale(state, level, plan)
      state <- common$state
      level <- common$level
    }
    rule <- fw_rule(state, level, plan, tuning)
    view <- if (plan$split) list(index = batches[[t]])
    round <- iht_round(state, b, w0, rule, laws, plan, view, control)
    b <- round$b
    w0 <- round$w0
    path[[t]] <- round$chosen
    if (t > plan$rounds / 2) {
      sum_b <- sum_b + b
      sum_w0 <- sum_w0 + w0
    }
  }
  if (plan$output == "average") {
    later <- plan$rounds - floor(plan$rounds / 2)
    b <- largest_slopes(sum_b / later, state, plan$keep)
    w0 <- sum_w0 / later
  }
  noise <- iht_noise(round$unit * law_sd(laws$values), plan)
  list(b = b, w0 = w0, bound = level, path = path, noise = noise, scale = state$scale)
}

law_sd <- function(law) law$scale * if (law$kind == "laplace") sqrt(2) else 1

# Bounded coordinates leave about half of the curvature.
IHT_LEFT <- 0.5

# About the standard deviation that noise gives a slope, per scale of its column: of the last
# iterate or of the average of the later ones of w <- (1 - step) w + sd z, z of variance one.
iht_noise <- function(sd, plan) {
  step <- min(plan$step, 1) * IHT_LEFT
  last <- sd / sqrt(step * (2 - step))
  if (plan$output == "last") {
    return(last)
  }
  min(last, sd / step / sqrt(plan$rounds - floor(plan$rounds / 2)))
}

# All but the s largest slopes per scale of their column are zero.
largest_slopes <- function(b, state, s) {
  small <- order(-abs(b * state$scale))[-seq_len(s)]
  replace(b, small, 0)
}

# Not private: to the end, with steps of one over the largest eigenvalue of the second moments.
iht_plain <- function(state, plan) {
  tuning <- fw_tuning(state)
  level <- fw_level_found(state, plan, tuning, numeric(state$p), NULL)
  rule <- fw_rule(state, level, plan, tuning)
  step <- 1 / largest_eigenvalue(state)
  b <- numeric(state$p)
  w0 <- 0
  path <- list()
  for (t in seq_len(plan$rounds)) {
    at <- iht_scores(state, b, w0, rule, step)
    u <- at$u * at$unit
    slopes <- if (state$intercept) u[-1L] else u
    chosen <- select_top(abs(slopes), plan$keep, NO_NOISE_LAW, "exponential")
    new <- replace(numeric(state$p), chosen, slopes[chosen] * state$response / state$scale[chosen])
    new <- into_radius(new, state$set$radius)
    path[[t]] <- chosen
    far <- max(abs(fw_point(state, new - b, if (state$intercept) u[[1L]] - w0 else 0)))
    b <- new
    if (state$intercept) w0 <- u[[1L]]
    if (far <= 1e-13 * max(1, abs(fw_point(state, b, w0)))) break
  }
  list(b = b, w0 = w0, bound = level, path = path)
}

# Of the second moments of the standardised design, by the power method on exact sums.
largest_eigenvalue <- function(state, rounds = 30L) {
  squared <- state
  squared$loss <- loss_squared()
  rule <- list(estimator = "winsorized", bound = Inf, step = 0, limit = 1, noise = c(0, 0))
  product <- function(w) {
    fw_sums_at(squared, w, rule) - fw_sums_at(squared, 0 * w, rule)
  }
  w <- rep_len(c(1, 0.9, 1.1), state$k)
  value <- 1
  for (i in seq_len(rounds)) {
    v <- product(w) / state$n
    value <- sqrt(sum(v^2) / sum(w^2))
    if (!(value > 0)) break
    w <- v / value
  }
  if (value > 0) 1.02 * value else 1
}

fw_sums_at <- function(state, w, rule) {
  at <- sco_point(state, w)
  release_gradient(at$rows, at$norm, at$w, c(rule, sco_loss_rule(state, at, NULL)))
}

iht_result <- function(fit, columns, schema) {
  p <- length(columns$center) - 1L
  fit$b[!columns$found[seq_len(p)]] <- 0
  response <- p + 1L
  intercept <- if (schema$intercept) {
    fit$w0 * columns$scale[[response]] + columns$center[[response]] -
      sum(fit$b * columns$center[seq_len(p)])
  }
  list(
    coefficients = stats::setNames(finite_or_zero(c(intercept, fit$b)), schema$columns),
    center = columns$center, scale = columns$scale, found = columns$found, bound = fit$bound,
    sd = NULL, path = fit$path, noise = fit$noise
  )
}
