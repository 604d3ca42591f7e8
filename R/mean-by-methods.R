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

#' @rdname dp_mean_by
#' @exportS3Method generics::tidy
tidy.dp_mean_by <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  as.data.frame.dp_mean_by(x, conf.int = conf.int, conf.level = conf.level)
}

#' @rdname dp_mean_by
#' @export
print.dp_mean_by <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(sprintf("Private means by group, %d levels\n", length(x$levels)))
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
  shown <- rev(seq_len(min(length(x$coefficients), PLOT_ROWS)))
  ends <- stats::confint(x, level = level)[shown, , drop = FALSE]
  value <- x$coefficients[shown]
  title <- "Private means by group"
  if (length(x$coefficients) > PLOT_ROWS) title <- sprintf("%s: the first %d", title, PLOT_ROWS)
  if (!any(is.finite(value))) {
    graphics::plot.new()
    graphics::title(stamped(title, x$privacy))
    graphics::text(0.5, 0.5, "no mean was told from noise")
    return(invisible(x))
  }
  own <- list(label = sprintf("mean; bars: %s %% intervals", format(100 * level, digits = 4)),
              xlim = range(value, ends, finite = TRUE))
  given <- list(...)
  do.call(draw_dots, c(list(value, stamped(title, x$privacy)), given,
                       own[setdiff(names(own), names(given))]))
  graphics::segments(ends[, 1L], seq_along(value), ends[, 2L], seq_along(value))
  invisible(x)
}
