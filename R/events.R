# Privacy events: what a mechanism costs, and nothing about the data. A record
# is frozen once made. `cost` is per release and in the mechanism's own unit:
#   gaussian      mu = l2 sensitivity / standard deviation
#   exponential   epsilon0 of a bounded-range selection: the log-odds of any two
#                 outcomes move by at most epsilon0 between neighbours. Noisy max
#                 with Laplace noise and permute-and-flip are NOT bounded range
#                 at that epsilon0: book them as "pure".
#   laplace, pure epsilon0
# `slack` is an additive amount of epsilon for the whole list the event is in
# (DISCRETE_SLACK for the package's own noise, which is discrete).
EVENT_MECHANISMS <- c("gaussian", "exponential", "pure", "laplace")

new_event <- function(mechanism, cost, count = 1, sensitivity = NA_real_, scale = NA_real_,
                      what = "", slack = 0) {
  if (!is.character(mechanism) || length(mechanism) != 1L || !mechanism %in% EVENT_MECHANISMS) {
    dp_abort("unknown mechanism: an event this package cannot account for is refused.",
             "dp_error_event")
  }
  cost <- check_number(cost, "cost", 0)
  count <- check_count(count, "count", 0)
  structure(
    list(mechanism = mechanism, cost = cost, count = count, sensitivity = as.numeric(sensitivity),
         scale = as.numeric(scale), what = as.character(what), slack = slack),
    class = "dp_event"
  )
}

gaussian_event <- function(mu, count = 1, sensitivity = NA_real_, scale = NA_real_, what = "") {
  new_event("gaussian", mu, count, sensitivity, scale, what, slack = DISCRETE_SLACK)
}

laplace_event <- function(epsilon0, count = 1, sensitivity = NA_real_, scale = NA_real_,
                          what = "") {
  new_event("laplace", epsilon0, count, sensitivity, scale, what, slack = DISCRETE_SLACK)
}

exponential_event <- function(epsilon0, count = 1, sensitivity = NA_real_, scale = NA_real_,
                              what = "") {
  new_event("exponential", epsilon0, count, sensitivity, scale, what)
}

pure_event <- function(epsilon0, count = 1, sensitivity = NA_real_, scale = NA_real_, what = "") {
  new_event("pure", epsilon0, count, sensitivity, scale, what)
}

frozen_event <- function(x, ..., value) {
  dp_abort("a privacy event cannot be changed; make a new one.", "dp_error_event")
}

#' @export
`$<-.dp_event` <- function(x, name, value) frozen_event(x)

#' @export
`[[<-.dp_event` <- function(x, ..., value) frozen_event(x)

#' @export
`[<-.dp_event` <- function(x, ..., value) frozen_event(x)

#' @export
format.dp_event <- function(x, ...) {
  unit <- if (x$mechanism == "gaussian") "mu" else "epsilon0"
  label <- if (nzchar(x$what)) paste0(x$what, ": ") else ""
  sprintf("%s%s, %s = %s, count = %s", label, x$mechanism, unit, format_number(x$cost),
          format_number(x$count))
}

#' @export
print.dp_event <- function(x, ...) {
  cat("<dp_event> ", format(x), "\n", sep = "")
  invisible(x)
}

# A list of events from one event or a list of them; anything else is refused,
# so that nothing unaccounted for can enter a total.
as_events <- function(events) {
  if (inherits(events, "dp_event")) {
    events <- list(events)
  }
  ok <- is.list(events) && all(vapply(events, inherits, NA, what = "dp_event"))
  if (!ok) {
    dp_abort("unknown event: only privacy events of this package can be accounted for.",
             "dp_error_event")
  }
  unname(events)
}

events_table <- function(events) {
  column <- function(name, type) vapply(events, function(e) e[[name]], type)
  data.frame(
    what = column("what", ""), mechanism = column("mechanism", ""), count = column("count", 0),
    sensitivity = column("sensitivity", 0), scale = column("scale", 0), cost = column("cost", 0),
    stringsAsFactors = FALSE
  )
}

