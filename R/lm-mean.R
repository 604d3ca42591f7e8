# The last part of a fit whose target is the conditional mean. What it releases is in the plan's
# events; all else here is post-processing.
#
#   residuals  octaves of the residuals of the robust fit, both sides: their tails
#   rows       octaves of the row norms: where covariates are clipped        (a clip release)
#   slopes     averaged steps with covariates clipped, which is a weight of each row that its
#              covariates alone decide, and residuals clipped at a level that grows with n: beyond
#              it so few are expected that their bias is some multiple of the noise
#   level      the winsorised mean of the residuals of these slopes: the intercept
#
# What the fitted tails hold beyond the levels is added (half of it for the intercept, where they
# are followed further), and corrections of slopes that noise explains are drawn back.

MEAN_DESCENT <- list(
  steps = c(3, 3, 6, 25), share = c(0.02, 0.02, 0.03, 0.20)
)

MEAN_SHARES <- c(residuals = 0.08, slopes = 0.29, level = 0.14)

MEAN_STEPS <- 40

# Share of the rows whose covariates are left as they are: few, for the noise goes with the level
# at which they are clipped, and only efficiency is lost by it.
MEAN_ROWS <- 0.1

# How many records are left beyond a limit, in standard deviations of the noise in records.
MEAN_RANK <- c(slopes = 5, level = 2.5)

# Corrections of slopes are drawn back to nothing up to as many of their variances.
DRAWN_BACK <- 4

is_mean_target <- function(plan) !is.null(plan$mean)

# What the last part spends: steps, and the costs mu of the slopes (of all steps together) and of
# the intercept (0 without one).
mean_target_plan <- function(plan, intercept, iterations) {
  list(
    steps = if (is.null(iterations)) MEAN_STEPS else iterations,
    slopes = stage_cost(plan, "slopes"), level = stage_cost(plan, "level"),
    intercept = intercept
  )
}

mean_target_events <- function(plan) {
  mu <- plan$mean$slopes / sqrt(plan$mean$steps)
  c(
    list(counts_event(plan, "residuals, counts", "residuals", sqrt(2)),
         scaled_event("gradient in C/n, mean", mu, plan$mean$steps, 2)),
    if (plan$mean$intercept) {
      list(scaled_event("mean residual in ranges/n", plan$mean$level, 1, 1))
    }
  )
}

check_mean_laws <- function(plan, n, k) {
  count_law("gaussian", n, stage_cost(plan, "residuals"), sqrt(2))
  gradient_law(n, k, plan$mean$slopes / sqrt(plan$mean$steps), 1, NULL)
  if (plan$mean$intercept) sum_law("gaussian", n, 1, plan$mean$level)
}

# fit: that of the robust stages; noisy: the second moments. Returns it with the corrected w, its
# variances and what is needed for its bias, all in standardised units.
fit_mean_target <- function(rows, noisy, pre, fit, plan, n, control) {
  report_stage(control, "towards the mean")
  norm <- row_norms(rows, pre$root)
  tails <- residual_tails(rows, norm, fit, pre, plan, n, control)
  rule <- mean_rule(rows, norm, tails, plan, n, length(fit$w), control)
  run <- mean_steps(rows, norm, fit$w, pre, rule, plan, n, control)
  parts <- mean_variances(rows, norm, run, pre, rule, tails, plan, n, control)
  intercept <- plan$mean$intercept
  stretch <- if (intercept) 1 + beyond_level(run$w - fit$w, parts, rule, n) else 1
  corrected <- fit$w + stretch * (run$w - fit$w)
  for (part in PARTS[-1L]) parts[[part]] <- stretch^2 * parts[[part]]
  out <- list(
    w = drawn_back(corrected, fit$w, parts, intercept), corrected = corrected,
    bound = c(fit$bound, rule$bound), sd = c(fit$sd, run$sd * rule$tuning), level = rule$tuning,
    vcov = parts, tail = c(lower = 0, upper = 0)
  )
  if (intercept) mean_level(out, rows, norm, fit$w, tails, noisy, plan, n, control) else out
}

# ---- tails ----------------------------------------------------------------------------

