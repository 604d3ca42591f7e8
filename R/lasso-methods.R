#' Methods for fits with many slopes
#'
#' @param object,x A fit by [dp_lasso()].
#' @param sparse `TRUE`: a sparse vector of package Matrix, of slopes and intercept.
#' @param digits Significant digits to print.
#' @param ... Not used.
#' @return `coef()`: a named vector. `summary()`: as for [dp_lm()], of slopes that are not zero.
#'   `plot()` draws the slopes against the round for a fit by
#'   Frank-Wolfe, the chosen slopes otherwise, and returns the fit invisibly.
#' @section Privacy:
#' Functions of what was released; they cost nothing.
#' @examples
#' set.seed(1)
#' x <- matrix(rt(5000 * 20, 3), 5000)
#' y <- drop(x[, 1:2] %*% c(0.5, -0.4)) + rt(5000, 3)
#' fit <- dp_lasso(x, y, epsilon = 2, delta = 1e-6, radius = 1, refit = FALSE)
#' fit
#' plot(fit)
#' @name dp_lasso_methods
NULL

#' @rdname dp_lasso_methods
#' @export
coef.dp_lasso <- function(object, sparse = FALSE, ...) {
  b <- object$coefficients
  if (!check_flag(sparse, "sparse")) {
    return(b)
  }
  if (!requireNamespace("Matrix", quietly = TRUE)) {
    dp_abort("`sparse` = TRUE needs the package Matrix: install it, or leave `sparse` out.")
  }
  there <- which(b != 0)
  Matrix::sparseVector(unname(b[there]), there, length(b))
}

# Coefficients that are not zero.
shown_coefficients <- function(x) {
  b <- x$coefficients
  b[b != 0 | names(b) == "(Intercept)"]
}

#' @rdname dp_lasso_methods
#' @export
print.dp_lasso <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private LASSO, radius ", format(x$constraint$radius, digits = digits), "\n", sep = "")
  print_selected(x, digits)
  invisible(x)
}

# What follows the first line of a fit with few slopes.
print_selected <- function(x, digits) {
  shown <- shown_coefficients(x)
  if (!is.null(x$schema$formula)) cat(deparse(x$schema$formula, width.cutoff = 90L), sep = "\n")
  print_stamp(x$privacy)
  slopes <- sum(names(x$coefficients) != "(Intercept)")
  cat(sprintf("\nSlopes that are not zero (%d of %d):\n",
              sum(names(shown) != "(Intercept)"), slopes))
  print(format(utils::head(shown, PLOT_ROWS), digits = digits), quote = FALSE)
  if (length(shown) > PLOT_ROWS) cat("... and", length(shown) - PLOT_ROWS, "more\n")
}

#' @rdname dp_lasso_methods
#' @export
summary.dp_lasso <- function(object, ...) {
  out <- NextMethod()
  out$coefficients <- out$coefficients[names(shown_coefficients(object)), , drop = FALSE]
  out
}

# Iterates of Frank-Wolfe from the released path, one column per round.
fw_iterates <- function(x) {
  slopes <- names(x$coefficients) != "(Intercept)"
  set <- vertex_set(x$constraint, sum(slopes), cap = x$radii)
  b <- vertex_start(set)
  out <- matrix(0, length(b), length(x$path) + 1L)
  out[, 1L] <- b
  for (t in seq_along(x$path)) {
    b <- towards_vertex(b, set, x$path[[t]], x$eta %||% (2 / (t + 2)))
    out[, t + 1L] <- b
  }
  rownames(out) <- names(x$coefficients)[slopes]
  out[rowSums(out != 0) > 0, , drop = FALSE]
}

#' @rdname dp_lasso_methods
#' @export
plot.dp_lasso <- function(x, ...) {
  if (!identical(x$solver, "frank_wolfe") || identical(x$privacy$epsilon, Inf)) {
    return(plot_selected(x, "Private LASSO", ...))
  }
  path <- fw_iterates(x)
  rounds <- seq_len(ncol(path)) - 1L
  own <- list(x = rounds, y = t(path), type = "s", lty = 1, xlab = "round", ylab = "slope",
              main = stamped("Private LASSO by Frank-Wolfe", x$privacy))
  draw_with(graphics::matplot, own, ...)
  graphics::abline(h = 0, col = "grey50", lty = 2)
  last <- path[, ncol(path)]
  named <- utils::head(order(-abs(last)), 8L)
  graphics::text(max(rounds), last[named], rownames(path)[named], pos = 2, cex = 0.7)
  invisible(x)
}

plot_selected <- function(x, title, ...) {
  shown <- shown_coefficients(x)
  shown <- shown[names(shown) != "(Intercept)"]
  if (length(shown) == 0L) {
    graphics::plot.new()
    graphics::title(stamped(title, x$privacy))
    graphics::text(0.5, 0.5, "all slopes are zero")
    return(invisible(x))
  }
  largest <- sort(utils::head(order(-abs(shown)), PLOT_ROWS))
  draw_dots(rev(shown[largest]), stamped(title, x$privacy), "slope", ...)
  graphics::abline(v = 0, col = "grey50", lty = 2)
  invisible(x)
}
