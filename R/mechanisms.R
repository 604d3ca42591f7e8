# Mechanisms for a statistic of the caller's own: noise on a vector.

#' Add noise to a statistic of your own
#'
#' `dp_gaussian()` and `dp_laplace()` release a numeric vector, matrix or array with Gaussian
#' or Laplace noise. You state the sensitivity; it is not checked and cannot be.
#'
#' @param value Numeric vector, matrix or array with d finite entries. Its length, dimensions
#'   and names are public.
#' @param sensitivity Positive number in the units of `value`: the most that `value` can move if
#'   one row of the data is replaced by any other. In the Euclidean norm for
#'   `dp_gaussian()`, in the sum of absolute values for `dp_laplace()`. It must not come
#'   from the data.
#' @param epsilon Positive number. `Inf`: no noise (not private).
#' @param delta Number, 0 < delta < 1, well below 1/n.
#' @param ... Not used; a misspelt argument is an error.
#' @param budget A ledger made by [privacy_budget()], charged before the noise is drawn.
#' @param control Settings made by [dp_control()]. With `calibration = "paper"` the Gaussian noise
#'   has the classical scale sqrt(2 log(1.25/delta)) sensitivity / epsilon, for epsilon of
#'   at most 1.
#' @return An object of class `dp_gaussian` or `dp_laplace`, a list with
#' \describe{
#'   \item{coefficients}{`value` plus noise, of the same shape and names; see [coef()].}
#'   \item{scale}{standard deviation of the Gaussian noise, or scale of the Laplace noise, in
#'     the units of `value`.}
#'   \item{n, privacy}{`NA`, for a mechanism does not know the rows; see [privacy()].}
#' }
#' @section Privacy:
#' `value` is rounded to a public grid and gets discrete noise: P(x) proportional to exp(-x^2 /
#' (2 s^2)) or exp(-|x| / s) on whole numbers x of grid steps, s = 2^40.
#' Rounding moves an entry by at most half a step, so neighbours differ by at most
#' sensitivity / step + sqrt(d) steps (d for Laplace); the step is chosen so that this is at most
#' mu s (epsilon s). mu is exact for every epsilon: the analytic Gaussian mechanism at
#' epsilon - 1e-9, which covers the difference of discrete and continuous noise. A vector with
#' Laplace noise composes as one Laplace release of its l1 sensitivity: along any entry the
#' probability p of an event changes by at most min(p, 1 - p) per noise scale. Entries
#' beyond 2^85 times the noise scale are clamped there. A refusal of missing or infinite
#' values is for the data holder: do not publish it. Everything that leaves the
#' function is a fixed function of the noisy integers. The time of a draw depends on its value.
#' @references
#' Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in
#' private data analysis. *TCC*. \doi{10.1007/11681878_14}
#'
#' Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian mechanism for differential privacy.
#' *ICML*. \doi{10.48550/arXiv.1805.06530}
#'
#' Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential
#' privacy. *NeurIPS*. \doi{10.48550/arXiv.2004.00010}
#' @seealso [dp_noisy_max()], [dp_peel()], [calibrate_gaussian()]
#' @examples
#' # how many of 500 answered yes, by group; a row moves one count up and one down
#' yes <- c(a = 61, b = 112, c = 80)
#' dp_gaussian(yes, sensitivity = sqrt(2), epsilon = 1, delta = 1e-6)
#' coef(dp_laplace(yes, sensitivity = 2, epsilon = 1))
#' @export
dp_gaussian <- function(value, sensitivity, epsilon, delta, ..., budget = NULL,
                        control = dp_control()) {
  check_dots(...)
  control <- check_control(control)
  check_vector(value, "value")
  sensitivity <- check_sensitivity(sensitivity)
  epsilon <- check_epsilon(epsilon)
  delta <- if (epsilon == Inf && missing(delta)) 0 else check_delta(delta, epsilon < Inf)
  plan <- plan_gaussian(length(value), sensitivity, epsilon, delta, budget, control$calibration)
  check_finite(value, "value")
  ledger_charge(budget, plan$events, epsilon, delta, "dp_gaussian")
  noisy <- shaped_like(release_vector(value, plan$law, release_key(control)), value)
  new_mechanism(
    "gaussian", noisy, epsilon, delta, plan$events, control, control$calibration,
    scale = plan$law$scale
  )
}

