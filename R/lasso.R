#' Private LASSO on heavy-tailed data
#'
#' Least squares with the sum of absolute slopes at most `radius`, for many columns of which few
#' matter. No bound on the data is needed.
#'
#' With `refit = TRUE` (the default where `delta > 0`) the columns with the largest gradients at
#' zero are chosen by one private top-s, s from the number of rows and the budget alone, and
#' fitted by clipped gradient descent as in [dp_lm()], with the rest of the budget; slopes that
#' leave the ball are brought back into it. Columns that are correlated with chosen ones are easily
#' taken for important.
#'
#' With `refit = FALSE`, or `solver = "frank_wolfe"`, the fit is that of [dp_sco()] with
#' `constraint = l1_ball(radius)`: each round chooses one vertex of the ball privately, so that at
#' most one new slope a round is not zero. With `delta = 0` the guarantee is pure. The ball is in
#' the units of the columns: columns of very different sizes need public numbers in `scale`, or
#' transforms, for a step to a vertex of a large column throws the fit far off.
#'
#' *Published algorithms* (Hu et al.), with `control = dp_control(calibration = "paper")`,
#' `intercept = FALSE` and a moment:
#' * Algorithm 2: `gradient = grad_shrunken()`, `moment = moment_bound(4, M)`, `delta > 0`. K =
#'   (M n epsilon / (sqrt(T log(1/delta)) log(p T / xi)))^(1/4), T = (n epsilon)^(2/5) rounds on
#'   all rows, each with epsilon / (2 sqrt(2 T log(1/delta))).
#' * Corollary 1, pure epsilon by Algorithm 1: `gradient = grad_catoni(beta = 1)`, `moment =
#'   moment_bound(2, tau)`, `delta = 0`: T disjoint batches of m rows,
#'   T = (alpha^2 r^2 n epsilon / (tau log(2 p^2 / xi)))^(1/3), alpha = `smoothness`,
#'   s = sqrt(tau m epsilon / log(2 p^2 T / xi)); for epsilon above 1 both have 1 in its place.
#'
#' *Mended:* the sensitivity of a score is 2 K^2 r (1 + r) / n for the loss (eta - y)^2 / 2 of this
#' package (4 K^2 r (1 + r) / n for the paper's), with the radius r and not the diameter, and 1/m
#' of the batch; Catoni's function is evaluated without loss of digits and never leaves its range.
#'
#' @inheritParams dp_sco
#' @param delta Number from 0 on, well below 1/n.
#' @param radius Positive number: the largest sum of absolute slopes, in the caller's units.
#' @param gradient See [problem_parts]; `NULL`: winsorized.
#' @param solver `"select"` or `"frank_wolfe"`; `NULL`: by `refit`.
#' @param refit `TRUE` or `FALSE`, see above; `NULL`: `TRUE` where `delta > 0`.
#' @return An object of class `dp_lasso`, which has all that a [dp_lm()] fit has, and `path`: the
#'   chosen columns (`refit = TRUE`) or vertices in the order of choice. `coef(fit, sparse = TRUE)`
#'   is a sparse vector of package Matrix.
#' @section Privacy:
#' Released are the response's median and noisy counts of its sizes, noisy counts of the sizes of
#' gradient coordinates, the choices, and for chosen columns what [dp_lm()] releases. A choice is
#' the exponential mechanism on exact integer scores: a record moves each sum by at most
#' 2 tau, each score by at most that times the vertex's sum of absolute entries. With `delta = 0`
#' it is permute-and-flip, but for Algorithm 1, whose choices are those of the exponential mechanism
#' with all of epsilon on disjoint batches.
#' @references
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144}
#'
#' Talwar, Thakurta and Zhang (2015). Nearly optimal private LASSO. *NeurIPS*.
#' @seealso [dp_sco()], [dp_lm()]
#' @examples
#' set.seed(1)
#' x <- matrix(rt(5000 * 50, 3), 5000)
#' y <- drop(x[, 1:2] %*% c(0.5, -0.4)) + rt(5000, 3)
#' fit <- dp_lasso(x, y, epsilon = 1, delta = 1e-6, radius = 1)
#' which(coef(fit)[-1] != 0)
#' @export
dp_lasso <- function(x, ...) {
  at <- match("formula", ...names(), nomatch = 0L)
  UseMethod("dp_lasso", if (at > 0L) ...elt(at) else x)
}

#' @rdname dp_lasso
#' @export
dp_lasso.formula <- function(formula, data, epsilon, delta, ..., radius, subset = NULL,
                             offset = NULL, na.action = NULL, gradient = NULL, solver = NULL,
                             refit = NULL, moment = NULL, scale = NULL, unit = NULL,
                             unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                             control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- lasso_spec(epsilon, delta, radius, gradient, solver, refit, moment, budget, control)
  if (missing(data)) data <- NULL
  spec$arguments <- stored_arguments(environment())
  schema <- schema_formula(
    formula, data, subset = substitute(subset), offset = substitute(offset),
    caller = parent.frame()
  )
  schema <- with_units(schema, unit, schema$live$columns, parent.frame())
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  run_lasso(schema, spec, scale, na.action)
}

