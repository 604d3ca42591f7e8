#' Value at risk and expected shortfall
#'
#' The quantile of a given level (value at risk) and the mean of what lies beyond it
#' (expected shortfall, also called tail value at risk or conditional value at risk), privately and
#' with nothing known.
#'
#' Noisy counts of distances from a private median tell how the tail goes; a private quantile gives
#' the value at risk q. Expected shortfall is q + E(x - q)+ / (1 - level): a private mean of the
#' excesses over q, winsorised at a limit that grows with n, over the public 1 - level. No count of
#' rows beyond q is needed, and as q is where that expression has its minimum, an error of q
#' matters to second order only; where many values equal q, it is still the mean of the worst share
#' of 1 - level.
#'
#' What values beyond the limit would add is shown as a bias, and added to the end of the
#' interval where it lies: `Inf`, where the tail is such that a mean may not exist. If the
#' fitted index of the tail (see [dp_tail_index()]) may be at most 1, a warning of class
#' `dp_heavy_tail` says so. A quantile with so few records beyond it that the exponential mechanism
#' would miss it (fewer than some 24 / epsilon0, epsilon0 its cost) is read off the tail fitted
#' to the counts.
#'
#' @inheritParams dp_mean
#' @param x Numeric (or integer, logical) vector of length n: losses, the larger the worse, or
#'   returns with `tail = "lower"`.
#' @param level Number of at least 0.5 and below 1.
#' @param epsilon Positive number. `Inf` gives the sample's own by the same code (not private).
#' @param delta Number, 0 <= delta < 1. All noise is pure; above 0 it serves ledgers that count so.
#' @param tail `"upper"`: the quantile at `level` and the mean above it; `"lower"`: the quantile at
#'   1 - `level` and the mean below it.
#' @param bound Public `c(lower, upper)`, or one positive number b for `c(-b, b)`. Values outside
#'   count as the bound. `NULL`: limits are found privately.
#' @param na.rm `FALSE`: a missing value is refused (for the data holder's eyes only: do not
#'   publish the refusal). `TRUE`: missing values add nothing and the sum is divided by a private
#'   count, which takes a twentieth of the budget.
#' @return An object of class `dp_shortfall`, a list with
#' \describe{
#'   \item{coefficients}{`VaR` and `ES`, in the units of x.}
#'   \item{limit}{the value beyond which values count as it.}
#'   \item{noise_sd, errors, bias}{standard deviation of the noise (of `ES`; of `VaR` what the noise
#'     of its rank amounts to); the sampling and the privacy part of the standard error, and what
#'     values beyond the limit may add: see [dp_intervals].}
#'   \item{heavy}{whether a warning says that expected shortfall may not exist.}
#'   \item{level, tail, found, n, privacy}{as given; whether a tail could be told from noise (if
#'     not, `NA` with a warning of class `dp_dominated`); public number of rows; see [privacy()].}
#' }
#' @section Privacy:
#' Neighbours differ in one value; n is public. *Median and quantile:* exponential mechanism,
#' utility of sensitivity 1, the latter within limits released before. *Counts:* a row moves from
#' one cell to another, 2 in l1. *Excesses:* each lies between 0 and the limit less q, both
#' released before; it is clamped to integers that span the same range, so that a row changes the
#' sum by at most that. It is an exact integer sum with exact discrete Laplace noise. *Count* (with
#' `na.rm`): a row changes it by at most 1. The epsilons add up.
#' @references
#' Rockafellar, R. T. and Uryasev, S. (2000). Optimization of conditional value-at-risk. *Journal
#' of Risk* 2(3), 21-41. \doi{10.21314/JOR.2000.038}
#'
#' Acerbi, C. and Tasche, D. (2002). On the coherence of expected shortfall. *Journal of Banking
#' and Finance* 26, 1487-1503. \doi{10.1016/S0378-4266(02)00283-2}
#'
#' Hill, B. M. (1975). A simple general approach to inference about the tail of a distribution.
#' *Annals of Statistics* 3, 1163-1174. \doi{10.1214/aos/1176343247}
#' @seealso [dp_quantile()] for value at risk at several levels, [dp_tail_index()]
#' @examples
#' fit <- dp_shortfall(danish$Total, level = 0.9, epsilon = 2)
#' fit
#' summary(fit)
#' @export
dp_shortfall <- function(x, level = 0.95, epsilon, delta = 0, ..., tail = c("upper", "lower"),
                         bound = NULL, na.rm = FALSE, unit = NULL, budget = NULL,
                         control = dp_control()) {
  check_dots(..., known = COLUMNS_DOTS)
  tail <- check_choice(tail, "tail", c("upper", "lower"))
  control <- check_control(control, "dp_shortfall")
  if (!is_number(level) || level < 0.5 || level >= 1) {
    dp_abort(paste("`level` must be one number of at least 0.5 and below 1; call dp_shortfall()",
                   "for each level."))
  }
  epsilon <- check_epsilon(epsilon)
  delta <- check_delta(delta)
  na.rm <- check_flag(na.rm, "na.rm")
  read <- read_values(x, unit)
  schema <- read$schema
  if (schema$d != 1L) dp_abort("`x` must be one vector; call dp_shortfall() for each column.")
  bound <- check_bound(if (is.null(bound) && schema$logical) c(0, 1) else bound, schema)
  plan <- plan_shortfall(schema$n, level, epsilon, delta, !is.null(bound),
                         na.rm || may_be_empty(read$members), budget)
  plan$whole <- is.integer(x) || is.logical(x)
  values <- charged_values(read, plan$events, epsilon, delta, na.rm, budget, control,
                           "dp_shortfall")
  sign <- if (tail == "upper") 1 else -1
  if (!is.null(bound)) bound <- sort(sign * drop(bound))
  fit <- fit_shortfall(sign * values, plan, bound, control)
  if (!fit$found) warn_no_tail(NA, "x")
  if (fit$found && fit$flat) warn_limits_collapsed(matrix(0, 1L, 2L), TRUE, "x")
  warn_heavy_tail(fit$heavy, "x", "an expected shortfall", 1)
  new_dp_fit(
    "shortfall", c(VaR = sign * fit$quantile, ES = sign * fit$shortfall), schema$n,
    values_privacy(read, plan$events, epsilon, delta, control),
    level = level, tail = tail, limit = sign * fit$limit, noise_sd = fit$errors[, "privacy"],
    errors = fit$errors,
    bias = if (sign > 0) fit$bias else `colnames<-`(fit$bias[, 2:1], c("lower", "upper")),
    heavy = fit$heavy, found = fit$found
  )
}

