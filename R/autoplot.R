# Pictures by package ggplot2, registered on its autoplot() when it is loaded.

#' Pictures by ggplot2
#'
#' Methods for [ggplot2::autoplot()], where that package is there: the same pictures as `plot()`
#' draws without it, to be changed and combined, and the noise against the signal.
#'
#' @param object A fit of this package; or a `dp_privacy` object, a profile, a ledger, an audit, a
#'   plan or an error bound.
#' @param type `"coefficients"`, with intervals where [confint()] is known for the fit, of
#'   regressions per scale of the column; `"noise"`: the size of each
#'   coefficient against the standard deviation of its noise, where that is known (points above the
#'   line stand out of it); `"path"`: of a fit by Frank-Wolfe the slopes against the round;
#'   `"privacy"`: the profile of its guarantee.
#' @param conf.level Confidence level.
#' @param ... Not used.
#' @return A `ggplot` object. It says NOT PRIVATE or NOT FOR RELEASE where that holds.
#' @section Privacy:
#' Functions of what was released; they cost nothing.
#' @examples
#' fit <- dp_quantile(danish$Total, c(0.25, 0.5, 0.75), epsilon = 1)
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   ggplot2::autoplot(privacy(fit))
#' }
#' @name dp_autoplot
NULL

# A picture keeps the frame that it is made in, and the frame of a method knows its caller's, which
# may hold data: each method leaves the drawing to a function of its own.

# Columns by name.
mapping <- function(...) do.call(ggplot2::aes, lapply(c(...), as.name))

titled <- function(plot, title, x, y) plot + ggplot2::labs(title = title, x = x, y = y)

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_fit <- function(object, type = c("coefficients", "noise", "path", "privacy"),
                            conf.level = 0.95, ...) {
  type <- check_choice(type, "type", c("coefficients", "noise", "path", "privacy"))
  switch(type,
    coefficients = draw_coefficients(object, conf.level), noise = draw_noise(object),
    path = draw_path(object), privacy = draw_profile(privacy_profile(object))
  )
}

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_tune <- function(object, ...) autoplot.dp_fit(object$fit, ...)

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_privacy <- function(object, ...) draw_profile(privacy_profile(object))

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_profile <- function(object, ...) draw_profile(object)

fit_title <- function(x) {
  switch(x$front,
    mean = if (inherits(x, "dp_mean_by")) "Private means by group" else "Private means",
    quantile = "Private quantiles",
    var = "Private variances", tail_index = "Private tail index",
    shortfall = "Private value at risk and shortfall",
    residuals = if (x$type == "quantiles") "Private residuals" else "Private calibration",
    gaussian = , laplace = , peel = "Released values",
    sparse = "Private sparse regression", regression_title(x)
  )
}

# Estimates with intervals, in units that can stand on one axis.
draw_coefficients <- function(x, level) {
  if (identical(x$front, "noisy_max")) {
    dp_abort("there is nothing to draw: only an index was released.")
  }
  title <- stamped(fit_title(x), x$privacy)
  if (x$front %in% c("quantile", "residuals")) {
    return(draw_points(x, title))
  }
  table <- drawn_coefficients(x, level)
  table$term <- factor(table$term, rev(table$term))
  interval <- all(c("low", "high") %in% names(table))
  plot <- if (inherits(x, "dp_mean_by")) {
    group_panels(table)
  } else if (identical(x$front, "tail_index")) {
    index_panel(table)
  } else {
    ggplot2::ggplot(table, mapping(x = "estimate", y = "term")) +
      ggplot2::geom_vline(xintercept = 0, linetype = 2, colour = "grey50")
  }
  if (interval) {
    plot <- plot + ggplot2::geom_errorbarh(
      mapping(xmin = "low", xmax = "high"), height = 0, na.rm = TRUE
    )
  }
  titled(plot + ggplot2::geom_point(na.rm = TRUE), title, attr(table, "label"), NULL)
}

# Tail indices: lines where means (1) and variances (2) begin to exist; an infinite index is an
# interval without a point.
index_panel <- function(table) {
  table$estimate[is.infinite(table$estimate)] <- NA
  ggplot2::ggplot(table, mapping(x = "estimate", y = "term")) + ggplot2::expand_limits(x = 0) +
    ggplot2::geom_vline(xintercept = c(1, 2), linetype = 3, colour = "grey50")
}

# Means by group: levels down the side, a panel per column.
group_panels <- function(table) {
  table$level <- factor(table$level, rev(unique(table$level)))
  if (!is.null(table$column)) table$column <- factor(table$column, unique(table$column))
  plot <- ggplot2::ggplot(table, mapping(x = "estimate", y = "level"))
  if (is.null(table$column)) plot else
    plot + ggplot2::facet_wrap("column", scales = "free_x")
}

