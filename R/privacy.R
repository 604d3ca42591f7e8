# The privacy guarantee of a release as an object: public numbers only.

# `epsilon`, `delta`: the guarantee declared for the whole list of events, or NA
# where none has been chosen. `unit` names what the neighbours differ in. `ordered`: the events
# happen in the order of the list, as those of one call do.
new_privacy <- function(epsilon, delta, events, rng = "secure", calibration = "tight",
                        unit = "row", ordered = TRUE) {
  events <- as_events(events)
  structure(
    list(
      epsilon = as.numeric(epsilon), delta = as.numeric(delta), events = events,
      neighbours = paste("replace one", unit), rng = rng, calibration = calibration,
      ordered = ordered
    ),
    class = "dp_privacy"
  )
}

# Public facts only: a delta of 1/n or more allows publishing a whole row.
warn_large_delta <- function(delta, n) {
  if (delta > 0 && n > 0 && delta >= 1 / n) {
    dp_warn(sprintf(
      "`delta` = %s is not below 1/n = %s: choose it well below, e.g. delta = %s.",
      format_number(delta), format_number(1 / n), format_number(signif(0.01 / n, 1))
    ), "dp_large_delta")
  }
  invisible(delta)
}

#' What a release cost
#'
#' The guarantee of a fit and the privacy events it is made of.
#'
#' @section Privacy:
#' The object holds public numbers only. The guarantee is (epsilon, delta)-differential
#' privacy for data sets of the same size that differ in one row: for every
#' set of possible releases its probability under the one data set is at most
#' e^epsilon times that under the other plus delta. It covers the listed events together.
#'
#' @param x A fit, or a `dp_privacy` object.
#' @param ... Not used.
#' @return A `dp_privacy` object, a list with
#' \describe{
#'   \item{epsilon, delta}{the guarantee; epsilon is `Inf` for a fit without
#'     noise, both are `NA` for a Gaussian event on its own.}
#'   \item{events}{a list of frozen records; [as.data.frame()] makes them a table
#'     with one row per event: `what` was released, `mechanism`, `count`,
#'     `sensitivity`, noise `scale`, and `cost` of one release (mu for a Gaussian,
#'     else epsilon0).}
#'   \item{neighbours}{the neighbour relation.}
#'   \item{rng}{`"secure"` (operating system) or `"R"` (repeatable, not for release).}
#'   \item{calibration}{`"tight"` or `"paper"`.}
#'   \item{ordered}{do the events happen in the order of the list?}
#' }
#' @seealso [epsilon_at()], [privacy_compose()], [privacy_budget()]
#' @examples
#' p <- event_laplace(sensitivity = 1, scale = 2)
#' privacy(p)
#' as.data.frame(p)
#' @export
privacy <- function(x, ...) UseMethod("privacy")

#' @export
privacy.dp_privacy <- function(x, ...) x

#' @export
privacy.dp_fit <- function(x, ...) x$privacy

#' @export
privacy.default <- function(x, ...) {
  dp_abort("a fit of this package or a dp_privacy object is needed.")
}

#' Read a guarantee at another delta or epsilon
#'
#' `epsilon_at()` is the smallest epsilon that is proved for the events of `p` at a given
#' delta; `delta_at()` the smallest delta at a given epsilon. `group = k` gives the
#' guarantee for a person who holds `k` rows.
#'
#' @section Privacy:
#' Only Gaussian events: the exact curve of Gaussian differential privacy with
#' mu^2 the sum over the events. `delta = 0`: the sum of the epsilons. Otherwise the smallest
#' of the bounds that are proved:
#' * zero-concentrated differential privacy (rho = mu^2/2 for a Gaussian, epsilon0^2/8 for a
#'   selection, epsilon0^2/2 for the rest), converted with the order optimised over the reals;
#' * every event expressed in mu;
#' * the epsilon of the Gaussian part plus the epsilons of the rest;
#' * the composed privacy loss, computed from above. Gaussian, Laplace and pure events are
#'   replaced by the pairs of laws that dominate them, whose losses add up; selections of bounded
#'   range enter by the recursion of Dong, Durfee and Rogers over the worst adaptive choices,
#'   with all other losses averaged last (in one call, whose order is known, those that follow the
#'   last selection come first). Errors of the grid and of the integral make the result larger,
#'   never smaller; for pure events alone it is the optimal composition.
#'
#' These hold for events whose number and costs
#' were fixed in advance; if they were chosen after seeing answers, use a
#' [privacy_budget()]. For k rows every cost (mu, epsilon0) is multiplied by k.
#'
#' @param p A `dp_privacy` object, or a fit.
#' @param delta,epsilon Numbers, 0 <= delta < 1 and epsilon >= 0.
#' @param group A whole number: rows of one person.
#' @return A numeric vector as long as `delta` or `epsilon`.
#' @references
#' Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy.
#' *JRSS B* 84, 3-37. \doi{10.1111/rssb.12454}
#'
#' Bun, M. and Steinke, T. (2016). Concentrated differential privacy. *TCC*.
#' \doi{10.48550/arXiv.1605.02065}
#'
#' Dong, J., Durfee, D. and Rogers, R. (2020). Optimal differential privacy composition for
#' exponential mechanisms. *ICML*. \doi{10.48550/arXiv.1909.13830}
#'
#' Kairouz, P., Oh, S. and Viswanath, P. (2017). The composition theorem for differential
#' privacy. *IEEE Transactions on Information Theory* 63. \doi{10.48550/arXiv.1311.0776}
#'
#' Zhu, Y., Dong, J. and Wang, Y.-X. (2022). Optimal accounting of differential privacy via
#' characteristic function. *AISTATS*. \doi{10.48550/arXiv.2106.08567}
#'
#' Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for
#' differential privacy. *NeurIPS*. \doi{10.48550/arXiv.2004.00010}
#' @examples
#' p <- event_gaussian(sensitivity = 1, scale = 10, count = 5)
#' epsilon_at(p, delta = c(1e-9, 1e-6))
#' epsilon_at(p, delta = 1e-6, group = 3)
#' delta_at(p, epsilon = 1)
#' @export
epsilon_at <- function(p, delta, group = 1) {
  p <- privacy(p)
  delta <- check_below_one(check_numbers(delta, "delta", 0, open = FALSE))
  group <- check_count(group, "group")
  if (identical(p$epsilon, Inf)) {
    return(rep_len(Inf, length(delta)))
  }
  total <- compose_events(group_events(p$events, group), p$ordered)
  epsilon <- vapply(delta, function(d) total_epsilon(total, d), 0)
  declared <- group == 1 && !is.na(p$epsilon)
  if (declared) ifelse(delta >= p$delta, pmin(epsilon, p$epsilon), epsilon) else epsilon
}

