#' Plan a private fit before any data is read
#'
#' What a call of a fitter would spend, with which noise, and which error to expect if the data
#' look as assumed: from public numbers alone, by the same code that plans the fit.
#'
#' @details
#' The events and the noise are those of the fit, exactly. The expected error is a
#' calculation for the assumed laws: levels that the fit finds privately are put at their
#' expectation, and the noise of the steps is followed through. It agrees with simulations within a
#' factor of 1.5 from about `n_sensible` rows on (below, the private searches may fail and
#' nothing is promised) for [dp_mean()], [dp_quantile()], [dp_lm()] and [dp_glm()], and within
#' 2 or so for [dp_lasso()] and [dp_sparse()] where columns are chosen and fitted (squared loss;
#' independent columns) and for [dp_sco()] with the squared loss or the mean's,
#' `grad_clipped()` or `grad_winsorized()`. There is none (`NA`) for Frank-Wolfe, iterative hard
#' thresholding, sparse means, penalties, user losses, levels that are given or come
#' from a moment (but in [dp_mean()]), a given `scale` more than twice or less than half of what is
#' assumed, and published constants; [error_bound()] says what is proved
#' for the last two.
#'
#' *Which error?* Root mean squares: of one column's mean, of one quantile (over all `probs`), or of
#' the length of the error of all slopes together, each per standard deviation of its column (in
#' units of the response, or of the log-odds). The intercept is left out. That the
#' slopes of [dp_lm()] are pulled where errors and columns are both skewed counts as bias.
#'
#' `assume` is a list with any of
#' \describe{
#'   \item{tail}{the law of the values (mean, quantile) or of the errors of the regression:
#'     `"normal"`, `"t3"`, `"lognormal1"`, `"pareto2.5"` (or other numbers there), a number for the
#'     moment index (Student's t with so many degrees of freedom), or a quantile function of
#'     probabilities (the plan keeps a table of it). Default `"t3"`. It is shifted to mean zero.}
#'   \item{sigma}{positive number: values or errors are sigma times a draw of that law. Default 1.}
#'   \item{signal}{number: the mean of a column; for regressions the length of the slopes, per
#'     standard deviation of the columns. Default 1.}
#'   \item{columns}{the law of the columns of x, independent, shifted and scaled to mean 0 and
#'     standard deviation 1. Default `"t3"`.}
#'   \item{sparsity}{for `"lasso"` and `"sparse"`: how many slopes are not zero, all of the same
#'     size. Default 5.}
#' }
#'
#' @param front `"mean"`, `"quantile"`, `"lm"`, `"glm"`, `"lasso"`, `"sparse"` or `"sco"`: the
#'   fitter, with or without its `dp_`.
#' @param n,d Whole numbers: rows, and columns of x (for a formula: columns of its design
#'   without the intercept).
#' @param epsilon Positive number.
#' @param delta Number; as for the fitter.
#' @param ... Arguments of the fitter that are public, by name: `bound`, `moment`, `method`,
#'   `probs`, `intercept`, `loss`, `gradient`, `constraint`, `radius`, `scale`, `budget`,
#'   `control`, ... Some stand for what a fit sees in the schema: `by =` the number of
#'   levels of [dp_mean_by], for groups of one size and one law; `indicators =` how many of the d
#'   columns are logical or belong to factors, `sparse = TRUE` for a `dgCMatrix`, and `unit = TRUE`
#'   says that n counts units ([dp_units]; the expected error is that of units of one row). A ledger
#'   is read, not charged; a plan that it would not admit is an error.
#' @param assume A list, see Details.
#' @param target Positive number or `NULL`: the expected error that is wanted. For `"lm"` also what
#'   is estimated, as in [dp_lm()]: `"robust"`, `"mean"`, or both in one, `c(robust = 0.05)`.
#'
#' @return An object of class `dp_plan`, a list with
#' \describe{
#'   \item{privacy}{what would be spent, see [privacy()]; `events` is its table.}
#'   \item{spent}{epsilon that the accountant proves for these events, at the plan's delta.}
#'   \item{noise}{data frame, one row per event: `sd`, the standard deviation of the noise in the
#'     unit that `what` names, and `expected`, the same in records (counts) or in units of the
#'     standardised problem, where the assumptions give it.}
#'   \item{error}{expected root mean square error: `total`, and its parts from `sampling`, `privacy`
#'     (noise) and `bias` (of clipping, or what is left of the start).}
#'   \item{worse}{chance that the fit is further from the truth than zeros are.}
#'   \item{n_sensible, sensible}{rows from which on the private searches are expected to work, and
#'     whether n reaches them.}
#'   \item{target, n_needed, epsilon_needed}{the smallest sensible n, to three digits, with at most
#'     the target error at this epsilon; the smallest such epsilon at this n. They are found by
#'     halving; where the expected error does not quite fall all along, a smaller one may do, too.
#'     `NA`: none found, or no target.}
#' }
#' `plot()` draws the expected error against n and returns the curve invisibly.
#'
#' @section Privacy:
#' Reads no data and spends nothing. Assumptions must not come from the data.
#' @seealso [error_bound()] for what is proved, [privacy()]
#' @examples
#' p <- dp_plan("mean", n = 2000, d = 1, epsilon = 1, assume = list(tail = "t2.5"))
#' p
#' dp_plan("lm", n = 10000, d = 5, epsilon = 1, delta = 1e-6, target = 0.05)
#' @order 1
#' @export
dp_plan <- function(front, n, d, epsilon, delta, ..., assume = list(), target = NULL) {
  if (missing(front)) dp_abort("`front` is missing: the fitter to plan for, e.g. \"mean\".")
  if (is.character(front)) front <- sub("^dp_", "", front)
  front <- check_choice(front, "front", names(planned_fronts()))
  n <- check_count(n, "n", upper = 2^50)
  if (missing(d) && front == "quantile") d <- 1
  d <- check_count(d, "d", upper = 1e7)
  epsilon <- check_epsilon(epsilon, allow_inf = FALSE)
  wanted <- planned_target(target, front)
  target <- wanted$error
  assume <- check_assumptions(assume)
  arguments <- c(list(d = d), if (!missing(delta)) list(delta = delta),
                 if (!is.null(wanted$target)) wanted["target"], list(...))
  make <- planner(front, arguments)
  planned <- make(n, epsilon)
  laws <- assumed_laws(assume, front, d)
  expected <- planned$expect(laws)
  delta <- if (missing(delta)) 0 else as.numeric(delta)
  need <- needed(make, laws, n, epsilon, target, is.na(expected$error[["total"]]))
  privacy <- new_privacy(epsilon, delta, planned$events, rng = planned$control$rng,
                         calibration = planned$control$calibration,
                         unit = if (isTRUE(arguments$unit)) "unit" else "row")
  structure(c(list(
    front = front, n = n, d = d, epsilon = epsilon, delta = delta, privacy = privacy,
    events = as.data.frame(privacy), spent = spent_by(privacy$events, delta),
    noise = planned_noise(privacy$events, expected$units), error = expected$error,
    worse = expected$worse, n_sensible = planned$n_sensible, sensible = planned$n_sensible <= n,
    assume = assume, target = target
  ), need, list(arguments = kept_plan_arguments(arguments))), class = "dp_plan")
}

