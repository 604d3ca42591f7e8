# Methods of dp_plan objects.

#' @export
privacy.dp_plan <- function(x, ...) x$privacy

#' @export
as.data.frame.dp_plan <- function(x, ...) x$noise

ERROR_OF <- c(
  mean = "of a column's mean", quantile = "of a quantile", lm = "of all slopes, per sd of a column",
  glm = "of all slopes (log-odds), per sd of a column",
  lasso = "of all slopes, per sd of a column", sparse = "of all slopes, per sd of a column",
  sco = "of all coefficients, per sd of a column"
)

#' @export
print.dp_plan <- function(x, digits = 3L, ...) {
  show <- function(v) formatC(v, digits = digits, format = "g", width = 1)
  cat(sprintf("Plan of dp_%s(): n = %.0f, d = %.0f, epsilon = %s, delta = %s\n", x$front, x$n, x$d,
              format_number(x$epsilon), format_number(x$delta)))
  if (records_title(x$privacy) == "Units") {
    cat("n counts units, each with all its rows (in the errors below: one).\n")
  }
  cat("Nothing was read or spent.\n\n")
  cat(sprintf("Would spend (epsilon, delta) = (%s, %s) in these releases:\n",
              format_number(x$spent), format_number(x$delta)))
  table <- x$noise[names(x$noise) != "mechanism"]
  table$sd <- ifelse(is.na(table$sd), "-", show(table$sd))
  table$expected <- ifelse(is.na(table$expected), "-", show(table$expected))
  names(table)[3:4] <- c("noise sd", "expected sd")
  print(table, row.names = FALSE, right = FALSE)
  cat("noise sd: in the unit named; expected sd: in records, or standardised, as assumed\n\n")
  print_expected(x, show)
  if (!is.na(x$n_sensible)) {
    cat(sprintf("Smallest sensible n: %.0f%s\n", x$n_sensible,
                if (x$sensible) "" else "; with fewer rows the private searches may fail"))
  }
  print_needed(x, show)
  invisible(x)
}

# One line: the laws, and how much there is to find.
assumed_text <- function(x, show) {
  a <- x$assume
  law <- function(v) if (inherits(v, "dp_law")) "a given law" else format(v)
  values <- paste(show(a$sigma), "x", law(a$tail))
  if (x$front %in% c("mean", "quantile")) {
    cat(sprintf("Assumed: values %s with mean %s\n", values, show(a$signal)))
    return(invisible())
  }
  few <- x$front %in% c("lasso", "sparse")
  cat(sprintf("Assumed: columns %s, slopes of length %s%s%s\n", law(a$columns), show(abs(a$signal)),
              if (few) sprintf(" (%.0f not zero)", min(a$sparsity, x$d)) else "",
              if (x$front == "glm") "" else paste0(", errors ", values)))
}

print_expected <- function(x, show) {
  assumed_text(x, show)
  if (is.na(x$error[["total"]])) {
    cat("No expected error: there is no model for these parts, see help(\"dp_plan\").\n")
    return(invisible())
  }
  cat(sprintf("Expected error %s (root mean square): %s\n", ERROR_OF[[x$front]],
              show(x$error[["total"]])))
  cat(sprintf("  sampling %s, privacy %s, bias %s\n", show(x$error[["sampling"]]),
              show(x$error[["privacy"]]), show(x$error[["bias"]])))
  cat(sprintf("Chance of a fit worse than zero: %s\n",
              if (x$worse < 1e-6) "below 1e-6" else show(x$worse)))
}

print_needed <- function(x, show) {
  if (is.null(x$target) || is.na(x$error[["total"]])) {
    return(invisible())
  }
  cat(sprintf("For an error of %s: n = %s at this epsilon, epsilon = %s at this n\n",
              show(x$target),
              if (is.na(x$n_needed)) "none found" else format(x$n_needed, scientific = FALSE),
              if (is.na(x$epsilon_needed)) "none found" else show(x$epsilon_needed)))
  if (is.na(x$epsilon_needed) && x$sensible && x$error[["sampling"]] >= x$target) {
    cat("(no epsilon is enough: the draw of the rows alone errs by more)\n")
  }
}

abort_no_curve <- function() {
  dp_abort("there is no expected error to draw, see help(\"dp_plan\").")
}

# Expected errors over n, from sensible sizes on: a data frame.
plan_curve <- function(x, points = 15L) {
  if (is.null(x$arguments)) abort_no_curve()
  make <- planner(x$front, x$arguments)
  laws <- assumed_laws(x$assume, x$front, x$d)
  ends <- range(x$n, x$n_needed, x$n_sensible, na.rm = TRUE)
  from <- max(x$n_sensible, ends[[1L]] / 5, 10, na.rm = TRUE)
  n <- unique(round(exp(seq(log(from), log(max(5 * ends[[2L]], 10 * from)), length.out = points))))
  errors <- vapply(n, function(n) {
    planned <- tryCatch(make(n, x$epsilon), dp_error = function(e) NULL)
    if (is.null(planned)) rep(NA_real_, 4L) else unname(planned$expect(laws)$error)
  }, numeric(4))
  data.frame(n = n, total = errors[1L, ], sampling = errors[2L, ], privacy = errors[3L, ],
             bias = errors[4L, ])
}

#' @rdname dp_plan
#' @param x A plan.
#' @export
plot.dp_plan <- function(x, ...) {
  curve <- plan_curve(x)
  curve <- curve[is.finite(curve$total), ]
  if (nrow(curve) == 0L) abort_no_curve()
  most <- max(curve$total, x$target)
  least <- max(min(curve$total, x$target) / 10, min(curve$privacy[curve$privacy > 0], most) / 2)
  # the legend stands between the title and the picture
  own <- list(x = curve$n, y = curve$total, type = "l", lwd = 2, log = "xy", xlab = "rows n",
              ylab = "expected error", ylim = c(least, most), main = "")
  draw_with(plot, own, ...)
  if (!"main" %in% ...names()) {
    graphics::title(sprintf("Plan of dp_%s(), epsilon = %s", x$front, format_number(x$epsilon)),
                    line = 2.3)
  }
  graphics::lines(curve$n, curve$sampling, lty = 2)
  graphics::lines(curve$n, pmax(curve$privacy, least / 10), lty = 3)
  graphics::abline(v = x$n, col = "grey50")
  if (!is.null(x$target)) graphics::abline(h = x$target, col = "grey50", lty = 4)
  if (is.finite(x$error[["total"]])) graphics::points(x$n, x$error[["total"]], pch = 19)
  plan_legend(!is.null(x$target))
  invisible(curve)
}

# Over the picture, between frame and title: no curve can run through it.
plan_legend <- function(target) {
  shown <- seq_len(if (target) 5L else 4L)
  edges <- graphics::par("usr")
  graphics::legend(
    10^mean(edges[1:2]), 10^edges[[4L]], c("all", "sampling", "privacy", "this n", "target")[shown],
    lty = c(1, 2, 3, 1, 4)[shown], lwd = c(2, 1, 1, 1, 1)[shown],
    col = c("black", "black", "black", "grey50", "grey50")[shown], horiz = TRUE, bty = "n",
    xjust = 0.5, yjust = 0, xpd = NA, cex = 0.8
  )
}
