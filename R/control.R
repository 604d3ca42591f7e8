#' Settings that do not come from the data
#'
#' Everything here is public: it must be chosen without looking at the data.
#'
#' @param calibration `"tight"`: exact accounting. `"paper"`: the published constants, for
#'   [dp_gaussian()], [dp_peel()], [dp_sco()] and the methods of [dp_mean()] that have them; the
#'   other estimators refuse it.
#' @param batches `"full"`: every step reads all rows and the steps are composed. `"split"`: each
#'   step reads a batch of its own, a random part of the rows that does not look at the data, so
#'   that the steps together cost what one of them costs. Fits that choose vertices or columns
#'   ([dp_lasso()], Frank-Wolfe, solver `"select"`) refuse it.
#' @param iterations Whole number: steps of the last, longest stage of a fit by
#'   gradient descent (of all stages with split batches, or with `calibration = "paper"`); `NULL`
#'   for the default of the fitter.
#' @param step Number above 0, at most 100: step size relative to that of a Newton step
#'   (above about 1.5 a fit may diverge); `NULL` for the default.
#' @param threads Whole number of threads for the passes over the rows, at most as many as there
#'   are processors. The answer does not depend on it, bit for bit. Where other programs
#'   keep the processors busy, two threads may take longer than one.
#' @param rng `"secure"`: a fresh key from the operating system for each release,
#'   [set.seed()] has no effect and R's generator is not touched. `"R"`: keys are drawn
#'   from R's generator, so that `set.seed()` makes a simulation repeatable; the fit is
#'   then stamped NOT FOR RELEASE, for whoever knows the seed knows the noise.
#' @param xi Number between 0 and 1: the chance with which the papers' bounds may fail, which sets
#'   the number of groups of [grad_mom()] and levels that come from a moment.
#' @param smoothness,strong_convexity,gradient_bound Positive numbers, the papers' constants in the
#'   caller's units, for `calibration = "paper"`: of the population risk, an upper and a lower bound
#'   of its second derivative, and the largest norm of its gradient on the ball.
#' @param progress `TRUE` reports the stages of a fit as messages, and of a long one the rounds and
#'   the time left. The texts depend on public numbers and the clock only; how long a fit takes may
#'   depend on the data, so the times are for the data holder. A fit can be interrupted at any
#'   moment; what it was charged stays charged.
#' @return A list of class `dp_control`.
#' @section Privacy:
#' Settings are public and cost nothing. The guarantee of a fit holds with `rng =
#' "secure"`; with `rng = "R"` it holds only against those who do not know the seed, and R's
#' generator can be predicted from its output.
#' @examples
#' dp_control(rng = "R")
#' @export
dp_control <- function(calibration = c("tight", "paper"), batches = c("full", "split"),
                       iterations = NULL,
                       step = NULL, threads = 1, rng = c("secure", "R"), progress = FALSE,
                       xi = 0.05, smoothness = NULL, strong_convexity = NULL,
                       gradient_bound = NULL) {
  structure(
    list(
      calibration = check_choice(calibration, "calibration", c("tight", "paper")),
      batches = check_choice(batches, "batches", c("full", "split")),
      iterations = if (!is.null(iterations)) check_count(iterations, "iterations"),
      step = if (!is.null(step)) check_number(step, "step", 0, 100, open = TRUE),
      threads = check_count(threads, "threads", upper = 1024),
      rng = check_choice(rng, "rng", c("secure", "R")),
      progress = check_flag(progress, "progress"),
      xi = check_number(xi, "xi", 1e-12, 0.5),
      smoothness = check_public(smoothness, "smoothness"),
      strong_convexity = check_public(strong_convexity, "strong_convexity"),
      gradient_bound = check_public(gradient_bound, "gradient_bound")
    ),
    class = "dp_control"
  )
}

check_public <- function(x, arg) if (!is.null(x)) check_number(x, arg, 1e-100, 1e100)

# `front`: one that has no published constants; `full`: one without split batches.
check_control <- function(control, front = NULL, full = front) {
  if (!inherits(control, "dp_control")) {
    dp_abort("`control` must be made by dp_control().")
  }
  if (!is.null(front) && control$calibration == "paper") {
    other <- if (front == "dp_mean") "another `method`" else "dp_sco()"
    dp_abort(sprintf(
      "`calibration` = \"paper\" is not available for %s() as it was called; use \"tight\", or %s.",
      front, other
    ))
  }
  if (!is.null(full) && control$batches == "split") {
    dp_abort(sprintf("`batches` = \"split\" is not available for %s(); use \"full\".", full))
  }
  control
}

#' @export
print.dp_control <- function(x, ...) {
  shown <- vapply(x, function(v) if (is.null(v)) "default" else format(v), "")
  cat("Settings of a private fit\n")
  cat(paste0("  ", format(names(shown)), "  ", shown, "\n"), sep = "")
  invisible(x)
}

# The key of one call into C: NULL lets C ask the operating system.
release_key <- function(control) {
  if (control$rng == "R") as.raw(floor(stats::runif(32L) * 256)) else NULL
}

report_stage <- function(control, text) {
  if (control$progress) message(text)
}

# A function of the step to come (from 1) that reports it with the time left, as far as the steps
# before it tell. Rounds are reported every other second, stages each. The times are those of the
# clock.
new_clock <- function(control, steps, every = 0) {
  start <- last <- proc.time()[["elapsed"]]
  function(step, text) {
    if (!control$progress) {
      return(invisible())
    }
    now <- proc.time()[["elapsed"]]
    if (step > 1 && now - last < every) {
      return(invisible())
    }
    last <<- now
    left <- if (step > 1) (now - start) / (step - 1) * (steps - step + 1) else 0
    message(text, if (left >= 2) sprintf(", about %s left", duration(left)))
  }
}

duration <- function(seconds) {
  if (seconds < 100) {
    sprintf("%.0f s", seconds)
  } else if (seconds < 6000) {
    sprintf("%.0f min", seconds / 60)
  } else {
    sprintf("%.1f h", seconds / 3600)
  }
}
