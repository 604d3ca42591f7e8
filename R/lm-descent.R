# Second moments, preconditioner, and the stages of clipped gradient descent. Each
# function spends what its plan says; everything else here is post-processing.

# Norm at which rows are clipped for the second moments: the 0.85 quantile, so that
# the preconditioner bears a tenth of the rows being anything.
clip_norms <- function(rows, norm, plan, n, control) {
  law <- count_law(plan$kind, n, stage_cost(plan, "norms"), sqrt(2))
  level <- size_quantile(rows, norm, NULL, plan, law, 0.85, control)
  if (is.na(level)) 2 * sqrt(ncol(rows$x) + 2) else level
}

# Sizes matter between 2^-80 and 2^80 standardised units.
SIZE_RANGE <- c(-80, 80)

size_quantile <- function(rows, norm, w, plan, law, p, control) {
  cells <- octave_cells(SIZE_RANGE[[1L]], SIZE_RANGE[[2L]], plan$sub)
  counts <- release_sizes(rows, norm, w, "squared", cells, law, release_key(control))
  octave_quantile(occupied_cells(counts[-1L], law), octave_edges(cells), p)
}

# The noisy matrix of second moments of (1, z, y), with the response last, and the
# standard deviation of the noise on an off-diagonal entry.
noisy_moments <- function(rows, plan, n, control) {
  norm <- row_norms(rows, with_response = TRUE)
  m <- ncol(rows$x) + rows$intercept + 1
  if (!plan$private) {
    law <- list(step = 0, noise = c(0, 0))
    moments <- release_moments(rows, norm, Inf, law)
    return(list(moments = moments, sd = 0, diagonal_sd = 0, columns = ncol(rows$x), bound = Inf))
  }
  bound <- clip_norms(rows, norm, plan, n, control)
  law <- moment_law(n, m, stage_cost(plan, "moments"), bound)
  list(
    moments = release_moments(rows, norm, bound, law, release_key(control)),
    sd = law$sd * 8 / 11, diagonal_sd = law$sd, columns = ncol(rows$x), bound = bound
  )
}

# For each column of x, whether its second moment stands out of its noise. Asked of
# indicators, whose scale is not looked for: that of a level that hardly any row has does
# not.
stands_out <- function(noisy, indicator) {
  k <- ncol(noisy$moments) - 1L
  own <- seq_len(k)[seq_len(k) > k - noisy$columns]
  !indicator | diag(noisy$moments)[own] >= 4 * noisy$diagonal_sd
}

# Smallest eigenvalue that is kept, relative to the largest: the root then has entries
# below 2^20 and a condition number that the slack of a computed norm allows for.
EIGEN_FLOOR <- c(private = 1e-10, none = 2e-12)

# A norm under L is computed to within (k + 8) 2^-52 ||L||_F ||L^-1||, which must stay below
# DPH_NORM_SLACK = 1e-6 (dph_gradient.h).
private_floor <- function(k) max(EIGEN_FLOOR[["private"]], (2^-52 * (k + 8)^1.5 / 5e-7)^2)

# The preconditioner P = (H + noise)^-1 = L'L / size, H the second moments of the
# design, L lower triangular with H / size of norm 1, and the start P h. Eigenvalues
# below the size of the noise, whose operator norm is about 2 sd sqrt(k), are put up
# to it.
precondition <- function(noisy) {
  k <- ncol(noisy$moments) - 1L
  own <- seq_len(k)
  eigen <- eigen(noisy$moments[own, own, drop = FALSE], symmetric = TRUE)
  spread <- noisy$sd * sqrt(k)
  values <- pmax(eigen$values, 2 * spread) + spread / 4
  size <- max(values)
  if (!(size > 0)) {
    return(list(root = diag(k), start = rep(0, k), size = 1))
  }
  least <- if (noisy$sd > 0) private_floor(k) else EIGEN_FLOOR[["none"]]
  values <- pmax(values, least * size)
  hessian <- eigen$vectors %*% (t(eigen$vectors) * (values / size))
  root <- grid_root(t(backsolve(chol(hessian), diag(k))))
  start <- eigen$vectors %*% (crossprod(eigen$vectors, noisy$moments[own, k + 1L]) / values)
  list(root = root, start = drop(start), size = size)
}