#' @rdname dp_gaussian
#' @export
dp_laplace <- function(value, sensitivity, epsilon, ..., budget = NULL, control = dp_control()) {
  check_dots(...)
  control <- check_control(control)
  check_vector(value, "value")
  sensitivity <- check_sensitivity(sensitivity)
  epsilon <- check_epsilon(epsilon)
  plan <- plan_laplace(length(value), sensitivity, epsilon, budget)
  check_finite(value, "value")
  ledger_charge(budget, plan$events, epsilon, 0, "dp_laplace")
  noisy <- shaped_like(release_vector(value, plan$law, release_key(control)), value)
  new_mechanism(
    "laplace", noisy, epsilon, 0, plan$events, control, control$calibration,
    scale = plan$law$scale
  )
}

plan_gaussian <- function(d, sensitivity, epsilon, delta, budget, calibration) {
  if (epsilon == Inf && is.null(budget)) {
    return(list(law = NO_NOISE_LAW, events = list()))
  }
  if (calibration == "paper") {
    if (!is.null(budget)) check_chargeable(budget, epsilon, "gaussian")
    # never more than what is proved for discrete noise
    mu <- min(
      1 / calibrate_gaussian(epsilon, delta, calibration = "paper"),
      discrete_gaussian_mu(epsilon, delta)
    )
  } else {
    mu <- ledger_allowance(budget, epsilon, delta, "gaussian")$mu
  }
  law <- vector_law("gaussian", d, mu, sensitivity)
  list(law = law, events = list(gaussian_event(mu, 1, sensitivity, law$scale, "value")))
}

plan_laplace <- function(d, sensitivity, epsilon, budget, delta = 0) {
  if (epsilon == Inf && is.null(budget)) {
    return(list(law = NO_NOISE_LAW, events = list()))
  }
  cost <- ledger_allowance(budget, epsilon, delta, "pure")$epsilon
  law <- vector_law("laplace", d, cost, sensitivity)
  list(law = law, events = list(laplace_event(cost, 1, sensitivity, law$scale, "value")))
}

# ---- the grid (dph_scale.h) ----------------------------------------------------

NO_NOISE_LAW <- list(kind = "none", scale = 0)

# c(m, p) with m 2^-p = steps / sensitivity, rounded down, m a whole number of 41 bits.
grid_multiplier <- function(steps, sensitivity) {
  exponent <- pmin(floor(log2(c(steps, sensitivity))), 1023)
  ratio <- steps / 2^exponent[[1L]] / (sensitivity / 2^exponent[[2L]]) * (1 - 2^-50)
  p <- 40 - (exponent[[1L]] - exponent[[2L]])
  while (ratio < 1) {
    ratio <- 2 * ratio
    p <- p + 1
  }
  while (ratio >= 2) {
    ratio <- ratio / 2
    p <- p - 1
  }
  c(floor(ratio * 2^40), p)
}

# Noise has scale 2^40 steps: a step is lost in it, and 86 bits are left above it.
GRID_BITS <- 40

# `scale`: that of the noise in the caller's units.
grid_law <- function(steps, sensitivity) {
  by <- grid_multiplier(steps, sensitivity)
  bits <- GRID_BITS
  scale <- 2^41 / by[[1L]] * 2^(by[[2L]] + bits - 41)
  if (!is.finite(scale)) {
    dp_abort("`sensitivity` is too large for this `epsilon`: the noise would be infinite.")
  }
  list(multiplier = by, bits = bits, scale = scale)
}

# `total` steps cost what may be spent, `rounding` of them are for the grid.
usable_steps <- function(total, rounding) {
  steps <- total * (1 - 2^-50) - rounding * (1 + 2^-50)
  if (!(steps >= total / 2)) {
    dp_abort("`epsilon` is too small for any useful noise; give a larger one, e.g. epsilon = 1.")
  }
  steps
}

# Noise on d entries that rounding moves by `rounding` steps together; `cost` is mu or
# epsilon0. A cost beyond 1e100 is not spent.
vector_law <- function(kind, d, cost, sensitivity) {
  rounding <- change_of(kind, d)
  steps <- usable_steps(2^GRID_BITS * min(cost, 1e100), rounding)
  law <- grid_law(steps, sensitivity)
  c(law, list(kind = kind, noise = c(NOISE_CODE[[kind]], law$bits)))
}

release_vector <- function(value, law, key = NULL, exact = FALSE) {
  value <- as.double(value)
  if (law$kind == "none") {
    return(value)
  }
  .Call(C_release_vector, value, law$multiplier, law$noise, key, exact)
}

