# The plan of the general problem: from n, the number of coefficients, the parts and the
# budget alone. It reads no data.
#
# Stages, all Gaussian, each with a share of the total mu^2:
#   pairs, exponents, location   centre and scale of each column (R/lm-plan.R)
#   norms, moments               second moments of clipped rows: preconditioner and start
#   levels                       octaves of the gradients' sizes, of their coordinates, of the rows'
#                                norms, of the residuals: the level of a stage
#   descent                      steps of gradient descent, in stages. With split batches a stage's
#                                steps read disjoint rows and cost together what one costs, and so
#                                do all stages.

# With full batches as for dp_lm(); the levels are found again as the fit improves.
SCO_STAGES <- list(
  steps = c(3, 3, 6, 40), share = c(0.03, 0.03, 0.04, 0.90),
  record = c(0.75, 0.7, 0.65, 0.55), coordinate = c(0.95, 0.9, 0.87, 0.8)
)

# Each batch has all the noise: few of them.
SPLIT_STAGES <- list(
  steps = c(3, 5), share = c(1, 1), record = c(0.75, 0.6), coordinate = c(0.95, 0.87)
)

# Clipping moves the minimum unless gradients are spread evenly about zero at it, as those of
# residuals with symmetric errors are; and it weakens the loss against a penalty. Else only the
# largest are clipped.
SKEWED_QUANTILE <- 0.99

symmetric_gradients <- function(spec) {
  spec$loss$name %in% c("squared", "huber", "biweight") && spec$penalty$lambda == 0
}

stage_quantiles <- function(spec, stages) {
  own <- if (is_record(spec$gradient)) stages$record else stages$coordinate
  if (symmetric_gradients(spec)) own else rep(SKEWED_QUANTILE, length(own))
}

# For the whole covariates where the derivative is bounded.
COVARIATE_QUANTILE <- 0.6

has_bounded_derivative <- function(loss) {
  loss$name %in% c("logistic", "huber", "biweight") || !is.null(loss$bound)
}

# One level for all stages: that of the covariates.
one_level <- function(gradient, loss) is_record(gradient) && has_bounded_derivative(loss)

needs_sigma <- function(loss) loss$name %in% c("huber", "biweight") && is.null(loss$sigma)

level_source <- function(gradient, moment) {
  if (!is.null(gradient$bound)) {
    "given"
  } else if (!is.null(moment)) {
    "moment"
  } else {
    "private"
  }
}

plan_sco <- function(n, k, tuned, mu, spec) {
  control <- spec$control
  split <- control$batches == "split"
  stages <- if (split) SPLIT_STAGES else SCO_STAGES
  steps <- sco_steps(stages, split, control$iterations)
  if (split && sum(steps) > n) dp_abort("there must be at least as many rows as batches.")
  source <- level_source(spec$gradient, spec$moment)
  counts <- level_counts(spec, source, steps)
  resolution <- size_resolution(n, mu)
  sizes <- count_share(resolution$need, sqrt(2), n, mu, 0.004, 0.05)
  moments <- spec$loss$name != "mean"
  share <- c(
    search_shares(n, tuned, mu), norms = if (moments) sizes else 0,
    moments = if (moments) 0.08 else 0, clip = counts * sizes, descent = 0.77
  )
  share <- share / sum(share)
  descent <- mu * sqrt(share[["descent"]])
  plan <- list(
    mu = mu, private = is.finite(mu), kind = if (is.finite(mu)) "gaussian" else "none",
    share = share, sub = resolution$sub, split = split, steps = steps, source = source,
    clips = counts, step = if (is.null(control$step)) 1 else control$step,
    quantile = stage_quantiles(spec, stages),
    stage_mu = if (split) rep(descent, length(steps)) else
      descent * sqrt(stages$share / sum(stages$share)),
    groups = sco_groups(spec, k, n, sum(steps)),
    estimator = estimator_name(spec$gradient), output = "average"
  )
  plan$level <- sco_level(spec, plan, n, k)
  sensible <- max(lm_sensible_n(k * max(1, plan$groups), tuned, mu), loud_n(plan, spec, n, k))
  c(plan, list(sensible = sensible <= n, n_sensible = sensible))
}

# The largest noise of a mean gradient's coordinate that lets a fit through without a warning, in
# units of the standardised problem, where levels are about 1 unless they are given.
LOUD <- 0.5

