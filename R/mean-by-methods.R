# Methods of means by group.

#' @rdname dp_mean_by
#' @export
as.data.frame.dp_mean_by <- function(x, row.names = NULL, optional = FALSE, ..., conf.int = FALSE,
                                     conf.level = 0.95) {
  conf.int <- check_flag(conf.int, "conf.int")
  columns <- x$columns
  out <- plain_frame(level = rep(x$levels, each = max(length(columns), 1L)))
  if (!is.null(columns)) out$column <- rep(columns, length(x$levels))
  out$term <- names(x$coefficients)
  out$estimate <- unname(x$coefficients)
  out$std.error <- unname(standard_errors(x)[, "Std. Error"])
  if (conf.int) {
    ends <- stats::confint(x, level = conf.level)
    out$conf.low <- unname(ends[, 1L])
    out$conf.high <- unname(ends[, 2L])
  }
  out$size <- unname(x$sizes)
  out$size.sd <- unname(x$size_sd)
  if (!is.null(row.names)) rownames(out) <- row.names
  out
}

# Groups share no row and no noise: no covariance between them.
#' @rdname dp_mean_by
#' @export
vcov.dp_mean_by <- function(object, ...) {
  out <- NextMethod()
  level <- rep(seq_along(object$levels), each = max(length(object$columns), 1L))
  out[outer(level, level, "!=")] <- 0
  out
}

#' @rdname dp_mean_by
#' @exportS3Method generics::tidy
tidy.dp_mean_by <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  as.data.frame.dp_mean_by(x, conf.int = conf.int, conf.level = conf.level)
}

#' @rdname dp_mean_by
#' @export
print.dp_mean_by <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(sprintf(ngettext(length(x$levels), "Private means by group, %d level\n",
                       "Private means by group, %d levels\n"), length(x$levels)))
  print_stamp(x$privacy)
  cat("\n")
  table <- group_table(x)
  print(utils::head(table, PLOT_ROWS), digits = digits)
  if (nrow(table) > PLOT_ROWS) {
    cat("... and", nrow(table) - PLOT_ROWS, "more: as.data.frame() shows them all\n")
  }
  print_group_notes(x)
  invisible(x)
}

group_table <- function(x) {
  cbind(Mean = x$coefficients, `Std. Error` = standard_errors(x)[, "Std. Error"],
        Size = round(x$sizes, 1L))
}

print_group_notes <- function(x) {
  cat("\n")
  noise <- range(x$size_sd)
  if (noise[[2L]] > 0) {
    cat(sprintf("Size: with noise of standard deviation %s\n",
                paste(unique(vapply(noise, format_number, "")), collapse = " to ")))
  }
  if (any(x$shared)) {
    cat("At limits of all rows, for want of own ones: ", listed(names(x$shared)[x$shared]), "\n",
        sep = "")
  }
  if (!all(x$found)) cat("NA: not told from noise\n")
}

#' @rdname dp_mean_by
#' @export
summary.dp_mean_by <- function(object, ...) {
  out <- summary.dp_mean(object)
  out$table <- cbind(out$table, Size = object$sizes)
  out$notes <- object[c("size_sd", "shared", "found")]
  class(out) <- c("summary.dp_mean_by", class(out))
  out
}

#' @export
print.summary.dp_mean_by <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print.summary.dp_mean(x, digits)
  print_group_notes(x$notes)
  invisible(x)
}

#' @rdname dp_mean_by
#' @export
plot.dp_mean_by <- function(x, level = 0.95, ...) {
  ends <- stats::confint(x, level = level)
  k <- max(length(x$columns), 1L)
  drawn <- seq_len(min(k, PLOT_PANELS))
  if (k > 1L) {
    old <- graphics::par(mfrow = c(ceiling(length(drawn) / 2), 2L))
    on.exit(graphics::par(old))
  }
  for (j in drawn) {
    of <- seq.int(j, by = k, length.out = min(length(x$levels), PLOT_ROWS))
    title <- paste(c("Private means by group", x$columns[j]), collapse = ": ")
    if (length(x$levels) > PLOT_ROWS) title <- sprintf("%s (the first %d)", title, PLOT_ROWS)
    value <- stats::setNames(x$coefficients[of], x$levels[seq_along(of)])
    draw_groups(value, ends[of, , drop = FALSE], stamped(title, x$privacy),
                sprintf("mean; bars: %s %% intervals", format(100 * level, digits = 4)), ...)
  }
  invisible(x)
}

PLOT_PANELS <- 6L

draw_groups <- function(value, ends, title, label, ...) {
  shown <- rev(seq_along(value))
  value <- value[shown]
  own <- list(label = label, xlim = c(-1, 1))
  if (any(is.finite(value))) own$xlim <- range(value, ends, finite = TRUE)
  given <- list(...)
  do.call(draw_dots, c(list(value, title), given, own[setdiff(names(own), names(given))]))
  at <- seq_along(value)
  graphics::segments(ends[shown, 1L], at, ends[shown, 2L], at)
  lost <- is.na(value)
  if (any(lost)) {
    graphics::text(mean(graphics::par("usr")[1:2]), at[lost], "not told from noise",
                   col = "grey40", cex = min(0.8, 22 / length(value)))
  }
}
