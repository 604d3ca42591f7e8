#' Private residuals on new data
#'
#' How well a fit predicts rows that it has not seen: quantiles and a robust scale of the residuals
#' of a regression, a calibration table of a logistic one. A fit holds no data, so that these cost a
#' budget of their own.
#'
#' @param fit A fit by [dp_lm()], [dp_glm()], [dp_lasso()], [dp_sparse()], [dp_sco()] or
#'   [dp_tune()].
#' @param newdata The new rows, n of them: a data frame with the variables of the formula, in the
#'   classes and levels that they had, or a matrix, data frame or `dgCMatrix` for a fit of x and y.
#'   On rows that the fit has used, what both spent adds up; a `budget` counts it.
#' @param y The response, n numbers on the scale of the fit's response (0 and 1, logical or a factor
#'   for a logistic regression). `NULL`: the response of the formula, from `newdata`.
#' @param epsilon Positive number. `Inf` gives plain quantiles or means (not private).
#' @param delta Number, 0 <= delta < 1.
#' @param ... Not used; a misspelt argument is an error.
#' @param probs Numbers between 0 and 1: which quantiles of the residuals y less the prediction.
#' @param bound Public `c(lower, upper)` of the residuals, for extreme quantiles, or `NULL`.
#' @param bins Whole number: the calibration table has so many bins of equal width of the predicted
#'   probability.
#' @param na.action `NULL` refuses missing values (for the data holder's eyes only); `na.omit`
#'   leaves incomplete rows out.
#' @param unit Whose rows are whose, see [dp_units]: what is looked at is then one row of each unit,
#'   drawn at random.
#' @param budget A ledger made by [privacy_budget()], charged before values are read.
#' @param control Settings made by [dp_control()].
#' @param x,object A result of `dp_residuals()`.
#' @param digits Significant digits to print.
#' @return An object of class `dp_residuals`, a list with
#' \describe{
#'   \item{coefficients}{quantiles of the residuals, increasing in `probs`; or mean residuals
#'     (share of events less predicted probability) per bin, `NA` where the count is lost in its
#'     noise.}
#'   \item{scale}{a robust scale, the distance of the quartiles over 1.349 (the standard deviation
#'     of normal residuals); `NA` if `probs` has not both quartiles.}
#'   \item{probs}{as given.}
#'   \item{table}{for a logistic regression: a data frame with `lower` and `upper` end of a bin, the
#'     noisy `count`, `predicted` (middle of the bin), `observed` share and `noise_sd`, the
#'     standard deviation that noise gives it.}
#'   \item{n, privacy}{public number of rows; see [privacy()].}
#' }
#' `plot()` draws the quantiles against those of the normal law, or the observed shares against the
#' predicted ones, with two standard deviations of the noise.
#' @section Privacy:
#' Neighbours differ in one row of `newdata` and `y`; n, the classes and levels, and the fit are
#' public. A residual is a function of its row and the fit. *Quantiles:* as in [dp_quantile()], the
#' exponential mechanism with rank sensitivity 1. *Calibration:* a row adds 1 to the count of its
#' bin and y less its prediction, between -1 and 1 and rounded to a multiple of 2^-20, to the sum of
#' it; another row may take both from there and add them elsewhere: 2 in l2, 4 in l1. Counts and
#' sums are released at once with Gaussian noise (`delta` above 0, where that is less) or Laplace
#' noise.
#' @references
#' Smith, A. (2011). Privacy-preserving statistical estimation with optimal convergence
#' rates. *STOC*. \doi{10.1145/1993636.1993743}
#' @seealso [dp_quantile()], [predict.dp_lm()]
#' @examples
#' aside <- seq_len(nrow(cps1988)) %% 4 == 0
#' fit <- dp_lm(log(wage) ~ education + experience, data = cps1988[!aside, ],
#'              epsilon = 1, delta = 1e-6)
#' r <- dp_residuals(fit, cps1988[aside, ], epsilon = 1)
#' r
#' plot(r)
#' @export
dp_residuals <- function(fit, newdata, y = NULL, epsilon, delta = 0, ...,
                         probs = c(0.05, 0.25, 0.5, 0.75, 0.95), bound = NULL, bins = 10,
                         na.action = NULL, unit = NULL, budget = NULL,
                         control = dp_control()) {
  check_dots(...)
  control <- check_control(control, "dp_residuals")
  if (!missing(fit) && inherits(fit, "dp_tune")) fit <- fit$fit
  if (missing(fit) || !inherits(fit, "dp_lm") || identical(fit$loss, "mean")) {
    dp_abort("`fit` must be a regression: a fit by dp_lm(), dp_glm(), dp_lasso(), dp_sparse(), ...")
  }
  epsilon <- check_epsilon(epsilon)
  delta <- check_delta(delta)
  logistic <- identical(fit$loss, "logistic")
  schema <- newdata_schema(fit, newdata, y, logistic)
  schema <- with_units(schema, unit, schema$live$columns, parent.frame())
  plan <- if (logistic) {
    plan_calibration(schema$n, check_count(bins, "bins", 1, 1000), epsilon, delta, budget)
  } else {
    plan_residuals(schema$n, check_probs(probs), check_ends(bound), epsilon, delta, budget)
  }
  warn_large_delta(delta, schema$n)
  use <- curator_check(schema, na.action)
  ledger_charge(budget, plan$events, epsilon, delta,
                paste0("dp_residuals", if (has_units(schema)) PER_UNIT))
  values <- frame_values(schema, use)
  values$eta <- row_predictor(values, schema, fit$coefficients, control$threads)
  values <- one_row_per_unit(values, schema, use, control)
  found <- if (logistic) {
    calibration_table(stats::plogis(values$eta), values$y, plan, release_key(control))
  } else {
    residual_quantiles(values$y - values$eta, plan, release_key(control))
  }
  new_dp_fit(
    "residuals", found$coefficients, schema$n,
    new_privacy(epsilon, delta, plan$events, rng = control$rng, calibration = control$calibration,
                unit = if (has_units(schema)) "unit" else "row"),
    scale = found$scale, probs = if (!logistic) plan$probs, table = found$table,
    type = if (logistic) "calibration" else "quantiles"
  )
}

