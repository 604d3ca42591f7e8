#' @rdname dp_fit_methods
#' @export
print.dp_var <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private variance\n")
  print_stamp(x$privacy)
  cat("\n")
  print(cbind(Variance = x$coefficients, `Std. deviation` = sqrt(x$coefficients)), digits = digits)
  invisible(x)
}

#' @rdname dp_fit_methods
#' @export
summary.dp_var <- function(object, ...) {
  table <- cbind(
    Variance = object$coefficients, standard_errors(object), `Bias +` = object$bias[, "upper"],
    `Std. deviation` = sqrt(object$coefficients)
  )
  structure(
    list(table = table, limits = cbind(mean = object$mean, object$limits, level = object$level),
         heavy = object$heavy, n = object$n, privacy = object$privacy, noise = object$noise),
    class = "summary.dp_var"
  )
}

#' @export
print.summary.dp_var <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private variance\n")
  print_stamp(x$privacy)
  print_neighbours(x)
  print(x$table, digits = digits)
  cat(PARTS_TEXT, "Bias: what values beyond the level may add to the variance.\n", sep = "")
  if (any(x$heavy)) {
    cat("The tail of ", listed(rownames(x$table)[x$heavy]),
        " is so heavy that a variance may not exist.\n", sep = "")
  }
  cat("\nMean, its winsorising limits, and the distance from it at which squares are cut (",
      x$noise, " noise):\n", sep = "")
  print(x$limits, digits = digits)
  invisible(x)
}

#' @rdname dp_fit_methods
#' @export
plot.dp_var <- function(x, ...) {
  shown <- utils::head(seq_along(x$coefficients), PLOT_ROWS)
  value <- rev(sqrt(x$coefficients[shown]))
  ends <- sqrt(pmax(confint.dp_fit(x)[rev(shown), , drop = FALSE], 0))
  # a tail without a variance has no upper end
  ends[is.infinite(ends)] <- NA
  most <- range(0, value, ends, na.rm = TRUE)
  upper <- ifelse(is.na(ends[, 2L]), most[[2L]] * 1.5, ends[, 2L])
  draw_dots(value, stamped("Private standard deviations", x$privacy),
            "standard deviation; bars: 95 % intervals", xlim = range(most, upper, na.rm = TRUE))
  graphics::segments(ends[, 1L], seq_along(value), upper, seq_along(value))
  invisible(x)
}
