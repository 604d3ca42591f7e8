#' Private variances and standard deviations of heavy-tailed data
#'
#' The variance of each column, with nothing known: no bound on the data, location, unit or tails.
#'
#' Centre and limits are found as in [dp_mean()], and a private mean. The squared distances from
#' it are then averaged, each counting no more than the square of a level. The level grows with n:
#' the point beyond which so few records are expected, by the tail fitted to noisy counts, that
#' what they would add equals the noise. A known part, the variance of the private mean's
#' noise, is taken off.
#'
#' What values beyond the level would add is shown as a bias, and added to the upper end of
#' the interval: `Inf`, where the tail is such that a variance may not exist. If the fitted index
#' of the tail (see [dp_tail_index()]) may be at most 2, a warning of class `dp_heavy_tail`
#' says so; what is returned is then the variance of the winsorised values.
#'
#' Intervals are by the normal law. They hold where fourth moments exist (an index above 4) and n is
#' not small; for heavier tails those of a variance are skewed, and the lower end is the weaker
#' one.
#'
#' @inheritParams dp_mean
#' @param x Numeric (or integer, logical) vector, matrix or data frame: n rows, d columns.
#' @param epsilon Positive number. `Inf` gives [stats::var()] of each column by the same code
#'   (not private).
#' @param na.rm `FALSE`: a missing value is refused (for the data holder's eyes only: do not
#'   publish the refusal). `TRUE`: missing values add nothing and sums are divided by a private
#'   count, which takes a twentieth of the budget.
#' @return An object of class `dp_var`, a list with
#' \describe{
#'   \item{coefficients}{the variances, in squared units of x; `sqrt(coef(fit))` are the standard
#'     deviations, which [print()] and [summary()] show, too.}
#'   \item{mean}{the private means that distances were taken from.}
#'   \item{limits, level}{matrix with columns lower and upper: winsorising limits of the mean; the
#'     distance beyond which a square counts as its square.}
#'   \item{noise_sd, errors, bias}{standard deviation of the noise; the sampling and the privacy
#'     part of the standard error, and what values beyond the level may add: see [dp_intervals].}
#'   \item{heavy}{where a warning says that a variance may not exist.}
#'   \item{found, n, privacy}{whether limits could be told from noise (if not, `NA` with a warning
#'     of class `dp_dominated`); public number of rows; see [privacy()].}
#' }
#' @section Privacy:
#' Neighbours differ in one row; n and the number of columns are public. *Median, counts, mean:* as
#' in [dp_mean()]. *Squares:* each lies between 0 and the square of the level, all of them released
#' before; it is clamped to integers that span the same range, so that a row changes each sum by at
#' most the squared level, d in l1 and sqrt(d) in l2 in these units. Sums are exact integer
#' sums with exact discrete Laplace or Gaussian noise, and costs add up as in [dp_mean()]: the mean
#' takes a sixth of what the limits leave, and the counts another sixth of it more than there.
#' @references
#' Hill, B. M. (1975). A simple general approach to inference about the tail of a distribution.
#' *Annals of Statistics* 3, 1163-1174. \doi{10.1214/aos/1176343247}
#'
#' Karwa, V. and Vadhan, S. (2018). Finite sample differentially private confidence intervals.
#' *ITCS*. \doi{10.4230/LIPIcs.ITCS.2018.44} (counts in cells of the log scale, for an unknown
#' scale)
#'
#' Bhatia, R. and Davis, C. (2000). A better bound on the variance. *The American Mathematical
#' Monthly* 107, 353-357. \doi{10.1080/00029890.2000.12005203} (intervals within a bound)
#' @seealso [dp_mean()], [dp_tail_index()]
#' @examples
#' x <- rt(5000, 5)
#' fit <- dp_var(x, epsilon = 1)
#' fit
#' confint(fit)
#' dp_var(x, epsilon = 1, bound = c(-10, 10))
#' @export
dp_var <- function(x, epsilon, delta = 0, bound = NULL, ..., na.rm = FALSE, unit = NULL,
                   budget = NULL, control = dp_control()) {
  check_dots(..., known = COLUMNS_DOTS)
  control <- check_control(control, "dp_var")
  epsilon <- check_epsilon(epsilon)
  delta <- check_delta(delta)
  na.rm <- check_flag(na.rm, "na.rm")
  read <- read_values(x, unit)
  schema <- read$schema
  bound <- check_bound(if (is.null(bound) && schema$logical) c(0, 1) else bound, schema)
  plan <- plan_var(schema$n, schema$d, epsilon, delta, !is.null(bound),
                   na.rm || may_be_empty(read$members), budget)
  values <- charged_values(read, plan$events, epsilon, delta, na.rm, budget, control, "dp_var")
  fit <- fit_var(values, plan, bound, control)
  names <- if (identical(schema$names, "mean")) "variance" else schema$names
  fit <- name_variances(fit, names)
  warn_limits_not_found(fit$found, names)
  warn_limits_collapsed(fit$limits, fit$found, names)
  warn_heavy_tail(fit$heavy, sub("^variance$", "x", names), "a variance", 2)
  new_dp_fit(
    "var", fit$coefficients, schema$n,
    values_privacy(read, plan$events, epsilon, delta, control),
    mean = fit$mean, limits = fit$limits, level = fit$level, noise_sd = fit$noise_sd,
    errors = fit$errors, bias = fit$bias, heavy = fit$heavy, found = fit$found, noise = plan$kind
  )
}

