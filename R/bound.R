#' What is proved about the error of a fit
#'
#' High-probability bounds on the error from a public moment, with explicit constants, next to the
#' rates that the papers print and the lower bounds. A bound holds for every law with
#' that moment, so that it is far above the error on most data: see [dp_plan()] for an expectation.
#'
#' @details
#' It is for fits with `moment = moment_bound()`:
#' \tabular{ll}{
#'   `dp_mean(method = "truncated")` \tab Tao et al., Theorem 1 \cr
#'   `dp_mean(method = "median_of_means")` \tab Tao et al., Theorems 3 and 4 \cr
#'   `dp_mean(method = "catoni")` \tab the estimator of Hu et al. \cr
#'   `dp_sco()`, `calibration = "paper"`, l2 ball \tab Tao et al., Theorem 6 (convex), 7 (strongly
#'     convex); 5 is its privacy \cr
#'   `dp_sco()`, `"tight"`, no ball or an l2 ball \tab one gradient only: Theorem 3 or its like \cr
#'   Frank-Wolfe, `grad_catoni()`, `grad_winsorized()`, `grad_truncated()` \tab Hu et al.,
#'     Algorithm 1: convex losses, Corollary 1 (LASSO), robust regression (`loss_biweight()`) \cr
#'   Frank-Wolfe, `grad_shrunken()` \tab Hu et al., Algorithm 2 (LASSO) \cr
#'   [dp_peel()] \tab noise of Algorithm 4 of Tao et al. \cr
#'   `dp_sparse()` \tab Tao et al., Theorem 10, and Hu et al.: orders only
#' }
#' Other fits find levels privately; an error says which theorem is closest and what is missing.
#'
#' The texts of both papers that this package was written from have lost most of their formulas. So
#' `status` says of each bound where its form is from: *printed* (in the paper), *inferred* (the
#' one form that agrees with what is printed about it) or *derived* (proved here from first
#' principles, with constants). Values are always derived; `rate` and `lower` are orders, evaluated
#' with every constant put to one and logarithms as stated.
#'
#' *Derivations.* Means: the bias of truncation is at most u B^-v (clamped: v^v / (1+v)^(1+v) times
#' that), the deviation follows Bernstein's inequality with E x'^2 <= u B^(1-v), or, of a median of
#' means, Theorem 4 or Chebyshev's inequality for each group; the noise's tail is exact. Strongly
#' convex: a step of 1/(alpha + beta) shrinks the distance to the minimiser by q =
#' sqrt(alpha^2 + beta^2)/(alpha + beta), so
#' |w_T - w*| <= q^T D + sup|err| / ((alpha + beta)(1 - q)), and the risk is at most beta/2 times
#' its square. Convex: D^2/(2 eta T) + R D/T + eta (R + sup|err|)^2 / 2 + D sup|err|, for the
#' average of the iterates after the first. Frank-Wolfe with steps 2/(t+2): 8 alpha r^2/(T+2)
#' plus the largest error of a linear minimisation, 2 r sup|err|_inf + (2 Delta / epsilon0)
#' log(2 |V| T / xi).
#'
#' @param x An error bound.
#' @param fit A fit with `moment =`, or one by [dp_peel()].
#' @param xi Number between 0 and 1/2: the chance with which the bound may fail; `NULL`: that of
#'   [dp_control()].
#' @param smoothness Positive number or `NULL`, for Frank-Wolfe: how much a coordinate of the
#'   gradient of the population risk changes per unit of l1 distance, at most (squared loss:
#'   max_j E x_j^2). `NULL`: that of [dp_control()], or the root of the moment for
#'   `grad_shrunken()`.
#' @param ... Not used.
#' @return An object of class `dp_bound`, a list with
#' \describe{
#'   \item{value}{the bound, with chance at least 1 - xi; `NA` where only orders are known.}
#'   \item{statement}{of what.}
#'   \item{parts}{its terms.}
#'   \item{rate, lower}{the printed rate and the lower bound as orders: `text` and `value` with
#'     constants of one.}
#'   \item{source, status, assumptions}{author, year, theorem and DOI; what is printed, inferred and
#'     derived; what must hold.}
#'   \item{xi}{the chance of failure.}
#' }
#' @section Privacy:
#' A function of public numbers; it costs nothing.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022.
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144}
#'
#' von Bahr, B. and Esseen, C.-G. (1965). Inequalities for the r-th absolute moment of a sum of
#' random variables, 1 <= r <= 2. *Annals of Mathematical Statistics* 36, 299-303.
#' \doi{10.1214/aoms/1177700291}
#' @seealso [dp_plan()], [moment_bound()]
#' @examples
#' fit <- dp_mean(danish$Total, epsilon = 1, delta = 1e-6, method = "truncated",
#'                moment = moment_bound(1.5, 20))
#' error_bound(fit)
#' @export
error_bound <- function(fit, xi = NULL, smoothness = NULL, ...) {
  check_dots(...)
  if (missing(fit) || !inherits(fit, c("dp_fit", "dp_mechanism"))) {
    dp_abort("`fit` must be a fit of this package.")
  }
  if (inherits(fit, "dp_tune")) {
    dp_abort("no bound is proved for a fit that was chosen by dp_tune().", "dp_error_bound")
  }
  if (!is.null(xi)) xi <- check_number(xi, "xi", 1e-12, 0.5)
  if (!is.null(smoothness)) smoothness <- check_public(smoothness, "smoothness")
  if (identical(privacy(fit)$epsilon, Inf)) {
    dp_abort("a fit with epsilon = Inf is not private: the theorems are not about it.",
             "dp_error_bound")
  }
  if (inherits(fit, "dp_peel")) {
    return(bound_peel(fit, xi %||% 0.05))
  }
  f <- fit$facts
  if (is.null(f)) abort_no_theorem(fit)
  f$xi <- xi %||% f$xi
  if (inherits(fit, "dp_mean")) {
    bound_mean(fit, f)
  } else if (inherits(fit, "dp_sparse")) {
    bound_sparse(fit, f)
  } else if (!is.null(f$vertices)) {
    bound_fw(fit, f, smoothness)
  } else {
    bound_sco(fit, f)
  }
}

