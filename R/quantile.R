#' Private quantiles
#'
#' Quantiles by the exponential mechanism over all finite doubles: no bound is needed. Ties and
#' values at any scale are handled; the answer is accurate to a rank error of
#' order 20 / epsilon0 per quantile, epsilon0 its own share of `epsilon`.
#'
#' Quantiles with fewer than some 60 / epsilon0 values beyond them cannot be drawn so. Where n
#' allows (about 600 / epsilon, at least), a part of the budget goes into one release of noisy
#' counts of distances from a private median, which serves all of them: they are read off the counts
#' and, far out, off a tail fitted to the counts near by (see [dp_tail_index()]). The same is done
#' with so many quantiles that each would have less than a twentieth of `epsilon`. Between cells
#' of the counts values are taken to lie evenly on the log scale, so that a quantile at
#' a value that many share is near it and not equal to it. At epsilon = 1 seven quantiles from 0.5
#' to 0.999 together err, in ranks, by less than 2 times the sampling error and 3 ranks (1e5
#' rows, and nearly so 1e4). With fewer rows, or a `bound` that reaches zero, a quantile that
#' near to an end may come out anywhere beyond the data, as far as 1e308: a warning of class
#' `dp_small_n` says so before anything is spent.
#'
#' @param x Numeric (or integer, logical) vector of length n.
#' @param probs Numbers between 0 and 1.
#' @param epsilon Positive number, for all of `probs` together. `Inf` gives a sample quantile
#'   (not private).
#' @param delta Number, 0 <= delta < 1. Above 0 the composition of many quantiles is
#'   tighter.
#' @param ... Not used; a misspelt argument is an error.
#' @param bound Public `c(lower, upper)`, or `NULL` for all finite doubles. A bound improves
#'   extreme quantiles, but not towards zero if it reaches zero: there are as many doubles between
#'   1e-300 and 1 as beyond 1, so give a lower bound above 0 where values are positive. For
#'   integer and logical `x` the answer is rounded to whole numbers; logical `x` lies between 0
#'   and 1.
#' @param na.rm `FALSE` refuses missing values (for the data holder's eyes only); `TRUE`
#'   leaves them out, and the rank is a share of the values that are there.
#' @param unit Whose rows are whose, see [dp_units]: what is looked at is then one row of each unit,
#'   drawn at random. A vector with one value per row.
#' @param budget A ledger made by [privacy_budget()], charged before values are read.
#' @param control Settings made by [dp_control()].
#' @return An object of class `dp_quantile`, a list with
#' \describe{
#'   \item{coefficients}{the quantiles, increasing in `probs` (they are sorted), to a relative
#'     precision of 2^-32; `NA`, with a warning of class `dp_dominated`, where counts were needed
#'     and nothing stands out of their noise.}
#'   \item{counted}{for each of `probs`, whether it was read off counts.}
#'   \item{probs, n, privacy}{as given; public number of rows; see [privacy()].}
#' }
#' @section Privacy:
#' Neighbours differ in one value; n is public. The utility of a value g is minus the
#' number of ranks by which the probability wanted misses the interval from the share below g to
#' the share up to g; it has sensitivity 1. One value is drawn exactly with probability
#' proportional to exp(c utility) on a grid that does not depend on the data: (2 c +
#' 2^-30)-differential privacy with bounded range. How long a draw takes depends on the data.
#' *Counts:* a row moves from one cell to another, 2 in l1; exact discrete Laplace noise. Reading
#' quantiles off them costs nothing more.
#' @references
#' Smith, A. (2011). Privacy-preserving statistical estimation with optimal convergence
#' rates. *STOC*. \doi{10.1145/1993636.1993743}
#'
#' Hill, B. M. (1975). A simple general approach to inference about the tail of a distribution.
#' *Annals of Statistics* 3, 1163-1174. \doi{10.1214/aos/1176343247}
#' @seealso [dp_shortfall()] for value at risk with expected shortfall
#' @examples
#' dp_quantile(danish$Total, c(0.25, 0.5, 0.75), epsilon = 1)
#' @export
dp_quantile <- function(x, probs, epsilon, delta = 0, ..., bound = NULL, na.rm = FALSE,
                        unit = NULL, budget = NULL, control = dp_control()) {
  check_dots(..., known = COLUMNS_DOTS)
  control <- check_control(control, "dp_quantile")
  epsilon <- check_epsilon(epsilon)
  delta <- check_delta(delta)
  na.rm <- check_flag(na.rm, "na.rm")
  probs <- check_probs(probs)
  read <- read_values(x, unit)
  schema <- read$schema
  if (schema$d != 1L) dp_abort("`x` must be one vector; call dp_quantile() for each column.")
  whole <- is.integer(x) || is.logical(x)
  bound <- check_bound(bound, schema) %||%
    matrix(if (is.logical(x)) c(0, 1) else c(-Inf, Inf), 1L)
  plan <- plan_quantiles(probs, schema$n, is.infinite(drop(bound)), epsilon, delta, budget)
  wide <- is.infinite(bound[[1L]]) || !whole && bound[[1L]] <= 0 && bound[[2L]] >= 0
  if (wide && !any(plan$far)) warn_extreme_quantiles(probs, plan$c, schema$n)
  values <- drop(charged_values(read, plan$events, epsilon, delta, na.rm, budget, control,
                                "dp_quantile"))
  found <- if (any(plan$far)) {
    joint_quantiles(values, probs, plan, na.rm || may_be_empty(read$members), control)
  } else {
    release_quantiles(values, probs, plan$c, bound[[1L]], bound[[2L]], release_key(control))
  }
  # between whole numbers a draw is even on the log scale: closer to zero than to them
  if (whole) found <- round(found)
  found <- in_order(found, probs)
  warn_no_tail(c(x = if (anyNA(found)) NA else 0), "x")
  names(found) <- paste0(format(100 * probs, trim = TRUE, digits = 7L), "%")
  new_dp_fit(
    "quantile", found, schema$n,
    values_privacy(read, plan$events, epsilon, delta, control),
    probs = probs, counted = plan$far
  )
}

