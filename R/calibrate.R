# A public numeric vector, each element within [lower, upper].
check_numbers <- function(x, arg, lower, upper = Inf, open = TRUE) {
  ok <- !missing(x) && is.numeric(x) && length(x) > 0L && !anyNA(x) && all(is.finite(x)) &&
    all(x <= upper) && all(if (open) x > lower else x >= lower)
  if (!ok) {
    dp_abort(sprintf("`%s` must be numbers %s, none missing.", arg,
                     describe_range(lower, upper, open, TRUE)))
  }
  as.numeric(x)
}

check_below_one <- function(delta) {
  if (any(delta >= 1)) {
    dp_abort("`delta` must be below 1; choose it well below 1/n, e.g. delta = 1e-6.")
  }
  delta
}

#' Noise scale or cost per round for a given guarantee
#'
#' `calibrate_gaussian()` gives the smallest standard deviation of Gaussian noise
#' for which `count` releases are together (epsilon, delta)-differentially private.
#' `calibrate_exponential()` gives the largest epsilon0 that each of `count`
#' selections by the exponential mechanism may have. `calibrate_peeling()` gives the noise
#' scales of [dp_peel()]: `s` selections and the values of what was selected. The first two work
#' elementwise on vectors, which are recycled.
#'
#' @section Privacy:
#' The Gaussian scale is exact for every epsilon (the analytic Gaussian mechanism),
#' also above 1, where the classical sqrt(2 log(1.25/delta))/epsilon is not private; several
#' releases compose exactly, as one with mu = sqrt(sum of mu^2). The
#' package's own releases add discrete Gaussian noise and are calibrated at
#' epsilon - 1e-9, which covers the difference between discrete and continuous noise.
#' Selections are calibrated by the bounds of [epsilon_at()], which are inverted numerically (to a
#' relative 1e-6, on the safe side); with `delta = 0` by the plain sum. The rounds may
#' depend on one another's answers; their number and costs must be fixed in
#' advance. No data is read.
#'
#' `calibrate_peeling()` with `delta > 0`: selections of range 2 sensitivity / scale by the
#' exponential mechanism, then Gaussian values with l2 sensitivity sqrt(s) sensitivity, both scales
#' the same (which spends the same on either); with `delta = 0`: s selections of pure epsilon
#' 2 sensitivity / scale and Laplace values of l1 sensitivity s sensitivity.
#'
#' `calibration = "paper"` gives the constants of Tao et al. (2022) as printed: for one release the
#' classical Gaussian scale (their Lemma 3); for several, each at
#' epsilon / (2 sqrt(2 count log(2 / delta))) and delta / (2 count) (Lemma 1); for peeling
#' Laplace noise of scale 4 sensitivity sqrt(2 s log(1/delta)) / epsilon for selections and
#' values (Algorithm 4), or 2 sensitivity sqrt(3 s log(1/delta)) / epsilon with
#' `constant = "cai"` (Cai, Wang and Zhang 2021). The lemmas assume epsilon below 1; at 1 the
#' exact delta of the resulting
#' noise is at most delta, and above 1 they prove nothing and are refused. For the
#' peeling scales a proof by advanced composition holds up to epsilon = 2 log(1/delta), and
#' with `constant = "cai"`, by zero-concentrated differential privacy, up to
#' 0.42 log(1/delta); beyond they are refused.
#'
#' @param epsilon Positive finite numbers.
#' @param delta Numbers with 0 < delta < 1; 0 is allowed for selections and peeling.
#' @param sensitivity Positive numbers: the l2 sensitivity of one Gaussian release, or the most
#'   that one entry changes (peeling), when one row is replaced.
#' @param count Whole numbers: how many releases.
#' @param s Whole number: how many entries are selected.
#' @param calibration `"tight"` or `"paper"`.
#' @param constant `"tao"` or `"cai"`: which published scale, for `calibration = "paper"`.
#' @return A numeric vector: the standard deviation of the noise in the units of
#'   `sensitivity`, or epsilon0 per round. `calibrate_peeling()`: a list with
#' \describe{
#'   \item{selection}{scale b of the selection, whose probabilities are proportional to
#'     exp(|v| / b) (tight; with `delta = 0` noise is exponential with mean b), or of its
#'     Laplace noise (paper).}
#'   \item{values}{standard deviation of the Gaussian, or scale of the Laplace noise of the
#'     values.}
#' }
#' @references
#' Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian mechanism for
#' differential privacy. *ICML*. \doi{10.48550/arXiv.1805.06530}
#'
#' Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy.
#' *JRSS B* 84, 3-37. \doi{10.1111/rssb.12454}
#'
#' Dong, J., Durfee, D. and Rogers, R. (2020). Optimal differential privacy composition for
#' exponential mechanisms. *ICML*. \doi{10.48550/arXiv.1909.13830}
#'
#' Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for
#' differential privacy. *NeurIPS*. \doi{10.48550/arXiv.2004.00010}
#'
#' Tao, Y., Wu, Y., Cheng, X. and Wang, D. (2022). Private stochastic convex optimization and
#' sparse learning with heavy-tailed data revisited. *IJCAI*.
#'
#' Cai, T. T., Wang, Y. and Zhang, L. (2021). The cost of privacy: optimal rates of convergence
#' for parameter estimation with differential privacy. *Annals of Statistics* 49, 2825-2850.
#' \doi{10.1214/21-AOS2058}
#' @examples
#' calibrate_gaussian(epsilon = c(0.5, 1, 2), delta = 1e-6)
#' calibrate_gaussian(1, 1e-6, count = 100) # 10 times as much, not 100
#' calibrate_gaussian(1, 1e-6, count = 100, calibration = "paper")
#' calibrate_exponential(1, 1e-6, count = 100)
#' b <- calibrate_peeling(1, 1e-6, s = 10)
#' # the values come last, so the order counts
#' privacy_compose(event_exponential(2 / b$selection, 10), event_gaussian(sqrt(10), b$values),
#'                 delta = 1e-6, ordered = TRUE)
#' @export
calibrate_gaussian <- function(epsilon, delta, sensitivity = 1, count = 1,
                               calibration = c("tight", "paper")) {
  epsilon <- check_numbers(epsilon, "epsilon", 0)
  delta <- check_below_one(check_numbers(delta, "delta", 0))
  sensitivity <- check_numbers(sensitivity, "sensitivity", 0)
  count <- check_rounds(count)
  calibration <- check_choice(calibration, "calibration", c("tight", "paper"))
  if (calibration == "paper") {
    return(sensitivity * paper_gaussian(epsilon, delta, count))
  }
  sensitivity * sqrt(count) / gaussian_mu(epsilon, delta)
}