#' @rdname epsilon_at
#' @export
delta_at <- function(p, epsilon, group = 1) {
  p <- privacy(p)
  epsilon <- check_numbers(epsilon, "epsilon", 0, open = FALSE)
  group <- check_count(group, "group")
  if (identical(p$epsilon, Inf)) {
    return(rep_len(1, length(epsilon)))
  }
  total <- compose_events(group_events(p$events, group), p$ordered)
  delta <- vapply(epsilon, function(e) total_delta(total, e), 0)
  declared <- group == 1 && !is.na(p$epsilon)
  if (declared) ifelse(epsilon >= p$epsilon, pmin(delta, p$delta), delta) else delta
}

#' Compose releases whose list was fixed in advance
#'
#' The guarantee of several releases on the same data, taken together.
#' `c()` does the same.
#'
#' @section Privacy:
#' The composed guarantee holds if it was decided which releases to make, and
#' with which epsilon and delta, before any of them was seen. If the next epsilon depends
#' on the last answer it does not hold: pass a [privacy_budget()] to the calls instead.
#' The new delta is the sum of the deltas unless one is given; the new epsilon is the
#' smallest that [epsilon_at()] proves there, and never above the sum of the epsilons.
#'
#' @param ... `dp_privacy` objects or fits.
#' @param delta A number, or `NULL` for the sum of the deltas.
#' @param ordered `TRUE` if the releases are made in this order and no other, which can tighten the
#'   guarantee of selections by the exponential mechanism together with other releases.
#' @return A `dp_privacy` object with all the events. It counts as drawn with
#'   `rng = "R"` if one of them was.
#' @references
#' Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy.
#' *JRSS B* 84, 3-37. \doi{10.1111/rssb.12454}
#' @examples
#' privacy_compose(event_laplace(1, 10), event_gaussian(1, 20, count = 3), delta = 1e-6)
#' @export
privacy_compose <- function(..., delta = NULL, ordered = FALSE) {
  ordered <- check_flag(ordered, "ordered")
  parts <- compose_parts(list(...))
  text <- function(name) unique(vapply(parts, function(p) p[[name]], ""))
  if (length(text("neighbours")) > 1L) {
    dp_abort("guarantees for different neighbour relations cannot be composed.")
  }
  events <- do.call(c, lapply(parts, function(p) p$events))
  epsilon <- vapply(parts, function(p) p$epsilon, 0)
  deltas <- vapply(parts, function(p) p$delta, 0)
  delta <- if (is.null(delta)) sum(deltas) else check_delta(delta)
  if (!is.na(delta) && delta >= 1) {
    dp_abort("the deltas add up to 1 or more: nothing is guaranteed; give smaller ones.")
  }
  # a part that was composed in any order stays so, alone too
  several <- sum(vapply(parts, function(p) length(p$events) > 0L, NA)) > 1L
  ordered <- (ordered || !several) && all(vapply(parts, function(p) p$ordered, NA))
  total <- if (is.na(delta)) NA_real_ else composed_epsilon(events, epsilon, deltas, delta, ordered)
  calibration <- text("calibration")
  new_privacy(
    total, delta, events,
    rng = if ("R" %in% text("rng")) "R" else "secure",
    calibration = if (length(calibration) == 1L) calibration else "mixed",
    unit = sub("^replace one ", "", text("neighbours")), ordered = ordered
  )
}

