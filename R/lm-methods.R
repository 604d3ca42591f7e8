#' Predictions, summaries and pictures of a private regression
#'
#' @param object,x A fit by [dp_lm()].
#' @param newdata A data frame (for a fit by formula), or a matrix, data frame or
#'   vector (one column) of the columns of x, or a `dgCMatrix` of them. It is the caller's own:
#'   levels are matched to those of the fit, a level that the fit does not know is an error, a row
#'   with missing values gets NA in its place.
#' @param type `"response"` or `"link"`: the same for a linear model.
#' @param digits Significant digits to print.
#' @param ... Not used.
#' @return `predict()`: a named vector, one number per row of `newdata`, on the scale of the
#'   response as the formula has it (`log(y)` stays a logarithm). `summary()`: a list of
#'   class `summary.dp_lm` with the coefficients, their standard errors (see [dp_intervals]),
#'   scales, clip levels, noise and privacy.
#'   `plot()`: draws the coefficients per scale of their column, with two standard errors where
#'   they are known; returns the
#'   fit invisibly.
#' @section Privacy:
#' Functions of what was released and of `newdata`; they cost nothing.
#' @examples
#' set.seed(1)
#' x <- matrix(rt(6000, 3), 2000)
#' fit <- dp_lm(x, drop(x %*% 1:3) + rt(2000, 3), epsilon = 2, delta = 1e-6)
#' predict(fit, x[1:2, ])
#' @name dp_lm_methods
NULL

#' @rdname dp_lm_methods
#' @export
predict.dp_lm <- function(object, newdata, type = c("response", "link"), ...) {
  check_dots(...)
  type <- check_choice(type, "type", c("response", "link"))
  linear_predictor(object, newdata)
}

linear_predictor <- function(object, newdata) {
  if (identical(object$loss, "mean")) {
    dp_abort("a mean predicts nothing: use coef().")
  }
  if (missing(newdata) || is.null(newdata)) {
    dp_abort("`newdata` is needed: a private fit holds no data to predict for.")
  }
  design <- design_newdata(object$schema, newdata)
  out <- design_product(design, object$coefficients)
  if (!is.null(design$offset)) out <- out + design$offset
  out[design$na] <- NA_real_
  stats::setNames(out, rownames(design$x))
}

#' @rdname dp_lm_methods
#' @export
print.dp_lm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(regression_title(x), "\n", sep = "")
  if (!is.null(x$schema$formula)) cat(deparse(x$schema$formula, width.cutoff = 90L), sep = "\n")
  print_parts(x)
  print_target(x)
  print_stamp(x$privacy)
  cat("\nCoefficients:\n")
  print(format(x$coefficients, digits = digits), quote = FALSE)
  invisible(x)
}

# What a linear regression estimates.
print_target <- function(x) {
  if (!is.null(x$target)) {
    cat("Target: ", c(robust = "a robust line, which is not the mean where errors are skewed",
                      mean = "the mean of the response")[[x$target]], "\n", sep = "")
  }
}

regression_title <- function(x) {
  if (identical(x$front, "lasso")) {
    return("Private LASSO")
  }
  if (identical(x$front, "sparse")) {
    return(paste0("Private sparse ", if (identical(x$loss, "logistic")) "logistic ", "regression",
                  if (!x$loss %in% c("squared", "logistic")) sprintf(", %s loss", x$loss)))
  }
  switch(x$loss,
    logistic = "Private logistic regression", squared = "Private linear regression",
    mean = "Private mean, by gradient descent",
    user = "Private minimiser of a user's loss (trusted code)",
    sprintf("Private linear regression, %s loss", x$loss)
  )
}

#' @rdname dp_lm_methods
#' @export
summary.dp_lm <- function(object, ...) {
  p <- length(object$center) - 1L
  slope <- setdiff(names(object$coefficients), "(Intercept)")
  scale <- stats::setNames(rep(NA_real_, length(object$coefficients)), names(object$coefficients))
  scale[slope] <- object$scale[seq_len(p)]
  structure(
    list(
      formula = object$schema$formula, n = object$n, privacy = object$privacy,
      coefficients = cbind(
        Estimate = object$coefficients, standard_errors(object), bias_columns(object),
        Scale = scale,
        `Per scale` = object$coefficients * scale / object$scale[[p + 1L]]
      ),
      constraint = object$constraint, penalty = object$penalty, front = object$front,
      loss = object$loss, gradient = object$gradient, output = object$output,
      response_scale = object$scale[[p + 1L]], bound = object$bound,
      sd = object$sd, target = object$target, level = object$level
    ),
    class = "summary.dp_lm"
  )
}