# Rows from which on the noise is below that; from public numbers.
loud_n <- function(plan, spec, n, k) {
  if (!plan$private) {
    return(0)
  }
  batch <- if (plan$split) floor(n / sum(plan$steps)) else n
  mu <- if (plan$split) min(plan$stage_mu) else sqrt(sum(plan$stage_mu^2))
  level <- if (plan$source == "given") spec$gradient$bound else 1
  if (spec$gradient$name == "shrunken" && spec$loss$name == "squared") {
    level <- max(level, 1) * level * (1 + spec$constraint$radius * sqrt(k))
  }
  norm <- if (is_record(spec$gradient)) 2 else 2 * sqrt(k) * max(1, plan$groups)
  ceiling(n * norm * level / (mu * batch) / LOUD)
}

sco_steps <- function(stages, split, iterations) {
  steps <- stages$steps
  if (is.null(iterations)) {
    return(steps)
  }
  if (!split) {
    return(replace(steps, length(steps), iterations))
  }
  first <- floor(iterations / 3)
  c(first, iterations - first)
}

# How many noisy counts the levels take.
level_counts <- function(spec, source, steps) {
  levels <- if (source != "private") {
    0
  } else if (one_level(spec$gradient, spec$loss)) {
    1
  } else {
    sum(steps > 0)
  }
  levels + needs_sigma(spec$loss)
}

sco_groups <- function(spec, k, n, steps) {
  if (spec$gradient$name != "mom") {
    return(0)
  }
  groups <- if (is.null(spec$gradient$groups)) default_groups(k, spec$control$xi) else
    spec$gradient$groups
  batch <- if (spec$control$batches == "split") floor(n / steps) else n
  if (groups > batch) {
    dp_abort(sprintf(
      "%.0f groups of records need as many rows; a step has %.0f. Give fewer `groups`.",
      groups, batch
    ))
  }
  groups
}

# A public level, or NULL. With split batches the noise is that of the smallest batch.
sco_level <- function(spec, plan, n, k) {
  if (plan$source != "moment") {
    return(spec$gradient$bound)
  }
  mu <- if (plan$private) plan$mu * sqrt(plan$share[["descent"]]) else Inf
  batch <- if (plan$split) floor(n / sum(plan$steps)) else n
  noise <- 2 * sqrt(k) * max(1, plan$groups) / mu
  if (spec$gradient$name == "shrunken" && !plan$private) noise <- 1
  moment_level(spec$gradient, spec$moment, batch, k, noise, spec$control$xi)
}

# The events of a plan, for the ledger: fixed before any value is read.
sco_events <- function(plan, tuned, k, n, spec) {
  counts <- if (plan$share[["norms"]] > 0) {
    list(counts_event(plan, "row norms, counts", "norms", sqrt(2)), moments_event(plan))
  }
  Filter(Negate(is.null), c(
    search_events(plan, tuned),
    counts,
    list(level_event(plan, k, spec)),
    sco_gradient_events(plan, k, spec)
  ))
}

# In records, or in coordinates of records, of which a record has k.
level_event <- function(plan, k, spec) {
  if (plan$clips > 0) {
    counts_event(plan, "gradient sizes, counts", "clip", sqrt(2), plan$clips)
  }
}

sco_gradient_events <- function(plan, k, spec) {
  sensitivity <- if (is_record(spec$gradient)) 2 else 2 * sqrt(k)
  unit <- switch(spec$gradient$name, clipped = "C/n", catoni = "s M/n", shrunken = "K psi/n",
                 mom = "tau/(group size)", "tau/n")
  if (plan$split) {
    what <- sprintf("gradient in %s, n of a batch: %.0f disjoint ones", unit, sum(plan$steps))
    return(list(scaled_event(what, plan$stage_mu[[1L]], 1, sensitivity)))
  }
  lapply(which(plan$steps > 0), function(i) {
    mu <- plan$stage_mu[[i]] / sqrt(plan$steps[[i]])
    scaled_event(sprintf("gradient in %s, stage %d", unit, i), mu, plan$steps[[i]], sensitivity)
  })
}

# Refuses, before anything is spent, an epsilon that leaves no room on the grids.
check_sco_laws <- function(plan, n, k, tuned, spec) {
  check_search_laws(plan, n, tuned)
  if (plan$share[["moments"]] > 0) moment_law(n, k + 1, stage_cost(plan, "moments"), 1)
  mu <- step_mu(plan, which.min(plan$stage_mu / sqrt(pmax(plan$steps, 1))))
  if (is_record(spec$gradient)) {
    gradient_law(n, k, mu, 1, NULL)
  } else {
    coordinate_law("gaussian", n, k, mu, 1)
  }
}

# What one step of a stage costs.
step_mu <- function(plan, stage) {
  if (!is.null(plan$step_mu)) {
    return(plan$step_mu)
  }
  if (plan$split) plan$stage_mu[[stage]] else
    plan$stage_mu[[stage]] / sqrt(max(plan$steps[[stage]], 1))
}
