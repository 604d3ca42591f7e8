# The plan of a private regression: from n, the number of columns and the
# budget alone. It reads no data.
#
# Stages, all Gaussian, each with a share of the total mu^2. The searches are made for the
# columns of x in one and for the response in another release, `_y`:
#   pairs      octaves of differences of random pairs: the scale of each column
#   exponents  octaves about zero: roughly where each column lies
#   location   equal cells at the scale found: the centre of each column
#   sizes      octaves about zero, instead of these three for columns that are not centred
#   norms      octaves of the row norms: where the second moments clip
#   moments    second moments of clipped rows: preconditioner and start
#   clip 1..4  octaves of the gradients' sizes: the clip level of a stage
#   descent    1..4: steps of clipped gradient descent
# and where the target is the mean those of R/lm-mean.R.
# The level is found again as the fit improves, for at zero it is far too high
# when the signal is strong.

DESCENT_STAGES <- list(
  steps = c(3, 3, 6, 40), share = c(0.02, 0.02, 0.03, 0.70), quantile = c(0.75, 0.7, 0.65, 0.55)
)

# Where many responses are equal (0/1, counts, piles at zero) most rows may fit exactly
# and low quantiles of the sizes describe only those: then only the largest are clipped.
TIED_QUANTILE <- 0.97

# need: n over the standard deviation of a count that each search is expected to need.
SEARCHES <- data.frame(
  need = c(48, 25, 28, 24), least = c(0.015, 0.005, 0.006, 0.015), most = c(0.30, 0.08, 0.12, 0.30),
  row.names = c("pairs", "exponents", "location", "sizes")
)

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

# What is searched for: the centre and scale of x columns, or with `zero` only their size
# about zero, and those of y responses (0 or 1).
tuned_columns <- function(known, centred) {
  missing <- is.na(known$center) | is.na(known$scale)
  last <- length(missing)
  list(x = sum(missing[-last]), y = sum(missing[last]), zero = !centred)
}

# Where one scale in many is lost it has a stand-in (R/lm-pool.R): each may be noisier.
pooled_need <- function(x) max(0.5, min(1, sqrt(10 / x)))

RESPONSE_NEED <- 1.4

# What the searches need and the least and most of their shares, one row per release.
searches <- function(tuned) {
  names <- if (tuned$zero) "sizes" else c("pairs", "exponents", "location")
  x <- SEARCHES[names, ]
  pooled <- names %in% c("pairs", "sizes")
  x$need[pooled] <- x$need[pooled] * pooled_need(tuned$x)
  x$columns <- tuned$x
  y <- SEARCHES[c("pairs", "exponents", "location"), ]
  # all is lost without it
  y$need <- RESPONSE_NEED * y$need
  y$least <- y$least / 2
  y$columns <- tuned$y
  rownames(y) <- paste0(rownames(y), "_y")
  all <- rbind(x, y)
  all[all$columns > 0, ]
}

search_shares <- function(n, tuned, mu) {
  all <- searches(tuned)
  share <- mapply(function(need, columns, least, most) {
    count_share(need, sqrt(2 * columns), n, mu, least, most)
  }, all$need, all$columns, all$least, all$most)
  stats::setNames(as.numeric(share), rownames(all))
}

