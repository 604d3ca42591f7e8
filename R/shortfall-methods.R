#' @rdname dp_fit_methods
#' @export
print.dp_shortfall <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_values(shortfall_title(x), x, digits)
}

shortfall_title <- function(x) {
  sprintf("Private value at risk and expected shortfall, %s %s %%", x$tail,
          format(100 * (1 - x$level), digits = 4))
}

#' @rdname dp_fit_methods
#' @export
summary.dp_shortfall <- function(object, ...) {
  table <- cbind(
    Estimate = object$coefficients, standard_errors(object), `Bias -` = object$bias[, "lower"],
    `Bias +` = object$bias[, "upper"]
  )
  structure(
    list(table = table, title = shortfall_title(object), limit = object$limit,
         heavy = object$heavy, n = object$n, privacy = object$privacy),
    class = "summary.dp_shortfall"
  )
}

#' @export
print.summary.dp_shortfall <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(x$title, "\n", sep = "")
  print_stamp(x$privacy)
  print_neighbours(x)
  print(x$table, digits = digits)
  cat(PARTS_TEXT, "Bias: what values beyond the limit may add.\n", sep = "")
  if (x$heavy) {
    cat("The tail is so heavy that expected shortfall may not exist.\n")
  }
  if (is.finite(x$limit)) {
    cat("\nValues beyond ", format(x$limit, digits = digits), " count as that.\n", sep = "")
  }
  invisible(x)
}

#' @rdname dp_fit_methods
#' @export
plot.dp_shortfall <- function(x, ...) {
  value <- rev(x$coefficients)
  ends <- confint.dp_fit(x)[2:1, , drop = FALSE]
  ends[is.infinite(ends)] <- NA
  ends[is.na(ends)] <- value[row(ends)[is.na(ends)]]
  draw_dots(value, stamped(shortfall_title(x), x$privacy), "value; bars: 95 % intervals",
            xlim = range(value, ends, na.rm = TRUE))
  graphics::segments(ends[, 1L], seq_along(value), ends[, 2L], seq_along(value))
  invisible(x)
}
