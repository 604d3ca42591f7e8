#' Private convex optimisation with heavy tails: the general problem
#'
#' Minimises the mean loss of a linear predictor, with a penalty and under a constraint, by
#' gradient descent in which every gradient is a robust mean of the records' gradients with
#' Gaussian noise. [dp_lm()] and [dp_glm()] are fronts of it; here every loss goes with every
#' gradient and constraint.
#'
#' With `calibration = "tight"` (the default of [dp_control()]) columns are centred and scaled
#' privately (or by `scale =`), a noisy matrix of second moments preconditions the steps, levels are
#' found privately and found again as the fit improves, and the answer is the average of the
#' iterates over all but the first sixth of the last stage (the last half of it with split batches).
#' With `moment =` the levels follow from a public bound on the moments of the gradient's
#' coordinates instead; columns and response are then taken in the caller's units unless `scale =`
#' says otherwise. The loss with clipped gradients, full batches, no constraint and no penalty runs
#' exactly as [dp_lm()] and [dp_glm()] do.
#'
#' *Frank-Wolfe* (`constraint = l1_ball(r)`, `unit_simplex()` or `polytope(V)`): each of some twenty
#' rounds chooses a vertex privately and moves towards it by 2/(t + 2), so that no more than one
#' new slope a round is not zero. Columns are centred and scaled privately where `delta > 0` and
#' that takes little of the budget; else they are taken as they come: centre them, or give `scale`.
#' The set is in the caller's units; an l1 ball far larger than the slopes makes a bad fit.
#'
#' `calibration = "paper"` is Algorithm 2 of Tao et al. with Algorithm 3 inside (`grad_mom()`), with
#' their constants, in the caller's units (or those of `scale =`), without an intercept, on
#' `l2_ball(r)`, from `moment = moment_bound(1 + v, u)`; D = 2 r, d columns, m groups:
#' * *convex branch* (no penalty): T = R^2 epsilon^2 n^2 / (tau^2 d^4) steps on all rows with
#'   tau = (u epsilon n / d^1.5)^(1/(1+v)), step min(D / (R sqrt(T)), 1/beta); each step has
#'   epsilon' = epsilon / (2 sqrt(2 T log(2/delta))), delta' = delta / (2 T) (all of both if T = 1).
#'   The answer is the
#'   average of the iterates. Needs R = `gradient_bound` and beta = `smoothness` of [dp_control()].
#' * *strongly convex branch* (`ridge()`, `loss_mean()`, or `strong_convexity` given): T disjoint
#'   batches, step 1/(alpha + beta), tau = (u epsilon n / (d^1.5 sqrt(T)))^(1/(1+v)), each with all
#'   of (epsilon, delta). The answer is the last iterate.
#' * both: m = ceiling(4 log(2 d T / xi)) groups, noise of standard deviation
#'   2 tau sqrt(d) / b sqrt(2 log(1.25/delta')) / epsilon' per coordinate, b the size of the
#'   smallest group.
#'
#' *Mended*, where the print breaks privacy or is not defined: the strongly convex branch reads the
#' step's own batch, not all rows (line 8 of Algorithm 2: the privacy of its proof); the noise goes
#' with the smallest group, not n/m; the failure rate is xi/T for each step; T of the strongly
#' convex branch is ceiling(beta/alpha log n), or as many as leave each batch a row per group, for
#' the printed one is implicit and negative for large gradient errors; T is at least 1 and, in the
#' convex branch, at most 10000 (the step goes with it); strong convexity is asked for first, for it
#' implies convexity; the start is 0; epsilon at most 1, as the classical Gaussian scale needs, and
#' the accountant confirms (epsilon, delta).
#' With the printed constants the error is often larger than that of answering zero.
#'
#' @param x,formula,data,y,subset,offset,na.action As in [dp_lm()]; see also the next.
#' @param intercept,unit,unit_weight,max_rows,budget,control As in [dp_lm()]; with
#'   `loss_logistic()` the response is coded as in [dp_glm()], with `loss_mean()` there is no `y`
#'   (matrix or data frame only). With `l1_ball()`, `unit_simplex()` or `polytope()` x may also be a
#'   `dgCMatrix` of package Matrix, which is never made dense; centres of its columns are 0.
#' @param epsilon Positive number. `Inf` is the same descent, accelerated, without noise (not
#'   private).
#' @param delta Number above 0, well below 1/n; with Frank-Wolfe 0 is allowed, for pure epsilon.
#' @param ... For the generic: arguments of the methods. A misspelt argument is an error.
#' @param loss,gradient,constraint,penalty Objects, see [problem_parts] and [loss_user()], or the
#'   names of losses and gradients.
#' @param solver `"pgd"`: projected gradient descent; `"frank_wolfe"` for [l1_ball()],
#'   [unit_simplex()] and [polytope()]; `"iht"` ([iht_solver]) for [sparse_vectors()]; `NULL`: the
#'   one that goes with the constraint.
#' @param moment A bound made by [moment_bound()] on each coordinate of the records' gradients (of
#'   columns and response with `grad_shrunken()`), or `NULL`.
#' @param scale As in [dp_lm()].
#' @return An object of class `dp_sco`, which has all that a [dp_lm()] fit has (with
#'   `loss_logistic()` a [dp_glm()] fit), and
#' \describe{
#'   \item{gradient, penalty, constraint}{the parts.}
#'   \item{output}{`"average"` or `"last"`: which iterate of `"pgd"` is the answer.}
#'   \item{path}{of Frank-Wolfe: the chosen vertex of each round. For p slopes vertex j <= p of an
#'     l1 ball is +r in slope j, vertex p + j is -r there; rows of `vertices` for a polytope.}
#' }
#' `bound` and `sd` hold one level and one standard deviation of the noise of a mean gradient per
#' stage, in standardised units.
#' @section Privacy:
#' Released are noisy counts, a noisy matrix of second moments (see [dp_lm()]) and noisy sums of
#' gradients, nothing else; the fit is a function of them. What one record can change is stated in
#' [problem_parts] for each gradient. Counts of the sizes of gradient coordinates move by at most k
#' in each of two cells for k coefficients. With split batches a record is in one batch, so that all
#' steps together cost what one of them costs. All sums are exact integer sums, all noise is exact
#' discrete Gaussian noise, and the total is Gaussian differential privacy with mu^2 the sum over
#' the releases. The number of steps, and who is in which batch or group, does not depend on the
#' data. Frank-Wolfe releases the chosen vertex of each round, by the exponential mechanism
#' (permute-and-flip with `delta = 0`, but for Algorithm 1 of Hu et al.) on exact integer scores,
#' each of which a record moves by at most 2 tau times the vertex's sum of absolute entries, and
#' the intercept's noisy coordinate.
#' With [loss_user()] the guarantee rests on the function treating each record on its own.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithms 2 and 3, Theorems 5 to 7).
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144}
#' @seealso [dp_lm()], [dp_glm()], [problem_parts], [loss_user()], [moment_bound()]
#' @examples
#' set.seed(1)
#' x <- matrix(rt(8000, 3), 4000)
#' y <- drop(x %*% c(1, -1)) + rt(4000, 3)
#' dp_sco(x, y, epsilon = 2, delta = 1e-6, gradient = grad_catoni(), penalty = ridge(0.01))
#' dp_sco(x, y, epsilon = 2, delta = 1e-6, constraint = l2_ball(1),
#'        loss = loss_user(function(eta, y) tanh(eta - y), bound = 1))
#' @export
dp_sco <- function(x, ...) {
  at <- match("formula", ...names(), nomatch = 0L)
  UseMethod("dp_sco", if (at > 0L) ...elt(at) else x)
}