# tuned: from tuned_columns(); k: coefficients, the intercept among them. intervals: is anything
# spent on standard errors?
plan_lm <- function(n, k, tuned, mu, delta, control, gradient, loss = loss_squared(),
                    intervals = TRUE, target = "robust") {
  # without noise nothing is clipped, and least squares fits the mean
  to_mean <- target == "mean" && is.finite(mu)
  if (target == "mean" && !to_mean) loss <- loss_squared()
  stages <- if (to_mean) MEAN_DESCENT else DESCENT_STAGES
  clips <- clip_releases(gradient, loss) + to_mean
  resolution <- size_resolution(n, mu)
  sizes <- count_share(resolution$need, sqrt(2), n, mu, 0.004, 0.05)
  share <- c(
    search_shares(n, tuned, mu), norms = sizes, moments = 0.08,
    clip = clips * sizes, descent = sum(stages$share),
    sandwich = if (intervals) SANDWICH_SHARE else 0,
    if (to_mean) MEAN_SHARES * c(1, 1, !tuned$zero)
  )
  steps <- stages$steps
  if (!is.null(control$iterations) && !to_mean) steps[[4L]] <- control$iterations
  share <- share / sum(share)
  plan <- list(
    mu = mu, private = is.finite(mu), share = share, sub = resolution$sub,
    eta = if (is.null(control$step)) 1 else control$step, steps = steps,
    stage_mu = mu * sqrt(share[["descent"]] * stages$share / sum(stages$share)),
    quantile = DESCENT_STAGES$quantile, bound = gradient$bound, loss = loss, clips = clips,
    clip_label = if (to_mean) "sizes and rows, counts" else clip_label(loss),
    sensible = lm_sensible_n(k, tuned, mu) <= n, n_sensible = lm_sensible_n(k, tuned, mu)
  )
  if (to_mean) plan$mean <- mean_target_plan(plan, !tuned$zero, control$iterations)
  plan
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
  all <- searches(tuned)
  needs <- sqrt(sum(2 * all$columns * all$need^2) + 10 * 19^2)
  ceiling(max(1.45 * needs / sqrt(0.3), 25 * k) / mu)
}

SEARCH_LABELS <- c(
  pairs = "pair differences, counts", exponents = "exponents, counts",
  location = "location, counts", sizes = "sizes, counts", pairs_y = "response: pairs",
  exponents_y = "response: exponents", location_y = "response: location"
)

search_events <- function(plan, tuned) {
  all <- searches(tuned)
  lapply(seq_len(nrow(all)), function(i) {
    name <- rownames(all)[[i]]
    counts_event(plan, SEARCH_LABELS[[name]], name, sqrt(2 * all$columns[[i]]))
  })
}

# The events of a plan, for the ledger: fixed before any value is read.
lm_events <- function(plan, tuned) {
  Filter(Negate(is.null), c(
    search_events(plan, tuned),
    list(
      counts_event(plan, "row norms, counts", "norms", sqrt(2)),
      moments_event(plan),
      counts_event(plan, plan$clip_label, "clip", sqrt(2), plan$clips)
    ),
    lapply(seq_along(plan$steps), function(i) gradient_event(plan, i)),
    if (is_mean_target(plan)) mean_target_events(plan),
    if (plan$share[["sandwich"]] > 0) sandwich_events(plan)
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

sandwich_events <- function(plan) {
  cost <- sandwich_costs(plan)
  list(
    scaled_event("curvature in c^2/n", cost[["curvature"]], plan_curvatures(plan), sqrt(2)),
    scaled_event("squared gradients in C^2/n", cost[["spread"]], 1, sqrt(2))
  )
}

check_search_laws <- function(plan, n, tuned) {
  all <- searches(tuned)
  for (i in seq_len(nrow(all))) {
    count_law("gaussian", n, stage_cost(plan, rownames(all)[[i]]), sqrt(2 * all$columns[[i]]))
  }
}

# Refuses, before anything is spent, an epsilon that leaves no room on the grids.
check_lm_laws <- function(plan, n, k, tuned) {
  count_law("gaussian", n, stage_cost(plan, "norms", 4), sqrt(2))
  check_search_laws(plan, n, tuned)
  moment_law(n, k + 1, stage_cost(plan, "moments"), 1)
  if (plan$share[["sandwich"]] > 0) moment_law(n, k, min(sandwich_costs(plan)), 1)
  gradient_law(n, k, min(plan$stage_mu / sqrt(plan$steps)), 1, NULL)
  if (is_mean_target(plan)) check_mean_laws(plan, n, k)
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
