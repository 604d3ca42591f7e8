# An empirical lower bound on the privacy lost, from runs on two made-up neighbours. The
# only function of the package that shows what a mechanism does with its data: never for
# real ones.

#' Audit a mechanism on two made-up neighbours
#'
#' Runs a mechanism many times on each of two made-up data sets that differ in one row, and
#' returns lower confidence bounds on the privacy it loses. If a bound exceeds what is
#' claimed, the mechanism is not as private as claimed: its noise is too small, its
#' sensitivity too low, its accounting wrong, or something is released without noise. An
#' audit can refute a claim and never prove one.
#'
#' @details
#' The first half of the runs on either side is a pilot that chooses events: an output, a
#' projection of several outputs on the direction that separates the two sides best, or its
#' distance from the middle, above or below a threshold; a set of labels; an error, a
#' warning or its text. The second half tests at most six of them. Every probability gets a
#' Clopper-Pearson bound, with the error rate `1 - level` divided by their number
#' (Bonferroni), so that all statements of one audit hold together with confidence `level`:
#'
#' * `epsilon`: for an event E that has probability at least p under the one neighbour and at
#'   most q under the other, log((p - delta) / q), the largest over the events, either way
#'   round. A mechanism that is (e, delta)-differentially private has e >= `epsilon`.
#' * `mu`: Phi^-1(p) - Phi^-1(q), the largest over the events. A mechanism that is m-GDP
#'   (Gaussian differential privacy) has m >= `mu`. It needs far fewer runs, but refutes only
#'   claims in mu: those of Gaussian noise, and others that have been expressed in mu.
#' * `epsilon_gaussian`: the epsilon at delta of a Gaussian mechanism with this `mu`. It is no
#'   bound on the epsilon of any other mechanism.
#'
#' How many runs: `n = 1000` finds Gaussian noise half as large as claimed at epsilon = 4 and
#' delta = 1e-5 through mu; n must grow like 1 / epsilon^2, to about 10,000 at epsilon = 1 and
#' 40,000 at epsilon = 0.5. For Laplace noise or a selection `n = 1000` finds a factor of two
#' up to epsilon = 3; beyond that n must grow like e^epsilon, for no bound on epsilon above
#' about log(n / 20) can be reached. Through epsilon alone, which is all there is for
#' `claim = c(epsilon =, delta =)`, Gaussian noise half as large as claimed needs n of
#' 200,000 and more.
#' The pair matters most: take a record as far to the one side as a record can be,
#' and replace it by one as far to the other side, among few others.
#'
#' An error or a warning that only one neighbour raises is a loss like any other. (The
#' refusal of missing values, this package's default, is a check for the data holder and
#' outside the guarantee: audit with `na.rm = TRUE`.)
#'
#' @param mechanism A function of a data set. It returns numbers, labels (character, factor,
#'   logical), a list of these, or a fit of this package, of which [coef()] and the selected
#'   items count.
#' @param x,x1 Two made-up data sets: vectors, matrices, data frames, or anything else the
#'   mechanism takes. They should differ in exactly one row (an element of a vector), which is
#'   checked where it can be: another shape is an error, more than one row a warning of class
#'   `dp_not_neighbours`. A list of parts with the same number of rows counts as one data set.
#' @param ... Further arguments of `mechanism`. Those named like an argument of `dp_audit()` (as
#'   `mechanism =` of [dp_noisy_max()] is) do not reach it; wrap it in a function then.
#' @param n Whole number, at least 50: runs on each data set.
#' @param synthetic `TRUE` confirms that `x` and `x1` are made up. Without it nothing is run.
#' @param level Confidence level of all bounds together, between 0.5 and 1.
#' @param claim What the mechanism claims: a `dp_privacy` object such as
#'   [event_gaussian()] makes; or a named vector of some of `epsilon`, `delta` (0 if left out)
#'   and `mu`. By default what [privacy()] says of its output, if that is a fit of this
#'   package; without any claim there are only bounds. A claim in mu alone is also read at
#'   delta = 1e-6.
#' @param statistic `NULL`, or a function that makes numbers or labels of the mechanism's
#'   output.
#' @return An object of class `dp_audit`, with methods for `print()`, `summary()`, `plot()`
#'   and `as.data.frame()`, the table of events. It is a list with
#' \describe{
#'   \item{epsilon, mu, epsilon_gaussian}{lower bounds as above, 0 if there is no evidence;
#'     `epsilon_gaussian` is `NA` at delta = 0.}
#'   \item{delta}{the delta at which epsilon is bounded: that of the claim, else 0.}
#'   \item{level, n}{as given.}
#'   \item{claim}{a list of `epsilon`, `delta` and `mu`, `NA` for what is not claimed. The
#'     mu of a fit is that of its events, Laplace noise and selections expressed in mu.}
#'   \item{events}{a data frame with one row per event tested: `event`; `favours`, the
#'     neighbour under which it is more likely; `hits_x` and `hits_x1` in `runs` runs on each
#'     side; `p_lower`, the lower bound on its probability under the favoured
#'     neighbour; `p_upper`, the upper bound under the other; `epsilon`, `mu`.}
#'   \item{curve}{error rates of the best statistic in the second half: the false positive
#'     rate (x taken for x1) and the false negative rate (x1 taken for x).}
#'   \item{failed}{how many runs stopped with an error, on x and on x1.}
#'   \item{changed}{how many rows differ; `NA` if that could not be checked.}
#'   \item{violated}{`TRUE` if a bound exceeds the claim, else `FALSE`; `NA` without one.}
#' }
#' `plot()` draws the error rates of the best test of x against x1 with the curve that the claim
#' allows: a claim is refuted if a tested event, with its confidence limits, lies below it.
#' @section Privacy:
#' An audit releases what many runs of the mechanism give away and is charged to no budget:
#' on real data it would be an unpaid release. It reads `x` and `x1` as public.
#' It draws no random numbers of its own, and is repeatable if the mechanism is, for
#' instance by `control = dp_control(rng = "R")` after [set.seed()].
#' @references
#' Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramer, F., Jagielski, M., Carlini, N. and
#' Terzis, A. (2023). Tight auditing of differentially private machine learning. *USENIX
#' Security*. \doi{10.48550/arXiv.2302.07956}
#'
#' Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy.
#' *JRSS B* 84, 3-37. \doi{10.1111/rssb.12454}
#'
#' Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits
#' illustrated in the case of the binomial. *Biometrika* 26, 404-413.
#' \doi{10.1093/biomet/26.4.404}
#' @seealso [privacy()], [event_gaussian()]
#' @examples
#' # ten values in [-1, 1]: the mean moves by at most 0.2
#' noisy_mean <- function(x, sd) mean(x) + rnorm(1, sd = sd)
#' x <- c(-1, rep(0, 9))
#' x1 <- c(1, rep(0, 9))
#' sd <- calibrate_gaussian(epsilon = 4, delta = 1e-5, sensitivity = 0.2)
#' claim <- privacy_compose(event_gaussian(sensitivity = 0.2, scale = sd), delta = 1e-5)
#' dp_audit(noisy_mean, x, x1, sd = sd, synthetic = TRUE, claim = claim)
#'
#' # a bug: noise for half the sensitivity
#' a <- dp_audit(noisy_mean, x, x1, sd = sd / 2, synthetic = TRUE, claim = claim)
#' a
#' plot(a)
#' @export
dp_audit <- function(mechanism, x, x1, ..., n = 1000, synthetic = FALSE, level = 0.99,
                     claim = NULL, statistic = NULL) {
  check_synthetic(synthetic)
  if (!is.function(mechanism)) dp_abort("`mechanism` must be a function of a data set.")
  if (!is.null(statistic) && !is.function(statistic)) {
    dp_abort("`statistic` must be a function of the mechanism's output, or NULL.")
  }
  n <- check_count(n, "n", lower = 50)
  level <- check_audit_level(level)
  claim <- audit_claim(claim)
  changed <- check_neighbours(x, x1)
  runs <- audit_runs(function(data) mechanism(data, ...), statistic, x, x1, n)
  claim <- claim %||% audit_claim(runs$privacy) %||% no_claim
  delta <- if (is.na(claim$delta)) 0 else claim$delta
  pilot <- seq_len(n %/% 2)
  statistics <- audit_statistics(outcome_tables(runs), pilot)
  chosen <- choose_events(statistics, pilot, delta, 1 - level)
  events <- test_events(chosen, statistics, pilot, n - length(pilot), delta, 1 - level)
  new_audit(
    events, claim, delta, level, n, curve = audit_curve(events, chosen, statistics, pilot),
    failed = runs$failed, changed = changed
  )
}