# A released fact: a function of noisy counts.
warn_heavy_tail <- function(heavy, names, what, index) {
  if (any(heavy)) {
    dp_warn(sprintf(paste(
      "the tail of %s is so heavy that %s may not exist (index near or below %d): what is",
      "returned is for values winsorised at the level that was found. See dp_tail_index()."
    ), listed(names[heavy]), what, index), "dp_heavy_tail")
  }
}

# The mean's share of what a mean would spend on its sums.
VAR_MEAN_SHARE <- 1 / 6

# A plan of means whose sums are shared with those of squares.
plan_var <- function(n, d, epsilon, delta, bounded, na_rm, budget) {
  plan <- plan_mean(n, d, epsilon, delta, bounded, na_rm, budget)
  if (plan$kind == "none") {
    return(plan)
  }
  share_sums(plan, n, VAR_MEAN_SHARE, change_of(plan$kind, d),
             "squared distances, in squared levels / n")
}

# More goes into the counts than for a mean: levels and intervals need more of the tail.
TAILS_SHARE <- 1 / 6

# `share` of a mean's sums, the rest to a second release of sums, event `what`, of which a row
# changes `sensitivity`; `noise` and `rank` as in new_mean_plan(), of the second.
share_sums <- function(plan, n, share, sensitivity, what) {
  root <- if (plan$kind == "laplace") identity else sqrt
  make <- if (plan$kind == "laplace") laplace_event else gaussian_event
  all <- plan$cost[["sums"]]
  if (!plan$bounded) {
    plan$cost[["tails"]] <- add_costs(plan$kind, c(plan$cost[["tails"]], all * root(TAILS_SHARE)))
    all <- all * root(1 - TAILS_SHARE)
  }
  plan$cost[["sums"]] <- all * root(share)
  second <- all * root(1 - share)
  for (cost in c(plan$cost[["sums"]], second)) sum_law(plan$kind, n, plan$d, cost)
  plan$second <- list(
    cost = second, rank = 1.5 * sensitivity / second * if (plan$kind == "laplace") sqrt(2) else 1
  )
  plan$events <- c(
    mean_events(plan$kind, plan$cost, plan$center, plan$d, plan$bounded, plan$na_rm),
    list(make(second, 1, sensitivity, sensitivity / second, what))
  )
  plan
}
