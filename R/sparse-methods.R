#' Methods for sparse fits
#'
#' @param object,x A fit by [dp_sparse()].
#' @param sparse `TRUE`: a sparse vector of package Matrix, of slopes and intercept.
#' @param digits Significant digits to print.
#' @param ... Not used.
#' @return `coef()`: a named vector. `summary()`: as for [dp_lm()], of slopes that are not zero.
#'   `plot()` draws the chosen slopes and returns the fit invisibly. [predict.dp_lm()] and
#'   [predict.dp_glm()] work as they do there.
#' @section Privacy:
#' Functions of what was released; they cost nothing.
#' @examples
#' set.seed(1)
#' x <- matrix(rt(5000 * 50, 3), 5000)
#' y <- drop(x[, 1:2] %*% c(0.5, -0.4)) + rt(5000, 3)
#' fit <- dp_sparse(x, y, epsilon = 2, delta = 1e-6, sparsity = 2)
#' summary(fit)
#' plot(fit)
#' @name dp_sparse_methods
NULL

#' @rdname dp_sparse_methods
#' @export
coef.dp_sparse <- function(object, sparse = FALSE, ...) {
  coef.dp_lasso(object, sparse, ...)
}

#' @rdname dp_sparse_methods
#' @export
print.dp_sparse <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private sparse regression, at most ", x$constraint$s, " slopes\n", sep = "")
  print_selected(x, digits)
  cat("Which slopes these are is itself noisy.\n")
  invisible(x)
}

#' @rdname dp_sparse_methods
#' @export
summary.dp_sparse <- function(object, ...) {
  out <- NextMethod()
  out$coefficients <- out$coefficients[names(shown_coefficients(object)), , drop = FALSE]
  out
}

#' @rdname dp_sparse_methods
#' @export
plot.dp_sparse <- function(x, ...) {
  plot_selected(x, "Private sparse regression", ...)
}
