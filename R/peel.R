# The largest entries of a vector and their values.

#' Release the largest entries of a vector
#'
#' Chooses s entries that are large in absolute value and releases their indices and noisy
#' values (peeling). You state how far one row of the data can move any entry; it
#' is not checked and cannot be.
#'
#' With `delta > 0` the entries are chosen by successive exponential mechanisms and the values get
#' Gaussian noise; with `delta = 0` by permute-and-flip, and the values get Laplace
#' noise. `calibration = "paper"` is the peeling algorithm of Tao et al. as printed:
#' noisy maxima and values with Laplace noise of one scale, about 3.7 times that of the default
#' for the choice and 5 times its standard deviation for the values.
#'
#' @param v Numeric vector (or matrix, counted by columns) with finite entries. Its length,
#'   dimensions and names are public.
#' @param s Whole number: how many entries.
#' @param sensitivity Positive number in the units of `v`: the most that any one entry can move if
#'   one row of the data is replaced by any other, all entries at once and in either
#'   direction (the supremum norm). It must not come from the data.
#' @param epsilon Positive number, for choice and values together. `Inf`: the largest
#'   entries themselves (not private).
#' @param delta Number, 0 <= delta < 1, well below 1/n.
#' @param ... Not used; a misspelt argument is an error.
#' @param calibration `"tight"` or `"paper"`; by default that of `control`.
#' @param constant For `"paper"` only: `"tao"`, the scale 4 sensitivity sqrt(2 s log(1/delta)) /
#'   epsilon of Tao et al., or `"cai"`, 2 sensitivity sqrt(3 s log(1/delta)) / epsilon of Cai,
#'   Wang and Zhang.
#' @param budget A ledger made by [privacy_budget()], charged before anything is drawn.
#' @param control Settings made by [dp_control()].
#' @return An object of class `dp_peel`, a list with
#' \describe{
#'   \item{selected}{indices of the chosen entries in the order of selection.}
#'   \item{values}{their noisy values, with names if `v` has names.}
#'   \item{coefficients}{as long as `v`: the values at their places, 0 elsewhere.}
#'   \item{scale}{`c(selection =, values =)`: scales of the noise (standard deviation for
#'     Gaussian noise).}
#'   \item{n, privacy}{`NA`; see [privacy()].}
#' }
#' If no value stands out of its noise, a warning of class `dp_dominated` says so; it is a
#' function of what is released.
#' @section Privacy:
#' Neighbours move |v_j| by at most `sensitivity`, L, in either direction. *Choice:* with scale b
#' each of s rounds has log-odds that move by at most 2 L / b: bounded range for the
#' exponential mechanism (P proportional to exp(|v_j| / b) among the entries left), pure for
#' permute-and-flip and for Laplace noisy maxima. *Values*, given the choice: s numbers
#' that move by L each, sqrt(s) L in l2. Both on a public grid with exact discrete noise,
#' the rounding counted; see [dp_gaussian()] and [dp_noisy_max()]. The scales are those of
#' [calibrate_peeling()]; with `delta = 0`, b = 3 s L / epsilon for both, whose costs add up
#' to epsilon. The scale of Tao et al. is proved for epsilon <= 2 log(1/delta), by advanced
#' composition of all 2 s releases; that of Cai et al. for epsilon <= 0.42 log(1/delta), by
#' zero-concentrated differential privacy. A refusal of missing or infinite entries is for
#' the data holder: do not publish it. The time of a draw depends on the values.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithm 4).
#'
#' Cai, T. T., Wang, Y. and Zhang, L. (2021). The cost of privacy: optimal rates of
#' convergence for parameter estimation with differential privacy. *Annals of Statistics*
#' 49, 2825-2850. \doi{10.1214/21-AOS2058}
#'
#' Durfee, D. and Rogers, R. (2019). Practical differentially private top-k selection with
#' pay-what-you-get composition. *NeurIPS*. \doi{10.48550/arXiv.1905.04273}
#' @seealso [calibrate_peeling()], [dp_noisy_max()]
#' @examples
#' v <- c(a = 50, b = -80, c = 1, d = 0, e = 3)
#' fit <- dp_peel(v, s = 2, sensitivity = 1, epsilon = 2, delta = 1e-6)
#' fit
#' coef(fit)
#' @export
dp_peel <- function(v, s, sensitivity, epsilon, delta, ..., calibration = c("tight", "paper"),
                    constant = c("tao", "cai"), budget = NULL, control = dp_control()) {
  check_dots(...)
  control <- check_control(control)
  if (missing(calibration)) calibration <- control$calibration
  calibration <- check_choice(calibration, "calibration", c("tight", "paper"))
  check_peel_constant(!missing(constant), calibration)
  constant <- check_choice(constant, "constant", c("tao", "cai"))
  check_vector(v, "v")
  s <- check_size(s, length(v))
  sensitivity <- check_sensitivity(sensitivity)
  epsilon <- check_epsilon(epsilon)
  delta <- if (epsilon == Inf && missing(delta)) 0 else check_delta(delta)
  plan <- plan_peel(s, sensitivity, epsilon, delta, calibration, constant, budget)
  check_finite(v, "v")
  ledger_charge(budget, plan$events, epsilon, delta, "dp_peel")
  selected <- select_top(abs(as.double(v)), s, plan$choice, plan$how, release_key(control))
  values <- release_vector(as.double(v)[selected], plan$values, release_key(control))
  warn_peel_dominated(values, plan$values)
  coefficients <- shaped_like(replace(numeric(length(v)), selected, values), v)
  names(values) <- names(v)[selected]
  new_mechanism(
    "peel", coefficients, epsilon, delta, plan$events, control, calibration,
    selected = selected, values = values,
    scale = c(selection = plan$choice$scale, values = plan$values$scale)
  )
}

