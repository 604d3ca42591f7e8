#' Private linear regression
#'
#' Least squares by gradient descent on the whole data, with the gradient of every row
#' clipped and Gaussian noise added. No bound on the data is needed: centres, scales,
#' second moments and clip levels are found privately and paid for out of the same budget.
#'
#' *What is estimated.* With `target = "robust"` the fit minimises the loss over rows whose
#' gradients are short; longer ones count with a constant length. With errors that are symmetric
#' about the line that is the line of [stats::lm()], under heavy tails often found better. With
#' skewed errors it is not the mean: the intercept lies nearer to their median, and where the
#' skewness or the scale of the errors changes with a column, so does the slope of that column, at
#' every n. Responses that are often equal (0/1, counts, piles at zero; seen from noisy counts) are
#' clipped far less, and fitted in the mean.
#'
#' With `target = "mean"`, the default of the squared loss, some half of the budget corrects that
#' fit towards E(y | x). Rows with long covariates count less (which pulls nothing as long as
#' E(y | x) is linear, for that weight is a function of x alone), and residuals are clipped at a
#' level that grows with n: noisy counts of the residuals tell beyond which so few lie that their
#' bias is a few times the noise. The intercept is then the private mean of the residuals,
#' winsorised at limits for each side, so that predictions are right on average. What the tails
#' fitted to the counts hold beyond the levels is added. So intercept and slopes approach the line
#' of the mean as n grows, if the errors have a mean (more slowly than `"robust"` approaches its
#' own line), whatever their skewness and however their scale changes with x. Where E(y | x)
#' is not linear both are weighted fits of it, and not least squares.
#' The correction of a slope that is within some two standard deviations of its noise is drawn back,
#' so that little is lost where errors are symmetric. A rule of thumb: `"mean"` for totals, premiums
#' and forecasts, `"robust"` for few rows and for a line that most rows follow.
#'
#' A coefficient of a factor level, or of a column, that too few rows show to be told from
#' noise is 0, with a warning of class `dp_dominated`; a small n for the budget is warned about
#' before anything is spent (class `dp_small_n`). A *reference level* that too few rows have to be
#' told from noise is warned about, too (class `dp_dominated`): the intercept and the coefficients
#' of all other levels may then be far off, by the same number, and with `target = "robust"` by
#' many of their standard errors. Let a common level be the reference, by `relevel()` and by what
#' is known without the data.
#'
#' @param x A formula; or a numeric matrix, vector (one column) or data frame of
#'   numeric columns, n rows. A factor needs the formula method.
#' @param formula A formula, `y ~ x1 + x2`. Factor levels are those that the column
#'   declares. A term must compute each row's value from that row alone: `poly()`, `ns()`,
#'   `scale()` and the like, which read constants from the data, are refused
#'   unless they are given public constants (`knots =`, `raw = TRUE`, ...). A term that uses
#'   functions other than the usual element-wise ones (arithmetic, `log`, `ifelse`, `factor`
#'   with levels, ...) is evaluated row by row, some 15 seconds for a million rows.
#' @param data A data frame; required, and its number of rows is public.
#' @param y Numeric vector of length n.
#' @param epsilon Positive number. `Inf` runs the same solver without clipping and noise
#'   (not private) and gives the least-squares fit, or that of the robust loss.
#' @param delta Number above 0, well below 1/n.
#' @param ... For the generic: arguments of the methods. A name that no method
#'   knows is an error.
#' @param subset A logical condition, evaluated in `data`. Rows left out add zero; n
#'   stays the number of rows of `data`, for how many are left is private, so that no warning
#'   can tell you when they are too few.
#' @param offset A known part of the linear predictor: numbers, one per row.
#' @param na.action `NULL` refuses missing values; `na.omit` lets incomplete rows add
#'   zero. The refusal is for the data holder and not covered by the guarantee: do not
#'   publish it. A row on which a term is not a finite number (the log of zero, 1e308 squared)
#'   adds zero, without a word.
#' @param intercept `FALSE` for a fit through the origin.
#' @param loss,gradient,constraint,penalty Objects, see [problem_parts], or their names. With
#'   `loss_huber()` or `loss_biweight()` the last and longest stage minimises that loss with
#'   covariates clipped, starting from the clipped least-squares fit; `C` of `grad_clipped()` is
#'   then the length at which covariates are clipped. With another gradient, a constraint, a penalty
#'   or split batches the fit is that of [dp_sco()].
#' @param target `"robust"` or `"mean"`, see above; `NULL`: `"mean"` for the squared loss,
#'   `"robust"` for `loss_huber()` and `loss_biweight()`, whose fits are corrected in the same way
#'   with `"mean"`. There is no `"mean"` with `unit`, nor with another gradient, a constraint, a
#'   penalty or split batches. `epsilon = Inf` with `"mean"` is least squares.
#' @param scale Public numbers, `list(x = list(center =, scale =), y = list(center =,
#'   scale =))`, one per column (or named by column); what is missing is found privately.
#'   Numbers that are far off make a bad fit, without a warning.
#' @param unit Whose rows are whose, where one person or policy may have several: a formula that
#'   names columns of `data`, `~ id` or `~ hospital + patient`, or a vector with one value per row.
#'   The guarantee is then for whole units, see [dp_units]. `NULL`: it is for one row.
#' @param unit_weight `"sum"`: each row counts once, but a unit as at most `max_rows` of them;
#'   `"mean"`: each unit counts once, its rows averaged.
#' @param max_rows Number from 1 on, public: the most rows that a unit counts as. `NULL`: the 0.9
#'   quantile of the rows per unit, found privately.
#' @param budget A ledger made by [privacy_budget()], charged before values are read.
#' @param control Settings made by [dp_control()].
#'
#' @return An object of class `dp_lm`, a list with
#' \describe{
#'   \item{coefficients}{the estimates, in the caller's units.}
#'   \item{n}{the public number of rows.}
#'   \item{privacy}{what was spent, see [privacy()].}
#'   \item{center, scale}{released or public centre and scale of each column and,
#'     last, the response. Columns whose own scale is lost in the noise, such as those that are
#'     mostly zero, get one that is common to them.}
#'   \item{found}{whether a scale could be told from noise; a column without one has
#'     coefficient 0, and a warning of class `dp_dominated` says so.}
#'   \item{bound, sd}{clip level and standard deviation of the noise of a mean
#'     gradient, one per stage, in standardised units.}
#'   \item{target}{`"robust"` or `"mean"`.}
#'   \item{level, bias}{with `target = "mean"`: where residuals were clipped, in units of the
#'     response, and what that (and drawing back) may have taken from or added to each coefficient,
#'     see [dp_intervals]. `bound` and `sd` then have one entry more, of the last stage.}
#'   \item{vcov}{variances of the coefficients, a list of matrices `sampling` and `privacy`: see
#'     [dp_intervals].}
#'   \item{schema}{names, classes and levels, for [predict()]; no data.}
#' }
#'
#' @section Privacy:
#' Released are noisy counts (of pair differences, exponents, cells and sizes), noisy matrices of
#' second moments, noisy gradient sums and, with `target = "mean"`, a noisy sum of residuals,
#' nothing else: the fit is a function of them. Neighbours differ in one row (or unit, see
#' [dp_units]); n and the schema are public.
#'
#' *Counts.* Replacing a row moves one record from one cell to another in each of c
#' columns: sqrt(2 c) in l2. *Moments.* Rows q are integer vectors with norm at most r, so
#' that qq' moves by at most sqrt(2) r^2 in Frobenius norm. *Gradients.* Each row
#' adds an integer vector whose length under the preconditioner is at most C
#' plus half a grid step per coordinate; the sum moves by at most twice that. *Variances.* Two more
#' matrices of second moments, of rows weighted by their derivatives and clipped as before: sqrt(2)
#' r^2 each. *Towards the mean.* Counts of residuals, sqrt(2); gradient sums as before, of rows
#' whose covariates are clipped at C and residuals at R: 2 C, in units of R; and a sum of residuals,
#' as integers clamped to the range of their limits, which a row changes by at most that range. A
#' row that holds a non-finite number adds zero (to the last sum, a residual of zero). All sums are
#' exact integer sums and all noise is exact discrete Gaussian noise, so the total is Gaussian
#' differential privacy with mu^2 the sum over the releases, which [privacy()] lists and which
#' composes to (epsilon, delta) exactly. The number of steps is fixed beforehand.
#'
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and
#' Sparse Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithm 2 is the
#' starting point; here records are clipped, not zeroed, in the l2 norm of the
#' preconditioned gradient, and composition is exact).
#'
#' Dong, Roth and Su (2022). Gaussian differential privacy. *Journal of the Royal
#' Statistical Society B* 84, 3-37. \doi{10.1111/rssb.12454}
#'
#' Bun, J., Allez, R., Bouchaud, J.-P. and Potters, M. (2016). Rotational invariant estimator for
#' general noisy matrices. *IEEE Transactions on Information Theory* 62, 7475-7490.
#' \doi{10.1109/TIT.2016.2616132} (the preconditioner, from noisy second moments)
#'
#' Canonne, Kamath and Steinke (2020). The discrete Gaussian for differential privacy.
#' \doi{10.48550/arXiv.2004.00010}
#'
#' Sun, Q., Zhou, W.-X. and Fan, J. (2020). Adaptive Huber regression. *Journal of the American
#' Statistical Association* 115, 254-265. \doi{10.1080/01621459.2018.1543124} (clip levels that
#' grow with n)
#' @seealso [predict.dp_lm()], [privacy()]
#' @examples
#' fit <- dp_lm(log(wage) ~ education + experience + region, data = cps1988,
#'              epsilon = 1, delta = 1e-6)
#' fit
#' summary(fit)
#' predict(fit, data.frame(education = 12, experience = 10, region = "south"))
#' dp_lm(log(wage) ~ education + experience + region, data = cps1988, epsilon = 1, delta = 1e-6,
#'       target = "robust")
#' @export
dp_lm <- function(x, ...) {
  at <- match("formula", ...names(), nomatch = 0L)
  UseMethod("dp_lm", if (at > 0L) ...elt(at) else x)
}