#' @rdname dp_sco
#' @export
dp_sco.formula <- function(formula, data, epsilon, delta, ..., subset = NULL, offset = NULL,
                           na.action = NULL, loss = loss_squared(), constraint = no_constraint(),
                           gradient = NULL, solver = NULL, penalty = NULL, moment = NULL,
                           scale = NULL, unit = NULL, unit_weight = c("sum", "mean"),
                           max_rows = NULL, budget = NULL, control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- sco_spec(epsilon, delta, loss, gradient, constraint, solver, penalty, moment, budget,
                   control)
  if (spec$loss$name == "mean") {
    dp_abort("`loss_mean()` has no response: give `x` as a matrix, dp_sco(x, loss = loss_mean()).")
  }
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
  start_sco(schema, spec, scale, na.action,
            if (binary) response_classes(response$kind, response$levels))
}

#' @rdname dp_sco
#' @export
dp_sco.default <- function(x, y, epsilon, delta, ..., intercept = TRUE, offset = NULL,
                           subset = NULL, na.action = NULL, loss = loss_squared(),
                           constraint = no_constraint(), gradient = NULL, solver = NULL,
                           penalty = NULL, moment = NULL, scale = NULL, unit = NULL,
                           unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                           control = dp_control()) {
  if (is.character(x)) {
    dp_abort("`x` is text: write a formula without quotes, dp_sco(y ~ x1, data = ...).")
  }
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- sco_spec(epsilon, delta, loss, gradient, constraint, solver, penalty, moment, budget,
                   control)
  intercept <- check_flag(intercept, "intercept")
  if (spec$loss$name == "mean") {
    if (!missing(y) && !is.null(y)) dp_abort("`loss_mean()` has no response: leave `y` out.")
    if (!is.null(offset)) dp_abort("`loss_mean()` has no `offset`: leave it out.")
    y <- numeric(NROW(x))
    intercept <- FALSE
  } else if (missing(y)) {
    dp_abort("`y` is missing: give the response, or a formula first.")
  }
  y <- code_response(y, spec$loss$name == "logistic")
  schema <- schema_matrix(x, y$values, offset, intercept, subset,
                          sparse = own_solver(spec$constraint) != "pgd")
  schema <- with_units(schema, unit)
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  start_sco(schema, spec, scale, na.action, y$classes)
}

