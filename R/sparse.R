#' Private sparse regression on heavy-tailed data
#'
#' A linear, robust or logistic regression of which at most `sparsity` slopes are not zero, for many
#' columns of which few matter. No bound on the data is needed.
#'
#' *Solver `"select"`* (the default where `delta > 0`): up to four rounds, each of which chooses the
#' columns with the largest gradients privately and fits all columns chosen so far by clipped
#' gradient descent, as in [dp_lm()] or [dp_glm()], so that the next round looks for what those do
#' not explain. Half as many columns again as `sparsity` are chosen; the largest are kept and
#' fitted once more. How many rounds, and how the budget is spent, follows from the number of rows,
#' `sparsity` and the budget alone. Columns are compared in private scales of their own where these
#' cost little (else in the caller's units: columns of very different sizes then need transforms, or
#' public numbers in `scale`). The columns of a `dgCMatrix` have one private scale in common.
#'
#' *Solver `"iht"`*, iterative hard thresholding: each round takes a gradient step, keeps the
#' `sparsity` largest coefficients by a private choice, and releases them with noise. See
#' [iht_solver]; with `delta = 0` the guarantee is pure, and with
#' `control = dp_control(calibration = "paper")` it is Algorithm 5 of Tao et al. or Algorithms 3 and
#' 5 of Hu et al.
#'
#' Which columns are chosen is itself noisy: columns that are correlated with important ones are
#' easily taken for them, and slopes of chosen columns are, on average, larger than the true ones.
#'
#' @inheritParams dp_sco
#' @param delta Number from 0 on, well below 1/n; 0 only with solver `"iht"`.
#' @param sparsity Whole number: the largest number of slopes that are not zero. `NULL`: the
#'   largest that the number of rows and the budget allow (with solver `"select"`); slopes that are
#'   not twice as large as what noise alone would make them are then set to zero, which costs
#'   nothing.
#' @param loss `"squared"`, `"huber"`, `"biweight"`, `"logistic"`, an object (see [problem_parts]),
#'   or [loss_user()].
#' @param gradient See [problem_parts]; `NULL`: winsorized.
#' @param solver `"select"` or `"iht"`; `NULL`: see above.
#' @return An object of class `dp_sparse`, which has all that a [dp_lm()] fit has (with
#'   `loss = "logistic"` a [dp_glm()] fit), and
#' \describe{
#'   \item{path}{the chosen columns in the order of choice.}
#'   \item{selected}{names of the columns whose slopes are not zero.}
#'   \item{noise}{about how large noise alone makes a slope per scale of its column, in scales of
#'     the response.}
#' }
#' `coef(fit, sparse = TRUE)` is a sparse vector of package Matrix. A warning of class
#' `dp_dominated` says that no slope stands out of its noise: from released numbers.
#' @section Privacy:
#' Neighbours differ in one row. *Searches:* noisy counts as in [dp_lm()], or of all columns' sizes
#' together (a row moves from one cell to another in each column: sqrt(2 p) in l2) and sums of
#' winsorised columns (2 tau in each: 2 tau sqrt(p)); of a `dgCMatrix` counts of one size per row
#' (sqrt(2)). *Level:* counts of the sizes of all gradient coordinates (k in each of two cells).
#' *Choice:* the exponential mechanism on the absolute values of exact integer sums, of which a
#' record moves each by at most 2 tau; s choices cost what s mechanisms of bounded range cost.
#' *Fits:* as in [dp_lm()] and [dp_glm()]. All releases are fixed before values are read and
#' composed by the exact recursion for bounded ranges with Gaussian noise (`privacy(fit)`).
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithms 4 and 5).
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144} (Algorithms 3 to 5)
#'
#' Durfee, D. and Rogers, R. (2019). Practical differentially private top-k selection with
#' pay-what-you-get composition. *NeurIPS*. \doi{10.48550/arXiv.1905.04273}
#' @seealso [dp_lasso()], [iht_solver], [dp_peel()], `dp_mean(sparsity = )`
#' @examples
#' set.seed(1)
#' x <- matrix(rt(5000 * 100, 3), 5000, dimnames = list(NULL, paste0("x", 1:100)))
#' y <- drop(x[, 1:3] %*% c(0.5, -0.4, 0.3)) + rt(5000, 3)
#' fit <- dp_sparse(x, y, epsilon = 1, delta = 1e-6, sparsity = 3)
#' fit
#' @export
dp_sparse <- function(x, ...) {
  at <- match("formula", ...names(), nomatch = 0L)
  UseMethod("dp_sparse", if (at > 0L) ...elt(at) else x)
}