#' @rdname dp_lasso
#' @export
dp_lasso.default <- function(x, y, epsilon, delta, ..., radius, intercept = TRUE, offset = NULL,
                             subset = NULL, na.action = NULL, gradient = NULL, solver = NULL,
                             refit = NULL, moment = NULL, scale = NULL, unit = NULL,
                             unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                             control = dp_control()) {
  if (is.character(x)) {
    dp_abort("`x` is text: write a formula without quotes, dp_lasso(y ~ x1, data = ...).")
  }
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- lasso_spec(epsilon, delta, radius, gradient, solver, refit, moment, budget, control)
  if (missing(y)) dp_abort("`y` is missing: give the response, or a formula first.")
  schema <- schema_matrix(x, y, offset, check_flag(intercept, "intercept"), subset, sparse = TRUE)
  schema <- with_units(schema, unit)
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  run_lasso(schema, spec, scale, na.action)
}

#' @rdname dp_lasso
#' @export
dp_lasso.data.frame <- function(x, y, epsilon, delta, ...) {
  if (missing(y) || inherits(y, "formula")) {
    dp_abort("`x` is a data frame: give `y`, or a formula first, dp_lasso(y ~ x1, data = ...).")
  }
  dp_lasso.default(x, y, epsilon, delta, ...)
}

# Public checks of everything but the data.
lasso_spec <- function(epsilon, delta, radius, gradient, solver, refit, moment, budget, control) {
  if (missing(radius)) {
    dp_abort("`radius` is missing: the largest sum of absolute slopes, in their own units.")
  }
  constraint <- l1_ball(check_number(radius, "radius", 0, 1e100, open = TRUE))
  gradient <- as_gradient(gradient %||% grad_winsorized())
  if (!is.null(moment)) moment <- check_moment(moment, moment_order(gradient))
  spec <- lm_spec(epsilon, delta, loss_squared(), gradient, constraint, NULL, budget, control,
                  "dp_sco", moment)
  check_full_batches(spec$control)
  spec$front <- "lasso"
  pure <- spec$delta == 0
  refit <- check_flag(refit %||% (!pure && spec$control$calibration == "tight" && is.null(solver)),
                      "refit")
  solver <- check_choice(solver %||% if (refit) "select" else "frank_wolfe", "solver",
                         c("select", "frank_wolfe"))
  if (refit != (solver == "select")) {
    dp_abort("`solver` = \"select\" goes with `refit = TRUE`, \"frank_wolfe\" with FALSE.")
  }
  if (refit && pure && spec$epsilon < Inf) {
    dp_abort("`refit` needs `delta` above 0, e.g. delta = 1e-6; or give refit = FALSE.")
  }
  if (refit && spec$control$calibration == "paper") {
    dp_abort("`refit` is not in the papers: give refit = FALSE.", "dp_error_calibration")
  }
  if (refit && gradient$name %in% c("shrunken", "mom", "clipped")) {
    dp_abort("`refit` chooses by grad_winsorized(), grad_truncated() or grad_catoni().")
  }
  spec$refit <- refit && spec$epsilon < Inf
  spec
}

run_lasso <- function(schema, spec, scale, na.action) {
  if (!spec$refit) {
    return(as_lasso(run_fw(schema, spec, scale, na.action)))
  }
  made <- front_plan_lasso(schema, spec, scale)
  as_lasso(run_regression(
    schema, spec, made$plan, made$events, made$known, na.action,
    function(problem, schema, plan, known, control) {
      fit <- fit_select(problem, schema, plan, known, spec, control)
      select_result(into_ball(fit, schema, spec$constraint$radius), schema)
    },
    solver = "select"
  ), gradient = "clipped")
}

front_plan_lasso <- function(schema, spec, scale) {
  if (!is.null(spec$moment)) {
    dp_abort("`moment` is for refit = FALSE: leave it out.")
  }
  known <- public_units(schema, spec, scale)$known
  p <- length(schema$columns) - schema$intercept
  if (p < 1L) dp_abort("there is no slope to constrain.")
  size <- largest_sparsity(schema$n, p, spec)
  plan <- plan_select(schema$n, p, spec, known, schema$intercept, size, size,
                      is_sparse(schema$live$x))
  list(plan = plan, events = plan$events, known = known)
}

as_lasso <- function(fit, gradient = fit$gradient) {
  fit$gradient <- gradient # what `bound` is a level of
  class(fit) <- c("dp_lasso", "dp_lm", "dp_fit")
  fit
}
