# The object that every fitter returns: released and public numbers only.

new_dp_fit <- function(front, coefficients, n, privacy, ..., schema = NULL) {
  structure(
    list(
      front = front, coefficients = coefficients, n = n, privacy = privacy, schema = schema, ...
    ),
    class = c(paste0("dp_", front), "dp_fit")
  )
}

#' Methods for private fits
#'
#' @param object,x A fit of this package.
#' @param digits Significant digits to print.
#' @param ... Not used.
#' @return `coef()`: the released estimates, in the caller's units. `nobs()`: the public
#'   number of rows that were handed in. `formula()`: the formula of a fit made by
#'   formula. `residuals()`, `fitted()`, `deviance()`, `df.residual()`, `logLik()` and
#'   `AIC()` stop, for a fit holds no data. For `vcov()` and `confint()` see [dp_intervals].
#' @section Privacy:
#' All of these are functions of what was released; they cost nothing.
#' @name dp_fit_methods
NULL

#' @rdname dp_fit_methods
#' @export
coef.dp_fit <- function(object, ...) object$coefficients

#' @rdname dp_fit_methods
#' @export
nobs.dp_fit <- function(object, ...) object$n

#' @rdname dp_fit_methods
#' @export
formula.dp_fit <- function(x, ...) {
  if (is.null(x$schema$formula)) {
    dp_abort("this fit was not made by a formula.")
  }
  x$schema$formula
}

no_data <- function(what) {
  dp_abort(sprintf(paste(
    "%s would need the rows of the data, and a private fit holds none;",
    "use coef(), summary(), privacy() or predict(fit, newdata)."
  ), what), "dp_error_no_data")
}

#' @importFrom stats residuals
#' @export
residuals.dp_fit <- function(object, ...) no_data("residuals()")

#' @importFrom stats fitted
#' @export
fitted.dp_fit <- function(object, ...) no_data("fitted()")

#' @importFrom stats deviance
#' @export
deviance.dp_fit <- function(object, ...) no_data("deviance()")

#' @importFrom stats df.residual
#' @export
df.residual.dp_fit <- function(object, ...) no_data("df.residual()")

#' @importFrom stats logLik
#' @export
logLik.dp_fit <- function(object, ...) no_data("logLik()")

#' @export
predict.dp_fit <- function(object, ...) {
  dp_abort("this fit predicts nothing: regressions do; use coef().")
}

#' @importFrom stats AIC
#' @export
AIC.dp_fit <- function(object, ..., k = 2) no_data("AIC()")

# A picture with arguments of its own, of which the caller may give others.
draw_with <- function(draw, own, ...) {
  given <- list(...)
  do.call(draw, c(own[setdiff(names(own), names(given))], given))
}

# What a picture must say, too.
stamped <- function(title, privacy) {
  if (identical(privacy$epsilon, Inf)) {
    paste(title, "(NOT PRIVATE)")
  } else if (identical(privacy$rng, "R")) {
    paste(title, "(NOT FOR RELEASE)")
  } else {
    title
  }
}

# Lines that every print of a fit begins with: what may be done with it.
print_stamp <- function(privacy) {
  if (identical(privacy$epsilon, Inf)) {
    cat("NOT PRIVATE: epsilon = Inf, no noise was added\n")
  } else {
    cat(sprintf("(epsilon, delta) = (%s, %s), protects one %s\n",
                format_number(privacy$epsilon), format_number(privacy$delta),
                sub("^replace one ", "", privacy$neighbours)))
  }
  if (privacy$rng == "R") {
    cat("NOT FOR RELEASE: the noise is repeatable (rng = \"R\")\n")
  }
}

# What a fit counts: rows, or the units they belong to.
records_title <- function(privacy) {
  if (identical(privacy$neighbours, "replace one unit")) "Units" else "Rows"
}

print_neighbours <- function(x) {
  cat(sprintf("Neighbours: %s; %s: %.0f (public)\n\n", x$privacy$neighbours,
              tolower(records_title(x$privacy)), x$n))
}

print_values <- function(title, x, digits) {
  cat(title, "\n", sep = "")
  print_stamp(x$privacy)
  cat("\n")
  print(x$coefficients, digits = digits)
  invisible(x)
}

# In released scales near the ends of what a double holds a slope may be none.
finite_or_zero <- function(v) ifelse(is.finite(v), v, 0)

# Of a logistic fit: what predictions are in.
with_classes <- function(fit, classes) {
  if (!is.null(classes)) fit[c("family", "classes")] <- list("binomial", classes)
  fit
}
