# Algorithm 2 of Tao et al. with Algorithm 3 inside, with their constants; mended where the print
# breaks privacy or is not defined (each mend is named in the help of dp_sco()). Reads no data.

PAPER_MOST_STEPS <- 10000

# Strong convexity implies convexity, so that it is asked first.
is_strongly_convex <- function(spec) {
  spec$loss$name == "mean" || spec$penalty$lambda > 0 || !is.null(spec$control$strong_convexity)
}

plan_paper <- function(n, d, spec, intercept) {
  check_paper(spec, intercept)
  constants <- paper_constants(spec)
  plan <- if (is_strongly_convex(spec)) {
    paper_strong(n, d, spec, constants)
  } else {
    paper_convex(n, d, spec, constants)
  }
  law <- paper_law(n, d, spec, plan)
  c(plan, law, list(
    private = is.finite(spec$epsilon), kind = "gaussian", clips = 0, source = "given", paper = TRUE,
    share = c(moments = 0), sensible = TRUE, n_sensible = n, estimator = "truncated"
  ))
}

check_paper <- function(spec, intercept) {
  needs <- function(ok, text) {
    if (!ok) dp_abort(paste0("`calibration = \"paper\"` ", text), "dp_error_calibration")
  }
  needs(spec$gradient$name == "mom",
        "of this problem is Algorithm 2 of Tao et al.: give gradient = grad_mom().")
  needs(is.null(spec$gradient$bound) && is.null(spec$gradient$groups),
        "sets tau and the groups itself: give grad_mom() without them.")
  needs(spec$constraint$name == "l2_ball", "needs a ball: give constraint = l2_ball(r).")
  needs(!is.null(spec$moment), "needs a moment: give moment = moment_bound(order, bound).")
  needs(!intercept, paste(
    "has no free intercept: give intercept = FALSE (a formula with - 1), or put a column of ones",
    "into x."
  ))
  needs(is.null(spec$control$step), "sets the step itself: leave out `step`.")
  needs(spec$control$batches == "full", paste(
    "splits the rows itself where the problem is strongly convex: leave out `batches`."
  ))
  needs(!spec$loss$name %in% c("huber", "biweight") || !is.null(spec$loss$sigma),
        "needs a public scale of the residuals: give `sigma` in the loss.")
  needs(is.finite(spec$epsilon), "needs a finite `epsilon`.")
}

# alpha, beta and R: the caller's, or those of the parts.
paper_constants <- function(spec) {
  lambda <- spec$penalty$lambda
  mean <- spec$loss$name == "mean"
  alpha <- spec$control$strong_convexity %||% (lambda + mean)
  beta <- spec$control$smoothness %||% if (mean) 1 + lambda
  gradient <- spec$control$gradient_bound
  if (is.null(beta) || (!is_strongly_convex(spec) && is.null(gradient))) {
    dp_abort(paste0(
      "`calibration = \"paper\"` needs the papers' constants: dp_control(smoothness = ",
      if (!is_strongly_convex(spec)) ", gradient_bound = ", ")."
    ), "dp_error_calibration")
  }
  if (alpha > beta) dp_abort("`strong_convexity` must not exceed `smoothness`.")
  list(alpha = alpha, beta = beta, gradient = gradient, v = spec$moment$order - 1,
       u = spec$moment$bound)
}

# Theorem 6.
paper_convex <- function(n, d, spec, constants) {
  level <- (constants$u * spec$epsilon * n / d^1.5)^(1 / (1 + constants$v))
  steps <- floor((constants$gradient * spec$epsilon * n / (level * d^2))^2)
  steps <- spec$control$iterations %||% min(max(steps, 1), PAPER_MOST_STEPS)
  diameter <- 2 * spec$constraint$radius
  list(
    split = FALSE, level = level, steps = steps, output = "average", count = steps,
    eta = min(diameter / (constants$gradient * sqrt(steps)), 1 / constants$beta)
  )
}

# Theorem 7. Each batch must hold a record in each group.
paper_strong <- function(n, d, spec, constants) {
  steps <- ceiling(constants$beta / constants$alpha * log(n))
  most <- max(1, floor(n / paper_groups(d * n, spec$control$xi)))
  steps <- spec$control$iterations %||% min(max(steps, 1), most)
  if (steps > n) dp_abort("`iterations` must not exceed the number of rows.")
  list(
    split = TRUE, steps = steps, output = "last", count = 1,
    level = (constants$u * spec$epsilon * n / (d^1.5 * sqrt(steps)))^(1 / (1 + constants$v)),
    eta = 1 / (constants$alpha + constants$beta)
  )
}

# Groups, noise and events.
paper_law <- function(n, d, spec, plan) {
  groups <- paper_groups(d * plan$steps, spec$control$xi)
  batch <- if (plan$split) floor(n / plan$steps) else n
  smallest <- floor(batch / groups)
  if (smallest < 1) {
    dp_abort(sprintf(
      "`x` has too few rows: %.0f groups in each of %.0f batches need more than %.0f rows.",
      groups, if (plan$split) plan$steps else 1, n
    ), c("dp_error_small_n", "dp_error_input"))
  }
  check_chargeable_paper(spec)
  mu <- 1 / paper_gaussian(spec$epsilon, spec$delta, plan$count)
  sensitivity <- 2 * sqrt(d)
  what <- sprintf("gradient in tau/(group size), %.0f %s", plan$steps,
                  if (plan$split) "disjoint batches" else "steps")
  list(groups = groups, step_mu = mu,
       events = list(scaled_event(what, mu, plan$count, sensitivity)))
}

check_chargeable_paper <- function(spec) {
  if (!is.null(spec$budget)) check_chargeable(spec$budget, spec$epsilon, "gaussian")
}