#' @rdname dp_sco
#' @export
dp_sco.data.frame <- function(x, y, epsilon, delta, ...) {
  if (!missing(y) && inherits(y, "formula")) {
    dp_abort("`x` is a data frame: give `y`, or a formula first, dp_sco(y ~ x1, data = ...).")
  }
  dp_sco.default(x, y, epsilon, delta, ...)
}

# Public checks of everything but the data.
sco_spec <- function(epsilon, delta, loss, gradient, constraint, solver, penalty, moment, budget,
                     control) {
  loss <- as_loss(loss, names(LOSSES))
  constraint <- as_constraint(constraint)
  own <- own_solver(constraint)
  solver <- check_choice(solver %||% own, "solver", c("pgd", "frank_wolfe", "iht"))
  if (solver != own) {
    dp_abort(sprintf("this constraint goes with `solver` = \"%s\": leave `solver` out.", own))
  }
  gradient <- as_gradient(gradient %||% if (own == "pgd") grad_clipped() else grad_winsorized())
  if (!is.null(moment)) moment <- check_moment(moment, moment_order(gradient))
  lm_spec(epsilon, delta, loss, gradient, constraint, penalty, budget, control, "dp_sco", moment)
}

own_solver <- function(constraint) {
  switch(constraint$name, l1_ball = , unit_simplex = , polytope = "frank_wolfe",
         sparse_vectors = "iht", "pgd")
}

start_sco <- function(schema, spec, scale, na.action, classes) {
  if (spec$loss$name == "logistic") {
    run_glm(schema, spec, scale, na.action, classes)
  } else {
    fit <- run_lm(schema, spec, scale, na.action)
    class(fit) <- regression_class(spec)
    fit
  }
}

# Parts that do not go together.
check_parts <- function(spec) {
  gradient <- spec$gradient$name
  if (gradient == "shrunken" && spec$loss$name == "user") {
    dp_abort("`grad_shrunken()` needs a loss of the package, not loss_user().")
  }
  if (gradient == "shrunken" && spec$loss$name == "squared" && spec$constraint$name == "none") {
    dp_abort(paste(
      "`grad_shrunken()` with the squared loss needs `constraint = l2_ball(r)`: the derivative is",
      "not bounded otherwise."
    ))
  }
  if (gradient == "clipped" && !is.null(spec$moment)) {
    dp_abort(paste(
      "`moment` bounds coordinates of gradients: choose grad_winsorized(), grad_truncated(),",
      "grad_mom(), grad_catoni() or grad_shrunken()."
    ))
  }
}

# Everything but the standard path: schema -> plan -> curator's checks -> charge -> values -> fit.
run_sco <- function(schema, spec, scale, na.action, classes = NULL) {
  check_parts(spec)
  if (is_vertex_set(spec$constraint)) {
    return(run_fw(schema, spec, scale, na.action, classes))
  }
  if (spec$constraint$name == "sparse_vectors") {
    return(run_iht(schema, spec, scale, na.action, classes))
  }
  made <- front_plan_sco(schema, spec, scale)
  spec <- made$spec
  fit <- run_regression(
    schema, spec, made$plan, made$events, made$known, na.action,
    function(problem, schema, plan, known, control) {
      fit_sco(problem, schema, plan, known, spec, control)
    },
    output = made$plan$output
  )
  with_classes(fit, classes)
}

front_plan_sco <- function(schema, spec, scale) {
  made <- public_units(schema, spec, scale)
  spec <- made$spec
  known <- made$known
  paper <- is_paper(spec)
  n <- schema$n
  k <- length(schema$columns)
  tuned <- tuned_columns(known, schema$intercept || spec$loss$name == "mean")
  plan <- if (paper) plan_paper(n, k, spec, schema$intercept) else
    plan_sco(n, k, tuned, regression_mu(spec), spec)
  if (plan$private && !paper) check_sco_laws(plan, n, k, tuned, spec)
  events <- if (!plan$private) list() else if (paper) plan$events else
    sco_events(plan, tuned, k, n, spec)
  if (!plan$private && !paper) plan <- plain_plan(plan, spec)
  list(plan = plan, events = events, known = known, spec = spec)
}

is_paper <- function(spec) spec$control$calibration == "paper"

# Public centres and scales, NA for what is to be found, and the parts in these units.
public_units <- function(schema, spec, scale) {
  known <- known_scales(scale, schema)
  check_sparse_centres(known, schema)
  if (margin_loss(spec$loss) || spec$loss$name == "mean") known <- plain_response(known)
  if (is_paper(spec) || !is.null(spec$moment)) known <- caller_scales(known)
  spec$loss <- loss_in_units(spec$loss, known)
  list(known = known, spec = spec)
}

# The caller's own units where nothing else is said.
caller_scales <- function(known) {
  known$center[is.na(known$center)] <- 0
  known$scale[is.na(known$scale)] <- 1
  known
}

# Not private: one stage, to the end; the scale of the residuals is found again many times.
plain_plan <- function(plan, spec) {
  plan$steps <- if (spec$loss$name %in% c("huber", "biweight")) rep(1, 20) else 1
  plan$stage_mu <- rep(Inf, length(plan$steps))
  plan$output <- "last"
  plan$split <- FALSE
  plan
}
