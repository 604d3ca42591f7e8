#' Variances and confidence intervals of private estimates
#'
#' How far an estimate may be from what it estimates, from two sources that add up: the draw of the
#' rows (sampling) and the noise that was added (privacy). Everything is worked out from released
#' quantities and public noise scales.
#'
#' *Means* (`dp_mean()`, method `"winsorized"`). The sampling part is the variance of the winsorised
#' values, from the same noisy counts that gave the limits, at no cost. What the values beyond the
#' limits would add to the mean is read off the tails fitted to those counts: that bias is added
#' at the end of the interval where it lies, and shown apart, in `attr(, "bias")` and in
#' [summary()]. With a public `bound` nothing tells the variance: `interval = TRUE` spends 3 % of
#' the budget on it; otherwise that of two points at the bounds is taken, the largest there is with
#' this mean (exact for 0/1), and the interval may be far too wide. Several columns: entries off the
#' diagonal are `NA`, for no covariances are released.
#'
#' *Variances and shortfalls* ([dp_var()], [dp_shortfall()]). In the same way: the sampling part
#' from the noisy counts and the tail fitted to them, the bias from that tail (`Inf` where its
#' moment does not exist). Intervals of a variance hold where fourth moments exist, those of a
#' shortfall where variances do. With a public `bound` the largest variance within it is taken, and
#' value at risk has no interval. *Tail indices* ([dp_tail_index()]): those of a mixture of fitted
#' laws, not of a normal one; no [vcov()].
#'
#' *Regressions* (`dp_lm()`, `dp_glm()`, and `dp_sco()` where it is the same fit). The sampling part
#' is the sandwich A^-1 B A^-1 / n of the clipped gradients, A the mean of their derivatives and B
#' of their squares, so that errors whose size changes with the covariates are allowed for. Some 3 %
#' of the budget goes into A and B, released as noisy matrices; where noise hides an
#' entry it is shrunk towards what columns have in common. The privacy part follows the noise
#' through the averaged steps, and adds what these seem to have left of the way from their start:
#' much where classes are nearly separated. Clip levels, centres and scales are taken as given.
#'
#' With `target = "robust"` the interval is for what the clipped fit estimates: the slopes of the
#' conditional mean if the errors are symmetric (or independent of the covariates, for slopes). With
#' `target = "mean"` it is for the line of the mean: variances are those of the corrected fit, and
#' ends are moved out by a bias, which `attr(, "bias")` and [summary()] show. That is what residuals
#' beyond the clip level may add to a coefficient, as far as the tails fitted to noisy counts tell
#' and for rows whose covariates point in all directions alike, and how far the coefficient was
#' drawn back to the robust one. It is no bound where tails are heavier than they look, and
#' intervals for slopes are several times too wide where errors are symmetric. Of a logistic
#' regression the interval is for the log-odds, if the model holds. Below n of some 1e4 / epsilon
#' (more with many columns) standard errors are themselves noisy.
#'
#' `epsilon = Inf` gives the sampling part by the same formulas from exact sums; for `dp_lm()` the
#' heteroscedasticity-consistent variance of least squares, `NA` for a column that does not vary.
#'
#' @param object A fit by [dp_mean()], [dp_var()], [dp_shortfall()], [dp_tail_index()], [dp_lm()] or
#'   [dp_glm()]. Other fits have no intervals and say why.
#' @param parm Names or numbers of coefficients; all, if left out.
#' @param level Number between 0 and 1.
#' @param part `"total"`, `"sampling"` or `"privacy"`.
#' @param ... Not used.
#' @return `vcov()`: a symmetric matrix with a row and a column per coefficient; `NA` where a scale
#'   or a limit was not found. `confint()`: a matrix with a row per coefficient and the ends of the
#'   intervals as columns, by the normal law; for means and lines of the mean with an attribute
#'   `bias`, a matrix with columns lower and upper.
#' @section Privacy:
#' Functions of what was released; they cost nothing beyond what the fit was charged.
#' @references
#' White, H. (1980). A heteroskedasticity-consistent covariance matrix estimator and a direct test
#' for heteroskedasticity. *Econometrica* 48, 817-838. \doi{10.2307/1912934}
#'
#' Polyak, B. T. and Juditsky, A. B. (1992). Acceleration of stochastic approximation by averaging.
#' *SIAM Journal on Control and Optimization* 30, 838-855. \doi{10.1137/0330046}
#'
#' Bhatia, R. and Davis, C. (2000). A better bound on the variance. *The American Mathematical
#' Monthly* 107, 353-357. \doi{10.1080/00029890.2000.12005203}
#'
#' Efron, B. and Morris, C. (1972). Limiting the risk of Bayes and empirical Bayes estimators,
#' part II. *Journal of the American Statistical Association* 67, 130-139.
#' \doi{10.1080/01621459.1972.10481215} (how noise is shrunk away)
#' @examples
#' fit <- dp_mean(danish$Total, epsilon = 2)
#' summary(fit)
#' confint(fit)
#' set.seed(1)
#' x <- matrix(rt(20000, 3), 10000, dimnames = list(NULL, c("a", "b")))
#' fit <- dp_lm(x, drop(x %*% 1:2) + rt(10000, 3), epsilon = 1, delta = 1e-6)
#' confint(fit, "a")
#' sqrt(diag(vcov(fit, part = "privacy")))
#' @name dp_intervals
NULL

