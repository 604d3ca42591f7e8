# The plan of a private regression: from n, the number of columns and the
# budget alone. It reads no data.
#
# Stages, all Gaussian, each with a share of the total mu^2:
#   pairs      octaves of differences of random pairs: the scale of each column
#   exponents  octaves about zero: roughly where each column lies
#   location   equal cells at the scale found: the centre of each column
#   norms      octaves of the row norms: where the second moments clip
#   moments    second moments of clipped rows: preconditioner and start
#   clip 1..4  octaves of the gradients' sizes: the clip level of a stage
#   descent    1..4: steps of clipped gradient descent
# The level is found again as the fit improves, for at zero it is far too high
# when the signal is strong.

DESCENT_STAGES <- list(
  steps = c(3, 3, 6, 40), share = c(0.02, 0.02, 0.03, 0.70), quantile = c(0.75, 0.7, 0.65, 0.55)
)

# Where many responses are equal (0/1, counts, piles at zero) most rows may fit exactly
# and low quantiles of the sizes describe only those: then only the largest are clipped.
TIED_QUANTILE <- 0.97

# n over the standard deviation of a count that each search is expected to need.
SEARCH_NEED <- c(pairs = 48, exponents = 25, location = 28)

# A share of mu^2 such that the noise of a count is at most n / need.
count_share <- function(need, sensitivity, n, mu, least, most) {
  min(max((sensitivity * need / (mu * n))^2, least), most)
}

# Fine cells where there are enough rows to fill them.
size_resolution <- function(n, mu) {
  if (mu * n > 670) {
    list(sub = 4, need = 52)
  } else if (mu * n > 400) {
    list(sub = 2, need = 30)
  } else {
    list(sub = 1, need = 19)
  }
}

# Of the searches for scales and centres of `tuned` columns.
search_shares <- function(n, tuned, mu) {
  one <- function(name, least, most) {
    count_share(SEARCH_NEED[[name]], sqrt(2 * tuned), n, mu, least, most) * (tuned > 0)
  }
  c(pairs = one("pairs", 0.015, 0.30), exponents = one("exponents", 0.005, 0.08),
    location = one("location", 0.006, 0.12))
}

# tuned: number of columns (the response among them) whose centre and scale are
# found privately; k: coefficients, the intercept among them.
plan_lm <- function(n, k, tuned, mu, delta, control, gradient, loss = loss_squared()) {
  clips <- clip_releases(gradient, loss)
  resolution <- size_resolution(n, mu)
  sizes <- count_share(resolution$need, sqrt(2), n, mu, 0.004, 0.05)
  share <- c(
    search_shares(n, tuned, mu), norms = sizes, moments = 0.08,
    clip = clips * sizes, descent = sum(DESCENT_STAGES$share)
  )
  steps <- DESCENT_STAGES$steps
  if (!is.null(control$iterations)) steps[[4L]] <- control$iterations
  share <- share / sum(share)
  list(
    mu = mu, private = is.finite(mu), share = share, sub = resolution$sub,
    eta = if (is.null(control$step)) 1 else control$step, steps = steps,
    stage_mu = mu * sqrt(share[["descent"]] * DESCENT_STAGES$share / sum(DESCENT_STAGES$share)),
    quantile = DESCENT_STAGES$quantile, bound = gradient$bound, loss = loss, clips = clips,
    clip_label = clip_label(loss),
    sensible = lm_sensible_n(k, tuned, mu) <= n, n_sensible = lm_sensible_n(k, tuned, mu)
  )
}

is_robust <- function(loss) loss$name != "squared"

# How many clip levels are found: one per stage with the squared loss; with a robust one those of
# the first stages, the scale of the residuals and the covariates' level of the last.
clip_releases <- function(gradient, loss) {
  if (is_robust(loss)) {
    3 + is.null(loss$sigma) + is.null(gradient$bound)
  } else if (is.null(gradient$bound)) {
    4
  } else {
    0
  }
}

clip_label <- function(loss) {
  if (is_robust(loss)) "sizes and residuals, counts" else "gradient sizes, counts"
}

stage_cost <- function(plan, name, parts = 1) plan$mu * sqrt(plan$share[[name]] / parts)

# Rows below which the private search for scales is expected to fail, or the noise to
# dominate: the shares that the searches need add up to more than three tenths of the
# budget. Nearly a half more is added for safety.
lm_sensible_n <- function(k, tuned, mu) {
  searches <- sqrt(2 * tuned * sum(SEARCH_NEED^2) + 10 * 19^2)
  ceiling(max(1.45 * searches / sqrt(0.3), 25 * k) / mu)
}

# The events of a plan, for the ledger: fixed before any value is read.
lm_events <- function(plan, tuned) {
  columns <- sqrt(2 * tuned)
  Filter(Negate(is.null), c(
    list(
      counts_event(plan, "pair differences, counts", "pairs", columns),
      counts_event(plan, "exponents, counts", "exponents", columns),
      counts_event(plan, "location, counts", "location", columns),
      counts_event(plan, "row norms, counts", "norms", sqrt(2)),
      moments_event(plan),
      counts_event(plan, plan$clip_label, "clip", sqrt(2), plan$clips)
    ),
    lapply(seq_along(plan$steps), function(i) gradient_event(plan, i))
  ))
}

scaled_event <- function(what, cost, count, sensitivity) {
  gaussian_event(cost, count, sensitivity, sensitivity / cost, what)
}

# Nothing where the stage has no share.
counts_event <- function(plan, what, name, sensitivity, parts = 1) {
  if (plan$share[[name]] > 0) {
    scaled_event(what, stage_cost(plan, name, parts), parts, sensitivity)
  }
}

moments_event <- function(plan) {
  scaled_event("second moments in c^2/n", stage_cost(plan, "moments"), 1, sqrt(2))
}

gradient_event <- function(plan, stage) {
  count <- plan$steps[[stage]]
  mu <- plan$stage_mu[[stage]] / sqrt(count)
  scaled_event(sprintf("gradient in C/n, stage %d", stage), mu, count, 2)
}

# Refuses, before anything is spent, an epsilon that leaves no room on the grids.
check_lm_laws <- function(plan, n, k, tuned) {
  count_law("gaussian", n, stage_cost(plan, "norms", 4), sqrt(2))
  if (tuned > 0) count_law("gaussian", n, stage_cost(plan, "exponents"), sqrt(2 * tuned))
  moment_law(n, k + 1, stage_cost(plan, "moments"), 1)
  gradient_law(n, k, min(plan$stage_mu / sqrt(plan$steps)), 1, NULL)
}

# Public facts only; before anything is spent.
warn_small_lm <- function(plan, n) {
  if (plan$private && !plan$sensible) {
    dp_warn(sprintf(paste(
      "n = %.0f is small for this epsilon and this many columns: the noise may dominate the fit.",
      "From about n = %.0f on that is unlikely; or give `scale`, or a larger `epsilon`."
    ), n, plan$n_sensible), "dp_small_n")
  }
}