new_audit <- function(events, claim, delta, level, n, ...) {
  epsilon <- max(0, events$epsilon)
  mu <- max(0, events$mu)
  over <- c(epsilon > claim$epsilon, mu > claim$mu)
  structure(
    list(
      epsilon = epsilon, mu = mu,
      epsilon_gaussian = if (delta > 0) gaussian_epsilon(mu, delta) else NA_real_,
      delta = delta, level = level, n = n, claim = claim, events = events, ...,
      violated = if (all(is.na(over))) NA else any(over, na.rm = TRUE)
    ),
    class = "dp_audit"
  )
}

check_synthetic <- function(synthetic) {
  if (!check_flag(synthetic, "synthetic")) {
    dp_abort(paste(
      "an audit of real data would be an unpaid release of them: nothing was run.",
      "Make up two data sets, and confirm that `x` and `x1` are made up by synthetic = TRUE."
    ), c("dp_error_synthetic", "dp_error_input"))
  }
}

check_audit_level <- function(level) {
  if (!is_number(level) || level < 0.5 || level >= 1) {
    dp_abort("`level` must be one number of at least 0.5 and below 1, e.g. level = 0.99.")
  }
  as.numeric(level)
}

# ---- the claim ---------------------------------------------------------------------

no_claim <- list(epsilon = NA_real_, delta = NA_real_, mu = NA_real_)

