#' @rdname dp_fit_methods
#' @export
print.dp_mean <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (is.null(x$selected)) {
    return(print_values("Private mean", x, digits))
  }
  cat(sprintf("Private sparse mean, %d of %d columns chosen\n", length(x$selected),
              length(x$coefficients)))
  print_stamp(x$privacy)
  cat("\n")
  print(x$coefficients[utils::head(x$selected, PLOT_ROWS)], digits = digits)
  if (length(x$selected) > PLOT_ROWS) cat("... and", length(x$selected) - PLOT_ROWS, "more\n")
  cat("Which columns these are is itself noisy; the others are zero.\n")
  invisible(x)
}

#' @rdname dp_fit_methods
#' @export
summary.dp_mean <- function(object, ...) {
  shown <- object$selected %||% seq_along(object$coefficients)
  table <- cbind(Estimate = object$coefficients, mean_errors(object))
  structure(
    list(
      table = table[shown, , drop = FALSE], limits = object$limits[shown, , drop = FALSE],
      n = object$n, privacy = object$privacy, noise = object$noise, method = object$method
    ),
    class = "summary.dp_mean"
  )
}

# Standard errors and bias; of the methods without them the noise.
mean_errors <- function(object) {
  if (!has_variance(object)) {
    return(cbind(`Noise sd` = object$noise_sd))
  }
  cbind(standard_errors(object), bias_columns(object))
}

PARTS_TEXT <-
  "\nStd. Error: of the draw of the rows (Sampling) and the noise (Privacy) together.\n"

#' @export
print.summary.dp_mean <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private mean", if (inherits(x, "summary.dp_mean_by")) "s by group", "\n", sep = "")
  print_stamp(x$privacy)
  print_neighbours(x)
  print(x$table, digits = digits)
  if ("Sampling" %in% colnames(x$table)) {
    cat(PARTS_TEXT, "Bias: what values beyond the limits may take from or add to the mean.\n",
        sep = "")
  } else {
    cat("\nNoise sd: of the privacy noise alone. No standard errors: vcov() says why.\n")
  }
  limits <- switch(x$method %||% "winsorized", winsorized = "Winsorising limits",
                   catoni = "Scale of the estimator, either way",
                   "Limits of a value")
  cat("\n", limits, if (x$noise != "none") paste0(" (", x$noise, " noise)"), ":\n", sep = "")
  print(x$limits, digits = digits)
  invisible(x)
}

#' @rdname dp_fit_methods
#' @export
plot.dp_mean <- function(x, ...) {
  shown <- x$selected %||% seq_along(x$coefficients)
  title <- "Private means"
  if (length(shown) > PLOT_ROWS) title <- sprintf("%s: the first %d", title, PLOT_ROWS)
  shown <- rev(utils::head(shown, PLOT_ROWS))
  value <- x$coefficients[shown]
  known <- has_variance(x)
  ends <- if (known) {
    stats::confint(x)[shown, , drop = FALSE]
  } else {
    value + outer(x$noise_sd[shown], c(-2, 2))
  }
  own <- list(
    value = value, title = stamped(title, x$privacy),
    label = paste("mean; bars:",
                  if (known) "95 % intervals" else "two standard deviations of the noise"),
    xlim = range(value, ends, na.rm = TRUE)
  )
  draw_with(draw_dots, own, ...)
  graphics::segments(ends[, 1L], seq_along(value), ends[, 2L], seq_along(value))
  invisible(x)
}