#' @rdname calibrate_gaussian
#' @export
calibrate_exponential <- function(epsilon, delta, count = 1, calibration = c("tight", "paper")) {
  epsilon <- check_numbers(epsilon, "epsilon", 0)
  delta <- check_below_one(check_numbers(delta, "delta", 0, open = FALSE))
  count <- check_rounds(count)
  calibration <- check_choice(calibration, "calibration", c("tight", "paper"))
  if (calibration == "paper") {
    return(paper_share(epsilon, delta, count)$epsilon)
  }
  grid <- data.frame(epsilon = epsilon, delta = delta, count = count)
  mapply(tight_exponential, grid$epsilon, grid$delta, grid$count)
}

#' @rdname calibrate_gaussian
#' @export
calibrate_peeling <- function(epsilon, delta, s, sensitivity = 1,
                              calibration = c("tight", "paper"), constant = c("tao", "cai")) {
  epsilon <- check_epsilon(epsilon, allow_inf = FALSE)
  calibration <- check_choice(calibration, "calibration", c("tight", "paper"))
  check_peel_constant(!missing(constant), calibration)
  constant <- check_choice(constant, "constant", c("tao", "cai"))
  delta <- check_delta(delta)
  s <- check_count(s, "s")
  sensitivity <- check_number(sensitivity, "sensitivity", 0, open = TRUE)
  scale <- if (calibration == "paper") {
    paper_peeling(epsilon, delta, s, constant)
  } else if (delta == 0) {
    3 * s / epsilon
  } else {
    tight_peeling(epsilon, delta, s)
  }
  list(selection = scale * sensitivity, values = scale * sensitivity)
}

check_rounds <- function(count) {
  count <- check_numbers(count, "count", 1, open = FALSE)
  if (any(count != round(count))) {
    dp_abort("`count` must be whole numbers.")
  }
  count
}

tight_exponential <- remember(function(epsilon, delta, count) {
  sure <- max(
    epsilon / count, sqrt(8 * zcdp_rho(epsilon, delta) / count),
    2 * pure_epsilon(gaussian_mu(epsilon, delta) / sqrt(count))
  )
  if (delta == 0) {
    return(sure)
  }
  largest_cost(sure, delta, function(e) {
    total_delta(compose_events(exponential_event(e, count), ordered = TRUE), epsilon)
  })
})

# Unit sensitivity, selections before values.
peeling_events <- function(scale, s) {
  list(exponential_event(2 / scale, s), new_event("gaussian", sqrt(s) / scale))
}

