#' @rdname dp_intervals
#' @export
confint.dp_tail_index <- function(object, parm, level = 0.95, ...) {
  check_dots(...)
  level <- check_level_below_one(level)
  which <- if (missing(parm)) seq_along(object$coefficients) else check_parm(parm, object)
  tail <- (1 - level) / 2
  ends <- t(vapply(which, function(j) {
    parts <- object$parts[[j]]
    if (is.null(parts)) {
      return(c(NA_real_, NA_real_))
    }
    upper <- if (is.infinite(object$coefficients[[j]])) Inf else mixture_quantile(parts, 1 - tail)
    # one family alone has its estimate within
    value <- object$coefficients[[j]]
    c(min(mixture_quantile(parts, tail), value), max(upper, value))
  }, c(0, 0)))
  dimnames(ends) <- list(names(object$coefficients)[which], percent_names(tail))
  ends
}

# A lognormal law of this weight among the three is not excluded.
PLAUSIBLE <- 0.4

# Does the moment of this order exist? By the 95 % interval; a law with all moments that fits as
# well makes a "no" unclear.
moment_exists <- function(object, order) {
  ends <- confint.dp_tail_index(object)
  no <- ends[, 2L] < order & object$lognormal < PLAUSIBLE
  out <- ifelse(ends[, 1L] > order, "yes", ifelse(no, "no", "unclear"))
  out[is.na(out)] <- "not known"
  out
}

#' @rdname dp_fit_methods
#' @export
print.dp_tail_index <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  side <- switch(x$tail, upper = "upper tail", lower = "lower tail", both = "both tails")
  cat("Private tail index, ", side, "\n", sep = "")
  print_stamp(x$privacy)
  cat("\n")
  print(cbind(Index = x$coefficients, confint.dp_tail_index(x)), digits = digits)
  cat("\n")
  shown <- utils::head(seq_along(x$coefficients), PLOT_ROWS)
  mean <- moment_exists(x, 1)
  variance <- moment_exists(x, 2)
  for (j in shown) cat(tail_sentence(x, j, mean[[j]], variance[[j]]), sep = "\n")
  if (length(x$coefficients) > PLOT_ROWS) cat("...\n")
  invisible(x)
}

# What the index of one column says, in words.
tail_sentence <- function(x, j, mean, variance) {
  label <- if (length(x$coefficients) > 1L) paste0(names(x$coefficients)[[j]], ": ") else ""
  if (is.na(x$coefficients[[j]])) {
    return(paste0(label, "No tail could be told from noise."))
  }
  said <- c(yes = "exists", no = "does not exist", unclear = "may or may not exist")
  heavy <- if (mean == variance) {
    exist <- c(yes = "exist", no = "do not exist", unclear = "may or may not exist")
    sprintf("Mean and variance %s, as far as can be seen.", exist[[mean]])
  } else {
    sprintf("The mean %s, the variance %s, as far as can be seen.", said[[mean]], said[[variance]])
  }
  law <- if (is.infinite(x$coefficients[[j]])) {
    "No power law: a lognormal law fits clearly better, and the index grows with the level."
  } else if (x$lognormal[[j]] >= PLAUSIBLE) {
    "A lognormal law, which has all moments, fits as well: the index may grow with the level."
  }
  strwrap(paste(c(paste0(label, heavy), law), collapse = " "), 80, exdent = 2)
}

#' @rdname dp_fit_methods
#' @export
summary.dp_tail_index <- function(object, ...) {
  table <- data.frame(
    Index = object$coefficients, confint.dp_tail_index(object),
    Mean = moment_exists(object, 1), Variance = moment_exists(object, 2),
    Threshold = object$threshold, Beyond = round(object$beyond),
    Lognormal = object$lognormal, check.names = FALSE
  )
  rownames(table) <- names(object$coefficients)
  structure(list(table = table, tail = object$tail, n = object$n, privacy = object$privacy),
            class = "summary.dp_tail_index")
}

#' @export
print.summary.dp_tail_index <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private tail index,", if (x$tail == "both") "both tails" else paste(x$tail, "tail"), "\n")
  print_stamp(x$privacy)
  print_neighbours(x)
  print(x$table, digits = digits)
  cat("\nMean, Variance: does it exist, by the interval?\n",
      "Threshold: distance from the centre from which on laws are fitted; Beyond: records there.\n",
      "Lognormal: weight of a law without a power tail; near 1, the index grows with the level.\n",
      sep = "")
  invisible(x)
}

#' @rdname dp_fit_methods
#' @export
plot.dp_tail_index <- function(x, ...) {
  shown <- utils::head(seq_along(x$coefficients), PLOT_ROWS)
  ends <- confint.dp_tail_index(x)[shown, , drop = FALSE]
  beyond <- rev(ends[, 2L] > DRAWN_INDEX) %in% TRUE
  value <- rev(x$coefficients[shown])
  value[value > DRAWN_INDEX] <- NA # an arrow says where it is
  ends <- pmin(ends[rev(seq_along(shown)), , drop = FALSE], DRAWN_INDEX)
  ends[, 1L] <- pmin(ends[, 1L], DRAWN_INDEX - 1) # room for an arrow
  label <- "index; bars: 95 % intervals; dotted: mean (1), variance (2)"
  if (any(beyond)) label <- sprintf("%s; arrow: beyond %d", label, DRAWN_INDEX)
  own <- list(value = value, title = stamped("Private tail index", x$privacy), label = label,
              xlim = range(0, 2.5, value, ends, na.rm = TRUE))
  draw_with(draw_dots, own, ...)
  graphics::abline(v = c(1, 2), lty = 3)
  row <- seq_along(shown)
  graphics::segments(ends[, 1L], row, ends[, 2L], row)
  if (any(beyond)) {
    graphics::arrows(ends[beyond, 1L], row[beyond], ends[beyond, 2L], row[beyond], length = 0.1)
  }
  invisible(x)
}

DRAWN_INDEX <- 12 # an arrow points to larger ones

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_tail_index <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  conf.int <- check_flag(conf.int, "conf.int")
  level <- check_number(conf.level, "conf.level", 0, 1, open = TRUE)
  out <- coefficient_table(x, x$coefficients)
  if (conf.int) {
    ends <- confint.dp_tail_index(x, level = level)
    out$conf.low <- unname(ends[, 1L])
    out$conf.high <- unname(ends[, 2L])
  }
  out
}