# Noisy counts of the residuals, and what follows from them.
residual_tails <- function(rows, norm, fit, pre, plan, n, control) {
  law <- count_law("gaussian", n, stage_cost(plan, "residuals"), sqrt(2))
  residuals <- row_residuals(rows, norm, fit$w)
  counts <- release_octaves(
    new_rows(matrix(residuals), which = 0, threads = control$threads), "columns",
    octave_cells(signed = TRUE), law, release_key(control)
  )[, 1L]
  k <- length(fit$w)
  list(
    law = law, counts = counts, clean = occupied_cells(counts, law),
    # where they are lost: twice the level that the third stage found for an average row
    lost = min(max(2 * fit$bound[[3L]] / sqrt(k * pre$size), 1e-50), 1e50)
  )
}

# Limits beyond which some `rank` records are expected, as tail_sides() has them.
limits_of_tails <- function(tails, rank) {
  out <- lapply(tail_sides(tails$counts, tails$clean, tails$law, rank), pmin, 1e100)
  if (max(out$reach) < 1e-100) out$reach <- rep(tails$lost, 2L)
  out
}

# Private, not a release: y - w'z, zero where a row is not in use or not finite.
row_residuals <- function(rows, norm, w) {
  live <- norm < Inf
  out <- row_responses(rows, live) - ifelse(live, row_margins(rows, norm, w), 0)
  ifelse(live & is.finite(out), out, 0)
}

# ---- slopes ---------------------------------------------------------------------------

# In records of the level in one whitened coordinate.
slopes_noise <- function(plan, k) 2 * sqrt(k) / plan$mean$slopes

mean_rule <- function(rows, norm, tails, plan, n, k, control) {
  limits <- limits_of_tails(tails, MEAN_RANK[["slopes"]] * slopes_noise(plan, k))
  plan$bound <- NULL
  list(
    bound = covariate_level(rows, norm, plan, n, k, MEAN_ROWS, control), loss = "huber",
    estimator = "covariate", tuning = min(max(limits$reach, 1e-100), 1e100), limits = limits
  )
}

mean_steps <- function(rows, norm, w, pre, rule, plan, n, control) {
  k <- length(w)
  steps <- plan$mean$steps
  law <- gradient_law(n, k, plan$mean$slopes / sqrt(steps), rule$bound, pre$root)
  eta <- plan$eta * min(1, NOISE_RISK / noise_length(k, steps, n, plan$mean$slopes)) *
    rule$tuning * covariate_stretch(pre, rule) / pre$size
  run <- run_stage(rows, norm, w, steps, c(law, list(
    bound = rule$bound, eta = eta, root = pre$root, loss = rule$loss, estimator = rule$estimator,
    tuning = rule$tuning
  )), control)
  list(w = run$average, moved = run$average - w, sd = law$sd, h = eta)
}

# ---- variances and bias ---------------------------------------------------------------

# Variances of the slopes of the mean stage, and `bias`, the squares of what residuals beyond the
# level may add to them, as a matrix, for sums of slopes.
# The spread is that of gradients whose residuals are clipped at their 0.9-quantile, so that its
# noise is small, times what the counts say that the rest adds.
mean_variances <- function(rows, norm, run, pre, rule, tails, plan, n, control) {
  k <- length(run$w)
  inner <- inner_level(tails, rule)
  noisy <- mean_sandwich(rows, norm, run$w, pre, rule, inner$level, plan, n, control)
  unit <- inner$ratio / rule$tuning^2
  noisy$spread <- list(value = noisy$spread$value * unit, sd = noisy$spread$sd * unit)
  rule$guess <- sandwich_guess(rule, pre$size, k)
  rule$guess$spread <- c(0.6, 0.25) * (rule$bound * inner$level)^2 / k * unit
  own <- c(if (rows$intercept != 0) TRUE, rows$inv_scale != 0)
  if (!any(own)) {
    unknown <- matrix(NA_real_, k, k)
    return(list(sampling = unknown, privacy = unknown, bias = unknown))
  }
  parts <- sandwich_parts(noisy, pre$root, pre$size, rule,
                          list(h = run$h, sd = run$sd, steps = plan$mean$steps, moved = run$moved),
                          n, rows$intercept, own)
  # for rows in all directions alike whose weighted covariates are as long as they can be
  reach <- rule$bound / sqrt(k) * sum(rule$limits$excess) / n
  parts <- list(sampling = parts$sampling, privacy = parts$privacy,
                bias = reach^2 * tcrossprod(parts$bread))
  lapply(parts, function(v) replace(matrix(NA_real_, k, k), outer(own, own, `&`), v))
}