# `target` means two things: the error that is wanted, and what dp_lm() estimates.
planned_target <- function(target, front) {
  estimated <- if (is.character(target)) target else names(target)
  error <- if (!is.null(target) && !is.character(target)) {
    check_number(unname(target), "target", 0, open = TRUE)
  }
  if (!is.null(estimated) && front != "lm") {
    dp_abort("`target` must be a number, the error that is wanted; a name in it is for \"lm\".")
  }
  list(error = error, target = estimated)
}

# A plan as a function of n and epsilon.
planner <- function(front, arguments) {
  plan <- planned_fronts()[[front]]
  function(n, epsilon) {
    planned <- do.call(plan, c(list(n = n, epsilon = epsilon), arguments), quote = TRUE)
    if (!is.null(arguments$budget)) {
      call <- call_record(planned$events, epsilon, arguments$delta %||% 0, front)
      state <- ledger_state(arguments$budget)
      # of rows or of units: a plan counts either
      if (!ledger_admits(state, call$total)) check_admitted(state, call)
    }
    planned
  }
}

# For plot(). The code of a loss could hold data; such plans have no expected error to draw.
kept_plan_arguments <- function(arguments) {
  arguments$family <- NULL
  if (holds_function(arguments)) NULL else arguments
}

holds_function <- function(v) {
  is.function(v) || is.list(v) && any(vapply(v, holds_function, NA))
}

