# The plan of a private logistic regression: from n, the number of columns and the
# budget alone. It reads no data.
#
# Stages, all Gaussian, each with a share of the total mu^2:
#   pairs, exponents, location   centre and scale of each column (R/lm-plan.R)
#   norms     octaves of the rows' norms: where the second moments clip
#   moments   second moments of clipped rows: preconditioner and start
#   clip      octaves of the preconditioned rows' norms: where covariates are clipped
#   descent   1, 2: steps of gradient descent. The derivative of the loss is bounded, so
#             clipping the covariate bounds the gradient, with a weight that does not depend
#             on the response: no bias given x.
#   sandwich  second moments for the standard errors (R/sandwich.R)
GLM_STAGES <- list(steps = c(6, 30), share = c(0.06, 0.94))

# With many rows what is left of the start counts for more than the noise of more steps.
GLM_LONG <- list(rows = 8000, steps = 75)

# Share of the rows whose covariates are left as they are: noise goes with the level, and what a
# long row loses is little, for its response is the easier to tell.
GLM_QUANTILE <- 0.4

# Second derivative of the loss, at most.
GLM_CURVATURE <- 0.25

# As NOISE_RISK in R/lm-descent.R.
GLM_NOISE_RISK <- 0.25

plan_glm <- function(n, k, tuned, mu, control, gradient, intervals = TRUE) {
  fixed <- !is.null(gradient$bound)
  resolution <- size_resolution(n, mu)
  sizes <- count_share(resolution$need, sqrt(2), n, mu, 0.004, 0.05)
  share <- c(
    search_shares(n, tuned, mu), norms = sizes, moments = 0.10,
    clip = if (fixed) 0 else sizes, descent = 0.75,
    sandwich = if (intervals) SANDWICH_SHARE else 0
  )
  steps <- GLM_STAGES$steps
  if (n * mu > GLM_LONG$rows) steps[[2L]] <- GLM_LONG$steps
  if (!is.null(control$iterations)) steps[[2L]] <- control$iterations
  share <- share / sum(share)
  sensible <- lm_sensible_n(k, tuned, mu)
  finish_plan(list(
    mu = mu, private = is.finite(mu), share = share, sub = resolution$sub,
    eta = (if (is.null(control$step)) 1 else control$step) / GLM_CURVATURE, steps = steps,
    stage_mu = mu * sqrt(share[["descent"]] * GLM_STAGES$share), bound = gradient$bound, clips = 1,
    loss = loss_logistic(),
    clip_label = "covariate norms, counts", sensible = sensible <= n, n_sensible = sensible
  ), eta = 1 / GLM_CURVATURE, steps = 200)
}