tight_peeling <- remember(function(epsilon, delta, s) {
  sure <- sqrt(zcdp_rho(epsilon, delta) / s)
  1 / largest_cost(sure, delta, function(inverse) {
    total_delta(compose_events(peeling_events(1 / inverse, s), ordered = TRUE), epsilon)
  })
})

# The largest cost with f(cost) <= delta, f increasing, from one that is known to be allowed:
# to a relative 1e-6, from below. False position on the logarithm of delta in turn with
# bisection, for f may jump from 0.
largest_cost <- function(allowed, delta, f) {
  excess <- function(cost) log(max(f(cost), 1e-320)) - log(delta)
  low <- allowed
  high <- allowed
  at_low <- excess(low)
  if (at_low > 0) {
    return(allowed) # f itself errs on the safe side by more than what is known
  }
  for (i in seq_len(60L)) {
    high <- high * 1.1
    at_high <- excess(high)
    if (at_high > 0) break
    low <- high
    at_low <- at_high
  }
  for (i in seq_len(60L)) {
    if (high / low - 1 < 1e-6) break
    share <- if (i %% 3L == 0L) 0.5 else min(max(at_low / (at_low - at_high), 1e-3), 1 - 1e-3)
    # aim at the other side of the root, so that both ends close in
    nudge <- 4e-7 * low / (high - low)
    share <- if (share < 0.5) min(share + nudge, 0.5) else max(share - nudge, 0.5)
    middle <- low + (high - low) * share
    at <- excess(middle)
    if (at > 0) {
      high <- middle
      at_high <- at
    } else {
      low <- middle
      at_low <- at
    }
  }
  low
}

# ---- the papers' constants ---------------------------------------------------

paper_epsilon <- function(epsilon, most, reason) {
  if (any(epsilon > most)) {
    dp_abort(sprintf(paste(
      "`calibration = \"paper\"` needs `epsilon` of at most %s here: %s",
      "Use `calibration = \"tight\"`, which holds for every epsilon."
    ), format_number(min(most)), reason), "dp_error_calibration")
  }
  epsilon
}

# Lemma 1 of Tao et al.: what each of `count` mechanisms may have.
paper_share <- function(epsilon, delta, count) {
  several <- count > 1
  if (any(several & delta == 0)) {
    dp_abort("`delta` must be above 0 for several releases with `calibration = \"paper\"`.")
  }
  paper_epsilon(epsilon[rep_len(several, length(epsilon))], 1,
                "their composition lemma assumes epsilon below 1.")
  share <- lemma_share(epsilon, delta, count)
  list(epsilon = ifelse(several, share$epsilon, epsilon),
       delta = ifelse(several, share$delta, delta))
}

lemma_share <- function(epsilon, delta, count) {
  list(epsilon = epsilon / (2 * sqrt(2 * count * log(2 / delta))), delta = delta / (2 * count))
}

classical_sigma <- function(epsilon, delta) sqrt(2 * log(1.25 / delta)) / epsilon

# Lemma 3, the classical Gaussian scale, at the share of Lemma 1.
paper_gaussian <- function(epsilon, delta, count) {
  paper_epsilon(epsilon, 1, paste(
    "the classical Gaussian scale is proved for epsilon below 1, and for large epsilon it is",
    "smaller than any that is private."
  ))
  share <- paper_share(epsilon, delta, count)
  sigma <- classical_sigma(share$epsilon, share$delta)
  if (any(gaussian_delta(sqrt(count) / sigma, epsilon) > delta)) {
    dp_abort(paste(
      "with `calibration = \"paper\"` the exact delta of the noise would exceed `delta`;",
      "use `calibration = \"tight\"`."
    ), "dp_error_calibration")
  }
  sigma
}

# A constant without the calibration it belongs to would be ignored without a word.
check_peel_constant <- function(given, calibration) {
  if (given && calibration != "paper") {
    dp_abort("`constant` belongs to `calibration = \"paper\"`; give both or neither.")
  }
}

paper_peeling <- function(epsilon, delta, s, constant) {
  if (delta == 0) {
    dp_abort("`delta` must be above 0 with `calibration = \"paper\"`, e.g. delta = 1e-6.")
  }
  log_delta <- log(1 / delta)
  most <- c(tao = 2, cai = 0.42)[[constant]] * log_delta
  paper_epsilon(epsilon, most, "beyond it no proof of the published scale is known.")
  c(tao = 4 * sqrt(2), cai = 2 * sqrt(3))[[constant]] * sqrt(s * log_delta) / epsilon
}