WEIGHTS_REFUSED <- c(
  weights = "`weights` are not supported: every row counts once; leave the argument out."
)

#' @rdname dp_lm
#' @export
dp_lm.formula <- function(formula, data, epsilon, delta, ..., subset = NULL, offset = NULL,
                          na.action = NULL, loss = loss_squared(), target = NULL, penalty = NULL,
                          scale = NULL, gradient = grad_clipped(), constraint = no_constraint(),
                          unit = NULL, unit_weight = c("sum", "mean"), max_rows = NULL,
                          budget = NULL, control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- lm_spec(epsilon, delta, as_loss(loss), gradient, constraint, penalty, budget, control)
  spec$target <- check_target(target, spec, unit)
  spec$arguments <- stored_arguments(environment())
  schema <- schema_formula(
    formula, data, subset = substitute(subset), offset = substitute(offset),
    caller = parent.frame()
  )
  schema <- with_units(schema, unit, schema$live$columns, parent.frame())
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  run_lm(schema, spec, scale, na.action)
}

#' @rdname dp_lm
#' @export
dp_lm.default <- function(x, y, epsilon, delta, ..., intercept = TRUE, offset = NULL,
                          subset = NULL, na.action = NULL, loss = loss_squared(), target = NULL,
                          penalty = NULL, scale = NULL, gradient = grad_clipped(),
                          constraint = no_constraint(), unit = NULL,
                          unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                          control = dp_control()) {
  if (is.character(x)) {
    dp_abort("`x` is text: write a formula without quotes, dp_lm(y ~ x1, data = ...).")
  }
  check_dots(..., known = WEIGHTS_REFUSED)
  spec <- lm_spec(epsilon, delta, as_loss(loss), gradient, constraint, penalty, budget, control)
  spec$target <- check_target(target, spec, unit)
  schema <- schema_matrix(x, y, offset, check_flag(intercept, "intercept"), subset)
  schema <- with_units(schema, unit)
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  run_lm(schema, spec, scale, na.action)
}