check_ends <- function(bound) {
  if (is.null(bound)) {
    return(c(-Inf, Inf))
  }
  ok <- is.numeric(bound) && length(bound) == 2L && !anyNA(bound) && bound[[1L]] < bound[[2L]]
  if (!ok) dp_abort("`bound` must be c(lower, upper), two numbers, the first the smaller.")
  as.numeric(bound)
}

# ---- the rows ------------------------------------------------------------------

# A live schema of new rows; classes and levels must be those of the fit.
newdata_schema <- function(fit, newdata, y, logistic) {
  schema <- fit$schema
  if (isTRUE(schema$offset_external)) {
    dp_abort(paste(
      "the fit was made with an `offset` that is not a column of `data`, so it is not known for",
      "`newdata`; write offset() of a column into the formula instead."
    ))
  }
  if (missing(newdata)) dp_abort("`newdata` is needed: a private fit holds no data.")
  if (logistic && !is.null(y)) y <- code_newdata_response(y, fit$classes)
  if (schema$kind == "matrix") {
    return(newdata_matrix_schema(schema, newdata, y))
  }
  if (!is.data.frame(newdata)) {
    dp_abort("`newdata` must be a data frame with the variables of the formula.")
  }
  view <- data_view(newdata, "newdata")
  columns <- view$columns
  if (!is.null(y)) {
    if (!is.numeric(y) && !is.logical(y)) dp_abort(NEWDATA_RESPONSE)
    y <- as.vector(check_response_vector(y))
    if (length(y) != view$n) {
      dp_abort("`y` must have one number per row of `newdata`.")
    }
    schema$variables[[1L]] <- given_response(schema$variables[[1L]])
    columns$.dp_y <- y
  }
  for (name in setdiff(raw_columns(schema), ".dp_y")) {
    check_same_class(view, name, schema$prototypes[[name]])
  }
  schema <- with_rows(schema, columns, view$n)
  schema$missing_text <- "`newdata` or `y` has missing values in the variables of the formula"
  schema
}

NEWDATA_RESPONSE <- "`y` must be numbers, one per row of `newdata`."

