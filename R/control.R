#' Settings that do not come from the data
#'
#' Everything here is public: it must be chosen without looking at the data.
#'
#' @param calibration `"tight"`: exact accounting. `"paper"`: the published constants, for the
#'   mechanisms that have them ([dp_gaussian()], [dp_peel()]); the estimators of this version
#'   refuse it.
#' @param batches `"full"`: every step reads all rows and the steps are composed.
#'   (`"split"` is not available in this version.)
#' @param iterations Whole number: steps of the last, longest stage of a fit by
#'   gradient descent; `NULL` for the default of the fitter.
#' @param step Number above 0, at most 100: step size relative to that of a Newton step
#'   (above about 1.5 a fit may diverge); `NULL` for the default.
#' @param threads Whole number of threads. The answer does not depend on it. (The
#'   kernels of this version run on one thread.)
#' @param rng `"secure"`: a fresh key from the operating system for each release,
#'   [set.seed()] has no effect and R's generator is not touched. `"R"`: keys are drawn
#'   from R's generator, so that `set.seed()` makes a simulation repeatable; the fit is
#'   then stamped NOT FOR RELEASE, for whoever knows the seed knows the noise.
#' @param progress `TRUE` reports the stages of a fit as messages. They depend on
#'   public numbers only.
#' @return A list of class `dp_control`.
#' @section Privacy:
#' Settings are public and cost nothing. The guarantee of a fit holds with `rng =
#' "secure"`; with `rng = "R"` it holds only against those who do not know the seed, and R's
#' generator can be predicted from its output.
#' @examples
#' dp_control(rng = "R")
#' @export
dp_control <- function(calibration = c("tight", "paper"), batches = "full", iterations = NULL,
                       step = NULL, threads = 1, rng = c("secure", "R"), progress = FALSE) {
  if (identical(batches, "split")) {
    dp_abort("`batches` = \"split\" is not available in this version; use \"full\".")
  }
  structure(
    list(
      calibration = check_choice(calibration, "calibration", c("tight", "paper")),
      batches = check_choice(batches, "batches", "full"),
      iterations = if (!is.null(iterations)) check_count(iterations, "iterations"),
      step = if (!is.null(step)) check_number(step, "step", 0, 100, open = TRUE),
      threads = check_count(threads, "threads", upper = 1024),
      rng = check_choice(rng, "rng", c("secure", "R")),
      progress = check_flag(progress, "progress")
    ),
    class = "dp_control"
  )
}

# `front`: one that has no published constants.
check_control <- function(control, front = NULL) {
  if (!inherits(control, "dp_control")) {
    dp_abort("`control` must be made by dp_control().")
  }
  if (!is.null(front) && control$calibration == "paper") {
    dp_abort(sprintf(
      "`calibration` = \"paper\" is not available for %s() in this version; use \"tight\".", front
    ))
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