#' @rdname dp_sparse
#' @export
dp_sparse.formula <- function(formula, data, epsilon, delta, ..., sparsity = NULL, subset = NULL,
                              offset = NULL, na.action = NULL, loss = "squared", gradient = NULL,
                              solver = NULL, moment = NULL, scale = NULL, unit = NULL,
                              unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                              control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- sparse_spec(epsilon, delta, sparsity, loss, gradient, solver, moment, budget, control)
  binary <- spec$loss$name == "logistic"
  if (missing(data)) data <- NULL
  spec$arguments <- stored_arguments(environment())
  schema <- schema_formula(
    formula, data, subset = substitute(subset), offset = substitute(offset),
    caller = parent.frame(), binary = binary
  )
  schema <- with_units(schema, unit, schema$live$columns, parent.frame())
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  response <- schema$variables[[1L]]$signature
  run_sparse(schema, spec, scale, na.action,
             if (binary) response_classes(response$kind, response$levels))
}

#' @rdname dp_sparse
#' @export
dp_sparse.default <- function(x, y, epsilon, delta, ..., sparsity = NULL, intercept = TRUE,
                              offset = NULL, subset = NULL, na.action = NULL, loss = "squared",
                              gradient = NULL, solver = NULL, moment = NULL, scale = NULL,
                              unit = NULL, unit_weight = c("sum", "mean"), max_rows = NULL,
                              budget = NULL, control = dp_control()) {
  if (is.character(x)) {
    dp_abort("`x` is text: write a formula without quotes, dp_sparse(y ~ x1, data = ...).")
  }
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- sparse_spec(epsilon, delta, sparsity, loss, gradient, solver, moment, budget, control)
  if (missing(y)) dp_abort("`y` is missing: give the response, or a formula first.")
  y <- code_response(y, spec$loss$name == "logistic")
  schema <- schema_matrix(x, y$values, offset, check_flag(intercept, "intercept"), subset,
                          sparse = TRUE)
  schema <- with_units(schema, unit)
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  run_sparse(schema, spec, scale, na.action, y$classes)
}

#' @rdname dp_sparse
#' @export
dp_sparse.data.frame <- function(x, y, epsilon, delta, ...) {
  if (missing(y) || inherits(y, "formula")) {
    dp_abort("`x` is a data frame: give `y`, or a formula first, dp_sparse(y ~ x1, data = ...).")
  }
  dp_sparse.default(x, y, epsilon, delta, ...)
}

# Public checks of everything but the data.
sparse_spec <- function(epsilon, delta, sparsity, loss, gradient, solver, moment, budget, control) {
  loss <- as_loss(loss, names(LOSSES))
  if (loss$name == "mean") dp_abort("`loss_mean()` has no slopes: use dp_mean(sparsity = ).")
  if (!is.null(sparsity)) sparsity <- check_count(sparsity, "sparsity")
  gradient <- as_gradient(gradient %||% grad_winsorized())
  if (!is.null(moment)) moment <- check_moment(moment, moment_order(gradient))
  spec <- lm_spec(epsilon, delta, loss, gradient, sparse_vectors(sparsity %||% 1), NULL, budget,
                  control, "dp_sco", moment)
  spec$front <- "sparse"
  spec$sparsity <- sparsity
  paper <- spec$control$calibration == "paper"
  pure <- spec$delta == 0 && spec$epsilon < Inf
  spec$solver <- check_choice(solver %||% if (pure || paper) "iht" else "select", "solver",
                              c("select", "iht"))
  if (spec$solver == "select") check_select_spec(spec, pure, paper) else {
    if (is.null(sparsity)) dp_abort("`sparsity` must be given with solver \"iht\".")
  }
  spec
}

check_select_spec <- function(spec, pure, paper) {
  if (pure) {
    dp_abort(paste(
      "solver \"select\" needs `delta` above 0, e.g. delta = 1e-6; solver \"iht\" takes delta = 0."
    ))
  }
  if (paper) {
    dp_abort("solver \"select\" is not in the papers: use solver \"iht\".", "dp_error_calibration")
  }
  if (spec$gradient$name %in% c("shrunken", "mom", "clipped")) {
    dp_abort(paste(
      "solver \"select\" chooses by grad_winsorized(), grad_truncated() or grad_catoni(): give one",
      "of them as `gradient`, or leave it out."
    ))
  }
  if (!is.null(spec$moment)) dp_abort("`moment` is for solver \"iht\": leave it out.")
  if (spec$control$batches == "split") {
    dp_abort("batches = \"split\" is for solver \"iht\": leave it out.")
  }
}

run_sparse <- function(schema, spec, scale, na.action, classes) {
  p <- length(schema$columns) - schema$intercept
  if (p < 1L) dp_abort("there is no slope to choose.")
  if (!is.null(spec$sparsity) && spec$sparsity > p) {
    dp_abort(sprintf("`sparsity` must be at most the number of columns, %d.", p))
  }
  fit <- if (spec$solver == "iht") {
    run_iht(schema, spec, scale, na.action, classes)
  } else {
    run_select(schema, spec, scale, na.action, classes)
  }
  class(fit) <- c("dp_sparse", if (spec$loss$name == "logistic") "dp_glm", "dp_lm", "dp_fit")
  fit
}