# ---- checks and the object -----------------------------------------------------

# Public facts of x.
# `flat`: no matrix or array, whose shape a choice of entries could not keep.
check_vector <- function(x, arg, flat = FALSE) {
  ok <- !missing(x) && (is.null(dim(x)) || !flat) && (is.numeric(x) || is.logical(x)) &&
    length(x) > 0L &&
    length(x) <= .Machine$integer.max && !inherits(x, c("factor", "integer64"))
  if (!ok) {
    dp_abort(sprintf("`%s` must be a numeric vector with at least one entry.", arg))
  }
  invisible(x)
}

# The data holder's check: fixed text, nothing spent.
check_finite <- function(x, arg) {
  if (!all(is.finite(x))) {
    dp_abort(sprintf(paste(
      "`%s` has missing or infinite entries; replace them by numbers first.",
      "This refusal is for the data holder: do not publish it."
    ), arg), "dp_error_missing")
  }
}

check_sensitivity <- function(sensitivity) {
  if (missing(sensitivity)) {
    dp_abort(paste(
      "`sensitivity` is needed: the most that one row of the data can change,",
      "one positive number."
    ))
  }
  check_number(sensitivity, "sensitivity", 0, open = TRUE)
}

shaped_like <- function(x, value) {
  if (is.null(dim(value))) {
    names(x) <- names(value)
  } else {
    dim(x) <- dim(value)
    dimnames(x) <- dimnames(value)
  }
  x
}

new_mechanism <- function(front, coefficients, epsilon, delta, events, control, calibration,
                          ...) {
  fit <- new_dp_fit(
    front, coefficients, NA_real_,
    new_privacy(epsilon, delta, events, rng = control$rng, calibration = calibration), ...
  )
  class(fit) <- append(class(fit), "dp_mechanism", after = 1L)
  fit
}

# ---- methods -------------------------------------------------------------------

#' Methods for releases of a mechanism
#'
#' @param x,object A release by [dp_gaussian()], [dp_laplace()], [dp_noisy_max()] or
#'   [dp_peel()].
#' @param digits Significant digits to print.
#' @param ... Not used.
#' @return `print()` and `plot()` return `x` invisibly; `summary()` an object that prints the
#'   events and the scale of the noise. `nobs()` and `predict()` stop.
#' @section Privacy:
#' All of these are functions of what was released; they cost nothing.
#' @name dp_mechanism_methods
NULL

#' @rdname dp_mechanism_methods
#' @export
print.dp_gaussian <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_values("Release with Gaussian noise", x, digits)
}

#' @rdname dp_mechanism_methods
#' @export
print.dp_laplace <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_values("Release with Laplace noise", x, digits)
}

#' @rdname dp_mechanism_methods
#' @export
summary.dp_mechanism <- function(object, ...) {
  structure(
    list(front = object$front, scale = object$scale, privacy = object$privacy),
    class = "summary.dp_mechanism"
  )
}

#' @export
print.summary.dp_mechanism <- function(x, ...) {
  title <- c(
    gaussian = "Release with Gaussian noise", laplace = "Release with Laplace noise",
    noisy_max = "Private choice of the largest score", peel = "Private choice of large entries"
  )
  cat(title[[x$front]], "\n", sep = "")
  print(x$privacy)
  cat("Noise scale: ", paste(vapply(x$scale, format_number, ""), collapse = ", "), "\n", sep = "")
  invisible(x)
}

#' @rdname dp_mechanism_methods
#' @export
nobs.dp_mechanism <- function(object, ...) {
  dp_abort("a mechanism is given a statistic, not the rows: it does not know their number.",
           "dp_error_no_data")
}

#' @rdname dp_mechanism_methods
#' @importFrom stats predict
#' @export
predict.dp_mechanism <- function(object, ...) {
  dp_abort("a release of a statistic predicts nothing; use coef().")
}

#' @rdname dp_mechanism_methods
#' @export
plot.dp_mechanism <- function(x, ...) {
  if (x$front == "noisy_max") dp_abort("there is nothing to draw: only an index was released.")
  value <- if (x$front == "peel") x$values else x$coefficients
  value <- utils::head(stats::setNames(as.vector(value), names(value) %||% seq_along(value)),
                       PLOT_ROWS)
  draw_dots(rev(value), stamped("Released values", x$privacy), "value", ...)
  invisible(x)
}