check_size <- function(s, d) {
  if (missing(s) || !is_number(s) || s != round(s) || s < 1 || s > d) {
    dp_abort(sprintf("`s` must be one whole number between 1 and the length of `v`, %.0f.", d))
  }
  as.numeric(s)
}

# Scales from public numbers, then the grids and the events of what they cost.
plan_peel <- function(s, sensitivity, epsilon, delta, calibration, constant, budget) {
  if (epsilon == Inf && is.null(budget)) {
    return(list(choice = NO_NOISE_LAW, values = NO_NOISE_LAW, events = list()))
  }
  # in units of the sensitivity
  scale <- if (calibration == "paper") {
    paper_peel_scale(s, epsilon, delta, constant, budget)
  } else if (delta == 0) {
    rep(3 * s / ledger_allowance(budget, epsilon, 0, "pure")$epsilon, 2L)
  } else if (is.null(budget)) {
    tight_peel_scale(s, epsilon, delta)
  } else {
    rep(sqrt(s / ledger_allowance(budget, epsilon, delta, "mixed")$rho), 2L)
  }
  how <- if (delta == 0) "permute_and_flip" else "exponential"
  peel_events(s, sensitivity, scale, if (calibration == "paper") "laplace" else how)
}

# Laplace values count as s releases of one entry, Gaussian ones as one of s entries.
peel_events <- function(s, sensitivity, scale, how, labels = c("choice", "values")) {
  epsilon0 <- 2 / scale[[1L]]
  choice <- score_law(epsilon0, sensitivity)
  if (how == "exponential") {
    change <- sqrt(s) * sensitivity
    if (!is.finite(change)) dp_abort("`sensitivity` is too large.")
    mu <- sqrt(s) / scale[[2L]]
    values <- vector_law("gaussian", s, mu, change)
    events <- list(
      exponential_event(epsilon0, s, sensitivity, choice$scale, labels[[1L]]),
      gaussian_event(mu, 1, change, values$scale, labels[[2L]])
    )
  } else {
    values <- vector_law("laplace", 1, 1 / scale[[2L]], sensitivity)
    events <- list(
      pure_event(epsilon0, s, sensitivity, choice$scale, labels[[1L]]),
      laplace_event(1 / scale[[2L]], s, sensitivity, values$scale, labels[[2L]])
    )
  }
  list(choice = choice, values = values, how = how, events = events)
}

# The package's noise is discrete: what that adds to epsilon is set aside first.
tight_peel_scale <- function(s, epsilon, delta) {
  if (epsilon <= 2 * DISCRETE_SLACK) {
    dp_abort("`epsilon` is too small for any useful noise; give a larger one, e.g. epsilon = 1.")
  }
  scale <- calibrate_peeling(epsilon - DISCRETE_SLACK, delta, s, 1, calibration = "tight")
  c(scale$selection, scale$values)
}

paper_peel_scale <- function(s, epsilon, delta, constant, budget) {
  if (!is.null(budget)) check_chargeable(budget, epsilon, "mixed")
  scale <- calibrate_peeling(epsilon, delta, s, 1, calibration = "paper", constant = constant)
  c(scale$selection, scale$values)
}

# A released fact: no value exceeds the standard deviation of its noise, nor about what the
# largest of so many values would be without any signal.
warn_peel_dominated <- function(values, law) {
  most <- switch(law$kind,
    none = 0,
    gaussian = law$scale * max(1, sqrt(2 * log(length(values)))),
    laplace = law$scale * max(sqrt(2), log(length(values)))
  )
  if (max(abs(values)) < most) {
    dp_warn(paste(
      "no released value stands out of the noise: the choice may be noise alone.",
      "Take a smaller `s` or a larger `epsilon`."
    ), "dp_dominated")
  }
}

#' @rdname dp_mechanism_methods
#' @export
print.dp_peel <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private choice of large entries\n")
  print_stamp(x$privacy)
  cat(sprintf("\n%d of %d entries, in the order of selection:\n", length(x$selected),
              length(x$coefficients)))
  print(stats::setNames(x$values, names(x$values) %||% x$selected), digits = digits)
  invisible(x)
}