selected_names <- function(b) setdiff(names(b)[b != 0], "(Intercept)")

# Schema -> plan -> curator's checks -> charge -> values -> fit.
run_select <- function(schema, spec, scale, na.action, classes) {
  made <- front_plan_sparse(schema, spec, scale)
  spec <- made$spec
  noise <- NULL
  fit <- run_regression(
    schema, spec, made$plan, made$events, made$known, na.action,
    function(problem, schema, plan, known, control) {
      fit <- fit_select(problem, schema, plan, known, spec, control)
      noise <<- slope_noise(fit, plan, spec)
      if (is.null(spec$sparsity)) fit <- drop_noise(fit, noise, schema)
      select_result(fit, schema)
    },
    solver = "select"
  )
  fit$noise <- noise
  fit$selected <- selected_names(fit$coefficients)
  warn_dominated(fit, schema)
  with_classes(fit, classes)
}

front_plan_sparse <- function(schema, spec, scale) {
  made <- public_units(schema, spec, scale)
  spec <- made$spec
  known <- made$known
  p <- length(schema$columns) - schema$intercept
  keep <- spec$sparsity %||% largest_sparsity(schema$n, p, spec)
  spec$constraint <- sparse_vectors(keep)
  total <- min(p, keep + ceiling(keep / 2))
  plan <- plan_select(schema$n, p, spec, known, schema$intercept, keep, total,
                      is_sparse(schema$live$x))
  list(plan = plan, events = plan$events, known = known, spec = spec)
}

# Columns to choose: as many as the noise allows, a slow power of n mu.
affordable_slopes <- function(n, p, mu) min(p, min(max(round(14 * (n * mu / 2700)^0.4), 3), 40))

largest_sparsity <- function(n, p, spec) {
  if (!is.finite(spec$epsilon) && is.null(spec$budget)) {
    return(min(p, 40))
  }
  total <- spec_allowance(spec, "mixed")
  affordable_slopes(n, p, sqrt(2 * total$rho))
}

# About the standard deviation of a slope of a standardised column without any signal, in scales of
# the response: that of the noise of the last fit, and C / sqrt(k) for the size of one record's
# derivative. From what was released.
slope_noise <- function(fit, plan, spec) {
  if (!plan$private || length(fit$kept) == 0L || is.null(fit$sd)) {
    return(0)
  }
  k <- length(fit$kept) + plan$intercept
  logistic <- spec$loss$name == "logistic"
  risk <- if (logistic) GLM_NOISE_RISK else NOISE_RISK
  share <- vapply(seq_along(plan$last$steps), function(stage) {
    noise_step(plan$last, stage, plan$n, k, risk)
  }, 0)
  curvature <- if (logistic) GLM_CURVATURE else 1
  # the start is a ridge estimate from second moments, of rows of squared length about 2 (k + 1)
  start <- 2 * (k + 1) / (plan$n * stage_cost(plan$last, "moments")) / curvature
  noise <- averaged_noise(plan$last$steps, share, fit$sd / curvature, min(1, start))
  level <- fit$bound[[length(fit$bound)]] / curvature
  finite_or_zero(sqrt(noise^2 + level^2 / (k * plan$n)))
}

# Slopes that are not twice as large as their noise become zero.
drop_noise <- function(fit, noise, schema) {
  with_slopes(fit, ifelse(abs(standardised_slopes(fit)) < 2 * noise, 0, fit$b), schema)
}

standardised_slopes <- function(fit) slopes_per_scale(fit$b, fit$scale)

# scale: of the columns and then of the response.
slopes_per_scale <- function(b, scale) {
  p <- length(b)
  finite_or_zero(b * scale[seq_len(p)] / scale[[p + 1L]])
}

# Released facts: no slope stands out of its noise.
warn_dominated <- function(fit, schema) {
  slopes <- fit$coefficients
  if (schema$intercept) slopes <- slopes[-1L]
  size <- slopes_per_scale(slopes, fit$scale)
  # the largest of so many would be about that without any signal
  most <- max(1, sqrt(2 * log(max(1, sum(size != 0)))))
  if (fit$noise > 0 && max(abs(size)) < most * fit$noise) {
    dp_warn(sprintf(paste(
      "dominated by noise: n = %.0f is too small for epsilon = %s and this many columns.",
      "No slope stands out of its noise."
    ), fit$n, format(fit$privacy$epsilon, digits = 3)), "dp_dominated")
  }
}