# Increasing in probs: sorting brings none of them farther from its true value than the farthest
# was.
in_order <- function(found, probs) {
  at <- order(probs)
  at <- at[!is.na(found[at])]
  found[at] <- sort(found)
  found
}

# Public facts. The cells beyond the data weigh some 31 log units; against them stands
# c times the distance of the rank from that end.
warn_extreme_quantiles <- function(probs, c, n) {
  reach <- n * pmin(probs, 1 - probs) * 2 * min(c, 1e300)
  if (any(reach < FAR_DRAW)) {
    dp_warn(sprintf(paste(
      "n = %.0f is small for %s at this `epsilon`: the answer may lie anywhere beyond the data.",
      "Give `bound` (above zero, if all values are), or a larger `epsilon`."
    ), n, paste0("probs = ", format(probs[which.min(reach)]))), "dp_small_n")
  }
}

check_probs <- function(probs) {
  ok <- !missing(probs) && is.numeric(probs) && length(probs) > 0L && !anyNA(probs)
  if (!ok || any(probs < 0 | probs > 1)) {
    dp_abort("`probs` must be numbers between 0 and 1.")
  }
  as.numeric(probs)
}

# The larger epsilon0 per quantile of plain addition and, for delta > 0, of the accountant (with a
# ledger: of its way of counting).
plan_quantile <- function(m, epsilon, delta, budget) {
  if (epsilon == Inf && is.null(budget)) {
    return(list(c = Inf, events = list()))
  }
  sum <- tryCatch(
    ledger_allowance(budget, epsilon, delta, "pure")$epsilon / m, dp_error_budget = function(e) e
  )
  best <- if (is.numeric(sum)) sum else 0
  if (delta > 0 && (m > 1L || best == 0)) {
    best <- max(best, several_quantiles(m, epsilon, delta, budget))
  }
  if (best == 0) stop(sum)
  if (best <= 2 * QUANTILE_SLACK) {
    dp_abort("`epsilon` is too small for this many quantiles; give a larger one.")
  }
  list(
    c = (best - QUANTILE_SLACK) / 2,
    events = list(exponential_event(best, m, 1, 2 / best, "quantile"))
  )
}

several_quantiles <- function(m, epsilon, delta, budget) {
  rho <- ledger_allowance(budget, epsilon, delta, "mixed")$rho
  if (is.null(budget)) tight_exponential(epsilon, delta, m) else sqrt(8 * rho / m)
}

#' @rdname dp_fit_methods
#' @export
print.dp_quantile <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_values("Private quantiles", x, digits)
}

#' @rdname dp_fit_methods
#' @export
summary.dp_quantile <- function(object, ...) object

#' @rdname dp_fit_methods
#' @export
plot.dp_quantile <- function(x, ...) {
  own <- list(x = x$probs, y = x$coefficients, type = "b", pch = 19, xlab = "probability",
              ylab = "quantile", main = stamped("Private quantiles", x$privacy))
  draw_with(plot, own, ...)
  invisible(x)
}
