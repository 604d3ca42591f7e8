#' Losses, gradients, constraints and penalties
#'
#' The parts that a regression is put together from. Each names itself; none reads data.
#'
#' *Losses* of the linear predictor eta and the response y:
#' * `loss_squared()`: half the squared residual, (eta - y)^2 / 2.
#' * `loss_logistic()`: log(1 + exp(eta)) - y eta, for a response coded as in [dp_glm()].
#' * `loss_huber(k)`: quadratic up to k sigma, linear beyond. `loss_biweight(c)`: Tukey's, flat
#'   beyond c sigma, not convex. sigma is the scale of the residuals: a public number in the
#'   response's units, or found privately from their median size. The derivative is bounded, so it
#'   is the covariates that are clipped, by a weight that does not depend on the response.
#' * `loss_mean()`: half the squared distance of w from the row, for [dp_sco()] without `y`.
#' * a loss of your own: [loss_user()].
#'
#' *Gradients*: how the gradients of the records, psi_i z_i with psi the derivative of the loss and
#' z the standardised row (the constant 1 first), are averaged so that no record counts for much.
#' `grad_clipped(C)` bounds whole records, all others single coordinates:
#' * `grad_clipped(C)`: the gradient of each record is shortened to length `C`, under the
#'   preconditioner that makes the columns alike.
#' * `grad_winsorized(tau)`: coordinates beyond `tau` count as `tau`.
#' * `grad_truncated(tau)`: coordinates beyond `tau` count as zero (Tao et al.).
#' * `grad_mom(tau, groups)`: the median of the means of `groups` groups of records, of coordinates
#'   bounded by `tau` (put to zero beyond it with `calibration = "paper"`, which is Algorithm 3 of
#'   Tao et al.). The groups are a random partition that does not look at the data. Noise grows with
#'   their number.
#' * `grad_catoni(s, beta)`: s phi(g / s) for each coordinate g, phi(t) = t - t^3/6 up to sqrt(2),
#'   constant beyond; with finite `beta` its expectation over g (1 + Z / sqrt(beta)), Z normal
#'   (Hu et al.). Its range is s M, M = 2 sqrt(2)/3 (2 Phi(sqrt(beta)) - 1). Smoothing only adds
#'   bias, so `Inf` is the default.
#' * `grad_shrunken(K)`: covariates and response are clamped to +-`K` before anything is computed
#'   (Hu et al.). With the squared loss this needs a bounded constraint: with `l2_ball(r)`
#'   derivatives are bounded by K (1 + r sqrt(p)), with the largest l1 norm R of a vertex by
#'   K (1 + R), and coordinates by K times that.
#'
#' Levels are in units of the standardised problem: residuals in units of the response's scale,
#' columns centred and scaled, by what `scale =` says or by what is found privately. A level that
#' is not given comes from `moment =` of [dp_sco()], or is found privately, and found again as the
#' fit improves.
#'
#' *Constraints* on the slopes, in the caller's units: `no_constraint()`; `l2_ball(r)`, the
#' Euclidean ball of radius `r` about zero; `l1_ball(r)`, all slopes with sum of absolute values at
#' most `r`; `unit_simplex()`, slopes from 0 on that add to 1; `polytope(vertices)`, the averages of
#' the rows of a matrix (also a sparse one of package Matrix). These three go with the
#' Frank-Wolfe solver of [dp_sco()]. `sparse_vectors(s)`: at most `s` slopes that are not zero, with
#' Euclidean length at most `radius`; it goes with the solver `"iht"` ([iht_solver]). The intercept
#' is free.
#'
#' *Penalties*: `ridge(lambda)` adds lambda/2 times the sum of squares of the slopes, in the
#' caller's units, to the mean loss. It needs no data, so that it costs nothing.
#'
#' @param k,c Positive numbers: tuning constants in units of sigma; the defaults give 95 %
#'   efficiency with Gaussian errors.
#' @param sigma Positive number, the public scale of the residuals in the response's units (one
#'   that is far off makes a bad fit, without a warning), or `NULL`.
#' @param C,tau,s,K Number between 1e-50 and 1e50, or `NULL`; `s` of `sparse_vectors()`: whole
#'   number from 1 on.
#' @param radius Positive number, or `Inf`.
#' @param groups Whole number from 1 on; `NULL`: 2 log(2 k / xi) with k coefficients and `xi` of
#'   [dp_control()].
#' @param beta Positive number, or `Inf`.
#' @param r Positive number.
#' @param vertices Numeric matrix of finite numbers, one row per vertex, one column per slope.
#' @param lambda Number from 0 on.
#' @return A list of class `dp_loss`, `dp_gradient`, `dp_constraint` or `dp_penalty`.
#' @section Privacy:
#' Parts are public and cost nothing; a level that is not given is found
#' from noisy counts of the gradients' sizes, which the fit pays for. Noise grows with it: a
#' level far above the sizes of most gradients drowns the fit.
#' *Sensitivity*, replacing one of n rows, with k coefficients: a record's clipped gradient has
#' length at most C, the mean moves by at most 2 C / n in l2. A coordinate lies within +-tau (or
#' s M, or K times the bound of the derivative), so the mean moves by at most 2 tau / n in each
#' coordinate, 2 tau sqrt(k) / n in l2; for medians of means by as much with n the size of the
#' smallest group, for the median of numbers moves by no more than the numbers do. In
#' floating point the bounds hold for the integers that are summed.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022.
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144}
#'
#' Catoni, O. (2012). Challenging the empirical mean and empirical variance: a deviation study.
#' *Annales de l'Institut Henri Poincare, Probabilites et Statistiques* 48, 1148-1185.
#' \doi{10.1214/11-AIHP454}
#'
#' Huber, P. J. (1964). Robust estimation of a location parameter. *Annals of Mathematical
#' Statistics* 35, 73-101. \doi{10.1214/aoms/1177703732}
#'
#' Beaton, A. E. and Tukey, J. W. (1974). The fitting of power series, meaning polynomials,
#' illustrated on band-spectroscopic data. *Technometrics* 16, 147-185.
#' \doi{10.1080/00401706.1974.10489171}
#' @seealso [dp_sco()], [loss_user()], [moment_bound()]
#' @examples
#' loss_squared()
#' grad_clipped(2)
#' grad_catoni(s = 5, beta = 1)
#' l2_ball(10)
#' ridge(0.1)
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
loss_logistic <- function() new_part("dp_loss", "logistic")