# 0 and 1 must be the classes that they were in the fit.
code_newdata_response <- function(y, classes) {
  if (is.factor(y) && is.character(classes) && !identical(levels(y), classes)) {
    dp_abort("`y` must have the levels that the response had in the fit, in the same order.")
  }
  code_factor(y)
}

given_response <- function(variable) {
  signature <- list(kind = "numeric", ncol = 0L)
  utils::modifyList(variable, list(
    expr = quote(.dp_y), raw = ".dp_y", bare = TRUE, elementwise = TRUE, signature = signature
  ))
}

check_same_class <- function(view, name, proto) {
  if (!name %in% view$names) {
    dp_abort(paste0("`newdata` has no column `", name, "`."))
  }
  check_columns(name, view)
  found <- prototype(view$columns[[name]])
  numbers <- c("double", "integer", "logical")
  same <- if (proto$kind %in% c("double", "integer")) found$kind %in% numbers else
    found$kind == proto$kind
  if (!same || found$ncol != proto$ncol || !identical(found$levels, proto$levels)) {
    dp_abort(sprintf(
      "column `%s` of `newdata` must have the class it had in the fit (%s)%s.", name, proto$kind,
      if (is.null(proto$levels)) "" else ", with the same levels in the same order"
    ))
  }
}

newdata_matrix_schema <- function(schema, newdata, y) {
  if (is.null(y)) dp_abort("`y` is needed: the fit was not made by a formula.")
  if (!is.numeric(y) && !is.logical(y)) dp_abort(NEWDATA_RESPONSE)
  newdata <- read_matrix(newdata, TRUE, "newdata")
  names <- if (schema$intercept) schema$columns[-1L] else schema$columns
  if (is_sparse(newdata)) {
    if (!identical(newdata$dim[[2L]], length(names))) {
      dp_abort(sprintf("`newdata` must have %d columns, as `x` had.", length(names)))
    }
  } else if (length(dim(newdata)) == 2L) {
    at <- newdata_places(colnames(newdata), ncol(newdata), names, schema$named)
    newdata <- newdata[, at, drop = FALSE]
  } else if (length(names) != 1L) {
    dp_abort(sprintf("`newdata` must have %d columns, as `x` had.", length(names)))
  }
  out <- schema_matrix(newdata, y, NULL, schema$intercept, NULL, sparse = TRUE)
  out$missing_text <- "`newdata` or `y` has missing values"
  out
}

# ---- residuals of a regression ---------------------------------------------------

plan_residuals <- function(n, probs, bound, epsilon, delta, budget) {
  plan <- plan_quantile(length(probs), epsilon, delta, budget)
  if (any(is.infinite(bound))) warn_extreme_quantiles(probs, plan$c, n)
  c(plan, list(probs = probs, bound = bound))
}

residual_quantiles <- function(residuals, plan, key) {
  probs <- plan$probs
  found <- release_quantiles(residuals, probs, plan$c, plan$bound[[1L]], plan$bound[[2L]], key)
  found[order(probs)] <- sort(found)
  # a draw between the last residual below zero and the first above is even on the log scale
  found[abs(found) < 1e-6 * max(abs(found))] <- 0
  names(found) <- paste0(format(100 * probs, trim = TRUE, digits = 7L), "%")
  quartile <- match(c(0.25, 0.75), probs)
  list(
    coefficients = found,
    scale = unname(diff(found[quartile])) / (2 * stats::qnorm(0.75))
  )
}

# ---- calibration of a logistic regression ------------------------------------------

plan_calibration <- function(n, bins, epsilon, delta, budget) {
  made <- list(
    if (delta > 0) {
      function() plan_gaussian(2 * bins, 2, epsilon, delta, budget, "tight")
    },
    function() plan_laplace(2 * bins, 4, epsilon, budget, delta)
  )
  plans <- lapply(Filter(Negate(is.null), made), function(f) {
    tryCatch(f(), dp_error = identity)
  })
  ok <- !vapply(plans, inherits, NA, "condition")
  if (!any(ok)) stop(plans[[1L]])
  plans <- plans[ok]
  sd <- vapply(plans, function(plan) noise_of(plan$law), 0)
  plan <- plans[[which.min(sd)]]
  if (5 * bins * min(sd) > n) {
    dp_warn(sprintf(paste(
      "n = %.0f is small for %.0f `bins` at this `epsilon`: most counts may be lost in the noise.",
      "Ask for fewer, or give a larger `epsilon`."
    ), n, bins), "dp_small_n")
  }
  c(plan, list(bins = bins, sd = min(sd)))
}