# What the accountant proves, without the declared epsilon.
spent_by <- function(events, delta) {
  total_epsilon(compose_events(events, ordered = TRUE), delta)
}

ASSUMED <- list(tail = "t3", sigma = 1, signal = 1, columns = "t3", sparsity = 5)

check_assumptions <- function(assume) {
  if (!is.list(assume) || !is_list_of(assume, names(ASSUMED))) {
    dp_abort(paste0("`assume` must be a list with elements among ",
                    paste0("`", names(ASSUMED), "`", collapse = ", "), "."))
  }
  assume <- utils::modifyList(ASSUMED, assume)
  for (law in c("tail", "columns")) {
    arg <- paste0("assume$", law)
    assumed_law(assume[[law]], arg)
    # a table in its place: the place where a function was made could hold data
    if (is.function(assume[[law]])) assume[[law]] <- quantile_law(assume[[law]], arg)
  }
  check_number(assume$sigma, "assume$sigma", 0, 1e100, open = TRUE)
  check_number(assume$signal, "assume$signal", -1e100, 1e100)
  check_count(assume$sparsity, "assume$sparsity")
  assume
}

# Laws as tables, made once for all sizes that are tried.
assumed_laws <- function(assume, front, d) {
  out <- list(law = assumed_law(assume$tail, "assume$tail"), sigma = assume$sigma,
              signal = assume$signal, sparsity = min(assume$sparsity, d))
  if (!front %in% c("mean", "quantile")) {
    out$columns <- assumed_law(assume$columns, "assume$columns")
    out$rows <- lattice_rows(out$columns, d)
    out$signal <- abs(out$signal)
  }
  out
}

# Standard deviations, in the events' own units and in those of the standardised problem.
planned_noise <- function(events, units) {
  out <- events_table(events)[c("what", "mechanism", "count")]
  scale <- vapply(events, `[[`, 0, "scale")
  factor <- c(gaussian = 1, laplace = sqrt(2))[out$mechanism]
  out$sd <- unname(scale * factor)
  records <- grepl("counts$|^response: ", out$what)
  out$expected <- out$sd * ifelse(records, 1, unname(units[out$what]))
  out
}

# ---- what is needed for a target -------------------------------------------------

# Does a plan miss the target? Refusals and plans that are not sensible do.
misses <- function(make, laws, target) {
  function(n, epsilon) {
    planned <- tryCatch(make(n, epsilon), dp_error = function(e) NULL)
    if (is.null(planned) || planned$n_sensible > n) {
      return(TRUE)
    }
    total <- planned$expect(laws)$error[["total"]]
    is.na(total) || total > target
  }
}

needed <- function(make, laws, n, epsilon, target, unknown) {
  if (is.null(target) || unknown) {
    return(list(n_needed = NA_real_, epsilon_needed = NA_real_))
  }
  miss <- misses(make, laws, target)
  rows <- smallest(function(v) miss(round(v), epsilon), n, 10, 1e12)
  cost <- smallest(function(v) miss(n, v), epsilon, 1e-4, 100)
  list(n_needed = if (is.na(rows)) NA_real_ else ceiling_3(rows), epsilon_needed = cost)
}

# To three digits, from above.
ceiling_3 <- function(x) {
  unit <- max(1, 10^(floor(log10(x)) - 2))
  ceiling(x / unit * (1 - 1e-9)) * unit
}

# The smallest v in [least, most] for which `miss` is FALSE, within half a percent, from above.
smallest <- function(miss, from, least, most) {
  low <- high <- min(max(from, least), most)
  if (miss(high)) {
    while (miss(high)) {
      if (high >= most) {
        return(NA_real_)
      }
      low <- high
      high <- min(4 * high, most)
    }
  } else {
    while (low > least && !miss(low)) {
      high <- low
      low <- max(low / 4, least)
    }
    if (!miss(low)) {
      return(low)
    }
  }
  while (high / low > 1.003) {
    middle <- sqrt(low * high)
    if (miss(middle)) low <- middle else high <- middle
  }
  high
}