# delta at which a claim in mu alone is also shown in epsilon
CLAIM_DELTA <- 1e-6

audit_claim <- function(claim) {
  if (is.null(claim)) {
    return(NULL)
  }
  if (inherits(claim, c("dp_privacy", "dp_fit"))) privacy_claim(privacy(claim)) else {
    number_claim(claim)
  }
}

privacy_claim <- function(p) {
  if (identical(p$epsilon, Inf)) {
    return(list(epsilon = Inf, delta = p$delta, mu = NA_real_))
  }
  mu <- sqrt(compose_events(p$events)$gdp)
  delta <- if (is.na(p$delta)) CLAIM_DELTA else p$delta
  epsilon <- if (is.na(p$epsilon)) epsilon_at(p, delta) else p$epsilon
  list(epsilon = epsilon, delta = delta, mu = if (mu > 0) mu else NA_real_)
}

number_claim <- function(claim) {
  known <- names(no_claim)
  claim <- unlist(claim)
  ok <- is.numeric(claim) && length(claim) > 0L && !is.null(names(claim)) &&
    all(names(claim) %in% known) && !anyDuplicated(names(claim)) && !anyNA(claim) &&
    all(claim >= 0)
  if (!ok) {
    dp_abort(paste(
      "`claim` must be a dp_privacy object or a named vector of numbers, for instance",
      "c(epsilon = 1, delta = 1e-6) or c(mu = 0.3)."
    ))
  }
  value <- stats::setNames(as.list(claim[known]), known)
  if (is.na(value$delta)) {
    value$delta <- if (is.na(value$epsilon) && !is.na(value$mu)) CLAIM_DELTA else 0
  }
  check_below_one(value$delta)
  if (is.na(value$epsilon) && !is.na(value$mu)) {
    value$epsilon <- gaussian_epsilon(value$mu, value$delta)
  }
  value
}

# ---- the two data sets -------------------------------------------------------------

# How many rows differ; NA where that cannot be told.
check_neighbours <- function(x, x1) {
  changed <- changed_rows(x, x1)
  if (is.null(changed) && !identical(x, x1)) {
    return(NA_real_)
  }
  count <- sum(changed)
  if (count == 0) {
    dp_abort("`x` and `x1` are the same; neighbours differ in one row.")
  }
  if (count > 1) {
    dp_warn(sprintf(paste(
      "`x` and `x1` differ in %.0f rows, and neighbours in one: the claim must be one for",
      "such a pair."
    ), count), "dp_not_neighbours")
  }
  count
}

# Which rows differ, as a logical vector; NULL where that cannot be told.
changed_rows <- function(x, x1) {
  same <- identical(class(x), class(x1)) && identical(dim(x), dim(x1)) &&
    length(x) == length(x1) && identical(levels(x), levels(x1)) &&
    identical(colnames(x), colnames(x1)) && (!is.list(x) || identical(names(x), names(x1)))
  if (!same) {
    dp_abort(paste(
      "`x` and `x1` must have the same class, size, names and levels: neighbours differ",
      "in the values of one row."
    ))
  }
  if (is.data.frame(x) || is_parts(x) && is_parts(x1)) {
    parts <- Map(changed_rows, unclass(x), unclass(x1))
    return(if (!any(vapply(parts, is.null, NA))) Reduce(`|`, parts, FALSE))
  }
  if (is.list(x)) {
    return(!unlist(Map(identical, x, x1)))
  }
  if (!is.atomic(x)) {
    return(NULL)
  }
  different <- changed_values(x, x1)
  if (is.matrix(x)) rowSums(different) > 0 else different
}

# A list of vectors and matrices with the same number of rows: the parts of one data set.
is_parts <- function(x) {
  if (!is.list(x) || length(x) < 2L) {
    return(FALSE)
  }
  rows <- vapply(x, NROW, 0L)
  rows[[1L]] > 1L && all(rows == rows[[1L]])
}

changed_values <- function(x, x1) {
  if (is.factor(x)) {
    x <- as.character(x)
    x1 <- as.character(x1)
  }
  missing <- is.na(x)
  missing1 <- is.na(x1)
  different <- x != x1
  different[missing | missing1] <- (missing != missing1)[missing | missing1]
  different
}
