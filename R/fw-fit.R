# Frank-Wolfe: rounds of one private choice of a vertex each. The exact sums that a choice is made
# from are private and do not leave; what is released is the vertex and, with an intercept, its
# noisy coordinate. The charge has been made; values are read from here on.

fit_fw <- function(problem, schema, plan, known, spec, control) {
  p <- ncol(problem$x)
  if (spec$loss$name == "logistic") problem$y <- pmin(pmax(problem$y, 0), 1)
  columns <- if (plan$scaled) {
    standardise_columns(problem, schema, plan$search, known, schema$n, control)
  } else {
    fw_columns(problem, schema, plan, known, control)
  }
  if (!columns$found[[p + 1L]]) {
    b <- vertex_start(vertex_set(spec$constraint, p))
    return(fw_result(list(b = b, intercept = 0, bound = NA_real_, path = integer()), columns,
                     schema))
  }
  lost <- !columns$found
  columns$center[lost] <- 0
  columns$scale[lost] <- min(columns$scale[seq_len(p)][!lost[seq_len(p)]], Inf)
  columns$scale[!is.finite(columns$scale)] <- 1
  state <- fw_state(problem, schema, columns, spec, reach_is_known(plan, known, spec))
  tuning <- fw_tuning(state)
  fit <- if (plan$private) fw_private(state, plan, tuning, control) else
    fw_plain(state, plan, tuning)
  fw_result(fit, columns, schema)
}

# Are there scales of columns and response, found or public, that say how far a slope may go?
reach_is_known <- function(plan, known, spec) {
  linear <- spec$loss$name %in% c("squared", "huber", "biweight")
  linear && plan$private && is.null(spec$moment) && (plan$scaled || !anyNA(known$scale))
}

# Columns are taken as they come unless a scale is public; the response is centred at its median
# and scaled by the typical size about it.
fw_columns <- function(problem, schema, plan, known, control) {
  p <- ncol(problem$x)
  own <- seq_len(p)
  center <- ifelse(is.na(known$center), 0, known$center)
  scale <- ifelse(is.na(known$scale), 1, known$scale)
  if (!plan$private && !isTRUE(plan$centred) && schema$intercept && !is_sparse(problem$x)) {
    plain <- plain_scales(problem, schema$n, control$threads)$center
    center[own] <- ifelse(is.na(known$center), plain, center)[own]
  }
  if (!schema$intercept) center[] <- 0
  found <- rep(TRUE, p + 1L)
  if (is.na(known$center[[p + 1L]]) || is.na(known$scale[[p + 1L]])) {
    got <- response_scale(problem, schema, plan, known, control)
    center[[p + 1L]] <- got$center
    scale[[p + 1L]] <- got$scale
    found[[p + 1L]] <- got$found
  }
  list(center = center, scale = scale, found = found)
}

response_scale <- function(problem, schema, plan, known, control) {
  n <- schema$n
  response <- length(known$center)
  problem <- one_each(problem[c("y", "offset", "use", "units")])
  y <- problem$y - (problem$offset %||% 0)
  # rows that are left out count nowhere
  y[!is.finite(y)] <- NaN
  if (!is.null(problem$use)) y[!problem$use] <- NaN
  center <- known$center[[response]]
  if (!plan$private) {
    if (is.na(center)) center <- if (schema$intercept) mean(y, na.rm = TRUE) else 0
    scale <- known$scale[[response]]
    if (is.na(scale)) scale <- sqrt(mean((y - center)^2, na.rm = TRUE))
    good <- is.finite(center) && is.finite(scale) && scale > 0
    return(list(center = if (good) center else 0, scale = if (good) scale else 1, found = TRUE))
  }
  if (is.na(center)) {
    c <- (plan$cost[["center"]] - QUANTILE_SLACK) / 2
    center <- release_quantiles(y, 0.5, c, key = release_key(control))
    if (abs(center) < TINY || !schema$intercept) center <- 0
  }
  scale <- known$scale[[response]]
  if (is.na(scale)) {
    law <- count_law(plan$kind, n, plan$cost[["scale"]], if (plan$pure) 2 else sqrt(2))
    rows <- new_rows(matrix(y), center = center, which = 0)
    cells <- octave_cells()
    counts <- release_octaves(rows, "columns", cells, law, release_key(control))[, 1L]
    scale <- octave_quantile(occupied_cells(counts[-1L], law), octave_edges(cells), 0.68)
  }
  found <- !is.na(scale)
  # a median that nothing confirms may be anything
  list(center = if (found) center else 0, scale = if (found) scale else 1, found = found)
}