#' @rdname dp_lm
#' @export
dp_lm.data.frame <- function(x, y, epsilon, delta, ...) {
  if (missing(y) || inherits(y, "formula")) {
    dp_abort("`x` is a data frame: give `y`, or a formula first, dp_lm(y ~ x1, data = ...).")
  }
  dp_lm.default(x, y, epsilon, delta, ...)
}

# Public checks of everything but the data.
lm_spec <- function(epsilon, delta, loss, gradient, constraint, penalty, budget, control,
                    front = "dp_lm", moment = NULL) {
  control <- check_control(control, if (front != "dp_sco") front, full = NULL)
  epsilon <- check_epsilon(epsilon)
  constraint <- as_constraint(constraint)
  gradient <- as_gradient(gradient)
  chosen <- is_vertex_set(constraint) || constraint$name == "sparse_vectors"
  # the default of fronts that know no such constraint
  default <- is_vertex_set(constraint) || chosen && front != "dp_sco"
  if (default && is_record(gradient) && is.null(gradient$bound)) {
    gradient <- grad_winsorized()
  }
  gaussian <- epsilon < Inf && !chosen
  delta <- if (epsilon == Inf && missing(delta)) 0 else check_delta(delta, gaussian)
  list(
    epsilon = epsilon, delta = delta, loss = loss, gradient = gradient,
    constraint = constraint, penalty = as_penalty(penalty), moment = moment,
    budget = budget, control = control, front = sub("^dp_", "", front)
  )
}

