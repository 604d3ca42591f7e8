#' A public bound on a moment
#'
#' What is known about the tails from outside the data: E|.|^order <= bound, of each column of x
#' (in [dp_mean()]) or of each coordinate of the gradient (in [dp_sco()]), about zero, in the
#' caller's units or those of `scale =`. Truncation levels follow from it, so that no part of the
#' budget goes into finding them. Too small a bound biases the answer, without a warning; it never
#' harms privacy.
#'
#' @param order Number: above 1 and at most 2, or 4 (for `grad_shrunken()`: of the columns and
#'   the response). An order of 2 with a finite bound says that variances exist.
#' @param bound Positive number.
#' @return A list of class `dp_moment`.
#' @section Privacy:
#' Public: it must come from the caller and not from the data.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022 (v = order - 1, u = bound).
#' @seealso [dp_mean()], [dp_sco()]
#' @examples
#' moment_bound(order = 1.5, bound = 10)
#' @export
moment_bound <- function(order, bound) {
  if (!is_number(order) || !(order == 4 || (order > 1 && order <= 2))) {
    dp_abort("`order` must be one number above 1 and at most 2, or 4.")
  }
  structure(
    list(order = order, bound = check_number(bound, "bound", 1e-100, 1e100)), class = "dp_moment"
  )
}

#' @export
print.dp_moment <- function(x, ...) {
  cat(sprintf("moment: E|.|^%s <= %s (public)\n", format(x$order), format(x$bound)))
  invisible(x)
}

# `order`: "low" for an order of at most 2, "second", "fourth".
check_moment <- function(moment, order = "low") {
  if (is.null(moment)) {
    return(NULL)
  }
  if (!inherits(moment, "dp_moment")) {
    dp_abort("`moment` must be made by moment_bound(order, bound).")
  }
  ok <- switch(order, low = moment$order <= 2, second = moment$order == 2,
               fourth = moment$order == 4)
  if (!ok) {
    dp_abort(paste0(
      "`moment` must be of order ",
      switch(order, low = "above 1 and at most 2", second = "2", fourth = "4"), " here."
    ))
  }
  moment
}

# Bias of clipping (winsorising) at B is at most this times u B^-v; of zeroing, u B^-v
# itself: the supremum of (t - 1)_+ / t^(1 + v).
clip_bias <- function(v) v^v / (1 + v)^(1 + v)

# The level at which c u B^-v + slope B is smallest.
balanced_level <- function(u, v, c, slope) (v * c * u / slope)^(1 / (1 + v))