noise_of <- function(law) {
  law$scale * if (law$kind == "laplace") sqrt(2) else 1
}

# Counts and sums per bin in units of 2^-20, exact; a row without a number adds zero.
calibration_sums <- function(p, y, bins) {
  there <- which(is.finite(p) & is.finite(y))
  p <- p[there]
  y <- pmin(pmax(y[there], 0), 1)
  bin <- pmin(floor(bins * p), bins - 1) + 1
  units <- floor(SCORE_UNIT * (y - p))
  per_bin <- function(v) {
    out <- numeric(bins)
    sums <- rowsum(v, bin)
    out[as.integer(rownames(sums))] <- sums
    out
  }
  c(tabulate(bin, bins), per_bin(units) / SCORE_UNIT)
}

calibration_table <- function(p, y, plan, key) {
  own <- seq_len(plan$bins)
  noisy <- release_vector(calibration_sums(p, y, plan$bins), plan$law, key)
  count <- noisy[own]
  count[count < max(3 * plan$sd, 0.5)] <- NA
  ends <- seq(0, 1, length.out = plan$bins + 1)
  middle <- (ends[own] + ends[-1L]) / 2
  mean <- pmin(pmax(noisy[-own] / count, -1), 1)
  names(mean) <- sprintf("(%s, %s]", format(ends[own], digits = 3, trim = TRUE),
                         format(ends[-1L], digits = 3, trim = TRUE))
  list(
    coefficients = mean, scale = NA_real_,
    table = data.frame(
      lower = ends[own], upper = ends[-1L], count = noisy[own], predicted = middle,
      observed = pmin(pmax(middle + unname(mean), 0), 1), noise_sd = plan$sd / count
    )
  )
}

# ---- methods -----------------------------------------------------------------------

#' @rdname dp_residuals
#' @export
print.dp_residuals <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (x$type == "quantiles") {
    print_values("Private quantiles of residuals", x, digits)
    if (!is.na(x$scale)) {
      cat("\nRobust scale: ", format(x$scale, digits = digits), "\n", sep = "")
    }
    return(invisible(x))
  }
  cat("Private calibration of predicted probabilities\n")
  print_stamp(x$privacy)
  cat("\n")
  shown <- x$table
  shown$count <- round(shown$count)
  print(shown, digits = digits, row.names = FALSE)
  if (x$privacy$epsilon < Inf) {
    cat("Counts are noisy and may fall below 0; NA: the share is lost in the noise\n")
  }
  invisible(x)
}

#' @rdname dp_residuals
#' @export
summary.dp_residuals <- function(object, ...) object

#' @rdname dp_residuals
#' @export
plot.dp_residuals <- function(x, ...) {
  if (x$type == "quantiles") {
    inner <- x$probs > 0 & x$probs < 1
    if (!any(inner)) {
      dp_abort("there is nothing to draw: ask for quantiles with `probs` above 0 and below 1.")
    }
    own <- list(
      x = stats::qnorm(x$probs[inner]), y = unname(x$coefficients[inner]), pch = 19,
      xlab = "quantile of the normal law", ylab = "quantile of the residuals",
      main = stamped("Private residuals", x$privacy)
    )
    draw_with(plot, own, ...)
    if (!is.na(x$scale)) {
      middle <- mean(x$coefficients[match(c(0.25, 0.75), x$probs)])
      graphics::abline(middle, x$scale, lty = 2)
    }
    return(invisible(x))
  }
  t <- x$table
  own <- list(
    x = t$predicted, y = t$observed, pch = 19, xlim = c(0, 1), ylim = c(0, 1),
    xlab = "predicted probability", ylab = "observed share",
    main = stamped("Private calibration", x$privacy)
  )
  draw_with(plot, own, ...)
  graphics::segments(t$predicted, t$observed - 2 * t$noise_sd, t$predicted,
                     t$observed + 2 * t$noise_sd)
  graphics::abline(0, 1, lty = 2)
  invisible(x)
}
