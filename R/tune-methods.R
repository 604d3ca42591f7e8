# Methods of dp_tune(): those of the chosen fit.

#' @rdname dp_tune
#' @export
print.dp_tune <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(sprintf("Private choice among %d fits, by the %s loss on %.0f of %.0f %s\n",
              length(x$labels), x$loss, x$holdout, x$n, tolower(records_title(x$privacy))))
  print_stamp(x$privacy)
  cat("\nChosen: ", x$labels[[x$chosen]], "\n", regression_title(x$fit), "\n", sep = "")
  cat(deparse(x$schema$formula, width.cutoff = 90L), sep = "\n")
  cat("\nCoefficients:\n")
  shown <- shown_coefficients(x)
  print(format(utils::head(shown, PLOT_ROWS), digits = digits), quote = FALSE)
  if (length(shown) > PLOT_ROWS) cat("... and", length(shown) - PLOT_ROWS, "more\n")
  invisible(x)
}

#' @rdname dp_tune
#' @export
summary.dp_tune <- function(object, ...) {
  structure(
    c(unclass(object)[c("labels", "chosen", "loss", "bound", "holdout", "n", "privacy", "parts")],
      list(fit = summary(object$fit))),
    class = "summary.dp_tune"
  )
}

#' @export
print.summary.dp_tune <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(sprintf("Private choice among %d fits, on %.0f of %.0f %s (public)\n", length(x$labels),
              x$holdout, x$n, tolower(records_title(x$privacy))))
  cat(paste0(ifelse(seq_along(x$labels) == x$chosen, "* ", "  "), x$labels), sep = "\n")
  cat(sprintf("Loss: %s, a row's excess clipped at %s\n", x$loss, format(x$bound, digits = 3)))
  if (x$privacy$epsilon < Inf) {
    cat(sprintf("%s of the fits: epsilon = %s; held out: epsilon = %s (at delta = %s)\n",
                records_title(x$privacy), format_number(x$parts$fits$epsilon),
                format_number(x$parts$choice$epsilon), format_number(x$privacy$delta)))
  }
  cat("\nThe chosen fit:\n")
  print(x$fit, digits = digits)
  invisible(x)
}

#' @rdname dp_tune
#' @export
coef.dp_tune <- function(object, ...) stats::coef(object$fit, ...)

#' @rdname dp_tune
#' @export
predict.dp_tune <- function(object, newdata, ...) {
  if (missing(newdata)) newdata <- NULL
  stats::predict(object$fit, newdata, ...)
}

#' @rdname dp_tune
#' @export
vcov.dp_tune <- function(object, ...) stats::vcov(object$fit, ...)

#' @rdname dp_tune
#' @export
confint.dp_tune <- function(object, parm, level = 0.95, ...) {
  if (missing(parm)) {
    stats::confint(object$fit, level = level, ...)
  } else {
    stats::confint(object$fit, parm, level = level, ...)
  }
}

#' @rdname dp_tune
#' @export
plot.dp_tune <- function(x, ...) {
  plot(x$fit, ...)
  invisible(x)
}