#' @export
print.summary.dp_lm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(regression_title(x), "\n", sep = "")
  if (!is.null(x$formula)) cat(deparse(x$formula, width.cutoff = 90L), sep = "\n")
  print_target(x)
  print_stamp(x$privacy)
  cat(sprintf("%s: %.0f (public)\n\n", records_title(x$privacy), x$n))
  print_coefficients(x$coefficients, digits)
  logistic <- identical(x$loss, "logistic")
  change <- if (logistic) {
    "change of the log-odds\n"
  } else {
    paste0("change of the response,\nin units of its own scale (",
           format(x$response_scale, digits = digits), "), ")
  }
  errors <- "Sampling" %in% colnames(x$coefficients)
  cat(if (errors) PARTS_TEXT else "\n",
      if ("Bias -" %in% colnames(x$coefficients)) LINE_BIAS_TEXT,
      "Scale: of the column, found privately or public. Per scale: ", change,
      "for one scale of the column.\n", sep = "")
  print_parts(x)
  if (any(is.finite(x$bound)) && length(x$sd) > 0L) {
    if (!is.null(x$level)) {
      cat(sprintf("Residuals clipped at %s (units of the response).\n",
                  format(x$level, digits = 3)))
    }
    cat(sprintf(
      "Last stage: %s at %s,\nnoise sd per mean gradient %s (standardised units).\n",
      bounded_text(x), format(x$bound[[length(x$bound)]], digits = 3),
      format(x$sd[[length(x$sd)]], digits = 3)
    ))
  }
  if (!errors) cat("No standard errors: vcov() says why.\n")
  invisible(x)
}

LINE_BIAS_TEXT <- paste0(
  "Bias: what clipped residuals may take from or add to the coefficient, as far\n",
  "as their tails tell, and how far it was drawn back to the robust line.\n"
)

# In two parts where all columns would not fit into a line.
print_coefficients <- function(table, digits) {
  scales <- c("Scale", "Per scale")
  if (!"Bias -" %in% colnames(table)) {
    print(table, digits = digits, na.print = "")
  } else {
    print(table[, setdiff(colnames(table), scales), drop = FALSE], digits = digits, na.print = "")
    cat("\n")
    slopes <- !is.na(table[, "Scale"])
    if (any(slopes)) print(table[slopes, scales, drop = FALSE], digits = digits)
  }
}

bias_columns <- function(object) {
  if (!is.null(object$bias)) {
    cbind(`Bias -` = object$bias[, "lower"], `Bias +` = object$bias[, "upper"])
  }
}

# Parts that are not the default's, in a line.
print_parts <- function(x) {
  part <- function(p) if (length(p) > 0L) sub("^[a-z]+: ", "", utils::capture.output(print(p)))
  shown <- c(
    if (!identical(x$front, "lasso") && !identical(x$constraint$name, "none")) part(x$constraint),
    if (isTRUE(x$penalty$lambda > 0)) part(x$penalty),
    if (!(x$gradient %||% "clipped") %in% "clipped") paste("gradient", x$gradient)
  )
  if (length(shown) > 0L) cat(paste(shown, collapse = "; "), "\n", sep = "")
}

# What the level is a level of.
bounded_text <- function(x) {
  switch(x$gradient %||% "clipped",
    clipped = if (x$loss %in% c("logistic", "huber", "biweight") || !is.null(x$level)) {
      "covariates clipped"
    } else {
      "gradients clipped"
    },
    shrunken = "covariates and response clamped", truncated = "gradient coordinates zeroed",
    catoni = "Catoni's scale for gradient coordinates", "gradient coordinates clamped"
  )
}

# More rows than this cannot be read.
PLOT_ROWS <- 40L

#' @rdname dp_lm_methods
#' @export
plot.dp_lm <- function(x, ...) {
  table <- summary(x)$coefficients
  shown <- which(!is.na(table[, "Scale"]))
  value <- table[shown, "Per scale"]
  names(value) <- rownames(table)[shown]
  if (length(value) == 0L) value <- x$coefficients
  largest <- sort(utils::head(order(-abs(value)), PLOT_ROWS))
  title <- regression_title(x)
  if (length(value) > PLOT_ROWS) title <- sprintf("%s: the %d largest", title, PLOT_ROWS)
  title <- stamped(title, x$privacy)
  what <- if (identical(x$loss, "logistic")) "log-odds" else "response"
  label <- sprintf("%s per scale of the column", what)
  shown <- rev(value[largest])
  half <- two_errors(x, names(shown))
  if (is.null(half)) {
    own <- list(value = shown, title = title, label = label, xlim = range(0, shown, na.rm = TRUE))
    draw_with(draw_dots, own, ...)
  } else {
    own <- list(value = shown, title = title, label = paste0(label, "; bars: 2 standard errors"),
                xlim = range(0, shown, shown - half, shown + half, na.rm = TRUE))
    draw_with(draw_dots, own, ...)
    graphics::segments(shown - half, seq_along(shown), shown + half, seq_along(shown))
  }
  graphics::abline(v = 0, col = "grey50", lty = 2)
  invisible(x)
}

# Two standard errors per scale of the column, as the slopes are drawn; NULL where none is known.
two_errors <- function(x, names) {
  if (!has_variance(x) || !all(names %in% x$schema$columns) || "(Intercept)" %in% names) {
    return(NULL)
  }
  half <- 2 * standard_errors(x)[names, "Std. Error"] * abs(coefficient_scale(x, names))
  if (any(is.finite(half))) half
}

# A dot chart with room for its names.
draw_dots <- function(value, title, label, ...) {
  names <- abbreviate(names(value), 24L, named = FALSE)
  size <- min(1, 22 / length(value))
  old <- graphics::par(mar = c(4.1, 1.5 + 0.55 * size * max(nchar(names)), 2.6, 1))
  on.exit(graphics::par(old))
  own <- list(x = value, labels = "", pch = 19, xlab = label, main = title)
  draw_with(graphics::dotchart, own, ...)
  graphics::axis(2, seq_along(value), names, las = 1, tick = FALSE, cex.axis = size)
}