compose_parts <- function(parts) {
  if (length(parts) == 0L) {
    dp_abort("privacy_compose() needs at least one dp_privacy object or fit.")
  }
  ok <- vapply(parts, inherits, NA, what = c("dp_privacy", "dp_fit"))
  if (!all(ok)) {
    name <- setdiff(names(parts)[!ok], c("", NA))
    if (length(name) > 0L) {
      dp_abort(sprintf("unknown argument of privacy_compose(): `%s`.", name[[1L]]))
    }
    dp_abort(paste(
      "privacy_compose() takes dp_privacy objects and fits, one by one; for a list of them use",
      "do.call(privacy_compose, list)."
    ))
  }
  lapply(unname(parts), privacy)
}

composed_epsilon <- function(events, epsilon, deltas, delta, ordered) {
  if (Inf %in% epsilon) {
    return(Inf)
  }
  total <- total_epsilon(compose_events(events, ordered), delta)
  basic <- if (!anyNA(epsilon) && sum(deltas) <= delta) sum(epsilon) else Inf
  if (min(total, basic) == Inf) {
    dp_abort("with Gaussian noise no epsilon holds at `delta` = 0; give a `delta`.")
  }
  min(total, basic)
}

#' @export
c.dp_privacy <- function(...) privacy_compose(...)

#' @export
c.dp_fit <- function(...) privacy_compose(...)

#' @export
as.data.frame.dp_privacy <- function(x, ...) {
  if (length(x$events) == 0L) {
    return(events_table(list(new_event("pure", 0)))[0L, ])
  }
  events_table(x$events)
}

format_number <- function(x) format(x, digits = 4L, trim = TRUE)

#' @export
format.dp_privacy <- function(x, ...) {
  if (identical(x$epsilon, Inf)) {
    return("NOT PRIVATE: epsilon = Inf, no noise was added")
  }
  if (is.na(x$epsilon)) {
    shown <- 1e-6
    return(sprintf(
      "(epsilon, delta) = (%s, %s) differential privacy; epsilon_at() gives other points",
      format_number(epsilon_at(x, shown)), format_number(shown)
    ))
  }
  sprintf(
    "(epsilon, delta) = (%s, %s) differential privacy%s", format_number(x$epsilon),
    format_number(x$delta), if (identical(x$rng, "R")) ", NOT FOR RELEASE" else ""
  )
}

#' @export
print.dp_privacy <- function(x, ...) {
  cat(sub(", NOT FOR RELEASE", "", format(x)), "\n", sep = "")
  unit <- sub("^replace one ", "", x$neighbours)
  size <- if (unit == "unit") "with as many units" else "of the same size"
  cat(sprintf("Neighbours: data sets %s that differ in one %s (protects one %s)\n", size, unit,
              unit))
  if (identical(x$rng, "R")) {
    cat("NOT FOR RELEASE: drawn from R's own generator (rng = \"R\"), for simulation only\n")
  } else if (!identical(x$epsilon, Inf)) {
    cat("Random source: the operating system\n")
  }
  cat("Calibration: ", x$calibration, "\n", sep = "")
  print_events(x)
  invisible(x)
}

EVENT_ROWS <- 30L

print_events <- function(x) {
  if (length(x$events) == 0L) {
    cat("No privacy events\n")
    return(invisible())
  }
  table <- as.data.frame(x)
  table$cost <- paste(ifelse(table$mechanism == "gaussian", "mu", "epsilon0"), "=",
                      vapply(table$cost, format_number, ""))
  for (name in c("count", "sensitivity", "scale")) {
    table[[name]] <- vapply(table[[name]], function(v) if (is.na(v)) "-" else format_number(v), "")
  }
  cat("Events:\n")
  print(utils::head(table, EVENT_ROWS), row.names = FALSE, right = FALSE)
  more <- nrow(table) - EVENT_ROWS
  if (more > 0L) cat(sprintf("... and %d more: as.data.frame() shows them all\n", more))
}

#' @export
summary.dp_privacy <- function(object, ...) {
  total <- compose_events(object$events, object$ordered)
  structure(
    list(privacy = object, mu = sqrt(total$gdp), rho = total$rho, epsilon = total$epsilon,
         only_gaussian = total$only_gaussian),
    class = "summary.dp_privacy"
  )
}

#' @export
print.summary.dp_privacy <- function(x, ...) {
  print(x$privacy)
  if (identical(x$privacy$epsilon, Inf)) {
    return(invisible(x))
  }
  exact <- if (x$only_gaussian) "exactly" else "at most"
  cat(sprintf(
    "Together: %s mu = %s (Gaussian), rho = %s (zero-concentrated), epsilon = %s (pure)\n",
    exact, format_number(x$mu), format_number(x$rho), format_number(x$epsilon)
  ))
  invisible(x)
}