#' @rdname problem_parts
#' @export
loss_mean <- function() new_part("dp_loss", "mean")

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

check_level_arg <- function(x, arg) if (!is.null(x)) check_number(x, arg, 1e-50, 1e50)

#' @rdname problem_parts
#' @export
grad_clipped <- function(C = NULL) {
  new_part("dp_gradient", "clipped", bound = check_level_arg(C, "C"))
}

#' @rdname problem_parts
#' @export
grad_winsorized <- function(tau = NULL) {
  new_part("dp_gradient", "winsorized", bound = check_level_arg(tau, "tau"))
}

#' @rdname problem_parts
#' @export
grad_truncated <- function(tau = NULL) {
  new_part("dp_gradient", "truncated", bound = check_level_arg(tau, "tau"))
}

#' @rdname problem_parts
#' @export
grad_mom <- function(tau = NULL, groups = NULL) {
  new_part(
    "dp_gradient", "mom", bound = check_level_arg(tau, "tau"),
    groups = if (!is.null(groups)) check_count(groups, "groups")
  )
}

#' @rdname problem_parts
#' @export
grad_catoni <- function(s = NULL, beta = Inf) {
  new_part(
    "dp_gradient", "catoni", bound = check_level_arg(s, "s"),
    beta = check_number(beta, "beta", 1e-3, Inf, finite = FALSE)
  )
}

#' @rdname problem_parts
#' @export
grad_shrunken <- function(K = NULL) {
  new_part("dp_gradient", "shrunken", bound = check_level_arg(K, "K"))
}

#' @rdname problem_parts
#' @export
no_constraint <- function() new_part("dp_constraint", "none", radius = Inf)

#' @rdname problem_parts
#' @export
l2_ball <- function(r) {
  new_part("dp_constraint", "l2_ball", radius = check_number(r, "r", 0, open = TRUE))
}

#' @rdname problem_parts
#' @export
ridge <- function(lambda) {
  new_part("dp_penalty", "ridge", lambda = check_number(lambda, "lambda", 0, 1e100))
}

#' @rdname problem_parts
#' @export
l1_ball <- function(r) {
  new_part("dp_constraint", "l1_ball", radius = check_number(r, "r", 0, 1e100, open = TRUE))
}

#' @rdname problem_parts
#' @export
unit_simplex <- function() new_part("dp_constraint", "unit_simplex", radius = 1)

#' @rdname problem_parts
#' @export
polytope <- function(vertices) {
  new_part("dp_constraint", "polytope", vertices = check_vertices(vertices))
}

#' @rdname problem_parts
#' @export
sparse_vectors <- function(s, radius = Inf) {
  s <- check_count(s, "s")
  new_part("dp_constraint", "sparse_vectors", s = s,
           radius = check_number(radius, "radius", 0, open = TRUE, finite = FALSE))
}

#' @export
print.dp_part <- function(x, ...) {
  numbers <- Filter(function(v) is.numeric(v) && length(v) == 1L, unclass(x))
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

LOSSES <- list(
  squared = loss_squared, logistic = loss_logistic, huber = loss_huber, biweight = loss_biweight,
  mean = loss_mean
)

# `names`: the losses that the front takes.
as_loss <- function(loss, names = c("squared", "huber", "biweight")) {
  makers <- LOSSES[names]
  made_by <- paste0("loss_", c(names, "user"), "()", collapse = ", ")
  if (is.character(loss) && !identical(loss, "user")) {
    return(as_part(loss, "dp_loss", "loss", makers, made_by))
  }
  loss <- as_part(loss, "dp_loss", "loss", makers, made_by)
  if (!loss$name %in% c(names, "user")) dp_abort(sprintf("`loss` must be made by %s.", made_by))
  loss
}

as_gradient <- function(gradient) {
  makers <- list(
    clipped = grad_clipped, winsorized = grad_winsorized, truncated = grad_truncated,
    mom = grad_mom, catoni = grad_catoni, shrunken = grad_shrunken
  )
  as_part(
    gradient, "dp_gradient", "gradient", makers,
    paste0("grad_", names(makers), "()", collapse = ", ")
  )
}

as_constraint <- function(constraint) {
  as_part(
    constraint, "dp_constraint", "constraint",
    list(none = no_constraint, unit_simplex = unit_simplex),
    paste("no_constraint(), l2_ball(r), l1_ball(r), unit_simplex(), polytope(vertices) or",
          "sparse_vectors(s)")
  )
}

as_penalty <- function(penalty) {
  if (is.null(penalty)) {
    return(ridge(0))
  }
  as_part(penalty, "dp_penalty", "penalty", list(), "ridge(lambda), or NULL")
}
