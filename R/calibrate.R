# A public numeric vector, each element within [lower, upper].
check_numbers <- function(x, arg, lower, upper = Inf, open = TRUE) {
  ok <- is.numeric(x) && length(x) > 0L && !anyNA(x) && all(is.finite(x)) && all(x <= upper) &&
    all(if (open) x > lower else x >= lower)
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
#' selections by the exponential mechanism may have. Both work elementwise on
#' vectors, which are recycled.
#'
#' @section Privacy:
#' The Gaussian scale is exact for every epsilon (the analytic Gaussian mechanism),
#' also above 1, where the classical sqrt(2 log(1.25/delta))/epsilon is not private; several
#' releases compose exactly, as one with mu = sqrt(sum of mu^2). The
#' package's own releases add discrete Gaussian noise and are calibrated at
#' epsilon - 1e-9, which covers the difference between discrete and continuous noise.
#' For selections the best of the plain sum, zero-concentrated and Gaussian
#' differential privacy is taken; with `delta = 0` the plain sum. The rounds may
#' depend on one another's answers; their number and costs must be fixed in
#' advance. No data is read.
#'
#' @param epsilon Positive finite numbers.
#' @param delta Numbers with 0 < delta < 1; 0 is allowed for selections.
#' @param sensitivity Positive numbers: the l2 sensitivity of one release when one
#'   row is replaced.
#' @param count Whole numbers: how many releases.
#' @return A numeric vector: the standard deviation of the noise in the units of
#'   `sensitivity`, or epsilon0 per round.
#' @references
#' Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian mechanism for
#' differential privacy. *ICML*. \doi{10.48550/arXiv.1805.06530}
#'
#' Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy.
#' *JRSS B* 84, 3-37. \doi{10.1111/rssb.12454}
#'
#' Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for
#' differential privacy. *NeurIPS*. \doi{10.48550/arXiv.2004.00010}
#'
#' Cesar, M. and Rogers, R. (2021). Bounding, concentrating, and truncating:
#' unifying privacy loss composition for data analytics. *ALT*.
#' \doi{10.48550/arXiv.2004.07223}
#' @examples
#' calibrate_gaussian(epsilon = c(0.5, 1, 2), delta = 1e-6)
#' calibrate_gaussian(1, 1e-6, count = 100) # 10 times as much, not 100
#' calibrate_exponential(1, 1e-6, count = 100)
#' @export
calibrate_gaussian <- function(epsilon, delta, sensitivity = 1, count = 1) {
  epsilon <- check_numbers(epsilon, "epsilon", 0)
  delta <- check_below_one(check_numbers(delta, "delta", 0))
  sensitivity <- check_numbers(sensitivity, "sensitivity", 0)
  count <- check_rounds(count)
  sensitivity * sqrt(count) / gaussian_mu(epsilon, delta)
}

#' @rdname calibrate_gaussian
#' @export
calibrate_exponential <- function(epsilon, delta, count = 1) {
  epsilon <- check_numbers(epsilon, "epsilon", 0)
  delta <- check_below_one(check_numbers(delta, "delta", 0, open = FALSE))
  count <- check_rounds(count)
  pmax(
    epsilon / count,
    sqrt(8 * zcdp_rho(epsilon, delta) / count),
    2 * pure_epsilon(gaussian_mu(epsilon, delta) / sqrt(count))
  )
}

check_rounds <- function(count) {
  count <- check_numbers(count, "count", 1, open = FALSE)
  if (any(count != round(count))) {
    dp_abort("`count` must be whole numbers.")
  }
  count
}
