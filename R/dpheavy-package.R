#' dpheavy: statistics under differential privacy for heavy-tailed data
#'
#' Means, quantiles, linear and logistic regression with a proved (epsilon, delta)
#' guarantee, without a bound on the data. Start with [dp_mean()], [dp_lm()], [dp_glm()] and
#' [privacy()]. For a statistic of your own: [dp_gaussian()], [dp_laplace()], [dp_noisy_max()],
#' [dp_peel()]; for planning: [dp_plan()], [error_bound()], [calibrate_gaussian()],
#' [epsilon_at()], [privacy_profile()]; to see whether a mechanism keeps what it promises:
#' [dp_audit()].
#'
#' # Privacy
#'
#' Two data sets are neighbours if they differ in one row; the number of rows,
#' the names, classes and factor levels of the columns are public. See [privacy()]
#' for what a fit has spent and [privacy_budget()] for spending one budget over
#' several calls.
#'
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and
#' Sparse Learning with Heavy-tailed Data Revisited. IJCAI 2022.
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private
#' Stochastic Optimization with Heavy-tailed Data. PODS 2022.
#' \doi{10.48550/arXiv.2107.11136}
#'
#' @useDynLib dpheavy, .registration = TRUE, .fixes = "C_"
#' @importFrom stats coef predict nobs formula
#' @importFrom utils head
#' @keywords internal
"_PACKAGE"

.onLoad <- function(libname, pkgname) {
  .Call(C_float_check)
}

.onUnload <- function(libpath) {
  library.dynam.unload("dpheavy", libpath)
}