# Which theorem is closest, and what it would need.
abort_no_theorem <- function(fit) {
  need <- "`moment` = moment_bound(order, bound)"
  why <- if (inherits(fit, "dp_quantile")) {
    "no theorem of the two papers is about quantiles; dp_plan() says what to expect."
  } else if (inherits(fit, "dp_residuals")) {
    "no theorem of the two papers is about residuals."
  } else if (inherits(fit, "dp_mechanism")) {
    "a released value errs by its noise alone, whose law print() shows."
  } else if (inherits(fit, "dp_mean") && !is.null(fit$selected)) {
    "no theorem of the two papers is about sparse means by one choice; see error_bound(dp_peel())."
  } else if (inherits(fit, "dp_mean") && fit$method == "winsorized") {
    paste0("its limits do not come from a moment; Theorem 1 of Tao et al. is for ",
           "method = \"truncated\" with ", need, ".")
  } else if (inherits(fit, "dp_mean")) {
    paste0("the level was given as `bound`, which says nothing about the data's moments: give ",
           need, " instead.")
  } else if (inherits(fit, "dp_lasso")) {
    paste0("the levels were found privately; Algorithms 1 and 2 of Hu et al. need refit = FALSE, ",
           "intercept = FALSE and ", need, ".")
  } else if (inherits(fit, "dp_sparse")) {
    paste0("the levels were found privately; Theorem 10 of Tao et al. needs ", need, ".")
  } else {
    paste0("the clip levels were found privately; Theorems 6 and 7 of Tao et al. are for dp_sco() ",
           "with ", need, ", constraint = l2_ball(r) and calibration = \"paper\".")
  }
  dp_abort(paste("no bound is proved for this fit:", why), "dp_error_bound")
}

TAO <- "Tao, Wu, Cheng and Wang (2022), IJCAI"
HU <- "Hu, Ni, Xiao and Wang (2022), PODS, doi:10.1145/3517804.3524144"

new_bound <- function(value, statement, parts, xi, source, status, assumptions, rate = NULL,
                      lower = NULL, ...) {
  structure(list(value = value, statement = statement, parts = parts, xi = xi, source = source,
                 status = status, assumptions = assumptions, rate = rate, lower = lower, ...),
            class = "dp_bound")
}

new_order <- function(text, value) list(text = text, value = value)

#' @export
print.dp_bound <- function(x, digits = 3L, ...) {
  show <- function(v) formatC(v, digits = digits, format = "g", width = 1)
  wrapped <- function(text, label) {
    cat(strwrap(text, 92L, initial = label, prefix = strrep(" ", nchar(label))), sep = "\n")
  }
  wrapped(x$statement, "Bound: ")
  if (is.na(x$value)) {
    cat("  no constants are known: orders only\n")
  } else {
    cat(sprintf("  at most %s, with probability at least %s\n", show(x$value),
                format(1 - x$xi, digits = 6L)))
    cat(sprintf("  (%s)\n", paste(names(x$parts), vapply(x$parts, show, ""), collapse = ", ")))
  }
  for (name in c("rate", "lower")) {
    order <- x[[name]]
    if (!is.null(order)) {
      label <- c(rate = "Rate printed: ", lower = "Lower bound: ")[[name]]
      wrapped(sprintf("%s; with constants of one: %s", order$text, show(order$value)), label)
    }
  }
  wrapped(x$source, "Source: ")
  wrapped(x$status, "Status: ")
  wrapped(paste(x$assumptions, collapse = "; "), "Assumes: ")
  invisible(x)
}

check_parts_known <- function(x) {
  if (is.na(x$value)) dp_abort("there is nothing to draw: no constants of this bound are known.")
}

#' @rdname error_bound
#' @export
plot.dp_bound <- function(x, ...) {
  check_parts_known(x)
  title <- sprintf("Error bound %s, with probability %s", format_number(x$value),
                   format(1 - x$xi))
  own <- list(value = rev(x$parts), title = title, label = x$statement,
              xlim = range(0, x$parts, finite = TRUE))
  draw_with(draw_dots, own, ...)
  invisible(x)
}