# What sco_loss_rule() and the walks in C need (R/sco-descent.R), and the vertices.
fw_state <- function(problem, schema, columns, spec, capped = FALSE) {
  state <- coordinate_state(problem, schema, columns, spec)
  cap <- if (capped) VERTEX_REACH * sqrt(state$p) * state$response / state$scale
  state$set <- vertex_set(spec$constraint, state$p, state$scale, cap)
  state$capped <- capped
  state
}

# The standardised problem for sums of gradient coordinates (fw_sums()); `norm` of the set is what
# a score is at most per sum.
coordinate_state <- function(problem, schema, columns, spec) {
  p <- ncol(problem$x)
  response <- columns$scale[[p + 1L]]
  rows <- standardised_rows(problem, columns, schema, spec$control$threads)
  if (margin_loss(spec$loss)) rows$margin_offset <- as.double(spec$loss$name == "logistic")
  list(
    rows = rows, norm = row_norms(rows), n = schema$n, p = p, k = p + schema$intercept,
    intercept = schema$intercept, loss = spec$loss, gradient = spec$gradient, unit = 1,
    response = response, center = columns$center, y = problem$y, offset = problem$offset,
    scale = columns$scale[seq_len(p)], sigma = spec$loss$sigma, constraint = spec$constraint,
    set = list(norm = 1)
  )
}

# With scales in hand no vertex of an l1 ball moves predictions by more than so many scales of
# the response, times sqrt(p), per scale of its column: slopes that large are none that data ask
# for, and steps towards them throw the fit far off.
VERTEX_REACH <- 3

# Columns that are taken as they come get the released level as their common scale, so that
# the intercept, a column of ones, is on a par with them.
with_common_scale <- function(state, level, plan) {
  if (plan$source != "private" || !plan$private || any(state$scale != 1) ||
    state$gradient$name == "shrunken") {
    return(list(state = state, level = level))
  }
  state$rows$inv_scale <- state$rows$inv_scale / level
  state$scale <- state$scale * level
  list(state = state, level = 1)
}

# The residuals' scale of a robust loss: the response's own, unless it is public.
fw_tuning <- function(state) {
  if (!state$loss$name %in% c("huber", "biweight")) {
    return(NULL)
  }
  sigma <- if (is.null(state$sigma)) 1 else state$sigma / state$response
  min(max(state$loss$tuning * sigma, 1e-100), 1e100)
}

# Coefficients of the standardised problem: slopes b in the caller's units, intercept w0.
fw_point <- function(state, b, w0) {
  c(if (state$intercept) w0, b * state$scale / state$response)
}

fw_rule <- function(state, level, plan, tuning) {
  rule <- list(estimator = plan$estimator, bound = level, tuning = tuning)
  if (!plan$private && level == Inf) rule$estimator <- "winsorized"
  if (rule$estimator == "catoni_smooth") rule$table <- catoni_table(state$gradient$beta)
  psi <- if (rule$estimator == "shrunken") fw_psi_bound(state, level) else 1
  if (rule$estimator == "shrunken") rule$psi_bound <- psi
  reach <- if (rule$estimator == "shrunken") max(level, 1) * psi else
    level * (plan$reach %||% coordinate_reach(state$gradient))
  law <- if (plan$private) fw_law(plan, state$n, state$set$norm, reach) else
    list(step = 0, limit = 1, noise = c(0, 0))
  c(rule, law)
}

# |<x, w>| <= K times the largest l1 norm of a vertex, for squared loss and clamped data.
fw_psi_bound <- function(state, level) {
  if (state$loss$name != "squared") {
    return(1)
  }
  most <- if (state$set$kind == "sparse_vectors") {
    sqrt(state$set$s) * state$set$radius
  } else if (state$set$kind == "polytope") {
    max(if (inherits(state$set$vertices, "Matrix")) Matrix::rowSums(abs(state$set$vertices)) else
      rowSums(abs(state$set$vertices)))
  } else {
    return(level * (1 + max(state$set$radius * state$scale) / state$response))
  }
  level * (1 + most * max(state$scale) / state$response)
}

# Exact sums (private), whole numbers below 2^53, or plain ones; the intercept's first.
fw_sums <- function(state, b, w0, rule, view = NULL) {
  at <- sco_point(state, fw_point(state, b, w0))
  plan <- c(rule, sco_loss_rule(state, at, rule$tuning), view)
  release_gradient(at$rows, at$norm, at$w, plan)
}

