#' The whole privacy guarantee as a curve
#'
#' The privacy profile of a release: the smallest delta that is proved at each epsilon. One
#' (epsilon, delta) is a point of it; two guarantees can be compared only by their curves.
#'
#' @section Privacy:
#' A function of public numbers, with the bounds of [delta_at()]; it costs nothing.
#'
#' @param p A `dp_privacy` object, or a fit.
#' @param epsilon Numbers, at least 0, or `NULL` for 60 values from 0 to where delta falls below
#'   1e-12.
#' @param group A whole number: rows of one person.
#' @param x A profile, or a `dp_privacy` object, of which the profile is drawn.
#' @param digits Significant digits to print.
#' @param ... Further arguments of [plot()].
#' @return A data frame of class `dp_profile` with columns `epsilon` and `delta`, and the
#'   guarantee as attribute `"privacy"`. `plot()` draws delta on the log scale, with the declared
#'   (epsilon, delta) as a point, and returns `x` invisibly.
#' @references
#' Balle, B., Barthe, G. and Gaboardi, M. (2018). Privacy amplification by subsampling: tight
#' analyses via couplings and divergences. *NeurIPS*. \doi{10.48550/arXiv.1807.01647}
#' @examples
#' p <- event_gaussian(sensitivity = 1, scale = 4)
#' privacy_profile(p)
#' plot(privacy_profile(p))
#' @export
privacy_profile <- function(p, epsilon = NULL, group = 1) {
  p <- privacy(p)
  group <- check_count(group, "group")
  if (identical(p$epsilon, Inf)) {
    dp_abort("this release has no noise (epsilon = Inf): nothing is guaranteed at any epsilon.")
  }
  if (is.null(epsilon)) {
    top <- epsilon_at(p, 1e-12, group)
    epsilon <- seq(0, if (top > 0) top else 1, length.out = 60L)
  }
  epsilon <- sort(check_numbers(epsilon, "epsilon", 0, open = FALSE))
  structure(
    data.frame(epsilon = epsilon, delta = delta_at(p, epsilon, group)),
    privacy = p, group = group, class = c("dp_profile", "data.frame")
  )
}

#' @rdname privacy_profile
#' @export
print.dp_profile <- function(x, digits = 4L, ...) {
  group <- attr(x, "group")
  cat("Privacy profile", if (group > 1) sprintf("for %.0f rows of one person", group),
      "(smallest delta proved at each epsilon)\n")
  cat(format(attr(x, "privacy")), "\n\n", sep = "")
  shown <- if (nrow(x) > 12L) x[unique(round(seq(1, nrow(x), length.out = 12L))), ] else x
  print(data.frame(epsilon = signif(shown$epsilon, digits), delta = signif(shown$delta, digits)),
        row.names = FALSE)
  invisible(x)
}

#' @rdname privacy_profile
#' @export
plot.dp_profile <- function(x, ...) {
  p <- attr(x, "privacy")
  shown <- x$delta > 0
  defaults <- list(
    x = x$epsilon[shown], y = x$delta[shown], type = "l", log = "y", xlab = "epsilon",
    ylab = "delta", main = stamped("Privacy profile", p)
  )
  given <- list(...)
  do.call(graphics::plot, c(given, defaults[setdiff(names(defaults), names(given))]))
  if (attr(x, "group") == 1 && isTRUE(p$delta > 0)) {
    graphics::points(p$epsilon, p$delta, pch = 19)
  }
  invisible(x)
}

#' @rdname privacy_profile
#' @export
plot.dp_privacy <- function(x, ...) {
  plot(privacy_profile(x), ...)
  invisible(x)
}
