#' Losses, gradients and constraints
#'
#' The parts that a regression is put together from. Each names itself; none reads data.
#'
#' * `loss_squared()`: half the squared residual, (eta - y)^2 / 2.
#' * `loss_huber(k)`: quadratic up to k sigma, linear beyond. `loss_biweight(c)`: Tukey's, flat
#'   beyond c sigma, not convex. sigma is the scale of the residuals: a public number in the
#'   response's units, or found privately from their median size. The derivative is bounded, so it
#'   is the covariates that are clipped, by a weight that does not depend on the response.
#' * `grad_clipped(C)`: the gradient of each record is shortened to length `C`. Lengths
#'   are those of the standardised problem: residuals in units of the response's scale,
#'   columns centred, scaled and preconditioned. Without `C` the level is found privately,
#'   and found again as the fit improves.
#' * `no_constraint()`, `l2_ball(r)`: the slopes, in the caller's units, are free, or lie in
#'   the Euclidean ball of radius `r` about zero. The intercept is free.
#'
#' @param k,c Positive numbers: tuning constants in units of sigma; the defaults give 95 %
#'   efficiency with Gaussian errors.
#' @param sigma Positive number, the public scale of the residuals in the response's units (one
#'   that is far off makes a bad fit, without a warning), or `NULL`.
#' @param C Number between 1e-50 and 1e50, or `NULL`.
#' @param r Positive number.
#' @return A list of class `dp_loss`, `dp_gradient` or `dp_constraint`.
#' @section Privacy:
#' Parts are public and cost nothing; a clip level that is not given is found
#' from noisy counts of the gradients' sizes, which the fit pays for. Noise grows with `C`: a
#' level far above the sizes of most gradients drowns the fit.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022.
#'
#' Huber, P. J. (1964). Robust estimation of a location parameter. *Annals of Mathematical
#' Statistics* 35, 73-101. \doi{10.1214/aoms/1177703732}
#'
#' Beaton, A. E. and Tukey, J. W. (1974). The fitting of power series, meaning polynomials,
#' illustrated on band-spectroscopic data. *Technometrics* 16, 147-185.
#' \doi{10.1080/00401706.1974.10489171}
#' @examples
#' loss_squared()
#' grad_clipped(2)
#' l2_ball(10)
#' loss_huber()
#' @name problem_parts
NULL

new_part <- function(class, name, ...) {
  structure(list(name = name, ...), class = c(class, "dp_part"))
}

#' @rdname problem_parts
#' @export
loss_squared <- function() new_part("dp_loss", "squared")

#' @rdname problem_parts
#' @export
loss_huber <- function(k = 1.345, sigma = NULL) robust_loss("huber", k, "k", sigma)

#' @rdname problem_parts
#' @export
loss_biweight <- function(c = 4.685, sigma = NULL) robust_loss("biweight", c, "c", sigma)

robust_loss <- function(name, tuning, arg, sigma) {
  new_part(
    "dp_loss", name, tuning = check_number(tuning, arg, 1e-3, 1e3),
    sigma = if (!is.null(sigma)) check_number(sigma, "sigma", 1e-100, 1e100)
  )
}

#' @rdname problem_parts
#' @export
grad_clipped <- function(C = NULL) {
  if (!is.null(C)) C <- check_number(C, "C", 1e-50, 1e50)
  new_part("dp_gradient", "clipped", bound = C)
}

#' @rdname problem_parts
#' @export
no_constraint <- function() new_part("dp_constraint", "none", radius = Inf)

#' @rdname problem_parts
#' @export
l2_ball <- function(r) {
  new_part("dp_constraint", "l2_ball", radius = check_number(r, "r", 0, open = TRUE))
}

#' @export
print.dp_part <- function(x, ...) {
  numbers <- Filter(is.numeric, unclass(x))
  detail <- if (length(numbers) > 0L) {
    paste0(" (", paste(names(numbers), "=", vapply(numbers, format, ""), collapse = ", "), ")")
  }
  kind <- sub("^dp_", "", class(x)[[1L]])
  cat(kind, ": ", x$name, detail, "\n", sep = "")
  invisible(x)
}

# A part, or the name of one.
as_part <- function(x, class, arg, makers, made_by) {
  if (is.character(x) && length(x) == 1L && x %in% names(makers)) {
    return(makers[[x]]())
  }
  if (!inherits(x, class)) {
    dp_abort(sprintf("`%s` must be made by %s.", arg, made_by))
  }
  x
}

as_loss <- function(loss) {
  as_part(
    loss, "dp_loss", "loss",
    list(squared = loss_squared, huber = loss_huber, biweight = loss_biweight),
    "loss_squared(), loss_huber() or loss_biweight()"
  )
}

as_gradient <- function(gradient) {
  as_part(gradient, "dp_gradient", "gradient", list(clipped = grad_clipped), "grad_clipped()")
}

as_constraint <- function(constraint) {
  as_part(
    constraint, "dp_constraint", "constraint", list(none = no_constraint),
    "no_constraint() or l2_ball(r)"
  )
}