drawn_coefficients <- function(x, level) {
  table <- if (inherits(x, "dp_mechanism")) tidy.dp_mechanism(x) else tidy_of(x, TRUE, level)
  names(table)[match(c("conf.low", "conf.high"), names(table), 0L)] <-
    c("low", "high")[c("conf.low", "conf.high") %in% names(table)]
  label <- "value"
  if (!is.null(table$noise.sd) && is.null(table$low)) {
    table$low <- table$estimate - 2 * table$noise.sd
    table$high <- table$estimate + 2 * table$noise.sd
    label <- "value; bars: two standard deviations of the noise"
  }
  if (inherits(x, "dp_lm")) {
    size <- coefficient_scale(x, table$term)
    for (name in intersect(c("estimate", "low", "high"), names(table))) {
      table[[name]] <- table[[name]] * size
    }
    # an intercept has no scale
    if (!all(is.na(size))) table <- table[!is.na(size), ]
    label <- "per scale of the column, in scales of the response"
    if (identical(x$loss, "logistic")) label <- "change of the log-odds per scale of the column"
  }
  if (identical(x$front, "tail_index")) label <- "index; dotted: mean (1), variance (2)"
  if (!is.null(table$low) && is.null(table$noise.sd)) {
    label <- sprintf("%s; bars: %s %% intervals", label, format(100 * level, digits = 4))
  }
  shown <- if (inherits(x, "dp_mean_by")) {
    table$level %in% utils::head(x$levels, PLOT_ROWS)
  } else {
    utils::head(order(-abs(table$estimate)), PLOT_ROWS)
  }
  table <- table[shown, ]
  structure(table[order(as.integer(rownames(table))), ], label = label)
}

# What turns a slope into one per scale; NA for an intercept.
coefficient_scale <- function(x, terms) {
  p <- length(x$scale) - 1L
  size <- stats::setNames(x$scale[seq_len(p)], setdiff(x$schema$columns, "(Intercept)"))
  if (identical(x$loss, "mean")) {
    return(rep(1, length(terms)))
  }
  unname(size[terms]) / x$scale[[p + 1L]]
}

# Quantiles and calibrations.
draw_points <- function(x, title) {
  if (identical(x$type, "calibration")) {
    table <- x$table
    table$low <- table$observed - 2 * table$noise_sd
    table$high <- table$observed + 2 * table$noise_sd
    plot <- ggplot2::ggplot(table, mapping(x = "predicted", y = "observed")) +
      ggplot2::geom_abline(slope = 1, intercept = 0, linetype = 2, colour = "grey50") +
      ggplot2::geom_linerange(mapping(ymin = "low", ymax = "high"), na.rm = TRUE) +
      ggplot2::geom_point(na.rm = TRUE)
    return(titled(plot, title, "predicted probability", "observed share"))
  }
  table <- plain_frame(prob = x$probs, value = as.vector(x$coefficients))
  plot <- ggplot2::ggplot(table, mapping(x = "prob", y = "value")) + ggplot2::geom_point()
  if (nrow(table) > 1L) plot <- plot + ggplot2::geom_line()
  titled(plot, title, "probability", "quantile")
}

# Standard deviations of the noise of the coefficients, where they are known.
noise_sds <- function(x) {
  if (inherits(x, "dp_mechanism") && x$front %in% c("gaussian", "laplace")) {
    return(tidy.dp_mechanism(x)$noise.sd)
  }
  if (has_variance(x)) {
    return(unname(sqrt(diag(stats::vcov(x, part = "privacy")))))
  }
  if (!is.null(x$noise_sd)) {
    return(unname(x$noise_sd))
  }
  dp_abort("the noise of single coefficients is not known for this fit.", "dp_error_no_intervals")
}

draw_noise <- function(x) {
  table <- plain_frame(
    term = names(x$coefficients) %||% as.character(seq_along(x$coefficients)),
    signal = abs(as.vector(x$coefficients)), noise = noise_sds(x)
  )
  if (identical(x$privacy$epsilon, Inf)) dp_abort("there is no noise: epsilon = Inf.")
  # on log axes
  shown <- is.finite(table$signal) & table$signal > 0 & is.finite(table$noise) & table$noise > 0
  if (!any(shown)) dp_abort("there is nothing to draw: no coefficient has a size and a noise.")
  table <- table[shown, ]
  plot <- ggplot2::ggplot(table, mapping(x = "noise", y = "signal", label = "term")) +
    ggplot2::geom_abline(slope = 1, intercept = 0, linetype = 2, colour = "grey50") +
    ggplot2::expand_limits(y = table$noise) + ggplot2::geom_point() +
    ggplot2::geom_text(vjust = -0.7, size = 3, check_overlap = TRUE) +
    ggplot2::scale_x_log10(expand = ggplot2::expansion(mult = 0.15)) +
    ggplot2::scale_y_log10(expand = ggplot2::expansion(mult = 0.1))
  titled(plot, stamped(paste0(fit_title(x), ": noise and signal"), x$privacy),
         "standard deviation of the noise", "size of the coefficient")
}

