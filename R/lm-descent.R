# Stages of clipped gradient descent. Each function spends what its plan says; everything else
# here is post-processing.

# All stages. Returns the coefficients in standardised units, the clip levels and
# the standard deviation of the noise in the last stage.
descend <- function(rows, pre, plan, n, control) {
  norm <- row_norms(rows, pre$root)
  rows$root <- pre$root
  k <- length(pre$start)
  w <- pre$start
  bounds <- sds <- h <- numeric(length(plan$steps))
  clock <- new_clock(control, sum(plan$steps))
  for (stage in seq_along(plan$steps)) {
    begun <- w
    report_descent(clock, plan, stage)
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
    eta <- plan$eta * noise_step(plan, stage, n, k) * rule$step * covariate_stretch(pre, rule) /
      pre$size
    h[[stage]] <- eta
    run <- run_stage(rows, norm, w, plan$steps[[stage]], c(law, list(
      eta = eta, root = pre$root, loss = rule$loss, estimator = rule$estimator,
      tuning = rule$tuning
    )), control)
    w <- run$last
  }
  last <- is_robust(plan$loss) && !plan$private
  w <- if (last) run$last else run$average
  list(
    w = w, bound = bounds, sd = sds,
    vcov = if (!is_mean_target(plan)) {
      descent_vcov(rows, norm, w, pre, rule,
                   list(h = h, sd = sds, steps = plan$steps, moved = w - begun), plan, n, control)
    }
  )
}

report_descent <- function(clock, plan, stage) {
  text <- sprintf("descent, stage %d of %d", stage, length(plan$steps))
  clock(1 + sum(plan$steps[seq_len(stage - 1L)]), text)
}

# What the length of a step is multiplied with, a public number. A step of 1 adds the noise of a
# gradient, of length q = 2 C sqrt(k) / (n mu), to whitened coefficients, and q2 is about q^2
# over the variance of the residuals, for C is about sqrt(k) of them. Where that is much, shorter
# steps keep the iterates, and with them the residuals and the levels found from these, small:
# 1 / (1 + 4 q2) is about the best step from far away, NOISE_RISK / q2 that of an average.
noise_step <- function(plan, stage, n, k, most = NOISE_RISK) {
  if (!plan$private) {
    return(1)
  }
  q2 <- noise_length(k, plan$steps[[stage]], n, plan$stage_mu[[stage]])
  if (stage < length(plan$steps)) 1 / (1 + 4 * q2) else min(1, most / q2)
}

NOISE_RISK <- 0.1

# q2; mu: of all steps together.
noise_length <- function(k, steps, n, mu) 4 * k^2 * steps / (n * mu)^2

# Share of the rows whose covariates a robust loss leaves as they are.
ROBUST_QUANTILE <- 0.6

# The largest second derivative of a loss in C times its tuning constant (src/dph_loss.c).
ROBUST_CURVATURE <- c(huber = 1, biweight = 25 * sqrt(5) / 16)

# The scale of the residuals at w, then the level of the covariates. A step of
# tuning / curvature is one that never overshoots.
robust_rule <- function(rows, norm, w, plan, stage, n, bounds, control) {
  sigma <- plan$sigma
  if (length(sigma) == 0L) {
    single <- one_each(rows)
    alone <- ifelse(row_norms(single) < Inf, 1, Inf)
    median <- clip_quantile(single, alone, w, plan, n, 0.5, control)
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

# Sizes matter between 2^-80 and 2^80 standardised units.
SIZE_RANGE <- c(-80, 80)

size_quantile <- function(rows, norm, w, plan, law, p, control) {
  cells <- octave_cells(SIZE_RANGE[[1L]], SIZE_RANGE[[2L]], plan$sub)
  counts <- release_sizes(rows, norm, w, "squared", cells, law, release_key(control))
  octave_quantile(occupied_cells(counts[-1L], law), octave_edges(cells), p)
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