# All stages. Returns the coefficients in standardised units, the clip levels and
# the standard deviation of the noise in the last stage.
descend <- function(rows, pre, plan, constraint, unit, n, control) {
  norm <- row_norms(rows, pre$root)
  k <- length(pre$start)
  w <- pre$start
  bounds <- sds <- numeric(length(plan$steps))
  for (stage in seq_along(plan$steps)) {
    report_stage(control, sprintf("descent, stage %d of %d", stage, length(plan$steps)))
    # without noise the scale of the residuals is found again and again
    robust <- is_robust(plan$loss) &&
      if (plan$private) stage == length(plan$steps) else stage > 1L
    rule <- if (robust) {
      robust_rule(rows, norm, w, plan, stage, n, bounds, control)
    } else {
      level <- clip_level(rows, norm, w, plan, stage, n, bounds, control)
      list(bound = level, loss = "squared", estimator = "clipped", step = 1)
    }
    bounds[[stage]] <- rule$bound
    law <- descent_law(plan, stage, n, k, bounds[[stage]], pre$root)
    sds[[stage]] <- law$sd
    eta <- plan$eta * rule$step * covariate_stretch(pre, rule) / pre$size
    run <- run_stage(rows, norm, w, plan$steps[[stage]], c(law, list(
      eta = eta, root = pre$root, constraint = constraint$name,
      radius = constraint$radius, unit = unit, loss = rule$loss, estimator = rule$estimator,
      tuning = rule$tuning
    )), control)
    w <- run$last
  }
  last <- is_robust(plan$loss) && !plan$private
  list(w = if (last) run$last else run$average, bound = bounds, sd = sds)
}

# Share of the rows whose covariates a robust loss leaves as they are.
ROBUST_QUANTILE <- 0.6

# The largest second derivative of a loss in C times its tuning constant (src/dph_loss.c).
ROBUST_CURVATURE <- c(huber = 1, biweight = 25 * sqrt(5) / 16)

# The scale of the residuals at w, then the level of the covariates. A step of
# tuning / curvature is one that never overshoots.
robust_rule <- function(rows, norm, w, plan, stage, n, bounds, control) {
  sigma <- plan$sigma
  if (length(sigma) == 0L) {
    alone <- ifelse(norm < Inf, 1, Inf)
    median <- clip_quantile(rows, alone, w, plan, n, 0.5, control)
    if (is.na(median)) {
      median <- if (plan$private) bounds[[stage - 1L]] / sqrt(length(w)) else 0
    }
    sigma <- median / stats::qnorm(0.75)
  }
  loss <- plan$loss
  if (!plan$private && stage < 6L) loss <- loss_huber() # towards the biweight from a good start
  tuning <- min(max(loss$tuning * sigma, 1e-100), 1e100)
  bound <- covariate_level(rows, norm, plan, n, length(w), ROBUST_QUANTILE, control)
  list(bound = bound, loss = loss$name, estimator = "covariate", tuning = tuning,
       step = tuning / ROBUST_CURVATURE[[loss$name]])
}

# Clipping the k preconditioned covariates (whose second moments have norm `size`) at C takes
# curvature away: where they look alike in all directions what is left is at most C E|z| / k,
# E|z| <= sqrt(k). Half as much more than without clipping at most, for in the direction of the
# intercept hardly any may be gone.
covariate_stretch <- function(pre, rule) {
  if (rule$estimator != "covariate") {
    return(1)
  }
  max(1, min(sqrt(length(pre$start) * pre$size) / rule$bound, 1.5))
}

# Steps in chunks, so that many of them need little memory: the last iterate, and the
# average over all but the first sixth.
run_stage <- function(rows, norm, w, steps, plan, control, chunk = 1024) {
  burn <- floor(steps / 6)
  sum <- numeric(length(w))
  for (done in seq(0, steps - 1, by = chunk)) {
    plan$iterations <- min(chunk, steps - done)
    path <- release_descent(rows, norm, w, plan, release_key(control))
    w <- path[, ncol(path)]
    sum <- sum + rowSums(path[, done + seq_len(ncol(path)) > burn, drop = FALSE])
  }
  list(last = w, average = sum / (steps - burn))
}

# The norm at which covariates are clipped: given, or a quantile from noisy counts.
covariate_level <- function(rows, norm, plan, n, k, p, control) {
  if (!is.null(plan$bound)) {
    return(plan$bound)
  }
  if (!plan$private) {
    return(Inf)
  }
  level <- clip_quantile(rows, norm, NULL, plan, n, p, control)
  if (is.na(level)) sqrt(k) else level
}

# A quantile of sizes from noisy counts, one of plan$clips such releases.
clip_quantile <- function(rows, norm, w, plan, n, p, control) {
  law <- count_law(plan$kind, n, stage_cost(plan, "clip", plan$clips), sqrt(2))
  size_quantile(rows, norm, w, plan, law, p, control)
}

# A given level stays; else the quantile of the sizes at w, and where that is lost in
# the noise the level of the stage before, halved.
clip_level <- function(rows, norm, w, plan, stage, n, bounds, control) {
  if (!is.null(plan$bound) && !is_robust(plan$loss)) {
    return(plan$bound)
  }
  if (!plan$private) {
    return(Inf)
  }
  level <- clip_quantile(rows, norm, w, plan, n, plan$quantile[[stage]], control)
  if (!is.na(level)) {
    level
  } else if (stage > 1L) {
    bounds[[stage - 1L]] / 2
  } else {
    sqrt(length(w))
  }
}

descent_law <- function(plan, stage, n, k, bound, root) {
  if (!plan$private) {
    return(list(noise = c(0, 0), step = 0, limit = 1, bound = bound, sd = 0))
  }
  mu <- plan$stage_mu[[stage]] / sqrt(plan$steps[[stage]])
  c(gradient_law(n, k, mu, bound, root), list(bound = bound))
}