# Shares of what the counts leave: of the quantile, whose error matters little to the shortfall.
SHORTFALL_QUANTILE <- 0.3
FAR_RANK <- 24 # a rank nearer to the end times epsilon0 than this is read off the fitted tail

# Pure throughout: a mean's plan with the sums shared with a quantile.
plan_shortfall <- function(n, level, epsilon, delta, bounded, na_rm, budget) {
  if (epsilon == Inf && is.null(budget)) {
    return(list(kind = "none", bounded = bounded, na_rm = na_rm, level = level, far = FALSE,
                events = list()))
  }
  total <- ledger_allowance(budget, epsilon, delta, "pure")$epsilon
  plan <- laplace_mean_plan(n, 1, total, bounded, na_rm)
  cost <- plan$cost
  left <- cost[["sums"]]
  if (!bounded) {
    cost[["tails"]] <- cost[["tails"]] + left / 4
    left <- left * 3 / 4
  }
  plan$level <- level
  plan$far <- !bounded && n * (1 - level) * left * SHORTFALL_QUANTILE < FAR_RANK
  plan$quantile <- if (plan$far) 0 else left * SHORTFALL_QUANTILE
  cost[["sums"]] <- left - plan$quantile
  plan$cost <- cost
  sum_law("laplace", n, 1, cost[["sums"]])
  # of a sum whose range is the limit less the quantile
  plan$rank <- 1.5 * sqrt(2) / cost[["sums"]]
  plan$events <- shortfall_events(plan)
  plan
}

shortfall_events <- function(plan) {
  events <- mean_events("laplace", plan$cost, plan$center, 1, plan$bounded, plan$na_rm)
  last <- length(events)
  sums <- plan$cost[["sums"]]
  c(
    events[-last],
    if (!plan$far) list(pure_event(plan$quantile, 1, 1, 2 / plan$quantile, "quantile")),
    list(laplace_event(sums, 1, 1, 1 / sums, "excesses, in ranges / n"))
  )
}