# Whole records clipped under the preconditioner, no constraint, no penalty, full batches: the
# path of R/lm-plan.R and R/glm-plan.R. All else is that of R/sco-plan.R.
is_standard <- function(spec) {
  is_record(spec$gradient) && spec$constraint$name == "none" && spec$penalty$lambda == 0 &&
    spec$control$batches == "full" && spec$control$calibration == "tight" &&
    is.null(spec$moment) && spec$loss$name %in% c("squared", "logistic", "huber", "biweight")
}

# Schema -> plan -> curator's checks -> charge -> values -> fit.
run_lm <- function(schema, spec, scale, na.action) {
  if (!is_standard(spec)) {
    return(run_sco(schema, spec, scale, na.action))
  }
  made <- front_plan_lm(schema, spec, scale)
  run_regression(schema, spec, made$plan, made$events, made$known, na.action, fit_lm)
}

# The plan and its events, from public facts: the fit's, and dp_plan()'s.
front_plan_lm <- function(schema, spec, scale) {
  known <- known_scales(scale, schema)
  tuned <- tuned_columns(known, schema$intercept)
  plan <- plan_lm(schema$n, length(schema$columns), tuned, regression_mu(spec), spec$delta,
                  spec$control, spec$gradient, spec$loss, target = spec$target %||% "robust")
  plan <- finish_plan(plan, steps = if (is_robust(plan$loss)) c(24, rep(60, 12)) else 24)
  list(plan = plan, events = planned_events(plan, schema, tuned), known = known)
}

regression_mu <- function(spec) {
  if (spec$epsilon == Inf && is.null(spec$budget)) {
    return(Inf)
  }
  spec_allowance(spec, "gaussian")$mu
}

# After a last public check that the plan fits the grids.
planned_events <- function(plan, schema, tuned) {
  if (!plan$private) {
    return(list())
  }
  check_lm_laws(plan, schema$n, length(schema$columns), tuned)
  lm_events(plan, tuned)
}

# What all regressions do once there is a plan; `...`: more for the fit.
run_regression <- function(schema, spec, plan, events, known, na.action, fitter, ...) {
  n <- schema$n
  events <- c(spec$reserve$events, events)
  warn_small_lm(plan, n)
  warn_large_delta(spec$delta, n)
  use <- curator_check(schema, na.action)
  announce_charge(schema, spec, events, na.action)
  ledger_charge(spec$budget, events, spec$epsilon, spec$delta,
                paste0("dp_", spec$front, if (has_units(schema)) PER_UNIT))
  problem <- unit_problem(frame_values(schema, use), schema, spec)
  fit <- fitter(problem, schema, plan, known, spec$control)
  names <- c(setdiff(schema$columns, "(Intercept)"), schema$response)
  warn_not_found(fit$found, names, if (spec$loss$name == "mean") "their centre is returned.")
  warn_lost_references(fit$lost)
  out <- new_dp_fit(
    spec$front, fit$coefficients, n,
    new_privacy(spec$epsilon, spec$delta, events, rng = spec$control$rng,
                calibration = spec$control$calibration,
                unit = if (has_units(schema)) "unit" else "row"),
    schema = strip_schema(schema), center = stats::setNames(fit$center, names),
    scale = stats::setNames(fit$scale, names), found = stats::setNames(fit$found, names),
    bound = fit$bound, sd = fit$sd, loss = spec$loss$name, gradient = spec$gradient$name,
    constraint = public_constraint(spec$constraint), penalty = spec$penalty, ...
  )
  out$target <- spec$target
  out$level <- fit$level
  out$bias <- fit$bias
  out$vcov <- fit$vcov
  out$path <- fit$path
  out$radii <- fit$radii
  out$facts <- regression_facts(plan, spec, schema)
  out$arguments <- spec$arguments
  out
}

# Without the vertices, which may be many.
public_constraint <- function(constraint) {
  constraint$vertices <- NULL
  constraint
}

# The noiseless mode is the same solver with full steps.
finish_plan <- function(plan, eta = 1, steps = 24) {
  plan$kind <- if (plan$private) "gaussian" else "none"
  if (!plan$private) {
    plan$eta <- eta
    plan$steps <- steps
    plan$stage_mu <- Inf
  }
  plan
}

# A released fact: `found` is a function of noisy counts.
warn_not_found <- function(found, names, outcome = NULL) {
  if (!all(found)) {
    if (is.null(outcome)) {
      outcome <- if (found[[length(found)]]) "these slopes are 0." else
        "no slope could be fitted."
    }
    dp_warn(paste0(
      "no scale could be told from noise for ", listed(names[!found]),
      " (too few rows for this epsilon, or hardly two different values): ",
      outcome
    ), "dp_dominated")
  }
}