fw_level_found <- function(state, plan, tuning, b, control, w0 = 0) {
  if (!is.null(plan$level)) {
    return(plan$level * level_unit(state, tuning))
  }
  if (!plan$private) {
    return(Inf)
  }
  if (is_record(state$gradient)) {
    return(record_level(state, plan, tuning, b, control, w0))
  }
  at <- sco_point(state, fw_point(state, b, w0))
  rule <- c(sco_loss_rule(state, at, tuning), list(
    estimator = "winsorized", bound = 1, step = 1, limit = 1
  ))
  norm <- if (plan$pure) 2 * state$k else sqrt(2) * state$k
  law <- count_law(plan$kind, as.double(state$n) * state$k, plan$cost[["level"]], norm)
  cells <- octave_cells(SIZE_RANGE[[1L]], SIZE_RANGE[[2L]], plan$sub)
  counts <- release_coordinates(at$rows, at$norm, at$w, rule, cells, law, release_key(control))
  level <- octave_quantile(occupied_cells(counts[-1L], law), octave_edges(cells), FW_QUANTILE)
  if (is.na(level)) 1 else level
}

FW_QUANTILE <- 0.8

# The same of the lengths of whole gradients, or of covariates where derivatives are bounded.
record_level <- function(state, plan, tuning, b, control, w0) {
  at <- sco_point(state, fw_point(state, b, w0))
  sizes <- at$norm
  if (state$loss$name == "user") {
    psi <- sco_loss_rule(state, at, tuning)$psi
    sizes <- ifelse(sizes < Inf, abs(psi) * sizes, Inf)
  }
  law <- count_law(plan$kind, state$n, plan$cost[["level"]], if (plan$pure) 2 else sqrt(2))
  squared <- state$loss$name == "squared"
  level <- size_quantile(at$rows, sizes, if (squared) at$w, plan, law, FW_QUANTILE, control)
  if (is.na(level)) sqrt(state$k) else level
}

fw_private <- function(state, plan, tuning, control) {
  b <- vertex_start(state$set)
  w0 <- 0
  level <- fw_level_found(state, plan, tuning, b, control)
  common <- with_common_scale(state, level, plan)
  state <- common$state
  rule <- fw_rule(state, common$level, plan, tuning)
  move <- 2 * rule$limit
  choice <- score_law(plan$cost[["choice"]], move * state$set$norm)
  batches <- if (isTRUE(plan$split)) cut_batches(random_order(state$n, release_key(control)),
                                                 plan$rounds)
  how <- if (plan$pure && !isTRUE(plan$split)) "permute_and_flip" else "exponential"
  path <- integer(plan$rounds)
  slopes <- seq_len(state$p) + as.integer(state$intercept)
  clock <- new_clock(control, plan$rounds, every = 2)
  for (t in seq_len(plan$rounds)) {
    clock(t, sprintf("round %d of %.0f", t, plan$rounds))
    view <- if (!is.null(batches)) list(index = batches[[t]])
    sums <- fw_sums(state, b, w0, rule, view)
    path[[t]] <- select_vertex(state$set, sums[slopes], choice, how, release_key(control))
    if (state$intercept) {
      # steps of 1/t: the noise of all rounds is averaged
      w0 <- w0 - fw_intercept(sums[[1L]], state, plan, rule, move, control) / t
    }
    eta <- plan$eta %||% (2 / (t + 2))
    b <- towards_vertex(b, state$set, path[[t]], eta)
  }
  list(b = b, intercept = w0, bound = level, path = path,
       radii = if (state$capped) state$set$radius)
}

# The intercept's noisy step: a Newton step for a second derivative of the curvature.
fw_intercept <- function(sum, state, plan, rule, move, control) {
  law <- vector_law(plan$kind, 1, plan$cost[["intercept"]], move)
  g <- release_vector(sum, law, release_key(control)) * rule$step / state$n
  g / sco_curvature(state$loss, rule$tuning, state$response)
}

fw_result <- function(fit, columns, schema) {
  p <- length(columns$center) - 1L
  response <- p + 1L
  b <- fit$b
  if (schema$intercept) {
    b <- c(fit$intercept * columns$scale[[response]] + columns$center[[response]] -
             sum(fit$b * columns$center[seq_len(p)]), b)
  }
  list(
    coefficients = stats::setNames(b, schema$columns), center = columns$center,
    scale = columns$scale, found = columns$found, bound = fit$bound, sd = NULL, path = fit$path,
    radii = fit$radii
  )
}
