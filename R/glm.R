#' Private logistic regression
#'
#' Logistic regression by gradient descent on the whole data, with the covariates of every row
#' clipped and Gaussian noise added. No bound on the data is needed: centres, scales, second
#' moments and the clip level are found privately and paid for out of the same budget.
#'
#' The derivative of the logistic loss lies between -1 and 1, so a row's influence is bounded by
#' the length of its covariates alone: rows whose (standardised, preconditioned) covariates are
#' longer than the clip level count with less weight. The weight does not depend on the
#' response, so if the model holds the estimate is not biased by it. The number of steps is fixed:
#' where the classes are nearly separated by the covariates (log-odds of 5 and more for many rows)
#' they may not suffice and slopes come out too small; a larger `iterations` in
#' [dp_control()] helps, at the price of a little more noise.
#'
#' @inheritParams dp_lm
#' @param y,formula The response is binary: numbers 0 and 1, logical, or a factor with two declared
#'   levels, of which the second is the event. Other numbers count as the nearer of 0 and 1 where
#'   they lie outside, and are not refused, for that would tell something about the data.
#' @param family `binomial()`, with its logit link; nothing else is available.
#' @param scale Public numbers, `list(x = list(center =, scale =))`, one per column (or named by
#'   column); what is missing is found privately.
#' @param gradient,constraint,penalty Objects, see [problem_parts], or their names. `C` of
#'   `grad_clipped(C)` is the length at which covariates are clipped; without it the level is found
#'   privately. With another gradient, a constraint, a penalty or split batches the fit is that of
#'   [dp_sco()].
#' @param epsilon Positive number. `Inf` is the same descent without clipping and noise, followed by
#'   Newton steps (not private): maximum likelihood.
#' @return An object of class `dp_glm`, which has all that a [dp_lm()] fit has (`center` and
#'   `scale` of the response are 0 and 1), and
#' \describe{
#'   \item{family}{`"binomial"`.}
#'   \item{classes}{the two classes, the event second.}
#' }
#' @section Privacy:
#' Released are noisy counts (of pair differences, exponents, cells and norms), noisy matrices of
#' second moments and noisy gradient sums, as in [dp_lm()]. *Gradients.* Row i adds
#' (p_i - y_i) min(1, C / ||z_i||) z_i with |p_i - y_i| at most 1 (y is clamped to \[0, 1\]): an
#' integer vector whose length under the preconditioner is at most C plus half a
#' grid step per coordinate; the sum moves by at most twice that. All noise is exact discrete
#' Gaussian noise, so the total is Gaussian differential privacy with mu^2 the sum over the
#' releases. The number of steps is fixed beforehand.
#' @references
#' Carroll, R. J. and Pederson, S. (1993). On robustness in the logistic regression model.
#' *Journal of the Royal Statistical Society B* 55, 693-706.
#' \doi{10.1111/j.2517-6161.1993.tb01934.x} (weights that depend on the covariates only)
#'
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and
#' Sparse Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithm 2 is the starting
#' point).
#' @seealso [predict.dp_glm()], [dp_lm()], [privacy()]
#' @examples
#' set.seed(1)
#' x <- matrix(rt(8000, 3), 4000, dimnames = list(NULL, c("a", "b")))
#' y <- rbinom(4000, 1, plogis(x[, "a"] - 0.5 * x[, "b"]))
#' fit <- dp_glm(x, y, epsilon = 2, delta = 1e-6)
#' fit
#' predict(fit, x[1:3, ], type = "class")
#' @export
dp_glm <- function(x, ...) {
  at <- match("formula", ...names(), nomatch = 0L)
  UseMethod("dp_glm", if (at > 0L) ...elt(at) else x)
}

#' @rdname dp_glm
#' @export
dp_glm.formula <- function(formula, data, epsilon, delta, ..., family = stats::binomial(),
                           subset = NULL, offset = NULL, na.action = NULL, penalty = NULL,
                           scale = NULL, gradient = grad_clipped(), constraint = no_constraint(),
                           unit = NULL, unit_weight = c("sum", "mean"), max_rows = NULL,
                           budget = NULL, control = dp_control()) {
  check_dots(..., known = WEIGHTS_REFUSED)
  check_family(family)
  spec <- lm_spec(epsilon, delta, loss_logistic(), gradient, constraint, penalty, budget, control,
                  "dp_glm")
  if (missing(data)) data <- NULL
  spec$arguments <- stored_arguments(environment())
  schema <- schema_formula(
    formula, data, subset = substitute(subset), offset = substitute(offset),
    caller = parent.frame(), binary = TRUE
  )
  schema <- with_units(schema, unit, schema$live$columns, parent.frame())
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  response <- schema$variables[[1L]]$signature
  run_glm(schema, spec, scale, na.action, response_classes(response$kind, response$levels))
}

#' @rdname dp_glm
#' @export
dp_glm.default <- function(x, y, epsilon, delta, ..., family = stats::binomial(),
                           intercept = TRUE, offset = NULL, subset = NULL, na.action = NULL,
                           penalty = NULL, scale = NULL, gradient = grad_clipped(),
                           constraint = no_constraint(), unit = NULL,
                           unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                           control = dp_control()) {
  if (is.character(x)) {
    dp_abort("`x` is text: write a formula without quotes, dp_glm(y ~ x1, data = ...).")
  }
  check_dots(..., known = WEIGHTS_REFUSED)
  check_family(family)
  spec <- lm_spec(epsilon, delta, loss_logistic(), gradient, constraint, penalty, budget, control,
                  "dp_glm")
  if (missing(y)) dp_abort("`y` is missing: give the response, or a formula first.")
  y <- code_response(y)
  schema <- schema_matrix(x, y$values, offset, check_flag(intercept, "intercept"), subset)
  schema <- with_units(schema, unit)
  spec <- plan_units(spec, schema, unit_rule(unit, unit_weight, max_rows))
  run_glm(schema, spec, scale, na.action, y$classes)
}

