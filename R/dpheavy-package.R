#' dpheavy: statistics under differential privacy for heavy-tailed data
#'
#' Means, variances, quantiles, linear and logistic regression with a proved (epsilon, delta)
#' guarantee, without a bound on the data. Start with [dp_mean()], [dp_lm()], [dp_glm()] and
#' [privacy()]. How heavy a tail is: [dp_tail_index()]; how much is lost beyond a quantile:
#' [dp_shortfall()]; spread: [dp_var()]. For a statistic of your own: [dp_gaussian()],
#' [dp_laplace()], [dp_noisy_max()], [dp_peel()]; for planning: [dp_plan()], [error_bound()],
#' [calibrate_gaussian()], [epsilon_at()], [privacy_profile()]; to see whether a mechanism keeps
#' what it promises: [dp_audit()]. To choose among fits: [dp_tune()]; for means of groups:
#' [dp_mean_by]; to see how one does on new data: [dp_residuals()].
#'
#' # The papers' algorithms
#'
#' `calibration = "tight"`, the default, keeps the guarantee of each with exact accounting and the
#' best estimator known; `dp_control("paper", ...)` runs it with its own constants, mended only
#' where one would break privacy or is undefined. The help pages say which, and which public moment
#' and batches belong to each. By number in Tao et al. and in Hu et al.:
#'
#' | **algorithm** | **call** |
#' | :-- | :-- |
#' | Tao 1: truncated mean | [dp_mean()], `method = "truncated"` |
#' | Tao 2, convex | [dp_sco()], `gradient = grad_mom()`, `constraint = l2_ball(r)` |
#' | Tao 2, strongly convex | the same with `penalty = ridge(lambda)` or `loss = loss_mean()` |
#' | Tao 3: median of means | [dp_mean()], `method = "median_of_means"` |
#' | Tao 4, Hu 4: peeling | [dp_peel()], `constant = "tao"` or `"cai"` |
#' | Tao 5: sparse learning | [dp_sparse()], `gradient = grad_truncated()` ([iht_solver]) |
#' | Hu: mean | [dp_mean()], `method = "catoni"` |
#' | Hu 1: Frank-Wolfe | [dp_sco()], `gradient = grad_catoni(beta = 1)`, `l1_ball(r)`, ... |
#' | Hu: robust regression | the same with `loss = loss_biweight()` |
#' | Hu 2: LASSO | [dp_lasso()], `gradient = grad_shrunken()` |
#' | Hu 3: sparse linear | [dp_sparse()], `gradient = grad_shrunken()` ([iht_solver]) |
#' | Hu 5: sparse | [dp_sparse()], `gradient = grad_catoni(beta = 1)` ([iht_solver]) |
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