#' Privacy events without a fit
#'
#' The accountant on its own: each function returns a `dp_privacy` object that
#' holds one event, to be combined with [privacy_compose()] and read with
#' [epsilon_at()] and [delta_at()]. Nothing is released.
#'
#' @section Privacy:
#' Sensitivities are for neighbouring data sets that differ in one row (replace
#' one). `event_gaussian()` is a Gaussian release with mu = sensitivity / scale;
#' `event_laplace()` has epsilon0 = sensitivity / scale; `event_exponential()` is
#' a selection by the exponential mechanism: the log-odds of any two outcomes
#' move by at most `epsilon0` between neighbours (bounded range), for instance
#' probabilities proportional to exp(epsilon0 q / (2 D)) for scores q that move by
#' at most D. Report-noisy-max with Laplace or exponential noise is not of this
#' kind: use `event_pure()`, which covers any epsilon0-differentially private
#' step.
#'
#' @param sensitivity A positive number: l2 sensitivity for the Gaussian, l1 for
#'   the Laplace mechanism, in the units of the release.
#' @param scale A positive number in the same units: the standard deviation of
#'   the Gaussian noise, or the scale of the Laplace noise.
#' @param epsilon0 A positive number: the cost of one release.
#' @param count A whole number: how many such releases.
#' @param what A name for the table of events.
#' @return A `dp_privacy` object (see [privacy()]). A Gaussian event has no
#'   single (epsilon, delta), so these two entries are missing; ask [epsilon_at()].
#' @references
#' Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy.
#' *JRSS B* 84, 3-37. \doi{10.1111/rssb.12454}
#'
#' Cesar, M. and Rogers, R. (2021). Bounding, concentrating, and truncating:
#' unifying privacy loss composition for data analytics. *ALT*.
#' \doi{10.48550/arXiv.2004.07223}
#' @examples
#' p <- c(event_gaussian(1, 40, count = 100), event_exponential(0.05, count = 20))
#' epsilon_at(p, delta = 1e-6)
#' @name events
NULL

#' @rdname events
#' @export
event_gaussian <- function(sensitivity, scale, count = 1, what = "") {
  sensitivity <- check_number(sensitivity, "sensitivity", 0, open = TRUE)
  scale <- check_number(scale, "scale", 0, open = TRUE)
  count <- check_count(count, "count")
  event <- new_event("gaussian", sensitivity / scale, count, sensitivity, scale, check_what(what))
  new_privacy(NA_real_, NA_real_, event)
}

#' @rdname events
#' @export
event_laplace <- function(sensitivity, scale, count = 1, what = "") {
  sensitivity <- check_number(sensitivity, "sensitivity", 0, open = TRUE)
  scale <- check_number(scale, "scale", 0, open = TRUE)
  count <- check_count(count, "count")
  event <- new_event("laplace", sensitivity / scale, count, sensitivity, scale, check_what(what))
  new_privacy(count * sensitivity / scale, 0, event)
}

#' @rdname events
#' @export
event_exponential <- function(epsilon0, count = 1, what = "") {
  epsilon0 <- check_number(epsilon0, "epsilon0", 0, open = TRUE)
  count <- check_count(count, "count")
  new_privacy(count * epsilon0, 0, exponential_event(epsilon0, count, what = check_what(what)))
}

#' @rdname events
#' @export
event_pure <- function(epsilon0, count = 1, what = "") {
  epsilon0 <- check_number(epsilon0, "epsilon0", 0, open = TRUE)
  count <- check_count(count, "count")
  new_privacy(count * epsilon0, 0, pure_event(epsilon0, count, what = check_what(what)))
}

check_what <- function(what) {
  if (!is.character(what) || length(what) != 1L || is.na(what)) {
    dp_abort("`what` must be one text.")
  }
  what
}