no_intervals <- function(object) {
  reason <- if (inherits(object, c("dp_lasso", "dp_sparse"))) {
    "which slopes are not zero was chosen from the data, with noise; no interval allows for that."
  } else if (!is.null(object$selected)) {
    "which means are not zero was chosen from the data, with noise; no interval allows for that."
  } else if (inherits(object, "dp_tail_index")) {
    "the index of a tail has an interval, see confint(), and no normal law."
  } else if (inherits(object, "dp_mean")) {
    sprintf("method \"%s\" releases nothing that tells a variance; \"winsorized\" does.",
            object$method)
  } else if (inherits(object, "dp_lm")) {
    paste("it is known for whole gradients clipped, without a constraint, a penalty or split",
          "batches: dp_lm() and dp_glm() as they come.")
  } else {
    "intervals are those of dp_mean(), dp_var(), dp_shortfall(), dp_lm() and dp_glm()."
  }
  dp_abort(paste("this fit has no variance:", reason), "dp_error_no_intervals")
}

PARTS <- c("total", "sampling", "privacy")

#' @rdname dp_intervals
#' @importFrom stats vcov
#' @export
vcov.dp_fit <- function(object, part = c("total", "sampling", "privacy"), ...) {
  check_dots(...)
  part <- check_choice(part, "part", PARTS)
  if (!has_variance(object)) no_intervals(object)
  names <- names(object$coefficients)
  of <- function(name) {
    if (is.null(object$vcov)) diagonal(object$errors[, name]^2, names) else object$vcov[[name]]
  }
  if (part == "total") of("sampling") + of("privacy") else of(part)
}

has_variance <- function(object) !is.null(object$vcov) || !is.null(object$errors)

# Variances of columns whose covariances are not known.
diagonal <- function(v, names) {
  out <- matrix(NA_real_, length(v), length(v), dimnames = list(names, names))
  diag(out) <- v
  out
}

# Total, sampling and privacy standard errors, one row per coefficient; NULL without any.
standard_errors <- function(object) {
  if (!has_variance(object)) {
    return(NULL)
  }
  part <- function(name) {
    if (is.null(object$vcov)) object$errors[, name] else sqrt(diag(object$vcov[[name]]))
  }
  out <- cbind(hypotenuse(part("sampling"), part("privacy")), part("sampling"), part("privacy"))
  dimnames(out) <- list(names(object$coefficients), c("Std. Error", "Sampling", "Privacy"))
  out
}

#' @rdname dp_intervals
#' @importFrom stats confint
#' @export
confint.dp_fit <- function(object, parm, level = 0.95, ...) {
  check_dots(...)
  if (!has_variance(object)) no_intervals(object)
  level <- check_level_below_one(level)
  which <- if (missing(parm)) seq_along(object$coefficients) else check_parm(parm, object)
  tail <- (1 - level) / 2
  half <- stats::qnorm(tail, lower.tail = FALSE) * standard_errors(object)[which, "Std. Error"]
  bias <- object$bias[which, , drop = FALSE]
  value <- object$coefficients[which]
  ends <- cbind(
    value - half - (if (is.null(bias)) 0 else bias[, "lower"]),
    value + half + (if (is.null(bias)) 0 else bias[, "upper"])
  )
  dimnames(ends) <- list(names(value), percent_names(tail))
  if (!is.null(bias)) {
    ends <- structure(ends, bias = bias, class = c("dp_confint", class(ends)))
  }
  ends
}

#' @export
print.dp_confint <- function(x, ...) {
  bias <- attr(x, "bias")
  print(structure(unclass(x), bias = NULL), ...)
  if (any(bias > 0, na.rm = TRUE)) {
    cat("The ends allow for a bias, too: summary() and attr(, \"bias\") show it.\n")
  }
  invisible(x)
}

check_level_below_one <- function(level) {
  level <- check_number(level, "level", 0, 1, open = TRUE)
  if (level == 1) dp_abort("`level` must be below 1.")
  level
}

percent_names <- function(tail) {
  percent <- format(100 * c(tail, 1 - tail), trim = TRUE, scientific = FALSE, digits = 3)
  paste(percent, "%")
}

check_parm <- function(parm, object) {
  names <- names(object$coefficients)
  at <- if (is.character(parm)) match(parm, names) else if (is.numeric(parm)) {
    match(parm, seq_along(names))
  } else {
    NA
  }
  if (length(at) == 0L || anyNA(at)) {
    dp_abort("`parm` must name coefficients of the fit, or give their numbers.")
  }
  at
}