# The 0.9-quantile of the residuals' sizes, and the ratio of second moments of residuals clipped at
# the rule's level and there.
inner_level <- function(tails, rule) {
  half <- (length(tails$clean) - 1L) / 2L
  both <- tails$clean[half + 1L + seq_len(half)] + tails$clean[half + 1L - seq_len(half)]
  edges <- octave_edges(octave_cells())
  level <- octave_quantile(both, edges, 0.9)
  if (is.na(level)) {
    return(list(level = rule$tuning, ratio = 1))
  }
  level <- min(max(level, 1e-6 * rule$tuning), rule$tuning)
  seen <- which(both > 0)
  depth <- log2(level) - edges[seen]
  squares <- octave_square(octave_slopes(both)$both[seen], pmin(pmax(depth, 0), 1)) *
    4^-pmax(depth, 0)
  below <- sum(both[seen] * ifelse(depth > 0, squares, 1))
  ratio <- sum((rule$limits$sizes / level)^2) / below
  list(level = level, ratio = if (is.finite(ratio)) min(max(ratio, 1), 1e10) else 1)
}

# Curvature at the mean stage, relative to the tuning constant, and spread of the gradients with
# residuals clipped at `inner`, in squared standardised units.
mean_sandwich <- function(rows, norm, w, pre, rule, inner, plan, n, control) {
  k <- length(w)
  cost <- sandwich_costs(plan)
  live <- norm < Inf
  size <- abs(row_residuals(rows, norm, w))
  share <- ifelse(live, pmin(1, rule$bound / pmax(norm, 1e-100)), 0)
  one <- function(weight, bound, cost) {
    law <- moment_law(n, k, cost, bound)
    list(value = release_weighted_moments(rows, weight, pre$root, bound, law,
                                          release_key(control)), sd = law$sd)
  }
  list(
    curvature = one(sqrt(share * (size < rule$tuning)),
                    curvature_bound(rule, pre$size, k, n * cost[["curvature"]]),
                    cost[["curvature"]]),
    spread = one(pmin(size, inner) * share, min(max(rule$bound * inner, 1e-100), 1e100),
                 cost[["spread"]])
  )
}

# Share of the correction that is still to come: residuals beyond the level pull slopes and
# intercept as those within did, and how much the fitted tails tell. Nothing where the intercept was
# hardly corrected.
beyond_level <- function(change, parts, rule, n) {
  variance <- parts$sampling[1L, 1L] + parts$privacy[1L, 1L]
  share <- diff(rule$limits$excess) / n * change[[1L]] / (change[[1L]]^2 + DRAWN_BACK * variance)
  if (is.finite(share)) min(max(share, 0), BEYOND_MOST) else 0
}

BEYOND_MOST <- 0.3

# Corrections of slopes are kept as far as they stand out of their noise, each alone or all
# together: not at all up to DRAWN_BACK variances (all: some two standard deviations above what
# noise adds up to), in full beyond twice and three times that (firm shrinkage).
drawn_back <- function(w, robust, parts, intercept) {
  change <- w - robust
  v <- parts$sampling + parts$privacy
  own <- which(!is.na(diag(v)) & seq_along(w) > intercept)
  if (length(own) == 0L || !all(is.finite(v[own, own]))) {
    return(w)
  }
  eigen <- eigen(v[own, own, drop = FALSE], symmetric = TRUE)
  turned <- drop(crossprod(eigen$vectors, change[own]))
  squares <- sum(turned^2 / pmax(eigen$values, 1e-12 * max(eigen$values)))
  kept <- kept_share(change[own]^2 / diag(v)[own], squares)
  kept[is.na(kept)] <- 1
  w[own] <- robust[own] + kept * change[own]
  w
}

# each: squared corrections over their variances; all: those of all together.
kept_share <- function(each, all, k = length(each)) {
  pmin(1, pmax(0, each / DRAWN_BACK - 1, (all / (k + 2 * sqrt(2 * k)) - 1) / 2))
}

# ---- intercept ------------------------------------------------------------------------