#' @rdname dp_glm
#' @export
dp_glm.data.frame <- function(x, y, epsilon, delta, ...) {
  if (missing(y) || inherits(y, "formula")) {
    dp_abort("`x` is a data frame: give `y`, or a formula first, dp_glm(y ~ x1, data = ...).")
  }
  dp_glm.default(x, y, epsilon, delta, ...)
}

# binomial(), binomial or "binomial", with the logit link.
check_family <- function(family) {
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  if (inherits(family, "family")) {
    ok <- identical(family$family, "binomial") && identical(family$link, "logit")
  } else {
    ok <- identical(family, "binomial")
  }
  if (!ok) {
    dp_abort("`family` must be binomial() with its logit link; no other is available.")
  }
}

check_two_levels <- function(levels, label) {
  if (length(levels) != 2L) {
    dp_abort(sprintf(paste(
      "the response `%s` must have two declared levels, the event second:",
      "factor(%s, levels = c(...))."
    ), label, label))
  }
}

# The two classes, from what is public: the kind of the response and its levels.
response_classes <- function(kind, levels) {
  switch(kind, factor = levels, logical = c(FALSE, TRUE), c(0, 1))
}

# A binary response as numbers, and its two classes; any other as it is.
code_response <- function(y, binary = TRUE) {
  if (!binary) {
    return(list(values = y))
  }
  kind <- if (is.factor(y)) "factor" else if (is.logical(y)) "logical" else "numeric"
  list(values = code_factor(y), classes = response_classes(kind, levels(y)))
}

# A factor becomes 0 and 1, element by element.
code_factor <- function(y) {
  if (!is.factor(y)) {
    return(y)
  }
  check_two_levels(levels(y), "y")
  # a damaged factor has codes that are no integers: NA, without a word
  suppressWarnings(as.integer(y)) - 1L
}

run_glm <- function(schema, spec, scale, na.action, classes) {
  check_binary_scale(scale)
  if (!is_standard(spec)) {
    fit <- run_sco(schema, spec, scale, na.action, classes)
    class(fit) <- regression_class(spec)
    return(fit)
  }
  made <- front_plan_glm(schema, spec, scale)
  fit <- run_regression(schema, spec, made$plan, made$events, made$known, na.action, fit_glm,
                        family = "binomial", classes = classes)
  class(fit) <- regression_class(spec)
  fit
}

check_binary_scale <- function(scale) {
  if (is.list(scale) && "y" %in% names(scale)) {
    dp_abort("`scale` has an element `y`: a binary response needs none.")
  }
}

front_plan_glm <- function(schema, spec, scale) {
  known <- plain_response(known_scales(scale, schema))
  tuned <- tuned_columns(known, schema$intercept)
  plan <- plan_glm(schema$n, length(schema$columns), tuned, regression_mu(spec), spec$control,
                   spec$gradient)
  list(plan = plan, events = planned_events(plan, schema, tuned), known = known)
}

# A response that is not scaled.
plain_response <- function(known) {
  response <- length(known$center)
  if (is.na(known$center[[response]])) known$center[[response]] <- 0
  if (is.na(known$scale[[response]])) known$scale[[response]] <- 1
  known
}

# A fit with a logistic loss has the methods of dp_glm(), every fit those of dp_lm().
regression_class <- function(spec) {
  logistic <- spec$loss$name == "logistic"
  c(
    if (spec$front == "sco") "dp_sco", if (spec$constraint$name == "sparse_vectors") "dp_sparse",
    if (logistic) "dp_glm", "dp_lm", "dp_fit"
  )
}

#' Predictions of a private logistic regression
#'
#' @param object A fit by [dp_glm()].
#' @param newdata As in [predict.dp_lm()].
#' @param type `"response"`: probabilities of the event; `"link"`: log-odds; `"class"`: the more
#'   likely class, a factor (or logical, or numbers 0 and 1, as the response was).
#' @param ... Not used.
#' @return A named vector, one entry per row of `newdata`; `NA` where a row has missing values.
#' @section Privacy:
#' A function of what was released and of `newdata`; it costs nothing.
#' @examples
#' set.seed(1)
#' x <- rt(4000, 3)
#' fit <- dp_glm(x, rbinom(4000, 1, plogis(x)), epsilon = 2, delta = 1e-6)
#' predict(fit, c(-1, 0, 1))
#' @export
predict.dp_glm <- function(object, newdata, type = c("response", "link", "class"), ...) {
  check_dots(...)
  type <- check_choice(type, "type", c("response", "link", "class"))
  eta <- linear_predictor(object, newdata)
  if (type == "link") {
    return(eta)
  }
  p <- stats::plogis(eta)
  if (type == "response") {
    return(stats::setNames(p, names(eta)))
  }
  class <- object$classes[1L + (p > 0.5)]
  if (is.character(class)) class <- factor(class, object$classes)
  stats::setNames(class, names(eta))
}