draw_path <- function(x) {
  ok <- is.numeric(x$path) && is_vertex_set(x$constraint) && !identical(x$privacy$epsilon, Inf)
  if (!ok) {
    dp_abort("`type` = \"path\" is for private fits by Frank-Wolfe.")
  }
  path <- fw_iterates(x)
  table <- plain_frame(
    round = rep(seq_len(ncol(path)) - 1L, each = nrow(path)),
    term = rep(rownames(path), ncol(path)), slope = as.vector(path)
  )
  plot <- ggplot2::ggplot(table, mapping(x = "round", y = "slope", colour = "term")) +
    ggplot2::geom_step(show.legend = nrow(path) <= 12L)
  titled(plot, stamped(paste(fit_title(x), "by Frank-Wolfe"), x$privacy), "round", "slope")
}

draw_profile <- function(profile) {
  p <- attr(profile, "privacy")
  shown <- plain_frame(epsilon = profile$epsilon, delta = profile$delta)[profile$delta > 0, ]
  plot <- ggplot2::ggplot(shown, mapping(x = "epsilon", y = "delta")) + ggplot2::geom_line() +
    ggplot2::scale_y_log10()
  if (attr(profile, "group") == 1 && isTRUE(p$delta > 0)) {
    plot <- plot + ggplot2::geom_point(data = plain_frame(epsilon = p$epsilon, delta = p$delta))
  }
  titled(plot, stamped("Privacy profile", p), "epsilon", "delta")
}

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_plan <- function(object, ...) draw_plan(object)

draw_plan <- function(object) {
  curve <- plan_curve(object)
  names <- c("total", "sampling", "privacy")
  table <- plain_frame(
    n = rep(curve$n, length(names)), part = factor(rep(names, each = nrow(curve)), names),
    error = unlist(curve[names], use.names = FALSE)
  )
  table <- table[is.finite(table$error) & table$error > 0, ]
  if (nrow(table) == 0L) abort_no_curve()
  plot <- ggplot2::ggplot(table, mapping(x = "n", y = "error", linetype = "part")) +
    ggplot2::geom_line() + ggplot2::geom_vline(xintercept = object$n, colour = "grey50") +
    ggplot2::scale_x_log10() + ggplot2::scale_y_log10()
  if (!is.null(object$target)) {
    plot <- plot + ggplot2::geom_hline(yintercept = object$target, colour = "grey50", linetype = 4)
  }
  titled(plot, sprintf("Plan of dp_%s(), epsilon = %s", object$front,
                       format_number(object$epsilon)), "rows n", "expected error")
}

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_bound <- function(object, ...) draw_bound(object)

draw_bound <- function(object) {
  check_parts_known(object)
  plot <- ggplot2::ggplot(tidy.dp_bound(object), mapping(x = "estimate", y = "term")) +
    ggplot2::geom_col(width = 0.5)
  titled(plot, sprintf("Error bound %s, with probability %s", format_number(object$value),
                       format(1 - object$xi)), object$statement, NULL)
}

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_budget <- function(object, ...) draw_budget(object)

draw_budget <- function(object) {
  state <- ledger_state(object)
  table <- plain_frame(call = c(0, seq_along(state$calls)),
                       epsilon = c(0, cumulative_epsilon(state)))
  plot <- ggplot2::ggplot(table, mapping(x = "call", y = "epsilon")) + ggplot2::geom_step() +
    ggplot2::geom_point() + ggplot2::geom_hline(yintercept = state$epsilon, linetype = 2)
  titled(plot, "Privacy budget", "call",
         paste("epsilon spent at delta =", format_number(state$delta)))
}

#' @rdname dp_autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.dp_audit <- function(object, ...) draw_audit(object)

draw_audit <- function(object) {
  rate <- seq(0, 1, length.out = 401L)
  curve <- plain_frame(false_positive = object$curve$false_positive,
                       false_negative = object$curve$false_negative)
  plot <- ggplot2::ggplot(curve, mapping(x = "false_positive", y = "false_negative"))
  if (!is.na(object$violated)) {
    claim <- plain_frame(false_positive = rate, false_negative = claimed_curve(object$claim, rate))
    plot <- plot + ggplot2::geom_area(data = claim, fill = "grey88") +
      ggplot2::geom_line(data = claim)
  }
  plot <- plot + ggplot2::geom_step(colour = "firebrick") + ggplot2::coord_equal()
  titled(plot, paste("Audit on made-up data:", audit_verdict(object)),
         "false positive rate (x taken for x1)", "false negative rate (x1 taken for x)")
}