# The intercept of `out`: where the residuals of its slopes have mean zero, winsorised.
mean_level <- function(out, rows, norm, robust, tails, noisy, plan, n, control) {
  noise <- 1 / plan$mean$level
  limits <- limits_of_tails(tails, MEAN_RANK[["level"]] * noise)
  w <- c(robust[[1L]], out$w[-1L])
  middle <- (limits$reach[[2L]] - limits$reach[[1L]]) / 2
  half <- sum(limits$reach) / 2
  law <- sum_law("gaussian", n, 1, plan$mean$level)
  residuals <- new_rows(matrix(row_residuals(rows, norm, w)), center = middle,
                        inv_scale = law$limit / half, threads = control$threads)
  used <- rows_in_use(rows, tails, n)
  # half of what the fitted tails hold: the middle of where the mean can be
  mean <- (middle + release_sums(residuals, law, release_key(control)) / n * half / law$limit +
             diff(limits$excess) / n / 2) / used
  mean <- min(max(mean, -limits$reach[[1L]]), limits$reach[[2L]])
  out$w[[1L]] <- w[[1L]] + mean
  size <- max(sum(limits$sizes^2) / n / used - mean^2, 0)
  at <- -column_means(noisy)
  out$vcov <- lapply(out$vcov, with_level, at = at)
  out$vcov$sampling[1L, 1L] <- out$vcov$sampling[1L, 1L] + size / n / used
  out$vcov$privacy[1L, 1L] <- out$vcov$privacy[1L, 1L] + (half * noise / n / used)^2
  out$tail[] <- sum(limits$excess) / n / used / 2
  # where it would be with slopes that are not drawn back
  out$corrected[[1L]] <- out$w[[1L]] + sum(at * (out$corrected - out$w)[-1L])
  out
}

# Share of the rows that are in use, which is not public where some may be left out.
rows_in_use <- function(rows, tails, n) {
  if (is.null(rows$use)) {
    return(1)
  }
  seen <- sum(tails$clean) - tails$clean[[(length(tails$clean) + 1L) / 2L]]
  if (seen > 0) min(1, seen / n) else 1
}

# Standardised columns' means, of rows that the second moments hardly clip.
column_means <- function(noisy) {
  ones <- noisy$moments[1L, 1L]
  last <- ncol(noisy$moments)
  if (ones > 0) noisy$moments[1L, -c(1L, last)] / ones else rep(0, last - 2L)
}

# Variances with those of the intercept that go with the slopes: it is moved by at'slopes.
with_level <- function(v, at) {
  slopes <- v[-1L, -1L, drop = FALSE]
  at <- ifelse(is.na(diag(slopes)), 0, at)
  known <- ifelse(is.na(slopes), 0, slopes)
  v[1L, -1L] <- v[-1L, 1L] <- ifelse(is.na(diag(slopes)), NA, drop(known %*% at))
  v[1L, 1L] <- sum(at * (known %*% at))
  v
}

# Columns lower and upper, in the caller's units: what may have to be taken from or added to each
# coefficient, for residuals were clipped and slopes drawn back.
caller_bias <- function(fit, coefficients, columns, schema) {
  if (is.null(fit$corrected)) {
    return(if (!is.null(fit$level)) cbind(lower = NA * coefficients, upper = NA_real_))
  }
  clipping <- sqrt(diag(caller_vcov(fit$vcov["bias"], columns, schema)$bias))
  back <- coefficients - caller_units(fit$corrected * caller_scale(columns, schema), columns,
                                      schema)
  out <- cbind(lower = clipping + pmax(back, 0), upper = clipping + pmax(-back, 0))
  if (schema$intercept) {
    out[1L, ] <- out[1L, ] + fit$tail * columns$scale[[length(columns$scale)]]
  }
  rownames(out) <- schema$columns
  out
}

# ---- the argument ---------------------------------------------------------------------

TARGETS <- c("robust", "mean")

# A public check. NULL: the mean for the squared loss, where it is there. With units residuals would
# have to be counted and averaged by unit.
check_target <- function(target, spec, unit = NULL) {
  standard <- is_standard(spec) && spec$loss$name != "logistic"
  possible <- standard && is.null(unit)
  if (is.null(target)) {
    return(if (possible && spec$loss$name == "squared") "mean" else if (standard) "robust")
  }
  target <- check_choice(target, "target", TARGETS)
  if (target == "mean" && !possible) {
    dp_abort(paste(
      "`target` = \"mean\" is for the squared, Huber and biweight losses with whole gradients",
      "clipped, no constraint, no penalty, full batches and no `unit`; leave it out."
    ))
  }
  target
}
